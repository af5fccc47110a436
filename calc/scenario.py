"""The scenario: everything that a result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from functools import cached_property
from typing import Any

import numpy as np

from calc import fields, host, purchase
from calc.checkpoint import UNSAID, Checkpoint, Stored
from calc.chip import Chip
from calc.engine import BY_CHIP, ENGINES, Constants, EngineClass, Own
from calc.errors import LedgerError
from calc.fields import Catalogues, Choice, Field, Option, Quantity, optional, written
from calc.formats import NumberFormat
from calc.model import Model
from calc.words import marked

FIDELITIES = ("bound", "operators", "calibrated")
KV_SHARDINGS = ("replicated", "batch", "sequence")
# The fields of a calibration of one's own.
OWN = ("own_rows", "own_error", "own_bandwidth", "own_kernel_time")


class ScenarioError(LedgerError):
    """A field of a scenario that cannot be; the message names it and says why."""


# Keys are part of every link ever shared: add fields, never rename or reuse a key. A field stands
# in one line here, is read by a formula, and is shown by a group of `pages.ui.frame.groups`.
# fmt: off
@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A model on chips at a precision under a workload, in SI units.

    Fields with a default, which is that of a link that leaves them out, are given by name.

    Raises
    ------
    ScenarioError
        If a number is not finite, not whole where it must be, or outside its range.
    """

    model: Model = field(kw_only=False, metadata=written(Choice(
        "model", marked("Model"), "llama-3-70b",
        marked("Architecture whose decode step is timed."), catalogue="models")))
    chip: Chip = field(kw_only=False, metadata=written(Choice(
        "chip", marked("Chip"), "tpu-v5e",
        marked("Accelerator; its published figures are on About."), catalogue="chips")))
    n_chips: int = field(kw_only=False, metadata=written(Quantity(
        "n", marked("Chips"), "chips", 16, 1, 16384,
        marked("Chips that share one replica of the model, weights and cache fully sharded."))))
    usable_memory: float = optional(Quantity(
        "u", marked("Usable memory"), "fraction", 1.0, 0.3, 1.0,
        marked("Share of each chip's memory left to weights and cache; engines often keep 10 % "
               "(gpu_memory_utilization, mem_fraction_static)."),
        whole=False))
    weight_format: NumberFormat | Checkpoint | None = field(kw_only=False, metadata=written(Choice(
        "w", marked("Weights"), "int8",
        marked("How weights are stored and read; pub is as the model is published "
               "(quantization)."),
        catalogue="formats", use="weights", none="pub")))
    kv_format: NumberFormat = field(kw_only=False, metadata=written(Choice(
        "kv", marked("KV cache"), "int8",
        marked("How cached keys and values are stored (kv_cache_dtype)."),
        catalogue="formats", use="kv")))
    compute_format: NumberFormat = field(kw_only=False, metadata=written(Choice(
        "c", marked("Compute"), "bf16",
        marked("Format of the matrix products: it sets the FLOP rate."),
        catalogue="formats", use="compute")))
    batch: int = field(kw_only=False, metadata=written(Quantity(
        "b", marked("Batch"), "sequences", 32, 1, 65536,
        marked("Sequences that decode together in one replica."))))
    context: int = field(kw_only=False, metadata=written(Quantity(
        "s", marked("Context"), "tokens", 8192, 1, 16777216,
        marked("Tokens already cached for each sequence; engines take max_model_len at most."))))
    acceptance: float = optional(Quantity(
        "a", marked("Acceptance"), "probability", 0.8, 0.0, 1.0,
        marked("Probability that a drafted token is accepted."), whole=False))
    n_draft: int = optional(Quantity(
        "k", marked("Draft length"), "tokens", 4, 0, 64,
        marked("Tokens drafted before each verification (num_speculative_tokens).")))
    draft: Model | None = optional(Choice(
        "d", marked("Draft"), "ratio",
        marked("A draft model with its own weights, cache and time, or a ratio of costs "
               "(speculative_config)."),
        catalogue="models", none="ratio"))
    cost_ratio: float = optional(Quantity(
        "r", marked("Cost ratio"), "fraction", 0.05, 0.0, 2.0,
        marked("Time of one draft step over one target step; near 0 for n-gram lookup."),
        whole=False))
    fidelity: str = optional(Option(
        "f", marked("Fidelity"), "bound",
        marked("Bound: the textbook roofline. Operators: one roofline for each, and the links. "
               "Calibrated: the same with what engines reach."),
        options=FIDELITIES))
    routing_skew: float = optional(Quantity(
        "sk", marked("Routing skew"), "exponent", 0.0, 0.0, 1.0,
        marked("0: tokens choose experts evenly; 1: all choose the same top-k."), whole=False))
    tensor_parallel: int = optional(Quantity(
        "ty", marked("Tensor parallel"), "chips", 0, 0, 16384,
        marked("Chips that split every matrix; 0 takes those that the other widths leave "
               "(tensor_parallel_size).")))
    attention_dp: int = optional(Quantity(
        "dp", marked("Data parallel"), "groups", 1, 1, 16384,
        marked("Groups that each attend for their own sequences, with a copy of what is no "
               "expert (data_parallel_size, enable_dp_attention).")))
    expert_parallel: int = optional(Quantity(
        "ep", marked("Expert parallel"), "chips", 1, 1, 16384,
        marked("Ways that routed experts are spread over the chips of a stage; 1 splits each "
               "(enable_expert_parallel).")))
    pipeline: int = optional(Quantity(
        "pp", marked("Pipeline stages"), "stages", 1, 1, 256,
        marked("Stages that layers are spread over (pipeline_parallel_size).")))
    micro_batches: int = optional(Quantity(
        "mb", marked("Micro-batches"), "batches", 0, 0, 1024,
        marked("Parts of the batch in flight; 0 takes one for each stage.")))
    kv_sharding: str = optional(Option(
        "ks", marked("KV when TP > KV heads"), "replicated",
        marked("Where tensor parallel exceeds the KV heads: copies, or a split by batch or "
               "sequence (decode_context_parallel_size)."),
        options=KV_SHARDINGS))
    attention_format: NumberFormat | None = optional(Choice(
        "ac", marked("Attention compute"), "compute",
        marked("Format of scores and values; by default that of the matrix products."),
        catalogue="formats", use="compute", none="compute"))
    overlap: float = optional(Quantity(
        "ov", marked("Read overlap"), "share", 1.0, 0.0, 1.0,
        marked("Share of the shorter of reading and computing that hides behind the longer."),
        whole=False))
    link_overlap: float = optional(Quantity(
        "lo", marked("Link overlap"), "share", 0.0, 0.0, 1.0,
        marked("Share of the shorter of communicating and all else that hides behind the longer."),
        whole=False))
    bandwidth_efficiency: float | None = optional(Quantity(
        "eb", marked("Bandwidth kept"), "share", 1.0, 0.1, 1.0,
        marked("Of the published memory bandwidth; kernels reach 0.75 to 0.9."), whole=False,
        table=True))
    compute_efficiency: float | None = optional(Quantity(
        "ec", marked("FLOP rate kept"), "share", 1.0, 0.05, 1.0,
        marked("Of the published dense rate; kernels reach 0.6 to 0.85."), whole=False,
        table=True))
    hop_latency: float = optional(Quantity(
        "hop", marked("Hop latency"), "µs", 1.0, 0.0, 50.0,
        marked("Time for a message to pass one chip or switch."),
        whole=False, scale=1e-6, step=0.1))
    scale_out: float = optional(Quantity(
        "net", marked("Network per chip"), "GB/s", 50, 1, 4096,
        marked("One way, beyond the fast links: one 400 Gb/s port is 50."), scale=1e9))
    load_imbalance: float = optional(Quantity(
        "li", marked("Expert imbalance"), "ratio", 1.0, 1.0, 8.0,
        marked("Busiest expert-parallel chip over the mean."), whole=False, step=0.05))
    step_overhead: float = optional(Quantity(
        "os", marked("Step overhead"), "µs", 0, 0, 20000,
        marked("Scheduler, sampler, launch: added to each step."), scale=1e-6))
    layer_overhead: float | None = optional(Quantity(
        "ol", marked("Layer overhead"), "µs", 0, 0, 1000,
        marked("Kernel launches and gaps, added for each layer."), scale=1e-6, table=True))
    prompt: int = optional(Quantity(
        "p", marked("Prompt"), "tokens", 8192, 1, 4194304,
        marked("Tokens of a prompt before the first answer token.")))
    output: int = optional(Quantity(
        "g", marked("Output"), "tokens", 512, 1, 1048576,
        marked("Tokens that a request generates.")))
    mfu: float | None = optional(Quantity(
        "mfu", marked("Prefill MFU"), "share", 0.4, 0.05, 1.0,
        marked("Share of the dense rate that reading a prompt reaches."), whole=False, table=True))
    chunk: int = optional(Quantity(
        "ch", marked("Chunk"), "tokens", 512, 1, 1048576,
        marked("Prompt tokens that ride along with one decode step (max_num_batched_tokens less "
               "the batch, chunked_prefill_size).")))
    tpot_target: float = optional(Quantity(
        "tt", marked("Wanted TPOT"), "ms", 50, 1, 10000,
        marked("Longest decode step that chunks may lead to."), scale=1e-3))
    prefix_hit: int = optional(Quantity(
        "px", marked("Prefix cached"), "tokens", 0, 0, 4194304,
        marked("Prompt tokens whose cache is there already.")))
    kv_block: int = optional(Quantity(
        "bl", marked("Cache block"), "tokens", 16, 1, 4096,
        marked("Tokens of one block: a prefix counts in whole blocks (block_size, page_size, "
               "tokens_per_block).")))
    price: float = optional(Quantity(
        "usd", marked("Price"), "USD/hour", 0.0, 0.0, 1000.0,
        marked("Of one chip; 0 takes the preset's."), whole=False))
    power: float = optional(Quantity(
        "pw", marked("Power"), "W", 0.0, 0.0, 100000.0,
        marked("Of one chip, cooling and host included if you like; 0 takes the preset's."),
        whole=False))
    runtime_memory: float = optional(Quantity(
        "rt", marked("Runtime memory"), "GB", 0.0, 0.0, 64.0,
        marked("What the engine itself keeps on each chip; often 1 to 3."),
        whole=False, scale=1e9, step=0.1))
    engine: str = optional(Option(
        "eng", marked("Engine"), BY_CHIP,
        marked("Kind of engine whose measurements calibrated times go by; chip takes the usual "
               "one of the chip."),
        options=ENGINES))
    link_efficiency: float | None = optional(Quantity(
        "el", marked("Link bandwidth kept"), "share", 1.0, 0.05, 1.0,
        marked("Of the published bandwidth of links and network; collectives reach about 0.6."),
        whole=False, table=True))
    kernel_time: float | None = optional(Quantity(
        "kt", marked("Time per kernel"), "µs", 0.0, 0.0, 500.0,
        marked("Launch, ramp and wait, added for each kernel of each layer."),
        whole=False, scale=1e-6, step=0.1, table=True))
    reduce_latency: float | None = optional(Quantity(
        "ar", marked("All-reduce latency"), "µs", 0.0, 0.0, 500.0,
        marked("Added to each all-reduce; its hops are the least."),
        whole=False, scale=1e-6, step=0.1, table=True))
    host_share: float = optional(Quantity(
        "hs", marked("Weights on host"), "share", 0.0, 0.0, 1.0,
        marked("Of the routed experts, or of all layers of a dense model, in memory of the host; "
               "llama.cpp: n-cpu-moe over the layers."),
        whole=False))
    host_compute: str = optional(Option(
        "hc", marked("Multiplied on"), host.HOST,
        marked("Host: where they lie, as llama.cpp and ktransformers do. Chip: sent there in every "
               "step."),
        options=host.PLACES))
    host_bandwidth: float = optional(Quantity(
        "hb", marked("Host bandwidth"), "GB/s", 90, 1, 10000,
        marked("Of host memory, a chip's part; two channels of DDR5-5600 are 90. What goes to the "
               "chip takes its link too."), scale=1e9))
    host_rate: float = optional(Quantity(
        "hf", marked("Host FLOP rate"), "TFLOP/s", 2.0, 0.1, 1000.0,
        marked("That the host reaches, a chip's part."), whole=False, scale=1e12, step=0.1))
    redundant_experts: int = optional(Quantity(
        "rx", marked("Redundant experts"), "experts", 0, 0, 1024,
        marked("Second copies in each layer of experts that are spread; DeepSeek: 32.")))
    own_rows: int = optional(Quantity(
        "cn", marked("Own measurements"), "rows", 0, 0, 100000,
        marked("That calibrated times are fitted on; 0 takes the table's constants.")))
    own_error: float = optional(Quantity(
        "cx", marked("Their error"), "share", 0.0, 0.0, 10.0,
        marked("How far the fit is off on those very measurements, in the median."), whole=False))
    own_bandwidth: float = optional(Quantity(
        "ce", marked("Fitted bandwidth kept"), "share", 1.0, 0.1, 1.0,
        marked("In place of the table's."), whole=False))
    own_kernel_time: float = optional(Quantity(
        "ck", marked("Fitted time per kernel"), "µs", 0.0, 0.0, 500.0,
        marked("In place of the table's."), whole=False, scale=1e-6, step=0.1))
    terms: str = optional(Option(
        "buy", marked("Terms"), "demand",
        marked("Rented on demand, reserved or spot at a discount; or owned: purchase price over "
               "hours in use, and electricity."),
        options=tuple(purchase.TERMS)))
    discount: float = optional(Quantity(
        "dis", marked("Discount"), "share", 0.0, 0.0, 0.99,
        marked("Of the price on demand, where chips are reserved or spot."),
        whole=False, step=0.05))
    capital: float = optional(Quantity(
        "cap", marked("Purchase price"), "USD", 0.0, 0.0, 1e7,
        marked("Of one chip that is owned; 0 takes that of the price list or of the own chip."),
        whole=False, step=100.0))
    surroundings: float = optional(Quantity(
        "hn", marked("Host and network"), "share", 0.0, 0.0, 10.0,
        marked("What they cost beside owned chips, as a share of these."), whole=False,
        step=0.05))
    years: float = optional(Quantity(
        "yr", marked("Years"), "years", 4.0, 0.5, 20.0,
        marked("Over which owned chips are written off; usually 3 to 6."), whole=False, step=0.5))
    in_use: float = optional(Quantity(
        "ut", marked("In use"), "share", 1.0, 0.01, 1.0,
        marked("Of those years: what is idle is paid for by the rest."), whole=False, step=0.05))
    energy_price: float = optional(Quantity(
        "kwh", marked("Electricity"), "USD/kWh", 0.1, 0.0, 5.0,
        marked("For owned chips at their power."), whole=False))
    pue: float = optional(Quantity(
        "pue", marked("Building PUE"), "ratio", 1.0, 1.0, 3.0,
        marked("Power of the building over that of its machines."), whole=False, step=0.05))

    # fmt: on
    @cached_property
    def engine_class(self) -> EngineClass | None:
        """The class that its times go by: at fidelity ``calibrated``, where its chip has one."""
        return class_of(self.chip, self.fidelity, self.engine)

    @cached_property
    def own(self) -> Own | None:
        """The calibration of one's own that its times go by, before the class's."""
        return own_of(
            self.fidelity, self.own_rows, self.own_error, self.own_bandwidth, self.own_kernel_time
        )

    @cached_property
    def constants(self) -> Constants:
        """What its times are made with: what it sets itself, else its class, else the defaults.

        A calibration of one's own goes before the class.

        Overhead set for each layer takes the place of the class's time for each kernel.
        """
        own = {one.name: getattr(self, one.name) for one in fields_of(Constants)}
        if own["layer_overhead"] is not None and own["kernel_time"] is None:
            own["kernel_time"] = 0.0
        given = {name: one for name, one in own.items() if one is not None}
        return replace(usual(self.engine_class, self.own), **given)

    @cached_property
    def stored(self) -> Stored:
        """How each part of the weights is stored; bf16 where a model as published says nothing."""
        return self.weight_format or self.model.checkpoint or UNSAID

    @property
    def weight_bits(self) -> float:
        """Bits of a parameter on average [bit]."""
        return 8 * self.model.weight_bytes(self.stored) / self.model.held_params

    @cached_property
    def one_rate(self) -> bool:
        """Whether all linear layers are multiplied in the compute format."""
        return set(self.model.multiplied_in(self.stored, self.compute_format)) == {
            self.compute_format
        }

    @cached_property
    def linear_rate(self) -> float:
        """Peak of the linear layers together, each part in the format it is multiplied in [FLOP/s].

        nan where the chip publishes no rate for one of them.
        """
        if self.one_rate:
            return self.chip.peak(self.compute_format)
        used = host.chip_multiplied_in(self)
        seconds = sum(n / self.chip.peak(one) for one, n in used.items())
        # None where every rate is taken as unlimited.
        with np.errstate(divide="ignore"):
            rate: float = np.divide(sum(used.values()), seconds)
        return rate

    def __post_init__(self) -> None:
        for name, default, fault in _CHECKS:
            value = getattr(self, name)
            # Most hold their default, and a copy is made for every figure of a sweep.
            told = None if value is default else fault(value)
            if told:
                raise ScenarioError(f"{name} is {told}")


SCHEMA: tuple[Field, ...] = fields.schema(Scenario)
FIELDS: Mapping[str, Field] = {one.name: one for one in SCHEMA}
_DEFAULTS = {one.name: one.default for one in fields_of(Scenario)}
_CHECKS = [(one.name, _DEFAULTS[one.name], one.fault) for one in SCHEMA]

# What an absent key means where no class is asked.
_TABLED = [FIELDS[one.name] for one in fields_of(Constants)]
PLAIN = Constants(**fields.resolved(_TABLED, {one.name: one.default for one in _TABLED}, {}))

def class_of(chip: Chip, fidelity: str, engine: str) -> EngineClass | None:
    """The class that times at a fidelity go by; None where there is none to plan with."""
    found = chip.engine_class(engine) if fidelity == "calibrated" else None
    return found if found and found.usable else None


def own_of(
    fidelity: str, rows: int, error: float, bandwidth: float, kernel_time: float
) -> Own | None:
    """The calibration that the fields of `OWN` make, where calibrated times are asked for."""
    return Own(rows, error, bandwidth, kernel_time) if fidelity == "calibrated" and rows else None


def usual(engine_class: EngineClass | None, own: Own | None = None) -> Constants:
    """The constants of a scenario that sets none: its class's, or what absent keys mean."""
    found = engine_class.constants if engine_class else PLAIN
    if own is None:
        return found
    return replace(
        found, bandwidth_efficiency=own.bandwidth_efficiency, kernel_time=own.kernel_time
    )


_PARAMETERS = f"    Parameters\n    ----------\n{fields.described(SCHEMA)}"
Scenario.__doc__ = f"{Scenario.__doc__}".replace("    Raises\n", f"{_PARAMETERS}\n    Raises\n", 1)


def build(values: Mapping[str, Any], catalogues: Catalogues) -> Scenario:
    """A scenario from plain field values, ids looked up in the catalogues.

    Fields that `values` leaves out take their defaults.
    """
    return Scenario(**fields.resolved(SCHEMA, values, catalogues))


def values_of(scenario: Scenario) -> dict[str, Any]:
    """Plain values of a scenario by field name, the reverse of `build`.

    They are what links and controls carry: ids for what is picked, numbers in the field's unit.
    """
    return {one.name: one.plain(getattr(scenario, one.name)) for one in SCHEMA}


def differences(before: Scenario, after: Scenario) -> dict[str, Any]:
    """Plain values, by field name, in which `after` is not `before`.

    Put over the values of `before` they build `after`, so that a control can make one of the other.
    """
    was = values_of(before)
    return {name: value for name, value in values_of(after).items() if value != was[name]}
