"""The acceptance bench: two next-token distributions, how they overlap, and a proof by drawing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from calc import sampling
from pages.ui import figures, speculation_figures, tables, text

DRAWS = 100_000

# Small vocabularies with weights for the target and for the draft.
EXAMPLES: Mapping[str, tuple[list[str], list[float], list[float]]] = {
    "three tokens": (["A", "B", "C"], [0.5, 0.3, 0.2], [0.6, 0.3, 0.1]),
    "code: one token nearly certain": (
        ["(", "[", ".", " ", "=", "{"],
        [0.91, 0.03, 0.03, 0.01, 0.01, 0.01],
        [0.86, 0.05, 0.04, 0.02, 0.02, 0.01],
    ),
    "chat: many fair choices": (
        ["the", "a", "this", "it", "we", "that", "there", "you"],
        [0.24, 0.18, 0.14, 0.12, 0.10, 0.09, 0.07, 0.06],
        [0.34, 0.22, 0.10, 0.10, 0.06, 0.08, 0.05, 0.05],
    ),
    "mismatched: the draft is sure of something else": (
        ["yes", "no", "maybe", "never", "often"],
        [0.55, 0.20, 0.15, 0.05, 0.05],
        [0.05, 0.80, 0.05, 0.05, 0.05],
    ),
}


def section() -> None:
    """Editor, sampling settings, overlap, acceptance, and the simulation."""
    example = st.selectbox("Example", list(EXAMPLES), key="bench-example", persist_state="session")
    names, target, draft = EXAMPLES[example]
    left, right = st.columns([2, 3])
    with left:
        edited = st.data_editor(
            pd.DataFrame({"token": names, "target p": target, "draft q": draft}),
            key=f"bench-{example}",
            hide_index=True,
            disabled=["token"],
        )
        st.caption("Weights; they are scaled to add up to 1.")
        temperature = st.slider(
            "Temperature", 0.0, 2.0, 1.0, 0.05, key="bench-t", persist_state="session"
        )
        top_k = st.slider(
            "Top-k (0 keeps all)", 0, len(names), 0, key="bench-k", persist_state="session"
        )
        top_p = st.slider("Top-p", 0.05, 1.0, 1.0, 0.05, key="bench-p", persist_state="session")
    with right:
        try:
            p, q = (
                sampling.processed(
                    sampling.distribution(edited[column].fillna(0).to_numpy(dtype=float)),
                    temperature,
                    top_k,
                    top_p,
                )
                for column in ("target p", "draft q")
            )
        except sampling.DistributionError as error:
            st.warning(f"These weights are no distribution: {error}.")
            return
        alpha = sampling.acceptance(p, q)
        st.markdown(
            f"Acceptance **α = {alpha:.3f}**, total variation {1 - alpha:.3f}. "
            f"{'Nothing is ever rejected.' if alpha > 1 - 1e-12 else ''}"
        )
        figures.show(
            speculation_figures.overlap(names, p, q),
            key="bench-overlap",
            alt=f"Target and draft distributions; they share {alpha:.3f}.",
        )
    _simulation(names, p, q)


def _simulation(names: list[str], p: np.ndarray, q: np.ndarray) -> None:
    exact = sampling.simulate(p, q, DRAWS)
    loose = sampling.simulate_threshold(p, q, draws=DRAWS)
    st.markdown(
        tables.markdown(
            ["Token", "Target p", "Sampling error", "Accept or residual", "Threshold heuristic"],
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
                    f"χ², {exact.degrees} expected",
                    "",
                    "",
                    text.chi_square(exact.chi_square),
                    text.chi_square(loose.chi_square),
                ],
                ["Accepted", "", "", f"{exact.accepted:.4f}", f"{loose.accepted:.4f}"],
            ],
            " rrrr",
        )
    )
    st.caption(
        f"{DRAWS:,} draws with a fixed seed. Accepting with min(1, p / q) and else drawing from "
        "the residual emits p within sampling error, whatever the draft. The heuristic, which "
        "accepts any drafted token with p above 0.09, does not."
    )
