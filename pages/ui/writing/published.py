"""Where what is published ends: no rate, no link, no such context."""

from __future__ import annotations

import math
from collections.abc import Callable

from calc import Model, NumberFormat, Scenario, custom, known
from calc.words import marked, say
from pages.ui.writing import text
from presets import formats


def least(scenario: Scenario, figure: str) -> str:
    """A time or a price; "at least" where a rate is taken as unlimited."""
    return say("at least {figure}", figure=figure) if known.bounded(scenario) else figure


def most(scenario: Scenario, figure: str) -> str:
    """What is made in a time; "at most" where a rate is taken as unlimited."""
    return say("at most {figure}", figure=figure) if known.bounded(scenario) else figure


def lower(scenario: Scenario, value: float, write: Callable[[float], str]) -> str:
    """The cell of a time or a price, as `least`."""
    return _signed("≥ ", scenario, value, write)


def upper(scenario: Scenario, value: float, write: Callable[[float], str]) -> str:
    """The cell of what is made in a time, as `most`."""
    return _signed("≤ ", scenario, value, write)


def _signed(sign: str, scenario: Scenario, value: float, write: Callable[[float], str]) -> str:
    stands = known.bounded(scenario) and math.isfinite(value)
    return f"{sign}{write(value)}" if stands else write(value)


def seconds(scenario: Scenario, value: float) -> str:
    """The cell of a time."""
    return lower(scenario, value, lambda time: text.si(time, "s"))


def taken(scenario: Scenario) -> str:
    """What is not published, what stands for it, and what would be known instead."""
    missing = known.unknown(scenario)
    if not missing:
        return ""
    return text.sentences(
        _rates(scenario, missing),
        say("No memory bandwidth is published for {chip}.", chip=_chip(scenario))
        if missing.bandwidth
        else "",
        _links(scenario) if missing.links else "",
        say(
            "What is missing is taken as unlimited: times and prices are **at least**, rates **at "
            "most** what is shown."
        )
        if not missing.all
        else say("So no time is known here; what memory holds is."),
    )


def offered(scenario: Scenario) -> NumberFormat | None:
    """A format whose rate is published, where one is missing."""
    missing = known.unknown(scenario).rates
    return known.offered(scenario, formats) if missing else None


def without_time(scenario: Scenario, what: str) -> str:
    """Why nothing is known of a time, not even a bound; `what` is marked for translation."""
    return text.sentences(say("{what} is not known here.", what=say(what)), taken(scenario))


_NOT_PUBLISHED = marked("No dense {format} rate is published for {chip} (published: {rates}).")
_NOT_GIVEN = marked("{chip} was given without a dense {format} rate (given: {rates}).")


def _rates(scenario: Scenario, missing: known.Unknown) -> str:
    """That rates are missing, which there are, and the nearest format that has one."""
    if not missing.rates:
        return ""
    # Of one's own chip nothing is published.
    own = scenario.chip.id in custom.CHIP_IDS
    published = say(
        _NOT_GIVEN if own else _NOT_PUBLISHED,
        format=say(" or ").join(text.plain(one.id) for one in missing.rates),
        chip=_chip(scenario),
        rates=text.listed(scenario.chip.peaks) or say("none"),
    )
    known_one = offered(scenario)
    if known_one is None:
        return published
    return text.sentences(
        published,
        say("Choose **{format}** compute for figures that are known.", format=known_one.id),
    )


def _links(scenario: Scenario) -> str:
    return say(
        "No link bandwidth is published for {chip}: what {n:,} of them send each other counts "
        "only its hops.",
        chip=_chip(scenario),
        n=scenario.n_chips,
    )


def _chip(scenario: Scenario) -> str:
    return text.plain(scenario.chip.name)


def lengths(scenario: Scenario) -> str:
    """That a context is none which requests of these lengths pass through."""
    s = scenario
    if s.prompt <= s.context <= s.prompt + s.output:
        return ""
    return say(
        "Context {context:,} is not one of these requests, which go from {prompt:,} to {end:,} "
        "tokens.",
        context=s.context,
        prompt=s.prompt,
        end=s.prompt + s.output,
    )


def longer_context(model: Model, tokens: int) -> list[str]:
    """Up to what context a model is published, where this is a longer one."""
    if not model.max_context or tokens <= model.max_context:
        return []
    return [
        say(
            "{model} is published for {n:,} tokens of context; these are {tokens:,}.",
            model=text.plain(model.name),
            n=model.max_context,
            tokens=tokens,
        )
    ]
