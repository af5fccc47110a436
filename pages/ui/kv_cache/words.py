"""The sentence of the KV cache page."""

from __future__ import annotations

from calc import Scenario, memory
from calc.words import say
from pages.ui.writing import text


def verdict(scenario: Scenario, largest: int) -> str:
    """How large one sequence's cache is, against the weights and against the memory."""
    s = scenario
    each, weights = float(memory.kv_per_sequence(s)), memory.weights(s)
    if not each:
        return text.sentence(
            say("**No cache**: sequences of this model keep nothing"), _held(s, largest)
        )
    ratio = weights / each
    growth = float(s.model.kv_bytes(s.context + 1, s.kv_format)) - each
    compared = (
        say("{n} such caches weigh as much as the weights", n=text.significant(ratio))
        if ratio >= 1
        else say("it outweighs the weights {n} times", n=text.significant(1 / ratio))
    )
    return say(
        "The KV cache of {tokens} takes **{size}** in {format}, and {growth} more with the next "
        "token; {compared}, and {fits}.",
        tokens=text.tokens(s.context),
        size=text.si(each, "B"),
        format=text.plain(s.kv_format.id),
        growth=text.kibibytes(growth),
        compared=compared,
        fits=_held(s, largest),
    )


def _held(scenario: Scenario, largest: int) -> str:
    """How many sequences memory holds."""
    if memory.any_batch(scenario):
        return say("memory holds any number of sequences")
    if largest:
        return say("memory holds {n:,}", n=largest)
    return say("memory holds none beside the weights")
