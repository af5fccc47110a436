"""What is resident in memory, how many sequences fit, and how few chips hold it.

Everything is over all chips of the replica.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import host
from calc.fields import Quantity
from calc.layout import Layout
from calc.model import Model
from calc.scenario import FIELDS, Scenario

Array = NDArray[np.float64]

_SCORE_BYTES = 4  # scores of the vocabulary are sampled in fp32


def weights(scenario: Scenario) -> float:
    """All weights on the chips, the input embedding and copies of groups included [byte]."""
    s = scenario
    if s.fidelity == "bound":
        return s.model.weight_bytes(s.stored) - host.weights(s)
    return float(Layout.of(s).weights_per_chip(s)) * s.n_chips


def kv_per_sequence(scenario: Scenario, context: ArrayLike | None = None) -> Array:
    """Cache that one sequence holds over all chips, copies included [byte].

    References
    ----------
    F2.1–F2.12, copies F3.7.
    """
    s = scenario
    length = s.context if context is None else context
    if s.fidelity == "bound":
        return s.model.kv_bytes(length, s.kv_format)
    layout = Layout.of(s)
    return np.asarray(layout.cache_per_chip(s, length) * layout.tp * layout.pp)


def kv_cache(
    scenario: Scenario, batch: ArrayLike | None = None, context: ArrayLike | None = None
) -> Array:
    """Cache that the whole batch holds, with every group as full as the fullest [byte]."""
    sequences = np.asarray(scenario.batch if batch is None else batch)
    groups = _groups(scenario)
    return np.asarray(np.ceil(sequences / groups) * groups * kv_per_sequence(scenario, context))


def _groups(scenario: Scenario) -> int:
    """Groups that the batch is dealt out to."""
    return 1 if scenario.fidelity == "bound" else int(Layout.of(scenario).dp)


def capacity(scenario: Scenario) -> float:
    """Memory that weights and cache may fill, the engine's own taken off [byte]."""
    s = scenario
    return s.n_chips * max(0.0, s.chip.memory * s.usable_memory - s.runtime_memory)


def activations_per_chip(scenario: Scenario, layout: Layout) -> Array:
    """Activations at their largest for one decoding sequence, on one chip of its group [byte].

    The residual stream, the wider of queries, keys and values or hidden columns, and the scores of
    the vocabulary.

    References
    ----------
    F6.1.
    """
    s, model = scenario, scenario.model
    parted = widest_parted(model)
    each = (2.0 * model.d_model + parted / layout.tp) * s.compute_format.bytes
    return np.asarray(each + model.vocabulary * _SCORE_BYTES / layout.tp)


def widest_parted(model: Model) -> float:
    """Elements of a token at their most among those that a group of chips splits.

    Hidden columns and the gate beside them, or queries, keys and values.
    """
    columns = [
        sum(part.top_k * part.columns for part in block.feedforward.parts(model.d_model))
        for block in model.blocks
    ]
    splits = [block.attention.split for block in model.blocks]
    queries = [split.query_elements + 2 * split.output_elements for split in splits]
    return 2.0 * max(columns, default=0) + max(queries, default=0)


def activations_per_sequence(scenario: Scenario) -> float:
    """Activations of one sequence over all chips of its group [byte]; the bound counts none."""
    if scenario.fidelity == "bound":
        return 0.0
    chosen = Layout.of(scenario)
    return float(activations_per_chip(scenario, chosen) * chosen.tp * chosen.pp)


def beside_prefix(
    scenario: Scenario, prefix: float, context: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Cache of a prefix that sequences have in common, and what each holds beside it [byte].

    A sequence holds what its tokens behind the prefix would hold alone: windows are filled by
    these first, and a constant state is always its own.

    Parameters
    ----------
    scenario : Scenario
        Model, format and layout.
    prefix : float
        Tokens in common, fewer than the context [token].
    context : array_like, optional
        Cached tokens to use instead of the scenario's.

    References
    ----------
    F8.29.
    """
    length = np.asarray(scenario.context if context is None else context)
    whole = kv_per_sequence(scenario, length)
    own = np.minimum(kv_per_sequence(scenario, length - prefix), whole)
    return np.asarray(whole - own), np.asarray(own)


def max_batch(
    scenario: Scenario, context: ArrayLike | None = None, prefix: float = 0
) -> NDArray[np.int64]:
    """Whole sequences whose cache fits beside the weights; 0 when the weights alone do not.

    Sequences that keep nothing all fit: then it is the largest batch that can be asked for. A
    `prefix` of so many tokens that all have in common is held once by each group of chips.

    References
    ----------
    F6.2; each group of chips has its own sequences.
    """
    common, own = beside_prefix(scenario, prefix, context)
    return fitting(scenario, own + activations_per_sequence(scenario), common)


def fitting(scenario: Scenario, each: ArrayLike, common: ArrayLike = 0.0) -> NDArray[np.int64]:
    """Whole things of `each` byte that fit beside the weights and what they have in common (F6.2).

    Each group of chips has its own, and holds what is `common` once [byte].
    """
    groups = _groups(scenario)
    room = (capacity(scenario) - weights(scenario)) / groups - np.asarray(common, dtype=float)
    return np.asarray(groups * whole(room, each, largest_asked() // groups), dtype=np.int64)


def whole(room: ArrayLike, each: ArrayLike, most: ArrayLike) -> Array:
    """Whole sequences of `each` byte in so much room; `most` where they take none [sequence]."""
    space, size = np.asarray(room, dtype=float), np.asarray(each, dtype=float)
    keeps, size = size > 0, np.where(size > 0, size, 1.0)
    count = np.floor(np.maximum(space, 0) / size)
    # The quotient may round across a whole number: the product decides.
    count = np.where(count * size > space, count - 1, count)
    count = np.where((count + 1) * size <= space, count + 1, count)
    return np.where(keeps, np.maximum(count, 0), np.where(space >= 0, most, 0))


def largest_asked() -> int:
    """The largest batch that a scenario may ask for [sequence]."""
    batch = FIELDS["batch"]
    assert isinstance(batch, Quantity)
    return int(batch.high)


def no_cache(scenario: Scenario) -> bool:
    """Whether a sequence keeps nothing at all: no attention, or none that caches."""
    return not float(kv_per_sequence(scenario))


def takes_nothing(scenario: Scenario) -> bool:
    """Whether a sequence takes no memory at all."""
    return no_cache(scenario) and not activations_per_sequence(scenario)


def any_batch(scenario: Scenario) -> bool:
    """Whether memory holds any number of sequences, since none takes any of it."""
    return takes_nothing(scenario) and weights_fit(scenario)


def activations(scenario: Scenario) -> float:
    """Activations of the whole batch, with every group as full as the fullest [byte]."""
    groups = _groups(scenario)
    return float(np.ceil(scenario.batch / groups) * groups * activations_per_sequence(scenario))


def weights_fit(scenario: Scenario) -> bool:
    """Whether the weights alone fit."""
    return weights(scenario) <= capacity(scenario)


def fits(scenario: Scenario) -> bool:
    """Whether weights, activations and the batch's cache fit."""
    resident = weights(scenario) + float(kv_cache(scenario)) + activations(scenario)
    return resident <= capacity(scenario)


def chips_needed(scenario: Scenario) -> float:
    """Chips' worth of memory that weights and the batch's cache take, not rounded [chip].

    inf where the engine itself takes all of it.
    """
    s = scenario
    resident = weights(s) + float(kv_cache(s))
    room = s.chip.memory * s.usable_memory - s.runtime_memory
    return resident / room if room > 0 else math.inf


def min_chips(scenario: Scenario) -> int:
    """Fewest chips, as a slice that can be had, that hold weights and the batch's cache [chip].

    0 if no number of chips does in this layout: copies do not shrink when chips are added.

    References
    ----------
    F6.2.
    """
    return fewest_chips(scenario, chips_needed(replace(scenario, fidelity="bound")), fits)


def most_chips() -> int:
    """Most chips that a scenario may have."""
    chips = FIELDS["n_chips"]
    assert isinstance(chips, Quantity)
    return int(chips.high)


def fewest_chips(scenario: Scenario, needed: float, holds: Callable[[Scenario], bool]) -> int:
    """Fewest chips that can be had, at least `needed`, with which `holds` is true; 0 if none.

    At fidelity ``operators`` the groups and stages of the layout are kept, and their copies with
    them.
    """
    s, most = scenario, most_chips()
    fewest = s.chip.legal_count(needed) if needed <= most else math.inf
    if s.fidelity == "bound" and fewest <= most:
        return int(fewest)
    while fewest <= most:
        tried = replace(s, n_chips=int(fewest), tensor_parallel=0)
        if fewest % (s.attention_dp * s.pipeline) == 0 and holds(tried):
            return int(fewest)
        fewest = s.chip.legal_count(fewest + 1)
    return 0


@dataclass(frozen=True)
class Ledger:
    """What fills the memory of all chips [byte].

    `free` is negative by what is missing when the scenario does not fit. `runtime` is what the
    engine takes, `reserved` what `usable_memory` keeps back.
    """

    weights: float
    kv_cache: float
    activations: float
    runtime: float
    free: float
    reserved: float

    @property
    def total(self) -> float:
        """Physical memory of all chips [byte]."""
        taken = self.weights + self.kv_cache + self.activations + self.runtime
        return taken + self.free + self.reserved

    def parts(self) -> dict[str, float]:
        """Each item by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def ledger(scenario: Scenario) -> Ledger:
    """The memory of the scenario, item by item."""
    s = scenario
    stored, cached, active = weights(s), float(kv_cache(s)), activations(s)
    physical, usable = s.n_chips * s.chip.memory, s.n_chips * s.chip.memory * s.usable_memory
    runtime = s.n_chips * s.runtime_memory
    free = usable - runtime - stored - cached - active
    return Ledger(stored, cached, active, runtime, free, physical - usable)
