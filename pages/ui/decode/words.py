"""Sentences of the Decode page: the one that answers its question, in every regime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from calc import Scenario, decode, known
from calc.measured import Row
from calc.words import marked, say
from pages.ui.writing import fit, layout, printed, published, text, written

_SPENT_ON = {
    "kv_read": marked("reading the KV cache"),
    "weight_read": marked("reading weights"),
    "linear_compute": marked("multiplying in the linear layers"),
    "attention_compute": marked("multiplying in attention"),
    "communication": marked("sending between chips"),
    "overhead": marked("in overhead"),
}


def verdict(
    scenario: Scenario,
    step: decode.StepTime,
    max_batch: int,
    compute_bound_from: float,
    reached: written.Reached | None = None,
) -> str:
    """Step time, what takes most of it, where compute takes over, and whether it fits.

    What engines have `reached` stands beside a time that is computed without that.
    """
    if math.isnan(float(step.total)):
        unknown = published.without_time(scenario, marked("The step time"))
        return text.sentences(unknown, fit.fit(scenario, max_batch))
    charged = {name: float(term) for name, term in step.charged().items()}
    largest = max(charged, key=charged.__getitem__)
    told = {
        "time": least(scenario, float(step.total)),
        "share": text.percent(charged[largest] / float(step.total)),
        "spent_on": say(_SPENT_ON[largest]),
    }
    took = (
        say("One decode step takes **{time}**, {share} of it {spent_on}", **told)
        if scenario.batch <= max_batch
        else say("One decode step would take **{time}**, {share} of it {spent_on}", **told)
    )
    missing = known.unknown(scenario)
    crossing = 0 if math.isnan(compute_bound_from) else math.floor(compute_bound_from)
    if missing.rates:
        side = say("This is reading alone: what multiplying adds is not known.")
    elif missing.bandwidth:
        side = say("This is multiplying alone: what reading adds is not known.")
    elif not bool(step.compute_bound):
        side = say(
            "Up to batch {n:,} the matrix products wait for memory; beyond it, for compute.",
            n=crossing,
        )
    elif crossing:
        side = say("Beyond batch {n:,} the matrix products wait for compute.", n=crossing)
    else:
        side = say("The matrix products wait for compute at any batch.")
    if scenario.fidelity != "bound":
        textbook = float(decode.step_time(replace(scenario, fidelity="bound")).total)
        took = say(
            "{statement} (textbook bound: {time})", statement=took, time=text.si(textbook, "s")
        )
    engines = [say("engines reach about **{range}**", range=reached.told)] if reached else []
    took, holds = text.sentence(took, *engines), fit.fit(scenario, max_batch)
    if scenario.batch > max_batch:
        return text.sentences(holds, took, side)
    return text.sentences(took, side, holds)


def least(scenario: Scenario, time: float) -> str:
    """The step as far as it is known: the bound is never more than the least."""
    if scenario.fidelity == "bound":
        return say("at least {figure}", figure=text.si(time, "s"))
    return written.told("step_time", time, scenario)


def beside(scenario: Scenario, reached: written.Reached | None) -> dict[str, str]:
    """What stands under the three answers, by their ids."""
    s = scenario
    alone = say("at least, per token") if s.fidelity == "bound" else say("per token")
    return {
        "step_time": say("engines {band}", band=reached.range) if reached else alone,
        "max_batch": text.plural(s.context, marked("of {n} token"),
                                 marked("of {n} tokens")),
        "usd_per_million_tokens": say("at batch {n:,}", n=s.batch),
    }  # fmt: skip


def caveats(scenario: Scenario, step: decode.StepTime) -> list[str]:
    """What a reader should know before trusting the numbers; empty in ordinary cases."""
    s = scenario
    found = layout.caveats(s)
    chip = text.plain(s.chip.name)
    offered = ", ".join(map(str, s.chip.slices))
    if s.chip.slices and s.n_chips not in s.chip.slices:
        found.append(
            say(
                "{n:,} chips are not one slice of {chip}, which comes in {offered}.",
                n=s.n_chips,
                chip=chip,
                offered=offered,
            )
        )
    found += published.longer_context(s.model, s.context)
    if s.fidelity == "bound" and float(step.attention_compute) > float(step.kv_read):
        found.append(
            say(
                "Attention FLOPs take {compute}, longer than the KV read of {read}: the bound, "
                "which charges only the read, is too low here.",
                compute=text.si(float(step.attention_compute), "s"),
                read=text.si(float(step.kv_read), "s"),
            )
        )
    return [*found, *filter(None, [printed.int4_step(s, step)])]


def measured(rows: Sequence[Row]) -> str:
    """What of public measurements is drawn."""
    if not rows:
        return say("Nobody published a step of this model on this chip or its class.")
    return say(
        "◇: {n} public measurements of this model on {chips}, at contexts, chips and formats of "
        "their own (under the pointer).",
        n=len(rows),
        chips=text.plain(text.listed(dict.fromkeys(row.scenario.chip.name for row in rows))),
    )
