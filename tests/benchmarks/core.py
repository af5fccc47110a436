"""Speed of the core on one processor: points per second of a 1,000 × 1,000 grid of batch × context,
all terms, and seconds for a service of 10,000 requests.

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

from calc import decode, serving
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
    service()


def service() -> None:
    """Measure and print what a service takes."""
    s = scenario(prompt=1000, output=300)
    traffic = serving.generate(
        10_000, serving.Poisson(4.0), serving.Constant(1000), serving.Constant(300)
    )
    print(f"{'seconds, 10,000 requests of 1,000 and 300 tokens':<60}{'median':>8}{'slowest':>9}")
    for policy in (serving.Continuous(256), serving.ChunkedPrefill(256, 512)):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            run = serving.simulate(s, traffic, policy)
            assert run.finished.all()
            times.append(time.perf_counter() - start)
        print(f"{policy.name:<60}{statistics.median(times):>8.2f}{max(times):>9.2f}")


if __name__ == "__main__":
    main()
