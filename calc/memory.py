"""What is resident in memory, how many sequences fit, and how few chips hold it.

Everything is over all chips of the replica.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.layout import Layout
from calc.scenario import FIELDS, Quantity, Scenario

Array = NDArray[np.float64]


def weights(scenario: Scenario) -> float:
    """Bytes of all weights, the input embedding and copies of groups included [byte]."""
    s = scenario
    if s.fidelity == "bound":
        return s.model.total_params * s.weight_format.bytes
    held = Layout.of(s).weights_per_chip(s.model)
    return float(held) * s.n_chips * s.weight_format.bytes


def kv_per_sequence(scenario: Scenario, context: ArrayLike | None = None) -> Array:
    """Cache that one sequence holds over all chips, copies included [byte].

    References
    ----------
    formulas.md F2.1–F2.4, copies F3.7.
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
    """Memory that weights and cache may fill [byte]."""
    return scenario.n_chips * scenario.chip.memory * scenario.usable_memory


def max_batch(scenario: Scenario, context: ArrayLike | None = None) -> NDArray[np.int64]:
    """Whole sequences whose cache fits beside the weights; 0 when the weights alone do not.

    References
    ----------
    formulas.md F6.2, without activations; each group of chips has its own sequences.
    """
    groups = _groups(scenario)
    each = kv_per_sequence(scenario, context)
    room = (capacity(scenario) - weights(scenario)) / groups
    count = np.floor(np.maximum(room, 0) / each)
    # The quotient may round across a whole number: the product decides.
    count = np.where(count * each > room, count - 1, count)
    count = np.where((count + 1) * each <= room, count + 1, count)
    return np.asarray(groups * np.maximum(count, 0), dtype=np.int64)


def fits(scenario: Scenario) -> bool:
    """Whether weights and the batch's cache fit."""
    return bool(weights(scenario) + kv_cache(scenario) <= capacity(scenario))


def chips_needed(scenario: Scenario) -> float:
    """Chips' worth of memory that weights and the batch's cache take, not rounded [chip]."""
    held = weights(scenario) + float(kv_cache(scenario))
    return held / (scenario.chip.memory * scenario.usable_memory)


def min_chips(scenario: Scenario) -> int:
    """Fewest chips, as a slice that can be had, that hold weights and the batch's cache [chip].

    0 if no number of chips does in this layout: copies do not shrink when chips are added.

    References
    ----------
    formulas.md F6.2.
    """
    s = scenario
    fewest = s.chip.legal_count(chips_needed(replace(s, fidelity="bound")))
    if s.fidelity == "bound":
        return fewest
    chips = FIELDS["n_chips"]
    assert isinstance(chips, Quantity)
    while fewest <= chips.high:
        tried = replace(s, n_chips=fewest, tensor_parallel=0)
        if fits(tried):
            return fewest
        fewest = s.chip.legal_count(fewest + 1)
    return 0


@dataclass(frozen=True)
class Ledger:
    """What fills the memory of all chips [byte].

    `free` is negative by what is missing when the scenario does not fit. `reserved` is what
    `usable_memory` keeps back.
    """

    weights: float
    kv_cache: float
    free: float
    reserved: float

    @property
    def total(self) -> float:
        """Physical memory of all chips [byte]."""
        return self.weights + self.kv_cache + self.free + self.reserved


def ledger(scenario: Scenario) -> Ledger:
    """The memory of the scenario, item by item."""
    held, cached, room = weights(scenario), float(kv_cache(scenario)), capacity(scenario)
    physical = scenario.n_chips * scenario.chip.memory
    return Ledger(held, cached, room - held - cached, physical - room)
