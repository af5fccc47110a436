"""An accelerator as its vendor describes it; what nobody published stays unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from calc.engine import BY_CHIP, EngineClass
from calc.formats import NumberFormat

RATES = ("bf16", "fp16", "fp8", "int8", "int4", "fp4", "fp6")

# Wide enough for any machine, narrow enough to catch GB for bytes or a sparse exaflop.
PLAUSIBLE: Mapping[str, tuple[float, float]] = {
    "memory": (1e8, 1e14),
    "visible_memory": (1e8, 1e14),
    "host_link": (1e8, 1e14),
    "bandwidth": (1e10, 1e17),
    "peak": (1e11, 1e18),
    "link_one_way": (1e8, 1e14),
    "link_two_way": (1e8, 1e14),
    "power": (1, 1e5),
    "price": (0.01, 1e4),
    "capital": (1, 1e7),
    "chips_per_node": (1, 1e5),
}


@dataclass(frozen=True)
class Price:
    """What one chip costs for an hour, as one source printed it at one time [USD/hour]."""

    usd_per_hour: float
    source: str


FABRICS = ("switch", "mesh", "torus", "none")


@dataclass(frozen=True)
class Fabric:
    """How chips reach each other over their fast links.

    Parameters
    ----------
    kind : str
        ``switch``, ``mesh`` (a link for each pair), ``torus``, or ``none``.
    reach : float
        Chips that reach each other over it; beyond, traffic goes over the network.
    axes : int
        Axes of a torus.
    wraps_from : int
        Length from which an axis of a torus is a ring; 0 if none is.
    """

    kind: str = "switch"
    reach: float = math.inf
    axes: int = 1
    wraps_from: int = 0


@dataclass(frozen=True)
class Chip:
    """One accelerator.

    Parameters
    ----------
    id, name, vendor : str
        Slug used in links, the name shown to people, the maker.
    memory : float
        Memory of one chip as programs see it, where that is known, else as the maker prints it
        [byte]. Capacity counts it at every fidelity.
    printed_memory : float
        As the maker prints it [byte]; nan where it is `memory`.
    memory_by : str
        Who says `memory`: the ``runtime`` of a framework, a management ``tool``, or the ``maker``.
    host_link : float
        To the memory of its host, one way [byte/s]; nan unknown.
    bandwidth : float
        Memory bandwidth of one chip [byte/s]; nan unknown.
    peaks : mapping of str to float
        Dense peak rate for each compute rate key, such as ``bf16`` [FLOP/s].
    topology, fabric : str, Fabric
        How chips are connected, in the vendor's words and as the ledger counts it.
    link_one_way, link_two_way : float
        Bandwidth of one link (torus) or of all links of the chip (switch) [byte/s]; nan unknown.
    slices : tuple of int
        Chip counts that can be had as one slice; empty when no list is published.
    power : float
        Board power [W]; nan unknown.
    unpublished : float
        What a rate that is not in `peaks` counts as [FLOP/s]: nan unknown, inf in `known.least`.
    price : Price or None
        The price used; `other_prices` keeps what else was printed.
    capital : float
        What its owner paid for it [USD]; nan where it is rented, or nobody said.
    engines : mapping of str to EngineClass
        What engines reach on it, by kind of engine, the usual one first; empty where nobody
        published enough.
    sources : mapping of str to str
        Where each figure comes from.
    notes : tuple of str
        Conflicts between sources and other things to know.
    """

    id: str
    name: str
    vendor: str
    memory: float
    bandwidth: float
    peaks: Mapping[str, float]
    topology: str = ""
    fabric: Fabric = Fabric()
    link_one_way: float = math.nan
    link_two_way: float = math.nan
    chips_per_node: int | None = None
    slices: tuple[int, ...] = ()
    power: float = math.nan
    price: Price | None = None
    other_prices: tuple[Price, ...] = ()
    capital: float = math.nan
    printed_memory: float = math.nan
    memory_by: str = "maker"
    host_link: float = math.nan
    unpublished: float = math.nan
    engines: Mapping[str, EngineClass] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def peak(self, compute_format: NumberFormat) -> float:
        """Dense peak rate in a compute format [FLOP/s]; nan when none is published.

        nan is how an unknown travels: whatever needs it comes out as nan and is shown as
        "not published", and everything else keeps its number.
        """
        return self.peaks.get(compute_format.rate or "", self.unpublished)

    def publishes(self, compute_format: NumberFormat) -> bool:
        """Whether there is a rate for a compute format."""
        return compute_format.rate in self.peaks

    def engine_class(self, engine: str = BY_CHIP) -> EngineClass | None:
        """The class of a kind of engine on it; None where there is none."""
        if engine == BY_CHIP:
            return next(iter(self.engines.values()), None)
        return self.engines.get(engine)

    @cached_property
    def unlimited(self) -> Chip:
        """Itself with whatever of its speed nobody published unlimited; `stated` leads back.

        It is one object, as the chip is, so that scenarios of it are equal.
        """

        def taken(value: float) -> float:
            return math.inf if math.isnan(value) else value

        found = replace(
            self,
            bandwidth=taken(self.bandwidth),
            link_one_way=taken(self.link_one_way),
            link_two_way=taken(self.link_two_way),
            # Of a memory without bandwidth only the rates say anything.
            unpublished=math.nan if math.isnan(self.bandwidth) else math.inf,
        )
        found.__dict__["stated"] = self
        return found

    @cached_property
    def stated(self) -> Chip:
        """The chip with what is taken as unlimited unknown again; itself if nothing is."""
        speeds = (self.bandwidth, self.link_one_way, self.link_two_way, self.unpublished)
        if not any(map(math.isinf, speeds)):
            return self
        bandwidth, one_way, two_way, rate = (
            math.nan if math.isinf(speed) else speed for speed in speeds
        )
        return replace(
            self, bandwidth=bandwidth, link_one_way=one_way, link_two_way=two_way, unpublished=rate
        )

    def legal_count(self, chips: float) -> int:
        """Fewest chips, at least `chips`, that can be had together.

        A published slice list decides; past its end whole largest slices are added. Without a list
        counts are powers of two (F6.2).

        >>> v5e = Chip("v5e", "TPU v5e", "Google", 16e9, 8.2e11, {}, slices=(1, 4, 8, 16))
        >>> v5e.legal_count(4.4), v5e.legal_count(33)
        (8, 48)
        """
        if not self.slices:
            return int(2 ** max(0, math.ceil(math.log2(chips))))
        fitting = [count for count in self.slices if count >= chips]
        if fitting:
            return min(fitting)
        return math.ceil(chips / max(self.slices)) * max(self.slices)


@dataclass(frozen=True)
class ChipArray(Chip):
    """Several chips that are timed in one call: each figure is an array along a first axis.

    Layouts and batches take two more. What is no figure of speed or memory is that of `members`,
    which engines reach the same shares on.
    """

    members: tuple[Chip, ...] = ()

    @classmethod
    def of(cls, members: Sequence[Chip]) -> ChipArray:
        """The chips as one."""

        def together(figures: Iterable[float]) -> Any:
            return np.array(list(figures), dtype=float)[:, None, None]

        rates = {rate for chip in members for rate in chip.peaks}
        peaks = {
            rate: together(chip.peaks.get(rate, chip.unpublished) for chip in members)
            for rate in sorted(rates)
        }
        return cls(
            "", "", "",
            together(chip.memory for chip in members),
            together(chip.bandwidth for chip in members),
            peaks,
            engines=members[0].engines,
            members=tuple(members),
        )  # fmt: skip
