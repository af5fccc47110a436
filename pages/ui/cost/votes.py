"""Several answers to one question: best of N, votes and beams, by cost, cache and being right."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calc import Scenario, known, memory, votes
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame.page import Shown
from pages.ui.frame.switches import Switch
from pages.ui.writing import published, tables, text

ANSWERS = Switch("votes-answers", "answers", 8, range(1, votes.MOST + 1))
RIGHT = Switch("votes-right", "right", 60, range(101))

VOTE, SPLIT, BEST = "#0072B2", "#56B4E9", "#D55E00"


def section(scenario: Scenario, usd_in: float, usd_out: float) -> None:
    """How many answers, how often one is right, and what comes of it."""
    with st.container(horizontal=True):
        n = st.number_input(
            say("Answers to a question"), 1, votes.MOST, int(ANSWERS.default), key=ANSWERS.key,
            persist_state="session", width=220,
            help=say("N of best-of-N and of self-consistency; the width of a beam."),
        )  # fmt: skip
        percent = st.number_input(
            say("Accuracy of one answer (%)"), 0, 100, int(RIGHT.default), key=RIGHT.key,
            persist_state="session", width=220,
            help=say("Share of questions that one sampled answer gets right; answers are "
                     "independent."),
        )  # fmt: skip
    st.markdown(sentence(scenario, usd_in, usd_out, n, percent / 100))
    with st.grid(2, min_column_width=400):
        shown(n, percent / 100).draw("votes-curve")
        with st.container():
            st.table(_table(scenario, usd_in, usd_out, n), hide_index=True)
            st.caption(
                say(
                    "A beam of width N costs as much; its hypotheses share more of the cache. "
                    "All wrong answers count as the same one: where they differ, a vote is "
                    "right more often. Best of N needs a verifier without errors (F8.29)."
                )
            )


def sentence(s: Scenario, usd_in: float, usd_out: float, n: int, p: float) -> str:
    """What so many answers cost, and how often their vote is right."""
    right, tie = votes.majority(n, p)
    if n == 1:
        return say("One answer is right on **{right}** of questions.", right=text.percent(right))
    one, many = (votes.price(usd_in, usd_out, s.prompt, s.output, count) for count in (1, n))
    return text.sentences(
        say(
            "**{n:,} answers** to one prompt take {made:,} output tokens and one prompt.",
            n=n,
            made=n * s.output,
        ),
        # Of two bounds there is no quotient.
        say("They cost {times} what one does.", times=text.times(many / one))
        if one > 0 and not known.bounded(s)
        else "",
        say("Their majority is right on **{right}** of questions.", right=text.percent(right)),
        say("On {tie} half of the answers are right: a tie.", tie=text.percent(tie))
        if tie > 0
        else "",
    )


def shown(n: int, p: float) -> Shown:
    """How often a vote and the best of N are right, against N."""
    most = int(min(max(2 * n, 16), votes.MOST))
    counts = np.arange(1, most + 1)
    right, ties = np.array([votes.majority(int(one), p) for one in counts]).T
    best = votes.any_right(counts, p)
    curves = (
        (say("best of N, at most"), best, BEST, "dash"),
        (say("majority"), right, VOTE, "solid"),
        (say("majority, half of ties"), right + ties / 2, SPLIT, "dot"),
    )
    data: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "name": name, "x": counts, "y": 100 * values,
            "line": {"color": colour, "dash": dash, "width": 2},
            "hovertemplate": kit.hovered(name, "N = %{x}", "%{y:.1f} %"),
        }
        for name, values, colour, dash in curves
    ]  # fmt: skip
    keys = [kit.key(name, colour, kit.DASH_GLYPHS[dash]) for name, _, colour, dash in curves]
    rows = kit.wrapped(keys)
    layout = {
        **kit.frame(62, legend_rows=len(rows)),
        "xaxis": kit.axis(say("Answers"), [0.5, most + 0.5], False),
        "yaxis": kit.axis(say("Accuracy (%)"), [0, 104], False),
        "shapes": [kit.rule("x", n, "dot"), kit.legend(*rows)],
    }
    told = text.plural(n, marked("{n} answer"), marked("{n} answers"))
    return Shown(
        kit.figure(data, layout),
        say(
            "Share of questions answered right against the number of answers: with {answers}, "
            "majority {right}, best of N at most {best}.",
            answers=told,
            right=text.percent(float(right[n - 1])),
            best=text.percent(float(best[n - 1])),
        ),
    )


def _table(s: Scenario, usd_in: float, usd_out: float, n: int) -> Any:
    """One answer, so many that share a prompt, and as many requests."""
    of = [votes.held(s, 1), votes.held(s, n)]
    alone = votes.questions(s, 1)
    fitting = (alone, votes.questions(s, n), alone // n)
    sizes = [of[0].total, of[1].total, of[1].apart]
    prices = [votes.price(usd_in, usd_out, s.prompt, s.output, count) for count in (1, n)]
    rows = [
        [say("Prompt tokens to read"), *map(text.count, (s.prompt, s.prompt, n * s.prompt))],
        [say("Output tokens"), *map(text.count, (s.output, n * s.output, n * s.output))],
        [say("USD per 1,000 questions"),
         *(published.lower(s, 1000 * one, text.usd) for one in (*prices, n * prices[0]))],
        [say("KV cache at the end"), *(text.si(size, "B") for size in sizes)],
        [say("Questions that fit at once"),
         *("–" if memory.no_cache(s) else text.count(number) for number in fitting)],
    ]  # fmt: skip
    head = [
        "",
        say("One answer"),
        text.plural(n, marked("{n} answer, shared prompt"), marked("{n} answers, shared prompt")),
        text.plural(n, marked("{n} request"), marked("{n} requests")),
    ]
    return tables.table(head, rows)
