"""How long chips take to tell each other things: collectives on a torus, a mesh or a switch.

Bandwidth of one direction and of both are kept apart: a ring of links sends both ways at once, a
line of links, which is what an axis without wraparound is, only one way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.chip import Chip, ChipArray, Fabric
from calc.scenario import Scenario

Array = NDArray[np.float64]


@lru_cache(maxsize=4096)
def torus_shape(chips: int, axes: int) -> tuple[int, ...]:
    """The most cubic shape of so many chips, longest axis last.

    >>> torus_shape(32, 2), torus_shape(64, 3), torus_shape(2, 2)
    ((4, 8), (4, 4, 4), (1, 2))
    """
    shape, rest, factor = [1] * axes, chips, 2
    factors = []
    while rest > 1:
        while rest % factor == 0:
            factors.append(factor)
            rest //= factor
        factor = factor + 1 if factor * factor <= rest else rest
    for prime in sorted(factors, reverse=True):
        shape[shape.index(min(shape))] *= prime
    return tuple(sorted(shape))


@dataclass(frozen=True)
class Path:
    """What a group of chips has for a collective: bytes per second into each chip, and hops."""

    bandwidth: float
    hops: float


def _one_nan(value: float) -> float:
    """The figure, an unknown one as one object: what is looked up by it is found again."""
    return math.nan if math.isnan(value) else value


@dataclass(frozen=True)
class Network:
    """The links of one replica's chips.

    Parameters
    ----------
    fabric : Fabric
        How chips are connected.
    one_way, two_way : float
        One link of a torus, or all links of a chip elsewhere, in one direction and in both
        [byte/s].
    hop : float
        Time for a message to pass one chip or switch [s].
    scale_out : float
        What each chip has to chips beyond the reach of the fabric [byte/s].
    reduction : float
        Time of an all-reduce beside that of what it sends [s].

    Notes
    -----
    A group of Y chips that gathers V bytes needs ``(Y-1)/Y V`` of them at every chip. A step is
    never shorter than its hops (F3.7; Austin et al. 2025, parts 3 and 12).
    """

    fabric: Fabric
    one_way: float
    two_way: float
    hop: float
    scale_out: float
    reduction: float = 0.0

    @classmethod
    def of(cls, scenario: Scenario) -> Network:
        """The network of a scenario's chips."""
        return cls.between(scenario.chip, scenario)

    @classmethod
    def between(cls, chip: Chip, scenario: Scenario) -> Network:
        """The network of chips of one kind, or of each of several kinds."""
        kept, reduction = scenario.constants.link_efficiency, scenario.constants.reduce_latency
        if isinstance(chip, ChipArray):
            each = tuple(cls.between(one, scenario) for one in chip.members)
            return Networks(
                Fabric(), math.nan, math.nan, scenario.hop_latency, 0.0, reduction, each
            )
        return cls(
            chip.fabric,
            _one_nan(chip.link_one_way * kept),
            _one_nan(chip.link_two_way * kept),
            scenario.hop_latency,
            scenario.scale_out * kept,
            reduction,
        )

    def path(self, group: float) -> Path:
        """What a group of so many neighbouring chips has."""
        return _path(self, group)

    def _over(self, group: ArrayLike) -> tuple[Array, Array, Array]:
        """Size, bandwidth and hops for groups, computed once for each size."""
        size = np.asarray(group, dtype=float)
        bandwidth = _for_each(size, lambda chips: self.path(chips).bandwidth)
        return size, bandwidth, _for_each(size, lambda chips: self.path(chips).hops)

    def bandwidth(self, group: ArrayLike) -> Array:
        """What comes into each chip of a group in a gather [byte/s]; inf for a chip alone."""
        return self._over(group)[1]

    def latency(self, group: ArrayLike) -> Array:
        """The shortest that a collective over a group can take [s]."""
        return self._over(group)[2] * self.hop

    def gather(self, size: ArrayLike, group: ArrayLike) -> Array:
        """All-gather to, or reduce-scatter from, an array of `size` bytes over a group [s]."""
        chips, bandwidth, hops = self._over(group)
        moved = np.asarray(size, dtype=float) * (1 - 1 / chips)
        return _longest(moved / bandwidth, hops * self.hop, chips)

    def reduce(self, size: ArrayLike, group: ArrayLike) -> Array:
        """All-reduce: a reduce-scatter and an all-gather, and what the kernel adds [s] (F3.12)."""
        chips, bandwidth, hops = self._over(group)
        sent = 2 * np.asarray(size, dtype=float) * (1 - 1 / chips) / bandwidth
        return _longest(sent + self.reduction, 2 * hops * self.hop, chips)

    def exchange(self, size: ArrayLike, group: ArrayLike, copies: float = 1.0) -> Array:
        """All-to-all in which each chip of a group sends `size` bytes, evenly to all [s].

        With `copies` of each thing that is sent, a node that is to have several gets it over the
        network once, and hands it on over its fast links: :math:`M (1 - (1 - 1/M)^c) / c` of what
        would leave for M nodes does (F3.8).

        On a torus half of everything crosses the middle of the longest axis, over as many links as
        the axis has parallels. Behind a switch what leaves the node goes over each chip's own
        port: nothing of it is shared.
        """
        chips = np.asarray(group, dtype=float)
        each = self._exchanging(chips, copies)
        return _longest(np.asarray(size, dtype=float) * each, self.latency(group), chips)

    def _exchanging(self, chips: Array, copies: float) -> Array:
        """Seconds for each byte that a chip of each group sends in an all-to-all."""
        return _for_each(chips, lambda number: _exchange_seconds(self, number, copies))

    def send(self, size: ArrayLike, group: ArrayLike) -> Array:
        """From each chip to one other among a group [s]."""
        bandwidth = self.one_to_one(np.asarray(group, dtype=float))
        return np.asarray(size, dtype=float) / bandwidth + self.hop

    def one_to_one(self, chips: Array) -> Array:
        """What a chip of each group has to one other that is farthest from it [byte/s]."""
        return np.where(chips > self.fabric.reach, self.scale_out, self.one_way)


# Axes of groups that are of one chip each: chips, layouts, batches.
_PLACED = 3


@dataclass(frozen=True)
class Networks(Network):
    """The links of several kinds of chips, along a first axis of all that comes out.

    Groups with three axes have that one already: each is of the chip at its place.
    """

    each: tuple[Network, ...] = ()

    def _over(self, group: ArrayLike) -> tuple[Array, Array, Array]:
        size = np.asarray(group, dtype=float)
        bandwidth, hops = self._tabled(size, _paths)
        return size, bandwidth, hops

    def _exchanging(self, chips: Array, copies: float) -> Array:
        return np.asarray(self._tabled(chips, partial(_exchanges, copies=copies))[0])

    def one_to_one(self, chips: Array) -> Array:
        reach = np.array([one.fabric.reach for one in self.each])[:, None]
        far, near = (
            np.array([figure(one) for one in self.each])[:, None]
            for figure in (attrgetter("scale_out"), attrgetter("one_way"))
        )
        if chips.ndim == _PLACED:
            reach, far, near = reach[..., None], far[..., None], near[..., None]
            return np.where(chips > reach, far, near)
        sent = np.where(chips.ravel() > reach, far, near)
        return sent.reshape(-1, *chips.shape)

    def _tabled(
        self, sizes: Array, figures: Callable[[tuple[Network, ...], tuple[float, ...]], Array]
    ) -> Array:
        """Figures of each network for groups of each size, found once for each."""
        distinct, where = np.unique(sizes, return_inverse=True)
        table: Array = figures(self.each, tuple(distinct.tolist()))
        where = where.reshape(sizes.shape)
        if sizes.ndim == _PLACED:
            return np.asarray(table[:, np.arange(len(self.each))[:, None, None], where])
        return np.asarray(table[..., where])


@lru_cache(maxsize=512)
def _paths(networks: tuple[Network, ...], groups: tuple[float, ...]) -> Array:
    """Bandwidths and hops, by network and group."""
    paths = [[one.path(group) for group in groups] for one in networks]
    return np.array([[[getattr(p, name) for p in row] for row in paths]
                     for name in ("bandwidth", "hops")])  # fmt: skip


@lru_cache(maxsize=512)
def _exchanges(networks: tuple[Network, ...], groups: tuple[float, ...], copies: float) -> Array:
    """Seconds for each byte of an all-to-all, by network and group, as a table of one figure."""
    return np.array([[[_exchange_seconds(one, group, copies) for group in groups]
                      for one in networks]])  # fmt: skip


def _for_each(sizes: Array, figure: Callable[[float], float]) -> Array:
    """A figure of each group, looked up once for groups of one size."""
    known = {size: figure(size) for size in set(sizes.ravel().tolist())}
    return np.array([known[size] for size in sizes.ravel().tolist()]).reshape(sizes.shape)


def _longest(sending: Array, latency: Array, chips: Array) -> Array:
    # One chip alone has nothing to wait for, whatever is known of its links.
    return np.asarray(np.where(chips > 1, np.maximum(sending, latency), 0.0))


@lru_cache(maxsize=16384)
def _exchange_seconds(network: Network, group: float, copies: float) -> float:
    """Seconds for each byte that a chip sends in an all-to-all."""
    fabric = network.fabric
    if group <= 1:
        return 0.0
    if fabric.kind == "torus":
        longest = torus_shape(int(group), fabric.axes)[-1]
        wraps = 0 < fabric.wraps_from <= longest
        return longest / 4 / (network.two_way if wraps else network.one_way)
    within, _ = _nodes(network, group)
    nodes = math.ceil(group / within)
    once = nodes * (1.0 - math.pow(1 - 1 / nodes, copies)) / copies
    leaving = 1 - within / group
    handed_on = (within - 1) / group + leaving * (1 - once)
    inner = handed_on / _node_bandwidth(network, within) if within > 1 else 0.0
    # In this order an unknown link stays unknown.
    return max(inner, leaving * once / network.scale_out)


def _nodes(network: Network, group: float) -> tuple[float, float]:
    """Chips of the fullest and of the emptiest node of a group, dealt out as evenly as can be."""
    nodes = math.ceil(group / network.fabric.reach) if math.isfinite(network.fabric.reach) else 1
    return math.ceil(group / nodes), group // nodes


def _node_bandwidth(network: Network, chips: float) -> float:
    """What a chip has to the others of its node [byte/s]."""
    if network.fabric.kind == "mesh":
        # Each pair has its own links: a smaller group leaves the others idle.
        return network.one_way * (chips - 1) / (network.fabric.reach - 1)
    return network.one_way


@lru_cache(maxsize=16384)
def _path(network: Network, group: float) -> Path:
    if group <= 1:
        return Path(math.inf, 0.0)
    fabric = network.fabric
    if fabric.kind == "torus":
        return _torus_path(network, torus_shape(int(group), fabric.axes))
    within, fewest = _nodes(network, group)
    if within == group:
        return Path(
            _node_bandwidth(network, group), 1.0 if fabric.kind == "mesh" else math.log2(group)
        )
    # The chips of a node share what comes in from the other nodes; the emptiest waits longest.
    inner = (within - 1) / within / _node_bandwidth(network, within) if within > 1 else 0.0
    outer = (1 - fewest / group) / (fewest * network.scale_out)
    return Path((1 - 1 / group) / max(inner, outer), math.log2(group))


def _torus_path(network: Network, shape: tuple[int, ...]) -> Path:
    long = [length for length in shape if length > 1]
    wraps = [0 < network.fabric.wraps_from <= length for length in long]
    bandwidth = sum(network.two_way if wrap else network.one_way for wrap in wraps)
    hops = sum(
        length // 2 if wrap else length - 1 for length, wrap in zip(long, wraps, strict=True)
    )
    return Path(bandwidth, float(hops))
