"""Sentences of the Speculation page."""

from __future__ import annotations

import math

from calc import Scenario, speculative
from calc.explain import bands
from calc.words import marked, say
from pages.ui.writing import text, written


def verdict(scenario: Scenario, cycle: speculative.Cycle, best: int, free: float) -> str:
    """Whether drafting pays at this batch, and what would pay best."""
    s, gain = scenario, float(cycle.speedup)
    if math.isnan(gain):
        return say(
            "What drafting gains is not known here: it is a quotient of two times, of which no "
            "more than bounds are known."
        )
    effect = (
        say("makes decoding **{factor}** as fast", factor=text.times(gain))
        if gain >= 1.005
        else say("changes nothing")
        if gain > 0.995
        else say("**slows decoding** to {factor}", factor=text.times(gain))
    )
    longest = (
        say("the best draft length here is {n}", n=text.at_least(best))
        if best
        else say("here it pays not to draft at all")
    )
    verify = (
        say("verification is free up to batch {n:,}", n=math.floor(free))
        if free >= 1
        else say("verification is free at no batch")
    )
    drafted = text.plural(s.n_draft, marked("{n} token"), marked("{n} tokens"))
    return say(
        "Drafting {tokens} at acceptance {acceptance:g} {effect} at batch {batch:,}; {longest}, "
        "and {verify}.",
        tokens=drafted,
        acceptance=s.acceptance,
        effect=effect,
        batch=s.batch,
        longest=longest,
        verify=verify,
    )


def caveats(scenario: Scenario, plain: float, cost_ratio: float) -> list[str]:
    """What makes the draft a doubtful one; a step without drafting takes `plain` seconds."""
    s, found = scenario, []
    if bands.band("step_time", s):
        found.append(
            say(
                "A step without drafting takes {time}. Nobody measured the speed-up in this way: "
                "it has no usual range.",
                time=written.told("step_time", plain, s),
            )
        )
        found += written.basis(s, ["step_time"])
    if s.draft is not None and s.draft.total_params >= s.model.total_params:
        found.append(say("The draft model is no smaller than the target."))
    if cost_ratio >= 1:
        found.append(
            say(
                "A draft step costs {factor} a target step: drafting cannot pay.",
                factor=text.times(cost_ratio),
            )
        )
    elif s.draft is not None:
        found.append(
            say(
                "{draft} costs {share} % of a target step here; the cost ratio is not used.",
                draft=text.plain(s.draft.name),
                share=text.significant(100 * cost_ratio),
            )
        )
    if s.draft is not None and s.draft.vocabulary != s.model.vocabulary:
        found.append(
            say("Draft and target have vocabularies of different sizes: tokens may not match.")
        )
    if s.batch > speculative.max_batch(s):
        found.append(say("Target, draft and both caches do not fit in memory together."))
    return found
