"""Scenarios that hypothesis draws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from calc import Scenario
from calc.host import PLACES
from calc.scenario import KV_SHARDINGS
from presets import chips, formats, models

KNOWN_RATE = [
    (chip, c)
    for chip in chips.values()
    for c in formats.values()
    if "compute" in c.uses and chip.peak(c) > 0
]


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    """Every setting of fidelity operators, with widths that make up the chips."""
    tp, dp, pp = (2 ** draw(st.integers(0, 4)) for _ in range(3))
    share = st.floats(0, 1)
    return {
        "fidelity": draw(st.sampled_from(["operators", "calibrated"])),
        "n_chips": tp * dp * pp,
        "tensor_parallel": tp,
        "attention_dp": dp,
        "pipeline": pp,
        "expert_parallel": draw(st.sampled_from([1, tp * dp])),
        "redundant_experts": draw(st.sampled_from([0, 16])),
        "micro_batches": draw(st.sampled_from([0, 1, 3])),
        "kv_sharding": draw(st.sampled_from(KV_SHARDINGS)),
        "overlap": draw(share),
        "link_overlap": draw(share),
        "bandwidth_efficiency": draw(st.floats(0.2, 1)),
        "compute_efficiency": draw(st.none() | st.floats(0.2, 1)),
        "link_efficiency": draw(st.none() | st.floats(0.2, 1)),
        "routing_skew": draw(share),
        "load_imbalance": draw(st.floats(1, 4)),
        "step_overhead": draw(st.sampled_from([0.0, 1e-3])),
        "layer_overhead": draw(st.sampled_from([None, 0.0, 1e-5])),
        "prefix_hit": draw(st.integers(0, 5000)),
        "prompt": draw(st.integers(1, 100_000)),
    }


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Any]:
    """Weights in host memory, multiplied there or sent to the chips."""
    return {
        "host_share": draw(st.sampled_from([0.25, 1.0])),
        "host_compute": draw(st.sampled_from(PLACES)),
        "host_bandwidth": draw(st.floats(1e9, 1e12)),
        "host_rate": draw(st.floats(1e11, 1e14)),
    }


@st.composite
def scenarios(draw: st.DrawFn, *, operators: bool = False) -> Scenario:
    chip, compute = draw(st.sampled_from(KNOWN_RATE))
    stored = [f for f in formats.values() if "weights" in f.uses]
    cached = [f for f in formats.values() if "kv" in f.uses]
    return Scenario(
        model=draw(st.sampled_from(list(models.values()))),
        chip=chip,
        weight_format=draw(st.sampled_from(stored)),
        kv_format=draw(st.sampled_from(cached)),
        compute_format=compute,
        batch=draw(st.integers(1, 4096)),
        context=draw(st.integers(1, 1 << 20)),
        usable_memory=draw(st.floats(0.3, 1.0)),
        **draw(st.just({}) | hosts()),
        **(draw(layouts()) if operators else {"n_chips": draw(st.integers(1, 1024))}),
    )


ANY = scenarios() | scenarios(operators=True)
