"""I measured: one's own step time beside what it should have been, and what would explain it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from calc import Scenario, cost, metrics
from calc.measured import Own, RowError, explained
from calc.words import say
from pages.ui.frame import taking
from pages.ui.measured import several
from pages.ui.measured.view import MeasuredView
from pages.ui.writing import reference, text

STEP, RATE = "own-step", "own-rate"
PROMPTS, HOUR = "own-prompts", "own-hour"
# What a field of the sidebar holds.
_MOST_US, _LEAST_SHARE = 500.0, 0.1


def section(view: MeasuredView) -> None:
    """One measurement, and many."""
    st.header(say("I measured…"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            say("Step time (ms)"), 0.0, 1e6, None, key=STEP, persist_state="session",
            help=say("Of a decode step: TPOT, at the batch and context of the sidebar."), width=220,
        )  # fmt: skip
        st.number_input(
            say("or token/s of the whole batch"), 0.0, 1e9, None, key=RATE,
            persist_state="session", width=240,
        )  # fmt: skip
        st.number_input(
            say("Prompts a minute"), 0.0, 1e9, None, key=PROMPTS, persist_state="session",
            help=say("Prompts of the sidebar's length, read by chips that do nothing else."),
            width=200,
        )  # fmt: skip
        st.number_input(
            say("USD an hour"), 0.0, 1e9, None, key=HOUR, persist_state="session",
            help=say("Price of all chips; empty takes that of the sidebar or the preset."),
            width=160,
        )  # fmt: skip
    _single(view)
    said = priced(view)
    if said:
        st.markdown(said)
    several.section(view)


def _single(view: MeasuredView) -> None:
    step, rate = view.chosen(STEP, None), view.chosen(RATE, None)
    if not step and not rate:
        st.caption(
            say(
                "Model, chips, formats, batch, context, prompt and output are those of the sidebar."
            )
        )
        return
    s = view.scenario
    try:
        own = explained(s, step * 1e-3 if step else s.batch / rate)
    except RowError as error:
        st.warning(say("{reason}.", reason=text.plain(str(error))))
        return
    st.markdown(told(s, own))
    with st.container(horizontal=True):
        for key, (label, values) in offered(own).items():
            st.button(label, key=key, on_click=taking.use, args=(values,))
    st.caption(say("As {formula} says.", formula=reference.linked("F12.3")))


def priced(view: MeasuredView) -> str:
    """What measured tokens and prompts cost, and what prompts use of the chips."""
    s, step, prompts = view.scenario, view.chosen(STEP, None), view.chosen(PROMPTS, None)
    rate = s.batch / (1e-3 * step) if step else view.chosen(RATE, None)
    hour = view.chosen(HOUR, None) or cost.replica_price(s)
    each = prompts / 60 if prompts else 0.0
    found = []
    if rate:
        tokens = text.usd(float(cost.per_million(hour, rate)))
        found.append(say("A million output tokens cost **{usd}**.", usd=tokens))
    if each:
        found.append(
            say(
                "A million input tokens cost **{usd}**; the prompts reach an MFU of {mfu}.",
                usd=text.usd(cost.per_million_input_tokens(s, each, hour)),
                mfu=text.percent(metrics.prompt_mfu(s, each)),
            )
        )
    if rate and each:
        requests, decoding = (
            cost.per_thousand_requests(hour, s.output, rate, one) for one in (each, math.inf)
        )
        found.append(
            say(
                "A thousand requests cost **{both}**: {decoding} for output, {reading} for input.",
                both=text.usd(requests),
                decoding=text.usd(decoding),
                reading=text.usd(requests - decoding),
            )
        )
    return text.sentences(*found)


def told(s: Scenario, own: Own) -> str:
    """What a measured step says."""
    if not math.isfinite(own.bound):
        return say("No time is known to compare it with.")
    return text.sentences(
        say(
            "**{time}** a step, {rate} token/s: **{times}** the bound ({bound}), MBU {mbu}, MFU "
            "{mfu}.",
            time=text.si(own.seconds, "s"),
            rate=text.rate(s.batch / own.seconds),
            times=text.times(own.times_bound),
            bound=text.si(own.bound, "s"),
            mbu=text.percent(own.mbu),
            mfu=text.percent(own.mfu),
        ),
        say("That is below the bound: is the batch, the context or a format another one?")
        if own.times_bound < 1
        else "",
        _expected(own),
        _constants(own),
    )


def _expected(own: Own) -> str:
    time = text.si(own.expected, "s")
    if own.fidelity == "calibrated":
        return say("Engines like this one take about {time}.", time=time)
    return say("The operators take {time}; of this chip nobody published enough.", time=time)


def _constants(own: Own) -> str:
    """What would explain it."""
    found = []
    if own.kernel_time >= 0:
        found.append(say("{time} a kernel", time=text.si(own.kernel_time, "s")))
    if own.bandwidth_efficiency > 0:
        share = text.percent(own.bandwidth_efficiency)
        found.append(say("{share} of the memory bandwidth", share=share))
    if not found:
        return ""
    constants = say(" or ").join(found)
    return say("All else equal, {constants} would explain it.", constants=constants)


def offered(own: Own) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Constants that the sidebar can take over, by the key of a button."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    microseconds = 1e6 * own.kernel_time
    if 0 <= microseconds <= _MOST_US:
        taken = round(microseconds, 1)
        found["own-use-kernel"] = (
            say("Use {n:.1f} µs a kernel", n=taken),
            {"fidelity": own.fidelity, "kernel_time": taken},
        )
    if own.bandwidth_efficiency >= _LEAST_SHARE:
        share = round(own.bandwidth_efficiency, 3)
        found["own-use-bandwidth"] = (
            say("Use {share:.0%} of the bandwidth", share=share),
            {"fidelity": own.fidelity, "bandwidth_efficiency": share},
        )
    return found
