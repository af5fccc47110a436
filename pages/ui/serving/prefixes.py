"""The tab Prefixes: what a prefix cache finds, what each memory keeps, reload against recompute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from calc import Scenario, memory
from calc.serving import Setup, reuse
from calc.serving.reuse import Tier
from calc.words import marked, say
from pages.ui.charts import lines
from pages.ui.frame.page import Shown
from pages.ui.frame.section import Table
from pages.ui.serving.simulations import Outcome, Simulated, seconds
from pages.ui.writing import palette, text

QUESTION = marked("Is a kept prefix worth its memory?")
# Of those that a cache comes back from.
_LOOKS = (
    palette.Look(reuse.HOST, "#0072B2", "dash"),
    palette.Look(reuse.SSD, "#E69F00", "dot"),
)
_DAY = 86400.0
_GB_HOUR = 1e9 * 3600


def sentence(scenario: Scenario, simulated: Simulated, shown: Outcome) -> str:
    """What was found, and which is quicker for a prompt of the scenario."""
    figures, traffic = shown.figures, simulated.traffic
    hit = say(
        "The prefix cache finds **{hit}** of the prompt tokens; one without a limit would find "
        "{most}.",
        hit=text.percent(figures.hit_rate), most=text.percent(traffic.shared),
    )  # fmt: skip
    return text.sentences(hit, _quicker(scenario, simulated.setup), _bought(simulated.setup))


def _quicker(scenario: Scenario, setup: Setup) -> str:
    host = setup.tiers[1]
    back = float(reuse.reload_time(scenario, scenario.prompt, host))
    again = float(reuse.recompute_time(scenario, scenario.prompt))
    return say(
        "The cache of {prompt} tokens comes back from host memory in {back}; reading them again "
        "takes {again}.",
        prompt=text.count(scenario.prompt), back=seconds(back), again=seconds(again),
    )  # fmt: skip


def _bought(setup: Setup) -> str:
    """How often a prompt must be asked for before a provider's cache of it pays."""
    one = setup.provider
    told = {
        "input": text.usd(one.input_price), "discount": text.percent(one.discount),
        "storage": text.usd(one.storage), "n": text.significant(one.calls_to_pay),
    }  # fmt: skip
    if not one.storage:
        return say(
            "At {input} a million prompt tokens, {discount} off cached ones and no price for "
            "keeping them, a provider's cache always pays.",
            **told,
        )
    return say(
        "At {input} a million prompt tokens, {discount} off cached ones and {storage} a million "
        "for each hour, a provider's cache pays from **{n}** calls an hour (F8.25).",
        **told,
    )


def found(simulated: Simulated, shown: Outcome) -> dict[str, list[str]]:
    """What became of the prompt tokens of the policy shown."""
    run, traffic = shown.run, simulated.traffic
    rows = {
        say("Hit rate"): text.percent(run.hit_rate),
        say("Found by a cache without a limit"): text.percent(traffic.shared),
        say("Prompt tokens asked for"): f"{run.asked:,}",
        say("Prompt tokens found"): f"{run.found:,}",
        say("Tokens read again after preemption"): f"{run.reread:,}",
    }
    if traffic.system and np.isfinite(traffic.realised_rate):
        day = traffic.system * traffic.realised_rate * _DAY
        rows[say("Tokens of the system prompt a day")] = text.count(day)
    return {say("Quantity"): list(rows), say("Value"): list(rows.values())}


def tiers(scenario: Scenario, values: Mapping[str, Any], setup: Setup) -> dict[str, list[str]]:
    """What each memory of a replica keeps, and what it may cost."""
    context, between = scenario.prompt, float(values["think"])
    each = float(memory.kv_per_sequence(scenario, context))
    columns: dict[str, list[str]] = {
        say("Memory"): [],
        say("Size"): [],
        say("Sessions of {n} tokens", n=text.count(context)): [],
        say("Reload"): [],
        say("Reading again over reload"): [],
        say("Worth at most (USD per GB and hour)"): [],
    }
    for tier in setup.tiers:
        back = float(reuse.reload_time(scenario, context, tier))
        again = float(reuse.recompute_time(scenario, context))
        worth = reuse.storage_worth(scenario, context, tier, between) * _GB_HOUR
        cells = [
            say(tier.name), text.si(tier.limit, "B"), f"{reuse.sessions(tier.limit, each):,}",
            seconds(back) if back else say("in place"),
            text.times(again / back) if back else "",
            text.significant(worth) if worth == worth else text.unknown(),
        ]  # fmt: skip
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    return columns


def chart(scenario: Scenario, setup: Setup) -> Shown:
    """Time to have a context's cache again, by its length."""
    length = np.unique(np.append(np.geomspace(128, 131072, 81).round(), float(scenario.prompt)))
    again = reuse.recompute_time(scenario, length)
    drawn: dict[str, lines.Line] = {say("reading again"): (again, lines.TOTAL)}
    for tier, look in zip(_backed(setup), _LOOKS, strict=True):
        drawn[say("from {memory}", memory=say(tier.name))] = (
            reuse.reload_time(scenario, length, tier), look,
        )  # fmt: skip
    here = float(reuse.recompute_time(scenario, scenario.prompt))
    return Shown(
        lines.chart(
            length, drawn, x_title=say("Prefix (tokens)"),
            y_title=say("Time until it is cached again (s)"), unit="s",
            now=(scenario.prompt, here, text.si(here, "s")),
        ),
        say("Time to bring a prefix back from each memory, and to read it again, by its length."),
    )  # fmt: skip


def _backed(setup: Setup) -> tuple[Tier, ...]:
    return tuple(tier for tier in setup.tiers if np.isfinite(tier.bandwidth))


def tab(
    scenario: Scenario, values: Mapping[str, Any], simulated: Simulated, shown: Outcome
) -> None:
    """What was found of prompts, what each memory keeps, and which is quicker."""
    setup = simulated.setup
    st.markdown(sentence(scenario, simulated, shown))
    if setup.prefix is None:
        st.caption(say("No prefix is kept: choose a prefix cache under Serving."))
    with st.grid(2, min_column_width=400):
        chart(scenario, setup).draw("service-prefix")
        st.table(Table.escaped(found(simulated, shown)), hide_index=True)
    st.table(Table.escaped(tiers(scenario, values, setup)), hide_index=True)
    st.caption(
        say(
            "Of one replica. A memory is worth at most what reading again costs at the price of "
            "its chips, if a session is asked for every {between} (F8.25).",
            between=seconds(float(values["think"])),
        )
    )


def table(scenario: Scenario, values: Mapping[str, Any], setup: Setup) -> Table:
    """The memories in a report."""
    return Table.turned(tiers(scenario, values, setup))
