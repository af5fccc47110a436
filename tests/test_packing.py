"""Replicas on devices: cases checked by hand, by trying everything, and against the greedy rule.

Sources: F6.4 = docs/method.md; all else is arithmetic shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from calc import packing
from calc.packing import OBJECTIVES, Device, Item, Objective, PackingError, Placement
from pages.ui.capacity import solver

# 8-bit models and the memories of GPUs.
SMALL, MIDDLE, LARGE, HUGE = (
    Item("8B", 8e9), Item("13B", 13e9), Item("34B", 34e9), Item("70B", 70e9),
)  # fmt: skip
GPU_24, GPU_40, GPU_48, GPU_80 = (
    Device("24 GB", 24e9, 0.5), Device("40 GB", 40e9, 1.0), Device("48 GB", 48e9, 1.2),
    Device("80 GB", 80e9, 2.5),
)  # fmt: skip


def solve(items: list[Item], devices: list[Device], objective: Objective) -> Placement:
    placement = solver.solve(packing.build(items, devices, objective), time_limit=10)
    check(placement, items, devices)
    return placement


def check(placement: Placement, items: list[Item], devices: list[Device]) -> None:
    """What holds of every placement."""
    placed = [sum(load.replicas[i] for load in placement.loads) for i in range(len(items))]
    for item, count, left in zip(items, placed, placement.unplaced, strict=True):
        assert count + left == item.replicas
        assert min(count, left) >= 0
    for load in placement.loads:
        held = zip(load.replicas, items, strict=True)
        assert load.used == sum(count * item.bytes for count, item in held)
        assert 0 < load.used <= load.device.bytes == load.used + load.free
    for device in devices:
        numbers = [load.number for load in placement.loads if load.device is device]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) <= device.count
    assert placement.served == sum(placed)
    assert placement.cost == pytest.approx(sum(load.device.cost for load in placement.loads))


def test_three_models_on_one_device() -> None:
    # 40e9 // 13e9 = 3, with 1 GB to spare.
    placement = solve([replace(MIDDLE, replicas=5)], [GPU_40], "most")
    assert placement.loads[0].replicas == (3,)
    assert placement.loads[0].free == 10**9
    assert placement.unplaced == (2,)
    assert placement.value == placement.bound == 3
    assert placement.proven


def test_three_small_or_one_large() -> None:
    # The most replicas is three small ones, and with two devices all four fit.
    items = [replace(MIDDLE, replicas=3), LARGE]
    assert solve(items, [GPU_40], "most").unplaced == (0, 1)
    both = solve(items, [replace(GPU_40, count=2)], "fewest")
    assert both.complete
    assert sorted(load.replicas for load in both.loads) == [(0, 1), (3, 0)]


def test_an_exact_fit_counts_and_a_byte_more_does_not() -> None:
    items = [Item("quarter", 20e9, 4)]
    assert solve(items, [GPU_80], "fewest").loads[0].free == 0
    assert solve([Item("quarter", 20e9 + 1, 4)], [GPU_80], "most").unplaced == (1,)
    # 3 * 13,333,333,333 = 39,999,999,999; the next byte is 40,000,000,002.
    assert solve([Item("third", 13_333_333_333, 3)], [GPU_40], "most").complete
    assert not solve([Item("third", 13_333_333_334, 3)], [GPU_40], "most").complete


# OURS: twice 4 + 3 + 3 fills two devices of 10; first fit takes 4 + 4, 3 + 3 + 3, 3.
FOURS_AND_THREES = [Item("four", 4e9, 2), Item("three", 3e9, 4)]
TENS = [Device("ten", 10e9, 1.0, 3)]


def test_better_than_first_fit() -> None:
    assert packing.greedy(FOURS_AND_THREES, TENS, "fewest").value == 3
    placement = solve(FOURS_AND_THREES, TENS, "fewest")
    assert placement.value == placement.bound == 2
    assert placement.proven
    assert [load.free for load in placement.loads] == [0, 0]


def test_cheapest_is_not_fewest() -> None:
    # OURS: 13 + 13 + 8 GB on one device of 80 GB for 2.5, or of 40 GB for 1.
    items = [replace(MIDDLE, replicas=2), SMALL]
    pool = [GPU_80, GPU_40, replace(GPU_24, count=2)]
    assert solve(items, pool, "fewest").value == 1
    cheap = solve(items, pool, "cheapest")
    assert cheap.cost == pytest.approx(1.0)
    assert cheap.proven
    # 34 GB need a device of their own beside 70 GB: 2.5 + 1.
    assert solve([LARGE, HUGE], [GPU_24, GPU_40, GPU_48, GPU_80], "cheapest").cost == 3.5


def test_every_filling_is_full_and_listed_once() -> None:
    items = [replace(item, replicas=4) for item in (SMALL, MIDDLE, LARGE)]
    found = {tuple(row) for row in packing.fillings(items, GPU_48.bytes).tolist()}
    sizes = np.array([item.bytes for item in items])
    fits = [c for c in itertools.product(range(5), repeat=3) if c @ sizes <= GPU_48.bytes]
    full = {
        c for c in fits
        if all(c[i] == 4 or c @ sizes + sizes[i] > GPU_48.bytes for i in range(3))
    }  # fmt: skip
    assert found == full
    assert len(packing.fillings(items, GPU_48.bytes)) == len(full)


def test_what_fits_nowhere_is_named() -> None:
    items, devices = [SMALL, HUGE, LARGE], [GPU_24, replace(GPU_80, count=0)]
    assert packing.hopeless(items, devices) == (HUGE, LARGE)
    for objective in ("fewest", "cheapest"):
        with pytest.raises(PackingError, match=r"^no device has the memory for 70B, 34B$"):
            packing.build(items, devices, objective)
    assert solve(items, devices, "most").unplaced == (0, 1, 1)
    # What is not wanted is in nobody's way.
    assert solve([SMALL, replace(HUGE, replicas=0)], devices, "fewest").complete


@pytest.mark.parametrize("objective", ["fewest", "cheapest"])
def test_a_pool_that_is_too_small_names_who_is_left(objective: Objective) -> None:
    # The second has memory enough in sum: 2 * 40 = 80 > 3 * 25.
    for items, left in (
        ([replace(LARGE, replicas=3)], "1 of 34B"),
        ([Item("25B", 25e9, 3)], "1 of 25B"),
    ):
        with pytest.raises(PackingError, match=f"2 at most were placed, leaving over {left}$"):
            solve(items, [replace(GPU_40, count=2)], objective)


def test_without_time_the_greedy_placement_is_left_and_not_called_best() -> None:
    problem = packing.build(FOURS_AND_THREES, TENS, "fewest")
    placement = solver.solve(problem, time_limit=0)
    assert placement.value == 3
    assert placement.bound == 2
    assert placement.gap == pytest.approx(1 / 3)
    assert not placement.proven
    greedy = packing.greedy(FOURS_AND_THREES, TENS, "fewest")
    assert math.isnan(greedy.gap)
    assert not greedy.proven
    problem = packing.build(FOURS_AND_THREES, [replace(TENS[0], count=2)], "fewest")
    with pytest.raises(PackingError, match="no way to place every replica was found in 0 s"):
        solver.solve(problem, time_limit=0)


def test_eight_models_on_forty_devices() -> None:
    sizes = [8.03e9, 9.2e9, 13.1e9, 14.8e9, 27.2e9, 32.8e9, 34.4e9, 70.6e9]
    counts = [30, 30, 20, 20, 15, 10, 10, 10]
    items = [Item(f"model {i}", *pair) for i, pair in enumerate(zip(sizes, counts, strict=True))]
    placement = solve(items, [replace(GPU_80, count=40)], "fewest")
    # OURS: their sizes add up to 35.8 devices.
    assert placement.value == 36
    assert placement.proven
    assert placement.value < packing.greedy(items, [replace(GPU_80, count=40)], "fewest").value


def test_the_program_says_what_it_means() -> None:
    problem = packing.build([replace(MIDDLE, replicas=5), LARGE], [GPU_40, GPU_48], "most")
    assert problem.matrix.shape == (2 + 2, len(problem.fillings) + 2 + 2)
    assert_array_equal(problem.integrality, 1)
    assert {len(part) for part in (problem.cost, problem.most)} == {problem.matrix.shape[1]}
    assert {len(part) for part in (problem.lower, problem.upper)} == {problem.matrix.shape[0]}
    # One device of each kind, filled in the first way listed for it.
    x = np.zeros(problem.cost.size)
    x[[list(problem.kinds).index(kind) for kind in (0, 1)]] = 1
    placement = packing.decode(problem, x)
    check(placement, list(problem.items), list(problem.devices))
    assert [load.device for load in placement.loads] == [GPU_40, GPU_48]


def test_bounds_are_multiples_of_what_can_be_paid() -> None:
    items = [SMALL]
    fewest = packing.build(items, [GPU_40], "fewest")
    assert fewest.bound(1.2) == fewest.bound(2 - 1e-9) == fewest.bound(2 + 1e-9) == 2
    assert packing.build(items, [GPU_40], "most").bound(-2.9) == 2
    assert packing.build(items, [GPU_40, GPU_80], "cheapest").bound(3.1) == 3.5
    assert packing.build(items, [Device("odd", 40e9, math.pi)], "cheapest").bound(3.2) == 3.2
    assert packing.build(items, [Device("free", 40e9)], "cheapest").bound(0.0) == 0


ITEMS = st.lists(
    st.builds(Item, st.just("m"), st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=4
).filter(lambda items: 0 < sum(item.replicas for item in items) <= 6)
DEVICES = st.lists(
    st.builds(Device, st.just("d"), st.integers(5, 20), st.integers(0, 8), st.integers(0, 2)),
    min_size=1, max_size=2,
).filter(lambda devices: any(device.count for device in devices))  # fmt: skip


def exhaustive(items: list[Item], devices: list[Device], objective: Objective) -> float | None:
    """The best value by trying every device, or none, for every replica."""
    pool = [device for device in devices for _ in range(device.count)]
    sizes = [item.bytes for item in items for _ in range(item.replicas)]
    values: list[float] = []
    for choice in itertools.product(range(len(pool) + 1), repeat=len(sizes)):
        used = [0] * (len(pool) + 1)
        for size, where in zip(sizes, choice, strict=True):
            used[where] += size
        if all(full <= device.bytes for full, device in zip(used, pool, strict=False)):
            if objective == "most":
                values.append(-sum(where < len(pool) for where in choice))
            elif not used[-1]:
                worth = [1.0 if objective == "fewest" else device.cost for device in pool]
                values.append(sum(w for w, full in zip(worth, used, strict=False) if full))
    return abs(min(values)) if values else None


@given(ITEMS, DEVICES, st.sampled_from(OBJECTIVES))
@settings(max_examples=60, deadline=None)
def test_nothing_tried_is_better(
    items: list[Item], devices: list[Device], objective: Objective
) -> None:
    expected = exhaustive(items, devices, objective)
    if expected is None:
        with pytest.raises(PackingError):
            solve(items, devices, objective)
    else:
        placement = solve(items, devices, objective)
        assert placement.value == pytest.approx(expected)
        assert placement.proven


MORE_ITEMS = st.lists(
    st.builds(Item, st.just("m"), st.floats(4e9, 80e9), st.integers(0, 6)), min_size=1, max_size=5
).filter(lambda items: any(item.replicas for item in items))
MORE_DEVICES = st.lists(
    st.builds(Device, st.just("d"), st.sampled_from([24e9, 40e9, 48e9, 80e9]),
              st.integers(0, 500).map(lambda cents: cents / 100), st.integers(1, 6)),
    min_size=1, max_size=4,
)  # fmt: skip


@given(MORE_ITEMS, MORE_DEVICES, st.sampled_from(OBJECTIVES))
@settings(max_examples=60, deadline=None)
def test_the_optimum_is_never_below_greedy(
    items: list[Item], devices: list[Device], objective: Objective
) -> None:
    simple = packing.greedy(items, devices, objective)
    check(simple, items, devices)
    if objective == "most":
        assert solve(items, devices, objective).served >= simple.served
    elif simple.complete:
        placement = solve(items, devices, objective)
        assert placement.complete
        assert placement.value <= simple.value * (1 + 1e-12)
        assert placement.bound <= placement.value * (1 + 1e-6)


@given(MORE_ITEMS, MORE_DEVICES)
@settings(max_examples=30, deadline=None)
def test_one_more_device_never_hurts(items: list[Item], devices: list[Device]) -> None:
    more = [*devices[:-1], replace(devices[-1], count=devices[-1].count + 1)]
    assert solve(items, more, "most").served >= solve(items, devices, "most").served


# What a table of an editor may hold where a whole number belongs.
NAN: Any = math.nan
ONE_AND_A_HALF: Any = 1.5
MANY = [Item(f"{i}", (1 + i / 100) * 1e9, 50) for i in range(12)]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: Item("x", -1), "x: the size of a replica is below one byte or not finite"),
        (lambda: Item("x", 0), "below one byte"),
        (lambda: Item("x", math.nan), "not finite"),
        (lambda: Item("x", 1, -1), "x: the number of replicas is not a whole number from 0 to"),
        (lambda: Item("x", 1, 10_001), "from 0 to 10,000"),
        (lambda: Device("y", math.inf), "y: the memory is below one byte or not finite"),
        (lambda: Device("y", 1, -1), "y: the cost is negative or not finite"),
        (lambda: Device("y", 1, math.nan), "the cost is negative or not finite"),
        (lambda: replace(GPU_40, count=NAN), "40 GB: the number of devices is not a whole"),
        (lambda: replace(GPU_40, count=ONE_AND_A_HALF), "the number of devices is not a whole"),
        (lambda: packing.build([], [GPU_40], "most"), "there is no model to place"),
        (lambda: packing.build([replace(SMALL, replicas=0)], [GPU_40], "most"), "no replica is"),
        (lambda: packing.build([SMALL], [], "most"), "there is no device"),
        (lambda: packing.greedy([SMALL], [replace(GPU_40, count=0)], "most"), "is no device"),
        (lambda: packing.build([SMALL] * 51, [GPU_40], "most"), "more than 50 models"),
        (lambda: packing.build([SMALL], [replace(GPU_40, count=1000)] * 2, "most"), "1,000 dev"),
        (lambda: packing.build(MANY, [GPU_80], "most"), "too many ways, with a limit of 20,000"),
    ],
)
def test_what_cannot_be_is_refused(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(PackingError, match=reason):
        call()
