"""The Speculation page: what drafting buys, how long a draft should be, whether it pays."""

from __future__ import annotations

import streamlit as st

from calc import speculative
from calc.drafts import KINDS
from calc.words import marked, say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.speculative import bench, drafts, figures, survivors, tables, words
from pages.ui.speculative.view import METRICS, SpeculationView, by_acceptance
from pages.ui.writing import text

QUESTION = marked("Does speculative decoding pay?")


def verdict(view: SpeculationView) -> str:
    """The answer."""
    timed = view.timed
    return words.verdict(view.scenario, timed.here, view.best_here, timed.free)


def head(view: SpeculationView) -> None:
    """The answer, what to know beside it, and its figures."""
    draw.head(
        verdict(view), words.caveats(view.scenario, float(view.timed.here.plain), view.timed.ratio)
    )
    draw.metrics(METRICS, view)


def by_batch(view: SpeculationView) -> Shown:
    """Speed-up against batch."""
    return Shown(
        view.batch_chart(),
        say(
            "Speed-up against batch at several contexts; now {factor}.",
            factor=text.times(float(view.cycle.speedup)),
        ),
    )


def charts(view: SpeculationView) -> None:
    """The scrubber, and what it moves."""
    scrubber.show("speculative-scrub", [by_acceptance(view)])
    with st.grid(2, min_column_width=400):
        by_batch(view).draw("speed-batch")
        kit.show(
            view.length_chart(),
            key="speed-length",
            alt=say("Speed-up against draft length; best {n} at this batch.", n=view.best_here),
        )


def lengths(view: SpeculationView) -> None:
    """Tokens of a check, and speed-up, over acceptance and draft length."""
    s = view.scenario
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.tokens(
                sweeps.DRAFTED,
                sweeps.tokens_by_acceptance(),
                s.acceptance,
                speculative.expected_tokens(s.acceptance, sweeps.DRAFTED),
            ),
            key="tokens-length",
            alt=say("Tokens per verification against draft length for several acceptances."),
        )
        kit.show(
            figures.speed_map(
                sweeps.ACCEPTANCES,
                sweeps.DRAFTED,
                sweeps.speed_map(view.timed.ratio),
                (s.n_draft, s.acceptance),
            ),
            key="speed-map",
            alt=say("Speed-up over acceptance and draft length if verification is free."),
        )


def budget(view: SpeculationView) -> None:
    """What a thousand tokens take."""
    timed = view.timed
    st.markdown(tables.budget(view.scenario, timed.here, timed.ratio))
    bench.conversion(view.scenario)


def which(view: SpeculationView) -> str:
    """Which draft would pay most."""
    return drafts.verdict(view.scenario, view.drafts)


def by_kind(view: SpeculationView) -> Shown | None:
    """Speed-up against batch of the fastest draft of each kind; none where nothing is known."""
    if not view.fastest:
        return None
    named = (
        f"{say(KINDS[one.report.kind].name)} {text.times(one.speedup)}" for one in view.fastest
    )
    return Shown(
        view.drafts_chart(),
        say("Speed-up against batch by kind of draft; now {speeds}.", speeds=text.listed(named)),
    )


def kinds(view: SpeculationView) -> None:
    """What was measured of drafts, and what it comes to here."""
    shown = by_kind(view)
    drafts.section(view.scenario, view.drafts, shown)


def acceptance(view: SpeculationView) -> None:
    """Where an acceptance comes from."""
    bench.section()


def sampled(view: SpeculationView) -> None:
    """What survives temperature, top-k and top-p."""
    survivors.section()


# As temperature, top-k and top-p are often set together.
_USUAL = (0.7, 50, 0.9)


def surviving(view: SpeculationView) -> str:
    """What survives of a flat and of a peaked distribution at usual settings."""
    return survivors.sentence(survivors.distributions(), *_USUAL)


def against_top_p(view: SpeculationView) -> Shown:
    """The same against top-p."""
    return survivors.shown(survivors.distributions(), *_USUAL)


PAGE = Page(
    name="speculative",
    title=marked("Speculation"),
    question=QUESTION,
    view=SpeculationView,
    groups=(*groups.COMMON, groups.SPECULATION),
    unfolded=(groups.SPECULATION,),
    parts={"head": head, "charts": charts},
    tabs={
        marked("Acceptance and length"): lengths,
        marked("Token budget"): budget,
        marked("Acceptance bench"): acceptance,
        marked("Drafts"): kinds,
        marked("Sampling"): sampled,
    },
    switches=(drafts.POSITIONS, drafts.TREE, survivors.LOGITS),
    metrics=METRICS,
    exhibits=(
        Exhibit("speculation", QUESTION, verdict, by_batch),
        Exhibit("drafts", marked("Which draft would pay here?"), which, by_kind),
        Exhibit("sampling", marked("How many tokens remain?"), surviving, against_top_p),
    ),
)
