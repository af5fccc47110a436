"""Every number of every model on every chip, for a change that must not move any.

``PYTHONPATH=. python tests/dump.py FILE`` writes one line a scenario and prints
the hash of the file. Run it before and after a change; where the hashes differ, `diff` names the
scenario.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from computed import computed
from scenarios import scenario

from calc.explain import EXPLANATIONS
from presets import chips, models

# A replica in each fidelity; widths that cut through heads, experts and stages.
CASES: tuple[dict[str, Any], ...] = (
    {"n_chips": 16},
    {"n_chips": 1, "batch": 1, "context": 1000, "w": "bf16", "kv": "bf16"},
    {"n_chips": 8, "fidelity": "operators", "w": "fp8", "kv": "bf16", "batch": 100},
    {"n_chips": 32, "fidelity": "operators", "attention_dp": 4, "expert_parallel": 16,
     "pipeline": 2, "batch": 256, "context": 100_000, "runtime_memory": 2e9},
)  # fmt: skip


def lines(model: str) -> list[str]:
    """One model on all chips."""
    warnings.simplefilter("ignore")
    return list(_lines(model))


def _lines(model: str) -> Iterator[str]:
    for chip in chips:
        for i, case in enumerate(CASES):
            s = scenario(model, chip, **case)
            explained = {id: entry.build(s).value for id, entry in EXPLANATIONS.items()}
            for kind, values in (("explained", explained), ("computed", computed(s))):
                written = " ".join(f"{id}={float(value)!r}" for id, value in values.items())
                yield f"{model} {chip} {i} {kind} {written}\n"


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool, Path(sys.argv[1]).open("w", encoding="utf-8") as file:
        for part in pool.map(lines, models):
            file.writelines(part)
    print(hashlib.sha256(Path(sys.argv[1]).read_bytes()).hexdigest())
