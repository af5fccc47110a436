"""What is resident in memory, how many sequences fit, and how few chips hold it.

Everything is over all chips of the replica.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.scenario import Scenario


def weights(scenario: Scenario) -> float:
    """Bytes of all weights, the input embedding included [byte]."""
    return scenario.model.total_params * scenario.weight_format.bytes


def kv_per_sequence(scenario: Scenario, context: ArrayLike | None = None) -> NDArray[np.float64]:
    """Cache that one sequence holds [byte] (formulas.md F2.1–F2.4)."""
    length = scenario.context if context is None else context
    return scenario.model.kv_bytes(length, scenario.kv_format)


def kv_cache(
    scenario: Scenario, batch: ArrayLike | None = None, context: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Cache that the whole batch holds [byte]."""
    sequences = scenario.batch if batch is None else batch
    return np.asarray(sequences) * kv_per_sequence(scenario, context)


def capacity(scenario: Scenario) -> float:
    """Memory that weights and cache may fill [byte]."""
    return scenario.n_chips * scenario.chip.memory * scenario.usable_memory


def max_batch(scenario: Scenario, context: ArrayLike | None = None) -> NDArray[np.int64]:
    """Whole sequences whose cache fits beside the weights; 0 when the weights alone do not.

    References
    ----------
    formulas.md F6.2 with no replication and no activations.
    """
    each = kv_per_sequence(scenario, context)
    room = capacity(scenario) - weights(scenario)
    count = np.floor(np.maximum(room, 0) / each)
    # The quotient may round across a whole number: the product decides.
    count = np.where(count * each > room, count - 1, count)
    count = np.where((count + 1) * each <= room, count + 1, count)
    return np.asarray(np.maximum(count, 0), dtype=np.int64)


def fits(scenario: Scenario) -> bool:
    """Whether weights and the batch's cache fit."""
    return bool(weights(scenario) + kv_cache(scenario) <= capacity(scenario))


def chips_needed(scenario: Scenario) -> float:
    """Chips' worth of memory that weights and the batch's cache take, not rounded [chip]."""
    held = weights(scenario) + float(kv_cache(scenario))
    return held / (scenario.chip.memory * scenario.usable_memory)


def min_chips(scenario: Scenario) -> int:
    """Fewest chips, as a slice that can be had, that hold weights and the batch's cache [chip].

    References
    ----------
    formulas.md F6.2.
    """
    return scenario.chip.legal_count(chips_needed(scenario))


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
