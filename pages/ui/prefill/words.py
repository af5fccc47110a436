"""Sentences of the Prefill page."""

from __future__ import annotations

import math

from calc import Scenario, decode, layout, prefill
from calc.words import marked, say
from pages.ui.writing import published, step, text


def verdict(scenario: Scenario, reading: decode.StepTime) -> str:
    """How long the prompt takes, what it is bound by, and where attention leads."""
    s, total = scenario, float(reading.total)
    if math.isnan(total):
        return published.without_time(s, marked("What a prompt takes"))
    terms = prefill.terms(s)
    compute = float(terms.linear_compute + terms.attention_compute)
    bound = say("bound by compute") if compute > float(terms.read) else say("bound by memory")
    talk = float(reading.charged()["communication"])
    if talk:
        bound = say("{bound}, {talk}", bound=bound, talk=step.communication(talk / total))
    hit = int(prefill.block_hit(s))
    prompt = text.plural(
        s.prompt, marked("A prompt of {n} token"), marked("A prompt of {n} tokens")
    )
    if hit:
        prompt = say("{prompt} with {n:,} of them cached", prompt=prompt, n=hit)
    overtakes = prefill.attention_overtakes(s.model)
    share = text.percent(prefill.attention_share(s))
    leads = (
        say(
            "attention takes {share} of the FLOPs, and most of them from {n} tokens on",
            share=share,
            n=text.round_count(overtakes),
        )
        if math.isfinite(overtakes)
        else say("attention takes {share} of the FLOPs", share=share)
    )
    read = say(
        "{prompt} is read in **{time}** at {mfu} of the dense rate, {bound}",
        prompt=prompt,
        time=published.least(s, text.si(total, "s")),
        mfu=text.percent(s.constants.mfu),
        bound=bound,
    )
    return text.sentence(read, leads)


def caveats(scenario: Scenario) -> list[str]:
    """What is odd about the prompt or the chunk."""
    s = scenario
    found = layout.problems(s) if s.fidelity != "bound" else []
    found += published.longer_context(s.model, s.prompt)
    if s.prefix_hit >= s.prompt:
        found.append(say("The cached prefix is the whole prompt: its last token is read anyway."))
    if s.chunk > s.prompt:
        found.append(say("The chunk is longer than the prompt: one step takes all of it."))
    return found
