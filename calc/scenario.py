"""The scenario: everything that a result depends on, and the one schema of its fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calc.chip import Chip
from calc.formats import NumberFormat
from calc.model import Model
from calc.words import marked, say

Catalogues = Mapping[str, Mapping[str, Any]]


class ScenarioError(ValueError):
    """A field of a scenario that cannot be; the message names it and says why."""


@dataclass(frozen=True)
class Quantity:
    """A numeric field: its range, default and unit.

    `name` is the attribute of `Scenario`, `key` the parameter in a link. Links and controls carry
    the value in `unit`; `scale` of it is one SI unit's worth in the scenario. `step` is that of a
    slider.
    """

    name: str
    key: str
    label: str
    unit: str
    default: float
    low: float
    high: float
    help: str
    whole: bool = True
    scale: float = 1.0
    step: float = 0.01

    def problem(self, value: float) -> str | None:
        """Why `value` cannot be used, or None when it can."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return say("not a number")
        if not math.isfinite(value):
            return say("not a finite number")
        if self.whole and value != int(value):
            return say("not a whole number")
        if not self.low <= value <= self.high:
            return say("outside {low:,} to {high:,}", low=self.low, high=self.high)
        return None

    def cast(self, value: float) -> float:
        """The value as the type the field has."""
        return int(value) if self.whole else float(value)

    def to_si(self, value: float) -> float:
        """A value in the field's unit as the scenario holds it."""
        return self.cast(value) if self.scale == 1 else value * self.scale

    def from_si(self, value: float) -> float:
        """A value of the scenario in the field's unit."""
        if self.scale == 1:
            return value
        # Rounded, so that what was scaled up reads back as it was.
        return self.cast(float(f"{value / self.scale:.12g}"))


@dataclass(frozen=True)
class Choice:
    """A field picked from a catalogue of presets.

    `use` narrows formats to those offered for weights, kv or compute; `none` is the id that stands
    for picking nothing.
    """

    name: str
    key: str
    label: str
    default: str
    help: str
    catalogue: str
    use: str | None = None
    none: str | None = None

    def ids(self, catalogues: Catalogues) -> list[str]:
        """Ids that may be chosen, in catalogue order."""
        nothing = [] if self.none is None else [self.none]
        return nothing + [
            id
            for id, item in catalogues[self.catalogue].items()
            if self.use is None or self.use in item.uses
        ]

    def resolve(self, id: str, catalogues: Catalogues) -> Any:
        """The object that an id stands for, None for picking nothing."""
        return None if id == self.none else catalogues[self.catalogue][id]


@dataclass(frozen=True)
class Option:
    """A field with a few fixed answers."""

    name: str
    key: str
    label: str
    default: str
    help: str
    options: tuple[str, ...]


Field = Quantity | Choice | Option

FIDELITIES = ("bound", "operators")
KV_SHARDINGS = ("replicated", "batch", "sequence")

# Keys are part of every link ever shared: add fields, never rename or reuse a key.
SCHEMA: tuple[Field, ...] = (
    Choice("model", "model", marked("Model"), "llama-3-70b",
           marked("Architecture whose decode step is timed."), catalogue="models"),
    Choice("chip", "chip", marked("Chip"), "tpu-v5e",
           marked("Accelerator; its published figures are on About."), catalogue="chips"),
    Quantity("n_chips", "n", marked("Chips"), "chips", 16, 1, 16384,
             marked("Chips that share one replica of the model, weights and cache fully sharded.")),
    Quantity("usable_memory", "u", marked("Usable memory"), "fraction", 1.0, 0.3, 1.0,
             marked(
                 "Share of each chip's memory left to weights and cache; engines often keep 10 %."
             ),
             whole=False),
    Choice("weight_format", "w", marked("Weights"), "int8",
           marked("How weights are stored and read."), catalogue="formats", use="weights"),
    Choice("kv_format", "kv", marked("KV cache"), "int8",
           marked("How cached keys and values are stored."), catalogue="formats", use="kv"),
    Choice("compute_format", "c", marked("Compute"), "bf16",
           marked("Format of the matrix products: it sets the FLOP rate."),
           catalogue="formats", use="compute"),
    Quantity("batch", "b", marked("Batch"), "sequences", 32, 1, 65536,
             marked("Sequences that decode together in one replica.")),
    Quantity("context", "s", marked("Context"), "tokens", 8192, 1, 16777216,
             marked("Tokens already cached for each sequence.")),
    Quantity("acceptance", "a", marked("Acceptance"), "probability", 0.8, 0.0, 1.0,
             marked("Probability that a drafted token is accepted."), whole=False),
    Quantity("n_draft", "k", marked("Draft length"), "tokens", 4, 0, 64,
             marked("Tokens drafted before each verification.")),
    Choice("draft", "d", marked("Draft"), "ratio",
           marked("A draft model with its own weights, cache and time, or a ratio of costs."),
           catalogue="models", none="ratio"),
    Quantity("cost_ratio", "r", marked("Cost ratio"), "fraction", 0.05, 0.0, 2.0,
             marked("Time of one draft step over one target step; near 0 for n-gram lookup."),
             whole=False),
    Quantity("temperature", "t", marked("Temperature"), "", 1.0, 0.0, 2.0,
             marked("Of target and draft in the acceptance bench; 0 is greedy."), whole=False),
    Quantity("top_k", "tk", marked("Top-k"), "tokens", 0, 0, 64,
             marked("Likeliest tokens kept in the acceptance bench; 0 keeps all.")),
    Quantity("top_p", "tp", marked("Top-p"), "probability", 1.0, 0.05, 1.0,
             marked("Probability kept in the acceptance bench; 1 keeps all."), whole=False),
    Option("fidelity", "f", marked("Fidelity"), "bound",
           marked("Bound: the textbook roofline. Operators: one roofline for each, and the links."),
           options=FIDELITIES),
    Quantity("routing_skew", "sk", marked("Routing skew"), "exponent", 0.0, 0.0, 1.0,
             marked("0: tokens choose experts evenly; 1: all choose the same top-k."), whole=False),
    Quantity("tensor_parallel", "ty", marked("Tensor parallel"), "chips", 0, 0, 16384,
             marked("Chips that split every matrix; 0 takes those that the other widths leave.")),
    Quantity("attention_dp", "dp", marked("Data parallel"), "groups", 1, 1, 16384,
             marked(
                 "Groups that each attend for their own sequences, with a copy of what is no "
                 "expert."
             )),
    Quantity("expert_parallel", "ep", marked("Expert parallel"), "chips", 1, 1, 16384,
             marked(
                 "Ways that routed experts are spread over the chips of a stage; 1 splits each."
             )),
    Quantity("pipeline", "pp", marked("Pipeline stages"), "stages", 1, 1, 256,
             marked("Stages that layers are spread over.")),
    Quantity("micro_batches", "mb", marked("Micro-batches"), "batches", 0, 0, 1024,
             marked("Parts of the batch in flight; 0 takes one for each stage.")),
    Option("kv_sharding", "ks", marked("KV beyond heads"), "replicated",
           marked(
               "Where tensor parallel exceeds the KV heads: copies, or a split by batch or "
               "sequence."
           ),
           options=KV_SHARDINGS),
    Choice("attention_format", "ac", marked("Attention compute"), "compute",
           marked("Format of scores and values; by default that of the matrix products."),
           catalogue="formats", use="compute", none="compute"),
    Quantity("overlap", "ov", marked("Read overlap"), "share", 1.0, 0.0, 1.0,
             marked("Share of the shorter of reading and computing that hides behind the longer."),
             whole=False),
    Quantity("link_overlap", "lo", marked("Link overlap"), "share", 0.0, 0.0, 1.0,
             marked(
                 "Share of the shorter of communicating and all else that hides behind the longer."
             ),
             whole=False),
    Quantity("bandwidth_efficiency", "eb", marked("Bandwidth kept"), "share", 1.0, 0.1, 1.0,
             marked("Of the published memory bandwidth; kernels reach 0.75 to 0.9."), whole=False),
    Quantity("compute_efficiency", "ec", marked("FLOP rate kept"), "share", 1.0, 0.05, 1.0,
             marked("Of the published dense rate; kernels reach 0.6 to 0.85."), whole=False),
    Quantity("hop_latency", "hop", marked("Hop latency"), "µs", 1.0, 0.0, 50.0,
             marked("Time for a message to pass one chip or switch."),
             whole=False, scale=1e-6, step=0.1),
    Quantity("scale_out", "net", marked("Network per chip"), "GB/s", 50, 1, 4096,
             marked("One way, beyond the fast links: one 400 Gb/s port is 50."), scale=1e9),
    Quantity("load_imbalance", "li", marked("Expert imbalance"), "ratio", 1.0, 1.0, 8.0,
             marked("Busiest expert-parallel chip over the mean."), whole=False, step=0.05),
    Quantity("step_overhead", "os", marked("Step overhead"), "µs", 0, 0, 20000,
             marked("Scheduler, sampler, launch: added to each step."), scale=1e-6),
    Quantity("layer_overhead", "ol", marked("Layer overhead"), "µs", 0, 0, 1000,
             marked("Kernel launches and gaps, added for each layer."), scale=1e-6),
    Quantity("prompt", "p", marked("Prompt"), "tokens", 8192, 1, 4194304,
             marked("Tokens of a prompt before the first answer token.")),
    Quantity("output", "g", marked("Output"), "tokens", 512, 1, 1048576,
             marked("Tokens that a request generates.")),
    Quantity("mfu", "mfu", marked("Prefill MFU"), "share", 0.4, 0.05, 1.0,
             marked("Share of the dense rate that reading a prompt reaches."), whole=False),
    Quantity("chunk", "ch", marked("Chunk"), "tokens", 512, 1, 1048576,
             marked("Prompt tokens that ride along with one decode step.")),
    Quantity("tpot_target", "tt", marked("Wanted TPOT"), "ms", 50, 1, 10000,
             marked("Longest decode step that chunks may lead to."), scale=1e-3),
    Quantity("prefix_hit", "px", marked("Prefix cached"), "tokens", 0, 0, 4194304,
             marked("Prompt tokens whose cache is there already.")),
    Quantity("kv_block", "bl", marked("Cache block"), "tokens", 16, 1, 4096,
             marked("Tokens of one block: a prefix counts in whole blocks.")),
    Quantity("price", "usd", marked("Price"), "USD/hour", 0.0, 0.0, 1000.0,
             marked("Of one chip; 0 takes the preset's."), whole=False),
    Quantity("power", "pw", marked("Power"), "W", 0.0, 0.0, 100000.0,
             marked("Of one chip, cooling and host included if you like; 0 takes the preset's."),
             whole=False),
    Quantity("runtime_memory", "rt", marked("Runtime memory"), "GB", 0.0, 0.0, 64.0,
             marked("What the engine itself keeps on each chip; often 1 to 3."),
             whole=False, scale=1e9, step=0.1),
)  # fmt: skip

FIELDS: Mapping[str, Field] = {field.name: field for field in SCHEMA}
BY_KEY: Mapping[str, Field] = {field.key: field for field in SCHEMA}


@dataclass(frozen=True)
class Scenario:
    """A model on chips at a precision under a workload.

    Parameters
    ----------
    model, chip, n_chips
        What runs, on what, and how many chips share one replica.
    weight_format, kv_format, compute_format : NumberFormat
        Storage of weights and cache, and the format of the products.
    batch : int
        Sequences per replica [sequence].
    context : int
        Cached tokens per sequence [token].
    usable_memory : float
        Share of each chip's memory that weights and cache may fill.
    acceptance, n_draft, draft, cost_ratio
        Of speculative decoding: acceptance per token, tokens drafted, the draft model, and where
        there is none the time of a draft step over a target step.
    temperature, top_k, top_p
        How target and draft distributions are sampled in the acceptance bench.
    fidelity : str
        Which formula times the step: ``bound`` is F3.1, the textbook roofline, ``operators`` F3.2.
    routing_skew : float
        How far routing is from uniform, see `feedforward.expected_distinct_experts`.
    tensor_parallel, attention_dp, expert_parallel, pipeline, micro_batches, kv_sharding
        How the replica's chips divide the work, see `layout.Layout`.
    attention_format : NumberFormat or None
        Format of scores and values; None for `compute_format`.
    overlap, link_overlap, bandwidth_efficiency, compute_efficiency, load_imbalance : float
        What hides behind what, what kernels reach, and the busiest expert rank over the mean.
    hop_latency, step_overhead, layer_overhead : float
        Seconds for each hop, step and layer [s].
    scale_out : float
        Network of one chip beyond its fast links, one way [byte/s].
    prompt, output, chunk, prefix_hit, kv_block : int
        Lengths of a request, of a chunk of its prompt, of its cached prefix, of a block [token].
    mfu, tpot_target : float
        Share of the dense rate that prefill reaches; longest decode step wanted [s].
    price, power : float
        Of one chip instead of the preset's [USD/hour, W]; 0 for the preset's.
    runtime_memory : float
        What the engine keeps on each chip beside weights and cache [byte].

    Raises
    ------
    ScenarioError
        If a number is not finite, not whole where it must be, or outside its range in `SCHEMA`.
    """

    model: Model
    chip: Chip
    n_chips: int
    weight_format: NumberFormat
    kv_format: NumberFormat
    compute_format: NumberFormat
    batch: int
    context: int
    usable_memory: float = 1.0
    acceptance: float = 0.8
    n_draft: int = 4
    draft: Model | None = None
    cost_ratio: float = 0.05
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    fidelity: str = "bound"
    routing_skew: float = 0.0
    tensor_parallel: int = 0
    attention_dp: int = 1
    expert_parallel: int = 1
    pipeline: int = 1
    micro_batches: int = 0
    kv_sharding: str = "replicated"
    attention_format: NumberFormat | None = None
    overlap: float = 1.0
    link_overlap: float = 0.0
    bandwidth_efficiency: float = 1.0
    compute_efficiency: float = 1.0
    hop_latency: float = 1e-6
    scale_out: float = 50e9
    load_imbalance: float = 1.0
    step_overhead: float = 0.0
    layer_overhead: float = 0.0
    prompt: int = 8192
    output: int = 512
    mfu: float = 0.4
    chunk: int = 512
    tpot_target: float = 0.05
    prefix_hit: int = 0
    kv_block: int = 16
    price: float = 0.0
    power: float = 0.0
    runtime_memory: float = 0.0

    def __post_init__(self) -> None:
        for field in SCHEMA:
            value = getattr(self, field.name)
            if isinstance(field, Quantity):
                if isinstance(value, (int, float)):
                    value = field.from_si(value)
                problem = field.problem(value)
                if problem:
                    raise ScenarioError(f"{field.name} is {problem}")
            elif isinstance(field, Option) and value not in field.options:
                raise ScenarioError(f"{field.name} is not one of {', '.join(field.options)}")


def build(values: Mapping[str, Any], catalogues: Catalogues) -> Scenario:
    """A scenario from plain field values, ids looked up in the catalogues.

    Fields that `values` leaves out take their defaults.
    """
    chosen: dict[str, Any] = {field.name: values.get(field.name, field.default) for field in SCHEMA}
    return Scenario(
        **{field.name: _resolved(field, chosen[field.name], catalogues) for field in SCHEMA}
    )


def values_of(scenario: Scenario) -> dict[str, Any]:
    """Plain values of a scenario by field name, the reverse of `build`.

    They are what links and controls carry: ids for what is picked, numbers in the field's unit.
    """
    return {field.name: _plain(field, getattr(scenario, field.name)) for field in SCHEMA}


def differences(before: Scenario, after: Scenario) -> dict[str, Any]:
    """Plain values, by field name, in which `after` is not `before`.

    Put over the values of `before` they build `after`, so that a control can make one of the other.
    """
    was = values_of(before)
    return {name: value for name, value in values_of(after).items() if value != was[name]}


def _plain(field: Field, value: Any) -> Any:
    if isinstance(field, Choice):
        return field.none if value is None else value.id
    return field.from_si(value) if isinstance(field, Quantity) else value


def _resolved(field: Field, value: Any, catalogues: Catalogues) -> Any:
    if isinstance(field, Choice):
        return field.resolve(value, catalogues)
    return field.to_si(value) if isinstance(field, Quantity) else value
