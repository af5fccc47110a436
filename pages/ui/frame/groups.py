"""Which settings stand in the sidebar, and where: its groups, their rows, and who asks for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from calc.purchase import DISCOUNTED, OWNED
from calc.scenario import OWN
from calc.words import marked
from pages.ui.frame.presentation import FIELDS, VIEWING

Places = tuple[tuple[str, ...], ...]

# What stands under which heading, row by row.
GROUPS: dict[str, Places] = {
    marked("Model"): (("model",),),
    marked("Hardware"): (("chip", "usable_memory"), ("n_chips",)),
    marked("Precision"): (("weight_format", "kv_format"), ("compute_format",)),
    marked("Workload"): (("batch",), ("context",)),
    marked("Fidelity"): (("fidelity",), ("engine",)),
}

# Folded away: drawn on pages that use them, and where they hold something that the link must keep.
FOLDED: dict[str, Places] = {
    marked("Own calibration"): (
        ("own_rows", "own_error"),
        ("own_bandwidth", "own_kernel_time"),
    ),
    marked("Prefill"): (
        ("prompt",),
        ("mfu", "output"),
        ("chunk", "tpot_target"),
        ("prefix_hit", "kv_block"),
    ),
    marked("Layout"): (
        ("tensor_parallel", "attention_dp"),
        ("expert_parallel", "pipeline"),
        ("micro_batches", "kv_sharding"),
        ("redundant_experts",),
    ),
    marked("Links and losses"): (
        ("hop_latency", "load_imbalance"),
        ("overlap", "link_overlap"),
        ("bandwidth_efficiency", "compute_efficiency"),
        ("link_efficiency", "reduce_latency"),
        ("step_overhead", "layer_overhead"),
        ("kernel_time",),
        ("attention_format",),
    ),
    marked("Host memory"): (
        ("host_share", "host_compute"),
        ("host_bandwidth", "host_rate"),
    ),
    marked("Price, power, network, routing"): (
        ("price", "power"),
        ("scale_out", "runtime_memory"),
        ("routing_skew",),
    ),
    marked("Purchase terms"): (
        ("terms",),
        ("discount",),
        ("capital", "surroundings"),
        ("years", "in_use"),
        ("energy_price", "pue"),
    ),
    marked("Traffic"): (
        ("arrivals", "rate"),
        ("requests", "seed"),
        ("lengths", "spread"),
        ("burstiness", "samples"),
        ("turns", "system"),
        ("think", "clients"),
        ("pause",),
        ("ttft_limit",),
        ("classes",),
    ),
    marked("Plan"): (
        ("objective", "percentile"),
        ("headroom", "most_used"),
        ("compared",),
        ("left_out",),
        ("allowed",),
        ("most_chips", "arrangement"),
        ("spare",),
    ),
    marked("Serving"): (
        ("policy", "replicas"),
        ("slots", "prefill_replicas"),
        ("prefill_chip",),
        ("prefill_chips", "prefill_tensor_parallel"),
        ("prefill_attention_dp", "prefill_expert_parallel"),
        ("prefill_pipeline",),
        ("budget",),
        ("window", "streaming"),
        ("memory", "reserved"),
        ("relief", "host"),
        ("prefix", "host_memory"),
        ("disk", "disk_memory"),
        ("input_price", "cache_discount"),
        ("cache_storage",),
        ("speculation", "adapters"),
        ("adapter_size",),
        ("affinity", "routing"),
        ("reading", "budget_of"),
    ),
    marked("Daily curve, scaling, failures"): (
        ("peak", "period"),
        ("scaling", "scale_least"),
        ("scale_target", "cold_start"),
        ("hold", "failures"),
        ("down", "after_failure"),
    ),
    marked("Speculation"): (
        ("acceptance", "n_draft"),
        ("draft", "cost_ratio"),
        ("temperature", "top_k"),
        ("top_p",),
    ),
}

MODEL, HARDWARE, *_ = GROUPS
(
    CALIBRATION, PREFILL, LAYOUT, LOSSES, HOST, PRICE, TERMS, TRAFFIC, PLAN, SERVING, STAFFING,
    SPECULATION,
) = FOLDED  # fmt: skip
# Groups that fidelity bound does not look at.
FINE = (LAYOUT, LOSSES)

# Stands for all groups that are never folded.
CORE = "core"
# What most pages use.
COMMON = (CORE, LAYOUT, LOSSES, HOST, PRICE, TERMS)


def fields(groups: Iterable[str]) -> frozenset[str]:
    """The fields of some groups."""
    known = {**GROUPS, **FOLDED, CORE: tuple(row for rows in GROUPS.values() for row in rows)}
    return frozenset(name for group in groups for row in known[group] for name in row)


# Numbers that are typed rather than slid to.
TYPED = frozenset(
    {
        "tensor_parallel", "attention_dp", "expert_parallel", "pipeline", "micro_batches",
        "scale_out", "step_overhead", "output", "chunk", "tpot_target",
        "prefix_hit", "kv_block", "price", "power",
        "rate", "requests", "seed", "spread", "burstiness", "samples", "turns", "system",
        "think", "clients", "pause",
        "replicas", "slots", "prefill_replicas", "prefill_chips", "prefill_tensor_parallel",
        "prefill_attention_dp", "prefill_expert_parallel", "prefill_pipeline",
        "ttft_limit", "budget", "window", "reserved",
        "redundant_experts", "host", "host_memory", "host_share", "host_bandwidth", "host_rate",
        "peak", "period", "scale_least", "scale_target", "cold_start", "hold", "failures", "down",
        "disk", "disk_memory", "adapters", "adapter_size",
        "input_price", "cache_discount", "cache_storage",
        "headroom", "most_used", "most_chips",
        "own_rows", "own_error", "own_bandwidth", "own_kernel_time",
        "discount", "capital", "surroundings", "years", "in_use", "energy_price", "pue",
    }
)  # fmt: skip


# Fields that only some answers of another ask for.
_OF_OWNED = ("terms", (OWNED,))
ASKED_BY: Mapping[str, tuple[str, Collection[str]]] = {
    "engine": ("fidelity", ("calibrated",)),
    "discount": ("terms", DISCOUNTED),
    **dict.fromkeys(
        (
            "prefill_chip",
            "prefill_chips",
            "prefill_tensor_parallel",
            "prefill_attention_dp",
            "prefill_expert_parallel",
            "prefill_pipeline",
        ),
        ("policy", ("disaggregated",)),
    ),
    **dict.fromkeys(
        ("input_price", "cache_discount", "cache_storage"), ("prefix", ("spare", "host", "ssd"))
    ),
    **dict.fromkeys(
        ("capital", "surroundings", "years", "in_use", "energy_price", "pue"), _OF_OWNED
    ),
}


# Fields that the controls of others, or what is said among them, go by.
SHAPING = frozenset(
    {"model", "chip", "weight_format", "fidelity", "engine", *OWN}
    | {other for other, _ in ASKED_BY.values()}
)


def asked(name: str, chosen: Mapping[str, Any]) -> bool:
    """Whether what is chosen asks for a field."""
    other, answers = ASKED_BY.get(name, ("", ()))
    return not other or chosen[other] in answers


def check(groups: Mapping[str, Places], wanted: Collection[str]) -> None:
    """That every field has its place in a group, and only one.

    Raises
    ------
    LookupError
        For a field that is shown nowhere or twice, or is none.
    """
    drawn = Counter(name for rows in groups.values() for row in rows for name in row)
    for name in wanted:
        if drawn[name] != 1:
            raise LookupError(
                f"The field {name} stands in {drawn[name]} rows of the sidebar: give it a place in "
                f"one group of GROUPS or FOLDED in {__name__}"
            )
    for name in drawn:
        if name not in wanted:
            raise LookupError(
                f"The sidebar has a row for {name}, which is no field: define it in "
                "calc.scenario.Scenario, calc.serving.asked.Asked or pages.ui.frame.presentation"
            )


check(GROUPS | FOLDED, [field.name for field in FIELDS if field not in VIEWING])
