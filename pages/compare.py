"""Compare: pinned scenarios side by side, what differs, and which term makes the difference."""

from __future__ import annotations

import streamlit as st

from calc import compare
from calc.words import say
from pages.ui.charts import frontiers, kit, renderer
from pages.ui.compare import words
from pages.ui.frame import pinned
from pages.ui.frame.page import current_scenario, header, notes
from pages.ui.writing import explained, text

_NAMES, _CHOSEN = "_compare_names", "_compare_points"


def choose(value: float) -> None:
    """Keep the last two points that were clicked, each a name and a batch."""
    i, batch = frontiers.picked(value)
    drawn: list[str] = st.session_state[_NAMES]
    if i < len(drawn):
        before = st.session_state.get(_CHOSEN, [])[-1:]
        st.session_state[_CHOSEN] = [*before, (drawn[i], float(batch))]


scenario = current_scenario()
contenders, problems = pinned.contenders(scenario)
header(say("Which is better, and why?"), scenario)
notes(problems)

if len(contenders) < 2:
    st.markdown(
        say(
            "Nothing is pinned yet. **Pin** the scenario of the sidebar, change something there, "
            "and both stand here side by side, with what differs and why. Up to six pins travel "
            "in the link."
        )
    )
    st.button(say("Pin this scenario"), key="pin-first", on_click=pinned.add)
    st.stop()

names = [one.name for one in contenders]
st.session_state[_NAMES] = names
# A pin that has gone is no baseline any more.
if st.session_state.get(pinned.BASELINE) not in names:
    st.session_state[pinned.BASELINE] = names[0]
baseline = names.index(st.session_state[pinned.BASELINE])
by_name = dict(zip(names, contenders, strict=True))
measured = words.figures_of(contenders)
curves = [frontiers.Curve.of(one) for one in contenders]
points = [point for point in st.session_state.get(_CHOSEN, []) if point[0] in by_name]
if len(points) < 2:
    # A first click stands against the baseline, so that it is answered too.
    pair = [names[baseline], names[1 if baseline == 0 else 0]]
    usual = [(name, float(by_name[name].scenario.batch)) for name in pair]
    points = [*usual[: 2 - len(points)], *points]
(a, b) = [(name, compare.point(by_name[name].scenario, batch)) for name, batch in points]

st.markdown(words.verdict(contenders, measured, baseline))
with st.grid(2, min_column_width=400):
    kit.show(
        frontiers.frontiers(curves, [("A", a[1].step), ("B", b[1].step)]),
        key="compare-frontier",
        revision="-".join(names),
        on_click=choose,
        alt=say("The frontiers of all scenarios: {names}.", names=text.listed(names)),
    )
    kit.show(
        frontiers.steps(curves),
        key="compare-steps",
        revision="-".join(names),
        alt=say("Step time against batch of all scenarios."),
    )
click = say("Click two points of the left chart to compare others.")
st.caption(text.sentences(words.between(*a, *b), "" if renderer.STOCK else click))
st.selectbox(
    say("Differences are taken from"),
    names,
    key=pinned.BASELINE,
    persist_state="session",
    width=320,
)
st.dataframe(words.measures(contenders, measured, baseline), hide_index=True)
st.subheader(say("What differs"), anchor=False)
st.dataframe(words.settings(contenders), hide_index=True)
kit.show(
    frontiers.breakdowns(curves),
    key="compare-breakdown",
    alt=say("What each scenario's step is made of."),
)
st.subheader(say("Pins"), anchor=False)
pinned.editor()
explained.section(scenario, [one.id for one in compare.MEASURES], key="compare")
