"""Simulated services beside measured ones: vLLM 0.15.1 on H100, chats with a system prompt.

Times are means over a stage of a fixed rate. Source: inference-sim, sim-to-real-accuracy-validation
and trained_physics. Run by hand: ``python tests/benchmarks/serving.py``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from calc import Scenario, serving
from presets import chips, formats, models

REQUESTS = 2000


@dataclass(frozen=True)
class Stage:
    """What was served, and the mean times that were measured [s]."""

    model: str
    weights: str
    chips: int
    rate: float
    system: int
    question: int
    output: int
    budget: int
    e2e: float
    ttft: float


# Of the dense models those rows that do not repeat others in the source, and one mixture.
STAGES = (
    Stage("llama-4-scout", "fp8", 2, 2.5, 100, 447, 248, 2048, 4.46033, 0.0578),
    Stage("llama-2-7b", "bf16", 1, 5, 100, 466, 247, 2048, 1.81032, 0.02504),
    Stage("llama-3.1-70b", "bf16", 4, 6, 100, 447, 248, 8192, 4.62455, 0.05443),
    Stage("llama-3.1-70b", "bf16", 4, 5, 100, 466, 247, 2048, 4.49473, 0.05474),
    Stage("mistral-nemo-12b", "bf16", 2, 2.5, 100, 447, 248, 1024, 1.49747, 0.022),
    Stage("mistral-nemo-12b", "bf16", 2, 6, 100, 447, 248, 1024, 1.54927, 0.02156),
    Stage("mistral-nemo-12b", "bf16", 1, 10, 100, 466, 247, 2048, 2.6279, 0.03373),
    Stage("qwen2.5-7b", "bf16", 1, 6, 150, 600, 251, 2048, 1.7718, 0.02672),
    Stage("llama-2-7b", "bf16", 1, 1, 100, 934, 1448, 2048, 17.06213, 0.0551),
)


def scenario(stage: Stage, fidelity: str) -> Scenario:
    """A replica of a stage: at `operators` with losses that any engine has."""
    base = Scenario(
        model=models[stage.model], chip=chips["h100-sxm"], n_chips=stage.chips,
        weight_format=formats[stage.weights], kv_format=formats["bf16"],
        compute_format=formats[stage.weights], batch=1, context=1, fidelity=fidelity,
        tensor_parallel=stage.chips,
    )  # fmt: skip
    if fidelity == "calibrated":
        return base
    return replace(
        base, bandwidth_efficiency=0.8, compute_efficiency=0.6, mfu=0.6, layer_overhead=20e-6
    )


def error(stage: Stage, fidelity: str, policy: serving.Continuous | serving.ChunkedPrefill,
          prefix: serving.SpareMemory | None) -> tuple[float, float, float]:  # fmt: skip
    """How far TPOT, time to the last and to the first token are from those measured."""
    traffic = serving.generate(
        REQUESTS, serving.Poisson(stage.rate), serving.Constant(stage.question),
        serving.Constant(stage.output), system=stage.system,
    )  # fmt: skip
    run = serving.simulate(scenario(stage, fidelity), traffic, policy, prefix=prefix)
    tpot = (stage.e2e - stage.ttft) / (stage.output - 1)
    return (
        float(np.nanmean(run.tpot)) / tpot - 1,
        float(run.e2e.mean()) / stage.e2e - 1,
        float(run.ttft.mean()) / stage.ttft - 1,
    )


def main() -> None:
    """Print the error of each stage, and the mean of its size over the dense ones."""
    for fidelity in ("operators", "calibrated"):
        for kept, prefix in (("no prefix cache", None), ("prefixes", serving.SpareMemory())):
            for reading in ("chunks", "one after another", "together"):
                print(f"\n{fidelity}, prompts in {reading}, {kept}: TPOT, end to end, TTFT")
                found = []
                for stage in STAGES:
                    policies: dict[str, serving.Continuous | serving.ChunkedPrefill] = {
                        "chunks": serving.ChunkedPrefill(256, stage.budget),
                        "one after another": serving.Continuous(256),
                        "together": serving.Continuous(256, stage.budget),
                    }
                    errors = error(stage, fidelity, policies[reading], prefix)
                    if stage.model != "llama-4-scout":
                        found.append(errors)
                    told = "  ".join(f"{one:+7.1%}" for one in errors)
                    print(f"{stage.model:>18} {stage.rate:5g}/s {stage.output:5} tokens  {told}")
                mean = "  ".join(f"{one:7.1%}" for one in np.abs(found).mean(axis=0))
                print(f"{'dense, mean size':>40}  {mean}")


if __name__ == "__main__":
    main()
