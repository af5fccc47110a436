"""The sentence of the Capacity page."""

from __future__ import annotations

from calc import Scenario, capacity, memory
from calc.words import marked, say
from pages.ui.writing import text


def verdict(
    scenario: Scenario,
    ledger: memory.Ledger,
    fewest: int,
    small: capacity.Topology,
    double: capacity.Topology,
) -> str:
    """Whether it fits, on how few chips, and what the smallest topology is worth."""
    s, chip = scenario, text.plain(scenario.chip.name)
    taken = ledger.weights + ledger.kv_cache + ledger.activations
    least = (
        say("the fewest chips that hold it are {n:,}", n=fewest)
        if fewest
        else say("no number of chips holds it in this layout")
    )
    lesson = ""
    if (
        small.sequences
        and double.sequences
        and small.requests_per_second < double.requests_per_second
    ):
        lesson = say(
            "The smallest slice for the weights, {chips}, serves {few} requests/s per chip with "
            "memory full; {n:,} serve {many}: the smallest topology is not the cheapest.",
            chips=_chips(small.n_chips),
            few=text.significant(small.requests_per_second),
            n=double.n_chips,
            many=text.significant(double.requests_per_second),
        )
    elif small.n_chips and not small.sequences:
        lesson = say(
            "The smallest slice for the weights, {chips}, leaves no room for one sequence of this "
            "length.",
            chips=_chips(small.n_chips),
        )
    sizes = {
        "sequences": text.sequences(s.batch),
        "tokens": text.tokens(s.context),
        "size": text.si(taken, "B"),
        "share": text.percent(taken / (s.n_chips * s.chip.memory)),
        "n": s.n_chips,
        "chip": chip,
    }
    held_by = (
        say(
            "{sequences} of {tokens} and the weights take **{size}**, {share} of the memory of "
            "{n:,} × {chip}",
            **sizes,
        )
        if ledger.free >= 0
        else say(
            "{sequences} of {tokens} and the weights would take **{size}**, {share} of the memory "
            "of {n:,} × {chip}",
            **sizes,
        )
    )
    return text.sentences(text.sentence(held_by, least), lesson)


def _chips(number: int) -> str:
    return text.plural(number, marked("{n} chip"), marked("{n} chips"))
