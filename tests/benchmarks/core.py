"""Points per second of the core: a 1,000 × 1,000 batch × context grid, all terms, one core.

Run by hand: ``python tests/benchmarks/core.py``.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from scenarios import scenario

from calc import decode
from calc.scenario import FIDELITIES

REPEATS = 11
CASES = {
    "Llama 3 70B, dense": "llama-3-70b",
    "Gemma 3 27B, sliding windows": "gemma-3-27b",
    "DeepSeek-V3, latent attention and experts": "deepseek-v3",
}


def main() -> None:
    """Measure and print."""
    batch = np.arange(1, 1001)[:, np.newaxis]
    context = 64 * np.arange(1, 1001)[np.newaxis, :]
    print(f"{'million points a second, grid of 1,000 × 1,000':<60}{'median':>8}{'slowest':>9}")
    for fidelity, (name, model) in product(FIDELITIES, CASES.items()):
        s = scenario(model, fidelity=fidelity)
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            step = decode.step_time(s, batch=batch, context=context)
            assert step.throughput_per_chip.shape == (1000, 1000)
            times.append(time.perf_counter() - start)
        speeds = 1 / statistics.median(times), 1 / max(times)
        print(f"{fidelity + ': ' + name:<60}{speeds[0]:>8.0f}{speeds[1]:>9.0f}")


if __name__ == "__main__":
    main()
