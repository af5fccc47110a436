"""What pulling one lever would do to a scenario, and what its figures hang on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import cost, decode, memory
from calc.formats import NumberFormat
from calc.layout import Layout
from calc.scenario import FIELDS, Quantity, Scenario, ScenarioError
from calc.words import marked, say

Array = NDArray[np.float64]
Formats = Mapping[str, NumberFormat]


@dataclass(frozen=True)
class Outcome:
    """A scenario and the figures a reviewer compares: seconds, token/s, sequences, USD."""

    scenario: Scenario
    step_time: float
    throughput_per_chip: float
    max_batch: int
    usd_per_million_tokens: float

    @property
    def fits(self) -> bool:
        """Whether memory holds the batch."""
        return self.scenario.batch <= self.max_batch


def outcome(scenario: Scenario) -> Outcome:
    """The compared figures of one scenario."""
    step = decode.step_time(scenario)
    return Outcome(
        scenario,
        float(step.total),
        float(step.throughput_per_chip),
        int(memory.max_batch(scenario)),
        float(cost.per_million_tokens(scenario, step)),
    )


@dataclass(frozen=True)
class Aim:
    """A figure of an `Outcome` that a reviewer wants to move.

    Parameters
    ----------
    figure, name, label, unit : str
        The attribute, what the aim and what the figure is called, and its unit.
    more : bool
        Whether more of it is better.
    of : callable
        The figure of a scenario, without the others.
    """

    figure: str
    name: str
    label: str
    unit: str
    more: bool
    of: Callable[[Scenario], float]

    def value(self, outcome: Outcome) -> float:
        """The figure of an outcome."""
        return float(getattr(outcome, self.figure))

    def gain(self, after: float, before: float) -> float:
        """How much better `after` is, as the logarithm of the ratio; nan where one is unknown.

        >>> f"{AIMS['step_time'].gain(1.0, 2.0):.3f}, {AIMS['max_batch'].gain(1, 2):.3f}"
        '0.693, -0.693'
        """
        ratio = float(_log_ratio(np.array(after, dtype=float), before))
        return ratio if self.more else -ratio


def _log_ratio(after: Array, before: float) -> Array:
    """Logarithm of a ratio: 0 from nothing to nothing, infinite to or from nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(after == before, 0.0, np.log(after) - np.log(before))


def _step_time(s: Scenario) -> float:
    return float(decode.step_time(s).total)


def _throughput_per_chip(s: Scenario) -> float:
    return float(decode.step_time(s).throughput_per_chip)


def _usd(s: Scenario) -> float:
    return float(cost.per_million_tokens(s, decode.step_time(s)))


def _max_batch(s: Scenario) -> float:
    return float(memory.max_batch(s))


AIMS: Mapping[str, Aim] = {
    aim.figure: aim
    for aim in (
        Aim(
            "step_time", marked("Latency"), marked("Step time"), "s", False, _step_time,
        ),
        Aim(
            "throughput_per_chip", marked("Throughput"), marked("Token/s per chip"), "token/s",
            True, _throughput_per_chip,
        ),
        Aim(
            "usd_per_million_tokens", marked("Cost"), marked("USD per Mtoken"), "USD", False, _usd,
        ),
        Aim(
            "max_batch", marked("Batch"), marked("Largest batch"), "sequences", True, _max_batch,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Lever:
    """One change to a scenario, and what came of it.

    `label` is in the reader's language. `outcome` is None where the lever cannot be pulled, and
    `why_not` says why.
    """

    id: str
    label: str
    before: Outcome
    outcome: Outcome | None
    why_not: str = ""

    def gain(self, aim: Aim) -> float:
        """What it gains, see `Aim.gain`; nan where it cannot be pulled."""
        if self.outcome is None:
            return math.nan
        return aim.gain(aim.value(self.outcome), aim.value(self.before))


# A changed scenario with the words for what was changed to; why there is none; or None where the
# lever has no meaning.
Pulled = tuple[Scenario, str] | str | None
Change = Callable[[Scenario, Formats], Pulled]


def _high(name: str) -> float:
    field = FIELDS[name]
    assert isinstance(field, Quantity)
    return field.high


def _half_as_wide(
    s: Scenario, now: NumberFormat, use: str, formats: Formats
) -> NumberFormat | None:
    """The format on offer nearest to half the bytes, of equals one that the chip computes in."""
    half = now.bits / 2
    offered = [f for f in formats.values() if use in f.uses and abs(f.bits - half) <= 0.1 * half]
    return min(offered, key=lambda f: (abs(f.bits - half), not s.chip.peak(f) > 0), default=None)


def _halve_weights(s: Scenario, formats: Formats) -> Pulled:
    found = _half_as_wide(s, s.weight_format, "weights", formats)
    if found is None:
        return say("no format of half the bytes")
    return replace(s, weight_format=found), found.id


def _halve_kv(s: Scenario, formats: Formats) -> Pulled:
    found = _half_as_wide(s, s.kv_format, "kv", formats)
    if found is None:
        return say("no format of half the bytes")
    return replace(s, kv_format=found), found.id


def _halve_context(s: Scenario, _: Formats) -> Pulled:
    if s.context == 1:
        return say("already 1 token")
    return replace(s, context=s.context // 2), f"{s.context // 2:,}"


def _with_chips(s: Scenario, n: int) -> Scenario | None:
    """On so many chips, tensor parallel taking what is more or less; None if the layout breaks."""
    if s.fidelity == "bound":
        return replace(s, n_chips=n)
    changed = replace(s, n_chips=n, tensor_parallel=0)
    was, now = Layout.of(s), Layout.of(changed)
    kept = (was.dp, was.ep, was.pp) == (now.dp, now.ep, now.pp)
    return changed if kept else None


def _chips(s: Scenario, n: int) -> Pulled:
    changed = _with_chips(s, n)
    if changed is None:
        return say("the layout does not divide {n:,} chips", n=n)
    return changed, f"{n:,}"


def _double_chips(s: Scenario, _: Formats) -> Pulled:
    if 2 * s.n_chips > _high("n_chips"):
        return say("largest count")
    return _chips(s, 2 * s.n_chips)


def _halve_chips(s: Scenario, _: Formats) -> Pulled:
    if s.n_chips == 1:
        return say("already 1 chip")
    return _chips(s, s.n_chips // 2)


def _batch(s: Scenario, batch: int) -> Pulled:
    return replace(s, batch=batch), f"{batch:,}"


def _double_batch(s: Scenario, _: Formats) -> Pulled:
    return _batch(s, 2 * s.batch) if 2 * s.batch <= _high("batch") else say("largest batch")


def _halve_batch(s: Scenario, _: Formats) -> Pulled:
    return _batch(s, s.batch // 2) if s.batch > 1 else say("already 1 sequence")


def _fill_memory(s: Scenario, _: Formats) -> Pulled:
    largest = int(min(int(memory.max_batch(s)), _high("batch")))
    if not largest:
        return say("not one sequence fits")
    return _batch(s, largest) if largest != s.batch else say("already the largest")


def _eight_bit_compute(s: Scenario, formats: Formats) -> Pulled:
    """Int8 where the chip publishes a rate for it, else fp8."""
    if s.compute_format.bits <= 8:
        return say("compute is already {format}", format=s.compute_format.id)
    for id in ("int8", "fp8"):
        if s.chip.peak(formats[id]) > 0:
            return replace(s, compute_format=formats[id]), id
    return say("no 8-bit rate published")


def _hide_communication(s: Scenario, _: Formats) -> Pulled:
    if s.fidelity == "bound" or s.n_chips == 1:
        return None
    return (replace(s, link_overlap=1.0), "") if s.link_overlap < 1 else say("already hidden")


def _share_kv(s: Scenario, _: Formats) -> Pulled:
    """A split by batch where chips hold copies of whole KV heads."""
    if s.fidelity == "bound" or s.kv_sharding != "replicated":
        return None
    changed = replace(s, kv_sharding="batch")
    copies = float(memory.kv_per_sequence(s)) / float(memory.kv_per_sequence(changed))
    return (changed, "") if copies > 1.001 else None


LEVERS: Mapping[str, tuple[str, Change]] = {
    "halve_weights": (marked("Halve weight bytes"), _halve_weights),
    "halve_kv": (marked("Halve KV bytes"), _halve_kv),
    "halve_context": (marked("Halve context"), _halve_context),
    "double_chips": (marked("Double chips"), _double_chips),
    "halve_chips": (marked("Halve chips"), _halve_chips),
    "double_batch": (marked("Double batch"), _double_batch),
    "halve_batch": (marked("Halve batch"), _halve_batch),
    "fill_memory": (marked("Largest batch that fits"), _fill_memory),
    "eight_bit_compute": (marked("8-bit compute"), _eight_bit_compute),
    "hide_communication": (marked("Hide communication"), _hide_communication),
    "share_kv": (marked("Split KV copies by batch"), _share_kv),
}


def pull_all(scenario: Scenario, formats: Formats) -> list[Lever]:
    """Every lever that has a meaning here, pulled on its own.

    Parameters
    ----------
    scenario : Scenario
        Where to start.
    formats : mapping of str to NumberFormat
        Formats by id, for the levers that switch to another one.
    """
    before, levers = outcome(scenario), []
    for id, (name, change) in LEVERS.items():
        label, pulled = say(name), change(scenario, formats)
        if isinstance(pulled, str):
            levers.append(Lever(id, label, before, None, pulled))
        elif pulled is not None:
            changed, to = pulled
            if to:
                label = say("{lever} ({to})", lever=label, to=to)
            levers.append(Lever(id, label, before, outcome(changed)))
    return levers


def ranked(levers: Iterable[Lever], aim: Aim) -> list[Lever]:
    """Levers by what they gain for an aim, most first.

    Those after which the batch does not fit stand after those after which it does, then those whose
    gain is unknown, and last those that cannot be pulled.
    """

    def rank(lever: Lever) -> tuple[bool, bool, bool, float]:
        gain, after = lever.gain(aim), lever.outcome
        unknown = math.isnan(gain)
        # What differs by rounding only stays in its order.
        return (
            after is None,
            unknown,
            after is not None and not after.fits,
            0.0 if unknown else -round(gain, 9),
        )

    return sorted(levers, key=rank)


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
    return _with_chips(s, int(s.n_chips * factor))


def _format_times(s: Scenario, factor: float, name: str) -> Scenario:
    return replace(s, **{name: getattr(s, name).scaled(factor)})


def _fields_times(s: Scenario, factor: float, *names: str) -> Scenario:
    return replace(s, **{name: getattr(s, name) * factor for name in names})


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
        lambda s, f: _fields_times(s, f, "step_overhead", "layer_overhead"),
        lambda s: s.fidelity != "bound" and s.step_overhead + s.layer_overhead > 0,
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
        return _log_ratio(self.halved, self.now), _log_ratio(self.doubled, self.now)

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
