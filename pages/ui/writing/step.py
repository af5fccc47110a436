"""What several pages say of a step: what of it is communication, and why it is not known."""

from __future__ import annotations

from calc import Scenario, decode
from calc.words import marked, say
from pages.ui.writing import fit, published, text


def communication(share: float) -> str:
    """What of a time is communication."""
    return say("{share} of it communication", share=text.percent(share))


def unknown(scenario: Scenario, step: decode.StepTime, max_batch: int) -> str:
    """Why a step's time is not known, and what is."""
    unrated = published.format_without_rate(scenario)
    if unrated is None:
        return text.sentences(
            published.without_links(scenario, step, marked("the step")),
            fit.fit(scenario, max_batch),
        )
    usable = say(" or ").join(scenario.chip.peaks) or say("none")
    return text.sentences(
        say(
            "{statement} (published: {rates}).",
            statement=published.missing_rate(scenario, unrated, marked("the step time")),
            rates=usable,
        ),
        say(
            "Reading takes **{time}**.",
            time=text.si(float(step.kv_read + step.weight_read), "s"),
        ),
        fit.fit(scenario, max_batch),
    )
