"""What the Capacity page shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from calc import memory, roofline
from calc.memory import Ledger
from pages.ui.capacity import tables
from pages.ui.frame.page import Metrics, View


class CapacityView(View):
    """What is resident, and what would hold it."""

    @cached_property
    def ledger(self) -> Ledger:
        """What fills the memory of all chips."""
        return memory.ledger(self.scenario)

    @cached_property
    def largest(self) -> int:
        """Sequences that fit."""
        return int(memory.max_batch(self.scenario))

    @cached_property
    def fewest(self) -> int:
        """Chips that hold it; 0 where no number does."""
        return memory.min_chips(self.scenario)

    @cached_property
    def crossing(self) -> float:
        """The batch from which the linear layers are compute-bound."""
        return roofline.compute_bound_batch(self.scenario)

    @cached_property
    def topologies(self) -> Sequence[tables.Pair]:
        """Smallest slices and their doubles, the scenario's own formats first."""
        return tables.compared(self.scenario)


METRICS: Metrics[CapacityView] = {
    "weights": lambda view: view.ledger.weights,
    "kv_cache": lambda view: view.ledger.kv_cache,
    "free": lambda view: view.ledger.free if view.ledger.free >= 0 else None,
    "missing": lambda view: -view.ledger.free if view.ledger.free < 0 else None,
    "fewest_chips": lambda view: view.fewest,
    "max_batch": lambda view: view.largest,
    "compute_bound_batch": lambda view: view.crossing,
}
