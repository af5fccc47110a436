"""The acceptance bench: two next-token distributions, how they overlap, and a proof by drawing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from calc import Scenario, sampling, speculative
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import customs, language
from pages.ui.frame import link as links
from pages.ui.frame.presentation import SAMPLING
from pages.ui.speculative import figures
from pages.ui.writing import tables, text

DRAWS = 100_000

# Names of the examples, which are messages, and small vocabularies with weights for the target and
# for the draft.
EXAMPLES: Mapping[str, tuple[list[str], list[float], list[float]]] = {
    marked("three tokens"): (["A", "B", "C"], [0.5, 0.3, 0.2], [0.6, 0.3, 0.1]),
    marked("code: one token nearly certain"): (
        ["(", "[", ".", " ", "=", "{"],
        [0.91, 0.03, 0.03, 0.01, 0.01, 0.01],
        [0.86, 0.05, 0.04, 0.02, 0.02, 0.01],
    ),
    marked("chat: many fair choices"): (
        ["the", "a", "this", "it", "we", "that", "there", "you"],
        [0.24, 0.18, 0.14, 0.12, 0.10, 0.09, 0.07, 0.06],
        [0.34, 0.22, 0.10, 0.10, 0.06, 0.08, 0.05, 0.05],
    ),
    marked("mismatched: the draft is sure of something else"): (
        ["yes", "no", "maybe", "never", "often"],
        [0.55, 0.20, 0.15, 0.05, 0.05],
        [0.05, 0.80, 0.05, 0.05, 0.05],
    ),
}


def conversion(scenario: Scenario) -> None:
    """Acceptance from what an engine prints."""
    rate = st.number_input(
        say("Accepted over drafted, from an engine"),
        0.0,
        1.0,
        0.59,
        0.01,
        key="bench-reported",
        persist_state="session",
        width=300,
    )
    if scenario.n_draft:
        alpha = speculative.alpha_of_reported(rate, scenario.n_draft)
        st.markdown(
            say(
                "With {n} drafted tokens that is an acceptance of **{alpha:.3f}** per token.",
                n=scenario.n_draft,
                alpha=alpha,
            )
        )
    else:
        st.markdown(say("Nothing is drafted, so there is no rate to convert."))


FIRST = next(iter(EXAMPLES))


def _weights() -> tuple[list[str], list[float], list[float]]:
    """Tokens and weights: those that the link holds, else the first example's."""
    given = st.session_state.get(customs.WEIGHTS)
    names, target, draft = EXAMPLES[FIRST]
    if not given:
        return names, target, draft
    read = [side.tolist() for side in sampling.pair_of_text(given)]
    known = [tokens for tokens, p, q in EXAMPLES.values() if [p, q] == read]
    names = known[0] if known else [say("token {n}", n=i + 1) for i in range(len(read[0]))]
    return names, read[0], read[1]


def _keep_edits(key: str, target: list[float], draft: list[float]) -> None:
    """Cells changed in the table become the weights of the link, if they are distributions."""
    language.speak()
    columns = {_TARGET: list(target), _DRAFT: list(draft)}
    for row, changes in st.session_state[key]["edited_rows"].items():
        for column, value in changes.items():
            columns[column][int(row)] = value if value is not None else 0.0
    packed = sampling.text_of_pair(columns[_TARGET], columns[_DRAFT])
    try:
        sampling.pair_of_text(packed)
    except sampling.DistributionError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    st.session_state[_PROBLEM] = ""
    st.session_state[customs.WEIGHTS] = packed


def _use_example() -> None:
    _, target, draft = EXAMPLES[st.session_state["bench-example"]]
    st.session_state[_PROBLEM] = ""
    st.session_state[customs.WEIGHTS] = sampling.text_of_pair(target, draft)


_PROBLEM = "_bench_problem"

# Columns of the editor.
_TOKEN, _TARGET, _DRAFT = marked("token"), marked("target p"), marked("draft q")


def section() -> None:
    """Editor, overlap, acceptance, and the simulation."""
    st.selectbox(
        say("Take an example"),
        list(EXAMPLES),
        format_func=say,
        index=None,
        key=language.renamed("bench-example"),
        on_change=_use_example,
    )
    left, right = st.columns([2, 3])
    try:
        names, target, draft = _weights()
    except sampling.DistributionError as error:
        st.warning(say("The bench weights in the sidebar cannot be used: {reason}.", reason=error))
        return
    with left:
        _editor(names, target, draft)
    chosen = [links.widget_values()[field.name] for field in SAMPLING]
    p, q = (
        sampling.processed(sampling.distribution(weights), *chosen) for weights in (target, draft)
    )
    with right:
        alpha = sampling.acceptance(p, q)
        overlap = say(
            "Acceptance **α = {alpha:.3f}**, total variation {distance:.3f}.",
            alpha=alpha,
            distance=1 - alpha,
        )
        never = say("Nothing is ever rejected.") if alpha > 1 - 1e-12 else ""
        st.markdown(text.sentences(overlap, never))
        kit.show(
            figures.overlap(names, p, q),
            key="bench-overlap",
            alt=say("Target and draft distributions; they share {alpha:.3f}.", alpha=alpha),
        )
    _simulation(names, p, q)


def _editor(names: list[str], target: list[float], draft: list[float]) -> None:
    # The key names the data: another table must not inherit the cells changed in this one.
    key = f"bench-{sampling.text_of_pair(target, draft)}"
    st.data_editor(
        pd.DataFrame({_TOKEN: names, _TARGET: target, _DRAFT: draft}),
        key=key,
        hide_index=True,
        disabled=[_TOKEN],
        column_config={
            _TOKEN: st.column_config.Column(say(_TOKEN)),
            **{
                name: st.column_config.NumberColumn(say(name), min_value=0.0, format="%g")
                for name in (_TARGET, _DRAFT)
            },
        },
        on_change=_keep_edits,
        args=(key, target, draft),
    )
    if st.session_state.get(_PROBLEM):
        st.warning(say("Not used: {reason}.", reason=st.session_state[_PROBLEM]))
    st.caption(
        say(
            "Weights; they are scaled to add up to 1. Temperature, top-k and top-p are in the "
            "sidebar and apply to both."
        )
    )


def _simulation(names: list[str], p: np.ndarray, q: np.ndarray) -> None:
    exact = sampling.simulate(p, q, DRAWS)
    loose = sampling.simulate_threshold(p, q, draws=DRAWS)
    st.table(
        tables.table(
            [
                say("Token"),
                say("Target p"),
                say("Sampling error"),
                say("Accept or residual"),
                say("Threshold heuristic"),
            ],
            [
                [
                    text.plain(names[i]),
                    f"{p[i]:.4f}",
                    f"± {exact.standard_error[i]:.4f}",
                    f"{exact.emitted[i]:.4f}",
                    f"{loose.emitted[i]:.4f}",
                ]
                for i in range(len(names))
            ]
            + [
                [
                    say("χ², {n} expected", n=exact.degrees),
                    "",
                    "",
                    text.chi_square(exact.chi_square),
                    text.chi_square(loose.chi_square),
                ],
                [say("Accepted"), "", "", f"{exact.accepted:.4f}", f"{loose.accepted:.4f}"],
            ],
        ),
        hide_index=True,
    )
    st.caption(
        say(
            "{n:,} draws with a fixed seed. Accepting with min(1, p / q) and else drawing from the "
            "residual emits p within sampling error, whatever the draft. The heuristic, which "
            "accepts any drafted token with p above 0.09, does not.",
            n=DRAWS,
        )
    )
