"""Replicas of several models on a pool of devices: bin packing as an integer program.

A replica lies whole on one device; several replicas, of one model too, may share a device. Devices
of a kind are interchangeable, so the program does not ask which device holds what: its unknowns
count how many devices of a kind get each *filling*, a choice of replicas to which no further one
could be added. That leaves no symmetry for a solver to search, and its relaxation is tight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calc.errors import LedgerError
from calc.words import marked, say

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
# Most replicas served; or all of them, on the fewest or the cheapest devices.
Objective = Literal["most", "fewest", "cheapest"]
OBJECTIVES: tuple[Objective, ...] = ("most", "fewest", "cheapest")

MOST_MODELS = 50
MOST_REPLICAS = 10_000
MOST_DEVICES = 1_000
MOST_FILLINGS = 20_000
_MOST_TRIES = 500_000


class PackingError(LedgerError):
    """Models and devices that cannot be packed, or are too many."""


@dataclass(frozen=True)
class Item:
    """A model: what one replica takes [byte], to the whole byte, and how many are wanted."""

    name: str
    size: float
    replicas: int = 1

    def __post_init__(self) -> None:
        _amount(self.name, marked("the size of a replica"), self.size)
        _whole(self.name, marked("the number of replicas"), self.replicas, MOST_REPLICAS)

    @property
    def bytes(self) -> int:
        """Size in whole bytes, so that capacity is compared exactly."""
        return round(self.size)


@dataclass(frozen=True)
class Device:
    """A kind of device: memory [byte], cost of one [USD/h], and how many there are."""

    name: str
    memory: float
    cost: float = 0.0
    count: int = 1

    def __post_init__(self) -> None:
        _amount(self.name, marked("the memory"), self.memory)
        if not (math.isfinite(self.cost) and self.cost >= 0):
            raise PackingError(say("{name}: the cost is negative or not finite", name=self.name))
        _whole(self.name, marked("the number of devices"), self.count, MOST_DEVICES)

    @property
    def bytes(self) -> int:
        """Memory in whole bytes."""
        return round(self.memory)


def _amount(name: str, what: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 1):
        raise PackingError(
            say("{name}: {what} is below one byte or not finite", name=name, what=say(what))
        )


def _whole(name: str, what: str, value: float, most: int) -> None:
    if not (math.isfinite(value) and 0 <= value <= most and value % 1 == 0):
        raise PackingError(
            say(
                "{name}: {what} is not a whole number from 0 to {most:,}",
                name=name,
                what=say(what),
                most=most,
            )
        )


def _too_many() -> PackingError:
    return PackingError(
        say(
            "the devices can be filled in too many ways, with a limit of {most:,}: "
            "take fewer or larger models",
            most=MOST_FILLINGS,
        )
    )


def check(items: Sequence[Item], devices: Sequence[Device]) -> None:
    """Raise `PackingError` if there is nothing to place, nowhere to place it, or too much."""
    if not any(item.replicas for item in items):
        raise PackingError(
            say("no replica is wanted") if items else say("there is no model to place")
        )
    if not any(device.count for device in devices):
        raise PackingError(say("there is no device"))
    if len(items) > MOST_MODELS:
        raise PackingError(say("there are more than {most} models", most=MOST_MODELS))
    if sum(device.count for device in devices) > MOST_DEVICES:
        raise PackingError(say("there are more than {most:,} devices", most=MOST_DEVICES))


def hopeless(items: Sequence[Item], devices: Sequence[Device]) -> tuple[Item, ...]:
    """Models of which not even one replica fits on any device.

    >>> [item.name for item in hopeless([Item("70B", 70e9)], [Device("A100", 40e9)])]
    ['70B']
    """
    largest = max((device.bytes for device in devices if device.count), default=0)
    return tuple(item for item in items if item.bytes > largest)


def fillings(items: Sequence[Item], memory: int) -> Counts:
    """Every choice of replicas that fits in so many bytes and to which none can be added.

    Returns
    -------
    array of shape (fillings, items)
        Replicas of each item; of none more than are wanted.

    Raises
    ------
    PackingError
        If there are more than `MOST_FILLINGS`, or they take too long to list.

    Examples
    --------
    Three of the small models, or the large one alone:

    >>> fillings([Item("13B", 13e9, 5), Item("34B", 34e9)], 40 * 10**9).tolist()
    [[0, 1], [3, 0]]
    """
    order = sorted(range(len(items)), key=lambda i: -items[i].bytes)
    sizes = [items[i].bytes for i in order]
    most = [min(int(items[i].replicas), memory // items[i].bytes) for i in order]
    # What the items from a position on could still take.
    rest = [sum(s * m for s, m in zip(sizes[k:], most[k:], strict=True)) for k in range(len(order))]
    found: list[tuple[int, ...]] = []
    tries = 0

    def extend(chosen: tuple[int, ...], free: int, gap: float) -> None:
        # `gap` is the smallest item left out so far: it must not fit in what stays free.
        nonlocal tries
        tries += 1
        position = len(chosen)
        if len(found) > MOST_FILLINGS or tries > _MOST_TRIES:
            raise _too_many()
        if position == len(order):
            if free < gap and any(chosen):
                found.append(chosen)
        elif free - rest[position] < gap:
            size = sizes[position]
            for count in range(min(most[position], free // size), -1, -1):
                left_out = size if count < most[position] else gap
                extend((*chosen, count), free - count * size, left_out)

    extend((), memory, math.inf)
    table = np.zeros((len(found), len(items)), dtype=np.int64)
    table[:, order] = np.array(found, dtype=np.int64).reshape(table.shape)
    return table


@dataclass(frozen=True)
class Problem:
    """Minimise ``cost @ x`` for whole x with ``lower <= matrix @ x <= upper``, ``0 <= x <= most``.

    x counts the devices that get each of `fillings`, one row each, `kinds` telling of which kind
    of device; then the devices in use of each kind, which a solver does well to branch on; and for
    the objective "most" the replicas served of each item.
    """

    items: tuple[Item, ...]
    devices: tuple[Device, ...]
    objective: Objective
    fillings: Counts
    kinds: Counts
    cost: Array
    matrix: Array
    lower: Array
    upper: Array
    most: Array

    @property
    def integrality(self) -> Counts:
        """1 for every unknown: all are whole numbers."""
        return np.ones(self.cost.size, dtype=np.int64)

    def bound(self, least: float) -> float:
        """What no placement can better, if no x costs less than `least`.

        Values are multiples of a step, 1 or what all costs are multiples of.
        """
        step = 1.0
        if self.objective == "cheapest":
            costs = [device.cost for device in self.devices if device.count]
            step = math.gcd(*(round(cost * 10_000) for cost in costs)) / 10_000
            if not step or any(abs(cost / step - round(cost / step)) > 1e-9 for cost in costs):
                return least
        # A solver's rounding must not pass for another step.
        value = step * math.ceil(least / step - 1e-4)
        return -value if self.objective == "most" else value


def build(items: Sequence[Item], devices: Sequence[Device], objective: Objective) -> Problem:
    """The integer program.

    Raises
    ------
    PackingError
        If there is too little or too much of anything, or all replicas are to be placed and one
        fits on no device.

    References
    ----------
    F6.4; Gilmore and Gomory 1961.
    """
    check(items, devices)
    wanted = np.array([item.replicas for item in items], dtype=float)
    if objective != "most":
        lost = [item.name for item in hopeless(items, devices) if item.replicas]
        if lost:
            raise PackingError(say("no device has the memory for {models}", models=", ".join(lost)))
    by_memory = {d.bytes: fillings(items, d.bytes) for d in devices if d.count}
    tables = [by_memory[d.bytes] if d.count else np.zeros((0, len(items)), int) for d in devices]
    table = np.concatenate(tables)
    if len(table) > MOST_FILLINGS:
        raise _too_many()
    kinds = np.repeat(np.arange(len(devices)), [len(part) for part in tables])
    each = np.array([device.count for device in devices], dtype=float)
    price = {
        "most": np.zeros(len(devices)),
        "fewest": np.ones(len(devices)),
        "cheapest": np.array([device.cost for device in devices], dtype=float),
    }[objective]
    # Replicas placed cover those wanted, and the devices filled are those in use.
    filled = (kinds == np.arange(len(devices))[:, None]).astype(float)
    placed = np.hstack([table.T, np.zeros((len(items), len(devices)))])
    matrix = np.vstack([placed, np.hstack([filled, -np.eye(len(devices))])])
    cost, most = np.concatenate([np.zeros(len(table)), price]), np.concatenate([each[kinds], each])
    lower = wanted
    if objective == "most":
        served = np.vstack([-np.eye(len(items)), np.zeros((len(devices), len(items)))])
        matrix = np.hstack([matrix, served])
        cost = np.concatenate([cost, -np.ones(len(items))])
        most, lower = np.concatenate([most, wanted]), np.zeros(len(items))
    return Problem(
        items=tuple(items),
        devices=tuple(devices),
        objective=objective,
        fillings=table,
        kinds=kinds,
        cost=cost,
        matrix=matrix,
        lower=np.concatenate([lower, np.zeros(len(devices))]),
        upper=np.concatenate([np.full(len(items), np.inf), np.zeros(len(devices))]),
        most=most,
    )


@dataclass(frozen=True)
class Load:
    """One device in use: which of its kind, replicas of each item, and memory in use [byte]."""

    device: Device
    number: int
    replicas: tuple[int, ...]
    used: int

    @property
    def free(self) -> int:
        """Memory left over [byte]."""
        return self.device.bytes - self.used


@dataclass(frozen=True)
class Placement:
    """Which replicas lie where.

    `loads` are the devices in use, `unplaced` the replicas of each item left over, `bound` what no
    placement can better: the most replicas, the fewest devices or the least cost; NaN if unknown.
    """

    items: tuple[Item, ...]
    objective: Objective
    loads: tuple[Load, ...]
    unplaced: tuple[int, ...]
    bound: float = math.nan

    @property
    def served(self) -> int:
        """Replicas placed."""
        return sum(sum(load.replicas) for load in self.loads)

    @property
    def cost(self) -> float:
        """Cost of the devices in use [USD/h]."""
        return math.fsum(load.device.cost for load in self.loads)

    @property
    def complete(self) -> bool:
        """Whether every replica is placed."""
        return not any(self.unplaced)

    @property
    def value(self) -> float:
        """What the objective counts: replicas, devices, or USD/h."""
        if self.objective == "most":
            return self.served
        return len(self.loads) if self.objective == "fewest" else self.cost

    @property
    def gap(self) -> float:
        """How far the value is from the bound, as a share of the value; NaN if unknown."""
        distance = abs(self.value - self.bound)
        return distance / self.value if self.value and distance else distance

    @property
    def proven(self) -> bool:
        """Whether no placement can be better."""
        return (self.complete or self.objective == "most") and self.gap < 1e-6


def place(
    items: Sequence[Item],
    objective: Objective,
    chosen: Sequence[tuple[Device, Sequence[int]]],
) -> Placement:
    """Devices with what they could hold as a placement: nothing more than wanted, none empty."""
    left = [int(item.replicas) for item in items]
    loads: list[Load] = []
    number: dict[int, int] = {}
    for device, room in chosen:
        placed = tuple(min(int(count), wanted) for count, wanted in zip(room, left, strict=True))
        if any(placed):
            left = [wanted - count for wanted, count in zip(left, placed, strict=True)]
            number[id(device)] = number.get(id(device), 0) + 1
            used = sum(count * item.bytes for count, item in zip(placed, items, strict=True))
            loads.append(Load(device, number[id(device)], placed, used))
    return Placement(tuple(items), objective, tuple(loads), tuple(left))


def decode(problem: Problem, x: Array) -> Placement:
    """The placement that a solver's x stands for."""
    times = np.rint(x[: len(problem.fillings)]).astype(int)
    chosen = [
        (problem.devices[problem.kinds[row]], problem.fillings[row].tolist())
        for row in np.flatnonzero(times > 0)
        for _ in range(times[row])
    ]
    return place(problem.items, problem.objective, chosen)


def greedy(items: Sequence[Item], devices: Sequence[Device], objective: Objective) -> Placement:
    """First fit decreasing: largest model first, each replica on the first device with room.

    Devices come as given, or largest first for the fewest, or cheapest per byte first.

    >>> placement = greedy([Item("13B", 13e9, 3)], [Device("A100", 40e9)], "most")
    >>> placement.loads[0].replicas, placement.loads[0].free
    ((3,), 1000000000)
    """
    check(items, devices)
    kinds = list(devices)
    if objective == "fewest":
        kinds.sort(key=lambda device: -device.bytes)
    elif objective == "cheapest":
        kinds.sort(key=lambda device: device.cost / device.bytes)
    pool = [device for device in kinds for _ in range(int(device.count))]
    free = [device.bytes for device in pool]
    room = [[0] * len(items) for _ in pool]
    for i in sorted(range(len(items)), key=lambda i: -items[i].bytes):
        left = int(items[i].replicas)
        for j in range(len(pool)):
            room[j][i] = min(left, free[j] // items[i].bytes)
            left -= room[j][i]
            free[j] -= room[j][i] * items[i].bytes
    return place(items, objective, list(zip(pool, room, strict=True)))
