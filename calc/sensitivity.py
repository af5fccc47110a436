"""What a figure of a scenario hangs on: how far it moves with each thing halved and doubled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.aims import Aim, log_ratio
from calc.layout import with_chips
from calc.scenario import Scenario, ScenarioError
from calc.words import marked

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Knob:
    """One thing that a step hangs on, and how a scenario looks with so many times as much of it.

    `change` gives None where that cannot be; `applies` says whether the scenario uses it.
    """

    label: str
    change: Callable[[Scenario, float], Scenario | None]
    applies: Callable[[Scenario], bool] = lambda _: True


def _fewer_or_more(s: Scenario, factor: float, name: str) -> Scenario:
    """Whole numbers of something, rounded down."""
    changed: dict[str, Any] = {name: int(getattr(s, name) * factor)}
    return replace(s, **changed)


def _chips_times(s: Scenario, factor: float) -> Scenario | None:
    return with_chips(s, int(s.n_chips * factor))


def _format_times(s: Scenario, factor: float, name: str) -> Scenario:
    changed: dict[str, Any] = {name: (getattr(s, name) or s.stored).scaled(factor)}
    return replace(s, **changed)


def _fields_times(s: Scenario, factor: float, *names: str) -> Scenario:
    return replace(s, **{name: getattr(s, name) * factor for name in names})


def _overheads(s: Scenario) -> Array:
    return np.array([s.step_overhead, s.constants.layer_overhead, s.constants.kernel_time])


def _overheads_times(s: Scenario, factor: float) -> Scenario:
    step, layer, kernel = (_overheads(s) * factor).tolist()
    return replace(s, step_overhead=step, layer_overhead=layer, kernel_time=kernel)


def _chip_times(s: Scenario, factor: float, *names: str) -> Scenario:
    figures: dict[str, Any] = {name: getattr(s.chip, name) * factor for name in names}
    return replace(s, chip=replace(s.chip, **figures))


def _rates_times(s: Scenario, factor: float) -> Scenario:
    peaks = {name: peak * factor for name, peak in s.chip.peaks.items()}
    return replace(s, chip=replace(s.chip, peaks=peaks))


def _talks(s: Scenario) -> bool:
    return s.fidelity != "bound" and s.n_chips > 1


KNOBS = (
    Knob(marked("Batch"), partial(_fewer_or_more, name="batch")),
    Knob(marked("Context"), partial(_fewer_or_more, name="context")),
    Knob(marked("Chips"), _chips_times),
    Knob(marked("Weight bytes"), partial(_format_times, name="weight_format")),
    Knob(marked("KV bytes"), partial(_format_times, name="kv_format")),
    Knob(marked("Memory bandwidth"), lambda s, f: _chip_times(s, f, "bandwidth")),
    Knob(marked("Memory size"), lambda s, f: _chip_times(s, f, "memory")),
    Knob(marked("FLOP rate"), _rates_times),
    Knob(
        marked("Host bandwidth"),
        lambda s, f: _fields_times(s, f, "host_bandwidth"),
        lambda s: s.host_share > 0,
    ),
    Knob(
        marked("Link bandwidth"),
        lambda s, f: _chip_times(s, f, "link_one_way", "link_two_way"),
        _talks,
    ),
    Knob(
        marked("Network per chip"),
        lambda s, f: _fields_times(s, f, "scale_out"),
        lambda s: _talks(s) and s.n_chips > s.chip.fabric.reach,
    ),
    Knob(
        marked("Hop latency"),
        lambda s, f: _fields_times(s, f, "hop_latency"),
        lambda s: _talks(s) and s.hop_latency > 0,
    ),
    Knob(
        marked("Overheads"),
        _overheads_times,
        lambda s: s.fidelity != "bound" and bool(_overheads(s).any()),
    ),
)


@dataclass(frozen=True)
class Sensitivities:
    """What a figure becomes with half and with twice of each thing, the furthest reaching first.

    Attributes
    ----------
    aim : Aim
        The figure.
    now : float
        What it is.
    labels : tuple of str
        What is halved and doubled, marked for translation.
    halved, doubled : array
        The figure then; nan where it is unknown or the scenario would be none.
    """

    aim: Aim
    now: float
    labels: tuple[str, ...]
    halved: Array
    doubled: Array

    @property
    def log_ratios(self) -> tuple[Array, Array]:
        """Logarithms of `halved` and `doubled` over `now`; infinite to or from nothing."""
        return log_ratio(self.halved, self.now), log_ratio(self.doubled, self.now)

    @property
    def reach(self) -> Array:
        """The larger of the two, either way; 0 where neither is known."""
        return np.asarray(
            np.nan_to_num(np.abs(self.log_ratios), nan=0.0, posinf=np.inf).max(axis=0)
        )


def sensitivities(scenario: Scenario, aim: Aim) -> Sensitivities:
    """How far one figure moves with each thing that it hangs on, halved and doubled alone.

    Batch, context and chips are whole: half of an odd number is rounded down. At fidelity
    ``operators`` more or fewer chips keep the layout but for the tensor-parallel width.
    """
    knobs = [knob for knob in KNOBS if knob.applies(scenario)]
    found = Sensitivities(
        aim,
        aim.of(scenario),
        tuple(knob.label for knob in knobs),
        np.array([_figure(scenario, aim, knob, 0.5) for knob in knobs]),
        np.array([_figure(scenario, aim, knob, 2.0) for knob in knobs]),
    )
    order = np.argsort(-found.reach.round(9), kind="stable")
    labels = tuple(found.labels[i] for i in order)
    return replace(found, labels=labels, halved=found.halved[order], doubled=found.doubled[order])


def _figure(scenario: Scenario, aim: Aim, knob: Knob, factor: float) -> float:
    try:
        changed = knob.change(scenario, factor)
    except ScenarioError:
        # Beyond what a scenario may be: no batch of 0, no chips without end.
        return math.nan
    return math.nan if changed is None else aim.of(changed)
