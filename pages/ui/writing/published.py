"""Where what is published ends: no rate, no link, no such context."""

from __future__ import annotations

from calc import Model, Scenario, decode
from calc.formats import NumberFormat
from calc.words import say
from pages.ui.writing import text


def unknown_time(scenario: Scenario, step: decode.StepTime, what: str, its_time: str) -> str:
    """Why a time is not known: what takes it and that time, both marked for translation."""
    unrated = format_without_rate(scenario)
    if unrated is None:
        return without_links(scenario, step, what)
    return text.sentence(missing_rate(scenario, unrated, its_time))


def format_without_rate(scenario: Scenario) -> NumberFormat | None:
    """The format that is computed in though the chip publishes no rate for it, if there is one."""
    s = scenario
    used = [s.compute_format, *([s.attention_format] if s.attention_format else [])]
    return next((format for format in used if not s.chip.peak(format) > 0), None)


def missing_rate(scenario: Scenario, unrated: NumberFormat, what: str) -> str:
    """That no rate is published, and what is unknown for it; without a full stop."""
    return say(
        "No dense {format} rate is published for {chip}, so {what} is not known here",
        format=text.plain(unrated.id),
        chip=text.plain(scenario.chip.name),
        what=say(what),
    )


def without_links(scenario: Scenario, step: decode.StepTime, what: str) -> str:
    """That no link is published, and what the time is without any."""
    return text.sentences(
        missing_link(scenario),
        say(
            "Without communication {what} takes **{time}**.",
            what=say(what),
            time=text.si(float(step.busy), "s"),
        ),
    )


def missing_link(scenario: Scenario) -> str:
    """That links are needed of which nothing is published."""
    return say(
        "No one-way link bandwidth is published for {chip}, so what {n:,} of them send each other "
        "is not known here.",
        chip=text.plain(scenario.chip.name),
        n=scenario.n_chips,
    )


def longer_context(model: Model, tokens: int) -> list[str]:
    """Up to what context a model is published, where this is a longer one."""
    if not model.max_context or tokens <= model.max_context:
        return []
    return [
        say(
            "{model} is published for {n:,} tokens of context.",
            model=text.plain(model.name),
            n=model.max_context,
        )
    ]
