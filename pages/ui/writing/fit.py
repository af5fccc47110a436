"""Whether memory holds a scenario, and what would if it does not."""

from __future__ import annotations

from dataclasses import replace

from calc import Scenario, memory, pool
from calc.words import marked, say
from pages.ui.writing import text


def fit(scenario: Scenario, max_batch: int) -> str:
    """How many sequences memory holds, or what would hold the batch."""
    chip = text.plain(scenario.chip.name)
    if memory.any_batch(scenario):
        return say("No cache: memory holds any number of sequences.")
    if scenario.batch <= max_batch:
        return text.plural(
            max_batch,
            marked("Memory holds {n} sequence of this length."),
            marked("Memory holds {n} sequences of this length."),
        )
    needed = _needed(memory.min_chips(scenario), chip)
    if max_batch == 0 and memory.weights(scenario) > memory.capacity(scenario):
        return say(
            "**The weights alone do not fit** on {n:,} × {chip}: {needed}.",
            n=scenario.n_chips,
            chip=chip,
            needed=needed,
        )
    held = (
        text.plural(
            max_batch, marked("memory holds {n} sequence"), marked("memory holds {n} sequences")
        )
        if max_batch
        else say("not one sequence fits")
    )
    return say("**It does not fit**: {held}; {needed}.", held=held, needed=needed)


def misfit(scenario: Scenario) -> str:
    """That a scenario does not fit, where it does not."""
    largest = int(memory.max_batch(scenario))
    return fit(scenario, largest) if scenario.batch > largest else ""


def seen(scenario: Scenario) -> str:
    """What programs see of a chip's memory, where the maker prints another figure."""
    s, chip = scenario, scenario.chip
    if chip.memory_by == "maker" or memory.takes_nothing(s):
        return ""
    printed = replace(s, chip=replace(chip, memory=chip.printed_memory))
    by = say("programs") if chip.memory_by == "runtime" else say("management tools")
    return say(
        "Of each {chip} {who} see {gib:,.2f} GiB. With the {gb:,.4g} GB that the maker prints, the "
        "largest batch would be {n:,}.",
        who=by,
        gib=chip.memory / 2**30,
        chip=text.plain(chip.name),
        gb=chip.printed_memory / 1e9,
        n=int(memory.max_batch(printed)),
    )


def _needed(fewest: int, chip: str) -> str:
    """What would hold the weights and this batch."""
    if fewest:
        return say("it takes {n:,} × {chip} for this batch", n=fewest, chip=chip)
    return say("no number of chips holds it in this layout for this batch")


def promised(found: pool.Pool) -> str:
    """What an engine promises to hold, and what steady decoding would."""
    if found.cache <= 0:
        return say(
            "**The engine does not start**: each chip lacks {gib:,.2f} GiB for weights and the "
            "engine itself, before any cache.",
            gib=-found.cache / 2**30,
        )
    return say(
        "Of requests of {tokens:,} tokens an engine promises **{promised:,.2f}** at once, steady "
        "decoding holds **{steady:,.2f}**.",
        tokens=found.longest,
        promised=found.concurrency,
        steady=found.steady,
    )


def no_pool(reason: str) -> str:
    """Why there is no pool of equal pages."""
    if reason == "none":
        return say("The model caches nothing: there is no pool to cut.")
    return say(
        "The model's cache does not lie in equal pages; engines page its parts each in their own "
        "way, which is not counted here."
    )
