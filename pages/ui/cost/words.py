"""The sentence of the Cost page."""

from __future__ import annotations

import math

from calc import Scenario, cost, decode, memory
from calc.words import marked, say
from pages.ui.writing import fit, published, text, written


def verdict(scenario: Scenario, step: decode.StepTime, prompts_per_second: float) -> str:
    """Prices of output, of input and of requests, and what keeps them unknown."""
    s, price = scenario, cost.price(scenario)
    chip = text.plain(s.chip.name)
    if math.isnan(float(step.total)):
        why = published.without_time(s, marked("What a token costs"))
        return text.sentences(why, fit.fit(s, int(memory.max_batch(s))))
    if math.isnan(price):
        return say(
            "No price is published for {chip}: type one in the sidebar.",
            chip=chip,
        )
    hour = say("At {price} per {chip} and hour", price=text.usd(price), chip=chip)
    prices = {
        "hour": hour,
        "output": written.told(
            "usd_per_million_output_tokens", float(cost.per_million_tokens(s, step)), s
        ),
        "input": published.least(s, text.usd(cost.per_million_input_tokens(s, prompts_per_second))),
    }
    tokens = (
        say(
            "{hour} a million output tokens cost **{output}** and a million input tokens "
            "**{input}**",
            **prices,
        )
        if s.batch <= int(memory.max_batch(s))
        else say(
            "{hour} a million output tokens cost, **if the batch did fit**, **{output}** and a "
            "million input tokens **{input}**",
            **prices,
        )
    )
    requests = say(
        "a thousand requests of {prompt:,} tokens in and {output:,} out cost {price}",
        prompt=s.prompt,
        output=s.output,
        price=published.least(s, text.usd(cost.requests(s, step, prompts_per_second))),
    )
    return text.sentence(tokens, requests)
