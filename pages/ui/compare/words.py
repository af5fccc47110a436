"""Sentences and tables of the Compare page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calc import calibration, compare, decode, known
from calc.compare import Point
from calc.explain import EXPLANATIONS
from calc.fields import Quantity
from calc.words import inside, say
from pages.ui.frame import section
from pages.ui.frame.pinned import Contender
from pages.ui.frame.presentation import SETTINGS
from pages.ui.writing import palette, text, written


def figures_of(contenders: Sequence[Contender]) -> list[dict[str, float]]:
    """All measures of all contenders."""
    found = []
    for contender in contenders:
        step = decode.step_time(contender.scenario)
        found.append({one.id: one.of(contender.scenario, step) for one in compare.MEASURES})
    return found


def settings(contenders: Sequence[Contender]) -> dict[str, list[str]]:
    """The settings that differ, one column a contender."""
    fields = compare.differing([one.values for one in contenders], SETTINGS)
    columns = {
        say("Setting"): [
            f"{say(field.label)} ({say(field.unit)})"
            if isinstance(field, Quantity)
            else say(field.label)
            for field in fields
        ]
    }
    for one in contenders:
        columns[one.name] = [
            f"{one.values[field.name]:,.12g}"
            if isinstance(field, Quantity) and one.values[field.name]
            else section.setting(field, one.values[field.name])
            for field in fields
        ]
    return columns


def measures(
    contenders: Sequence[Contender], figures: Sequence[Mapping[str, float]], baseline: int
) -> dict[str, list[str]]:
    """Every measure, with its difference from the baseline's: absolute and relative."""
    columns = {say("Figure"): [say(EXPLANATIONS[one.id].title) for one in compare.MEASURES]}
    # To or from a bound there is no difference.
    base, against = figures[baseline], contenders[baseline].scenario
    for i, (contender, own) in enumerate(zip(contenders, figures, strict=True)):
        columns[contender.name] = [
            written.bounded(one.id, own[one.id], contender.scenario)
            if i == baseline or known.bounded(contender.scenario) or known.bounded(against)
            else _beside(one.id, own[one.id], base[one.id])
            for one in compare.MEASURES
        ]
    for one in compare.MEASURES:
        usual = [
            written.ranged(one.id, own[one.id], contender.scenario)
            for contender, own in zip(contenders, figures, strict=True)
        ]
        if any(usual):
            figure = say("{figure}, usually", figure=say(EXPLANATIONS[one.id].title))
            for column, cell in zip(columns.values(), [figure, *usual], strict=True):
                column.append(cell)
    return columns


def noted(contenders: Sequence[Contender]) -> list[str]:
    """What the usual ranges of contenders stand on, or why they have none, each once.

    That the first has no class stands under the title.
    """
    ids = [one.id for one in compare.MEASURES]
    found = [note for one in contenders for note in written.basis(one.scenario, ids)]
    said = text.plain(calibration.no_class(contenders[0].scenario))
    return [note for note in dict.fromkeys(found) if note != said]


def _beside(id: str, value: float, base: float) -> str:
    change = text.change(value, base)
    if not change:
        return written.quantity(id, value)
    if value == base:
        return f"{written.quantity(id, value)}   ="
    return f"{written.quantity(id, value)}   {_signed(id, value - base)}, {change}"


def _signed(id: str, difference: float) -> str:
    sign = "−" if difference < 0 else "+"
    return f"{sign}{written.quantity(id, abs(difference))}"


def verdict(
    contenders: Sequence[Contender], figures: Sequence[Mapping[str, float]], baseline: int
) -> str:
    """Who is fastest, who yields most per chip and who is cheapest, against the baseline."""
    compared = _one_leads(contenders, figures) or _each_leads(contenders, figures, baseline)
    misfits = [
        _name(contenders, i)
        for i, (one, own) in enumerate(zip(contenders, figures, strict=True))
        if one.scenario.batch > own["max_batch"]
    ]
    bounds = [_name(contenders, i) for i, one in enumerate(contenders)
              if known.bounded(one.scenario)]  # fmt: skip
    return text.sentences(
        say("{statements}.", statements=compared) if compared else "",
        say(
            "Not ranked, since a figure of the chip is not published and only bounds are known: "
            "{names}.",
            names=text.listed(bounds),
        )
        if bounds
        else "",
        say("**Does not fit**: {names}.", names=text.listed(misfits)) if misfits else "",
        _fidelities(contenders),
    )


def _fidelities(contenders: Sequence[Contender]) -> str:
    """That contenders are not of one fidelity, where they are not."""
    by_fidelity: dict[str, list[str]] = {}
    for i, one in enumerate(contenders):
        by_fidelity.setdefault(one.scenario.fidelity, []).append(_name(contenders, i))
    if len(by_fidelity) == 1:
        return ""
    each = [f"{fidelity}: {text.listed(names)}" for fidelity, names in by_fidelity.items()]
    return say(
        "**Fidelity differs** ({each}): part of every difference comes from it.",
        each=text.clauses(each),
    )


_ANSWERS = ("step_time", "throughput_per_chip", "usd_per_million_tokens")


def _one_leads(contenders: Sequence[Contender], figures: Sequence[Mapping[str, float]]) -> str:
    """That one is best in all, and how much slower the others are; empty if it is not so."""
    better = {one.id: one.better for one in compare.MEASURES}
    if any(known.bounded(one.scenario) for one in contenders) or len(contenders) < 2:
        return ""
    if not all(math.isfinite(own[id]) for own in figures for id in _ANSWERS):
        return ""
    best = max(range(len(figures)), key=lambda i: better["step_time"] * figures[i]["step_time"])
    ahead = all(
        better[id] * figures[best][id] > better[id] * own[id] * (1 + better[id] * 1e-9)
        for id in _ANSWERS
        for own in figures
        if own is not figures[best]
    )
    if not ahead:
        return ""
    time = figures[best]["step_time"]
    others = (
        f"{_name(contenders, i)} {text.change(own['step_time'], time)}"
        for i, own in enumerate(figures)
        if i != best
    )
    return say(
        "**{name}** is fastest ({time}), yields most per chip and is cheapest; step time of the "
        "others: {others}",
        name=_name(contenders, best), others=text.listed(others),
        time=written.told("step_time", time, contenders[best].scenario),
    )  # fmt: skip


def _each_leads(
    contenders: Sequence[Contender], figures: Sequence[Mapping[str, float]], baseline: int
) -> str:
    """Who leads in each, against the baseline."""
    said = []
    for id, alone, shared in (
        ("step_time", say("{names} has the shortest step, {value}{change}"),
         say("{names} share the shortest step, {value}{change}")),
        ("throughput_per_chip", say("{names} yields most per chip, {value} token/s{change}"),
         say("{names} share the most per chip, {value} token/s{change}")),
        ("usd_per_million_tokens", say("{names} is cheapest, {value} per Mtoken{change}"),
         say("{names} share the lowest price, {value} per Mtoken{change}")),
    ):  # fmt: skip
        better = next(one.better for one in compare.MEASURES if one.id == id)
        ranked = {
            i: own[id]
            for i, own in enumerate(figures)
            if math.isfinite(own[id]) and not known.bounded(contenders[i].scenario)
        }
        if not ranked:
            continue
        best = max(ranked.values(), key=lambda value: better * value)
        leading = [i for i, value in ranked.items() if math.isclose(value, best, rel_tol=1e-9)]
        beaten = baseline in ranked and baseline not in leading
        change = text.change(best, figures[baseline][id]) if beaten else ""
        beside = (
            say(
                " ({change} against {baseline})",
                change=change,
                baseline=_name(contenders, baseline),
            )
            if change
            else ""
        )
        said.append(
            (shared if len(leading) > 1 else alone).format(
                names=text.listed(f"**{_name(contenders, i)}**" for i in leading),
                value=written.told(id, best, contenders[leading[0]].scenario),
                change=beside,
            )
        )
    return text.clauses(said)


def _name(contenders: Sequence[Contender], i: int) -> str:
    return text.plain(contenders[i].name)


def between(one: str, a: Point, other: str, b: Point) -> str:
    """What changes from one point to another, and which term of the step did it."""
    changes = [
        say("time per token {before} → {after}", before=text.si(a.latency, "s"),
            after=text.si(b.latency, "s")) + _shift(b.latency, a.latency),
        say("token/s per chip {before} → {after}", before=text.rate(a.throughput_per_chip),
            after=text.rate(b.throughput_per_chip))
        + _shift(b.throughput_per_chip, a.throughput_per_chip),
        say("per Mtoken {before} → {after}", before=text.usd(a.usd),
            after=text.usd(b.usd)) + _shift(b.usd, a.usd),
    ]  # fmt: skip
    return text.sentences(
        say(
            "From **A**, {one} at batch {a:,}, to **B**, {other} at batch {b:,}: {changes}.",
            one=text.plain(one), a=int(a.batch), other=text.plain(other), b=int(b.batch),
            changes=text.clauses(changes),
        ),
        _reason(a, b),
    )  # fmt: skip


def _shift(after: float, before: float) -> str:
    """The change in brackets; nothing where one of the two is unknown."""
    change = text.change(after, before)
    return f" ({change})" if change else ""


def _reason(a: Point, b: Point) -> str:
    """The term that moved most, and what the others did together."""
    grown = [(name, change) for name, change in compare.moved(a.step, b.step) if change]
    if not grown or not math.isfinite(grown[0][1]):
        return ""
    (name, most), rest = grown[0], sum(change for _, change in grown[1:])
    term = inside(palette.QUANTITIES[name].label)
    took = (
        say("The reason is the {term}, {time} more", term=term, time=text.si(most, "s"))
        if most > 0
        else say("The reason is the {term}, {time} less", term=term, time=text.si(-most, "s"))
    )
    others = (
        say("; all else takes {time} more", time=text.si(rest, "s"))
        if rest > 0
        else say("; all else takes {time} less", time=text.si(-rest, "s"))
        if rest
        else ""
    )
    return say("{statements}.", statements=took + others)
