"""The scenario: everything that a result depends on, and the one schema of its fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calc.chip import Chip
from calc.formats import NumberFormat
from calc.model import Model

Catalogues = Mapping[str, Mapping[str, Any]]


class ScenarioError(ValueError):
    """A field of a scenario that cannot be; the message names it and says why."""


@dataclass(frozen=True)
class Quantity:
    """A numeric field: its range, default and unit.

    `name` is the attribute of `Scenario`, `key` the parameter in a link.
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

    def problem(self, value: float) -> str | None:
        """Why `value` cannot be used, or None when it can."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "not a number"
        if not math.isfinite(value):
            return "not a finite number"
        if self.whole and value != int(value):
            return "not a whole number"
        if not self.low <= value <= self.high:
            return f"outside {self.low:,} to {self.high:,}"
        return None

    def cast(self, value: float) -> float:
        """The value as the type the field has."""
        return int(value) if self.whole else float(value)


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


Field = Quantity | Choice

# Keys are part of every link ever shared: add fields, never rename or reuse a key.
SCHEMA: tuple[Field, ...] = (
    Choice("model", "model", "Model", "llama-3-70b", "Architecture whose decode step is timed.",
           catalogue="models"),
    Choice("chip", "chip", "Chip", "tpu-v5e", "Accelerator; its published figures are on About.",
           catalogue="chips"),
    Quantity("n_chips", "n", "Chips", "chips", 16, 1, 16384,
             "Chips that share one replica of the model, weights and cache fully sharded."),
    Quantity("usable_memory", "u", "Usable memory", "fraction", 1.0, 0.3, 1.0,
             "Share of each chip's memory left to weights and cache; engines often keep 10 %.",
             whole=False),
    Choice("weight_format", "w", "Weights", "int8", "How weights are stored and read.",
           catalogue="formats", use="weights"),
    Choice("kv_format", "kv", "KV cache", "int8", "How cached keys and values are stored.",
           catalogue="formats", use="kv"),
    Choice("compute_format", "c", "Compute", "bf16",
           "Format of the matrix products: it sets the FLOP rate.",
           catalogue="formats", use="compute"),
    Quantity("batch", "b", "Batch", "sequences", 32, 1, 65536,
             "Sequences that decode together in one replica."),
    Quantity("context", "s", "Context", "tokens", 8192, 1, 16777216,
             "Tokens already cached for each sequence."),
    Quantity("acceptance", "a", "Acceptance", "probability", 0.8, 0.0, 1.0,
             "Probability that a drafted token is accepted.", whole=False),
    Quantity("n_draft", "k", "Draft length", "tokens", 4, 0, 64,
             "Tokens drafted before each verification."),
    Choice("draft", "d", "Draft", "ratio",
           "A draft model with its own weights, cache and time, or a ratio of costs.",
           catalogue="models", none="ratio"),
    Quantity("cost_ratio", "r", "Cost ratio", "fraction", 0.05, 0.0, 2.0,
             "Time of one draft step over one target step; near 0 for n-gram lookup.", whole=False),
    Quantity("temperature", "t", "Temperature", "", 1.0, 0.0, 2.0,
             "Of target and draft in the acceptance bench; 0 is greedy.", whole=False),
    Quantity("top_k", "tk", "Top-k", "tokens", 0, 0, 64,
             "Likeliest tokens kept in the acceptance bench; 0 keeps all."),
    Quantity("top_p", "tp", "Top-p", "probability", 1.0, 0.05, 1.0,
             "Probability kept in the acceptance bench; 1 keeps all.", whole=False),
)  # fmt: skip

FIELDS: Mapping[str, Field] = {field.name: field for field in SCHEMA}
BY_KEY: Mapping[str, Field] = {field.key: field for field in SCHEMA}

FIDELITIES = ("bound",)


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
        Which formula times the step; "bound" is F3.1, the textbook roofline.

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

    def __post_init__(self) -> None:
        for field in SCHEMA:
            if isinstance(field, Quantity):
                problem = field.problem(getattr(self, field.name))
                if problem:
                    raise ScenarioError(f"{field.name} is {problem}")
        if self.fidelity not in FIDELITIES:
            raise ScenarioError(f"fidelity is not one of {', '.join(FIDELITIES)}")


def build(values: Mapping[str, Any], catalogues: Catalogues) -> Scenario:
    """A scenario from plain field values, ids looked up in the catalogues.

    Fields that `values` leaves out take their defaults.
    """
    chosen: dict[str, Any] = {field.name: values.get(field.name, field.default) for field in SCHEMA}
    resolved: dict[str, Any] = {
        field.name: field.resolve(chosen[field.name], catalogues)
        if isinstance(field, Choice)
        else field.cast(chosen[field.name])
        for field in SCHEMA
    }
    return Scenario(**resolved)
