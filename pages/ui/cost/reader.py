"""The tab What a reader notices: how fast an answer comes, and how long nothing is seen."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from calc import Scenario, decode, known, prefill, reader
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.cost.view import CostView
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Switch
from pages.ui.writing import palette, published, tables, text, written

_READER = palette.Look(marked("a very fast reader"), palette.QUANTITIES["overhead"].colour, "dot")
# Tokens of reasoning that are not shown.
HIDDEN = Switch("cost-hidden", "hidden", 1000, range(0, 10**6 + 1))


def tab(view: CostView) -> None:
    """What is hidden, both charts, and the figures."""
    st.number_input(
        say("Hidden reasoning tokens"), 0, 10**6, HIDDEN.default, 100, key=HIDDEN.key,
        persist_state="session", width=220,
        help=say("Made before the first token that is shown. Usually 0 to several thousand."),
    )  # fmt: skip
    st.markdown(sentence(view))
    with st.grid(2, min_column_width=400):
        speed(view).draw("cost-reading")
        kit.show(_wait(view), "cost-wait", say("Time to the first token against the prompt."))
    st.markdown(_table(view))


def speed(view: CostView) -> Shown:
    """Token/s of one reader against batch, beside a reader's own."""
    return Shown(_speed(view), say("Token/s per user against batch."))


def sentence(view: CostView) -> str:
    """How fast, against a reader; and when something is seen."""
    s, tpot = view.scenario, float(view.step.total)
    if not math.isfinite(tpot):
        return published.without_time(s, marked("What a user notices"))
    faster = (
        say(
            "**{times}** as fast as a very fast reader",
            times=text.times(reader.READING_TIME / tpot),
        )
        if tpot <= reader.READING_TIME
        else say("slower than a very fast reader")
    )
    comes = say(
        "Each user gets **{rate}** token/s, {faster}.",
        rate=_most(s, 1 / tpot), faster=faster,
    )  # fmt: skip
    hidden, first = _hidden(view), _least(s, view.reading)
    if not hidden:
        return text.sentences(comes, say("The first token comes after **{time}**.", time=first))
    seen = say(
        "The first token comes after {ttft}. The first token shown comes after **{time}**, "
        "behind {hidden}.",
        ttft=first, hidden=_tokens(hidden), time=_least(s, _seen(view)),
    )  # fmt: skip
    return text.sentences(comes, seen)


def _tokens(hidden: int) -> str:
    return text.plural(hidden, marked("{n} hidden token"), marked("{n} hidden tokens"))


def _most(s: Scenario, rate: float) -> str:
    """Token/s; the bound of a step is never more than the least."""
    if s.fidelity == "bound":
        return say("at most {figure}", figure=text.rate(rate))
    return written.told("user_rate", rate, s)


def _least(s: Scenario, seconds: float) -> str:
    return published.least(s, text.si(seconds, "s"))


def _hidden(view: CostView) -> int:
    return int(view.chosen(HIDDEN.key, HIDDEN.default))


def _seen(view: CostView) -> float:
    return reader.first_visible(view.reading, float(view.step.total), _hidden(view))


def _table(view: CostView) -> str:
    s, tpot, reading = view.scenario, float(view.step.total), view.reading
    quotients = {
        say("Output token, by time"): reader.input_tokens_by_time(s, tpot, reading),
        say("Output token, by cost"): reader.input_tokens_by_cost(s, tpot, reading),
    }
    meanings = (
        say("prompt tokens that are read in the time of one output token"),
        say("prompt tokens of the same chip time: the batch shares a step"),
    )
    rows = [
        [say("Token/s per user"), written.cell("user_rate", 1 / tpot, s),
         say("one token of each answer a step")],
        [say("A very fast reader"), text.significant(1 / reader.READING_TIME),
         say("{time} a token (Huyen 2025)", time=text.si(reader.READING_TIME, "s"))],
        [say("First token shown"), published.seconds(s, _seen(view)),
         say("TTFT + hidden tokens × TPOT")],
        *(
            # Of two bounds no quotient is known.
            [name, text.significant(math.nan if known.bounded(s) else value), meaning]
            for (name, value), meaning in zip(quotients.items(), meanings, strict=True)
        ),
    ]  # fmt: skip
    return tables.markdown([say("Quantity"), say("Value"), say("What is meant")], rows, " r ")


def _speed(view: CostView) -> kit.Chart:
    s, tpot = view.scenario, float(view.step.total)
    step = decode.step_time(s, batch=view.batches)
    return lines.chart(
        view.batches,
        {
            say("one answer"): (1 / step.total, lines.TOTAL),
            say(_READER.label): (np.full_like(view.batches, 1 / reader.READING_TIME), _READER),
        },
        x_title=say("Batch (sequences)"),
        y_title=say("Token/s per user"),
        unit="token/s",
        now=(s.batch, 1 / tpot, text.rate(1 / tpot)),
    )


def _wait(view: CostView) -> kit.Chart:
    s, hidden = view.scenario, _hidden(view)
    far = 2.0 ** math.ceil(math.log2(max(4 * s.prompt, 131072)))
    length = np.unique(np.append(np.geomspace(min(128, s.prompt), far, 61), float(s.prompt)))
    known_tokens = np.minimum(prefill.block_hit(s), length - 1)
    ttft = prefill.prompt_time(s, length, known_tokens).total
    shown: dict[str, lines.Line] = {}
    if hidden:
        delay = reader.first_visible(0.0, float(view.step.total), hidden)
        shown[say("first token shown")] = (ttft + delay, lines.TOTAL)
    shown[say("first token")] = (ttft, palette.Look("", palette.INK, "dash" if hidden else "solid"))
    seen = _seen(view)
    return lines.chart(
        length,
        shown,
        x_title=say("Prompt (tokens)"),
        y_title=say("Time after the request (s)"),
        unit="s",
        now=(s.prompt, seen, text.si(seen, "s")),
    )
