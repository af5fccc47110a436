"""The one sentence that answers the Decode page's question, in every regime."""

from __future__ import annotations

import math

from calc import Scenario, decode, memory, speculative
from pages.ui import text

_SPENT_ON = {
    "kv_read": "reading the KV cache",
    "weight_read": "reading weights",
    "linear_compute": "multiplying in the linear layers",
}


def decode_step(
    scenario: Scenario, step: decode.StepTime, max_batch: int, compute_bound_from: float
) -> str:
    """Step time, what takes most of it, where compute takes over, and whether it fits."""
    if math.isnan(float(step.total)):
        return _unknown_rate(scenario, step, max_batch)
    charged = {name: float(term) for name, term in step.charged().items()}
    largest = max(charged, key=charged.__getitem__)
    share = text.percent(charged[largest] / float(step.total))
    took = (
        f"One decode step takes **{text.si(float(step.total), 's')}**, "
        f"{share} of it {_SPENT_ON[largest]}"
    )
    crossing = f"{math.floor(compute_bound_from):,}"
    side = (
        f"the linear layers are compute-bound, as beyond batch {crossing}"
        if bool(step.compute_bound)
        else f"the linear layers stay memory-bound up to batch {crossing}"
    )
    return f"{took}; {side}. {_fit(scenario, max_batch)}"


def _unknown_rate(scenario: Scenario, step: decode.StepTime, max_batch: int) -> str:
    usable = " or ".join(scenario.chip.peaks) or "none"
    return (
        f"No dense {text.plain(scenario.compute_format.id)} rate is published for "
        f"{text.plain(scenario.chip.name)}, so the step time is not known here (published: "
        f"{usable}). Reading takes **{text.si(float(step.kv_read + step.weight_read), 's')}**. "
        f"{_fit(scenario, max_batch)}"
    )


def _fit(scenario: Scenario, max_batch: int) -> str:
    chip = text.plain(scenario.chip.name)
    if scenario.batch <= max_batch:
        return f"Memory holds {max_batch:,} sequences of this length."
    needed = f"it takes {memory.min_chips(scenario):,} × {chip}"
    if max_batch == 0 and memory.weights(scenario) > memory.capacity(scenario):
        return f"**The weights alone do not fit** on {scenario.n_chips:,}: {needed}."
    held = f"memory holds {max_batch:,} sequences" if max_batch else "not one sequence fits"
    return f"**It does not fit**: {held}; {needed} for this batch."


def caveats(scenario: Scenario, step: decode.StepTime) -> list[str]:
    """What a reader should know before trusting the numbers; empty in ordinary cases."""
    s, found = scenario, []
    chip = text.plain(s.chip.name)
    offered = ", ".join(map(str, s.chip.slices))
    if s.chip.slices and s.n_chips not in s.chip.slices:
        found.append(f"{s.n_chips:,} chips are not one slice of {chip}, which comes in {offered}.")
    if s.model.max_context and s.context > s.model.max_context:
        model = text.plain(s.model.name)
        found.append(f"{model} is published for {s.model.max_context:,} tokens of context.")
    if float(step.attention_compute) > float(step.kv_read):
        found.append(
            f"Attention FLOPs take {text.si(float(step.attention_compute), 's')}, longer than the "
            f"KV read of {text.si(float(step.kv_read), 's')}: the bound, which charges only the "
            "read, is too low here."
        )
    return found


def kv_cache(scenario: Scenario) -> str:
    """How large one sequence's cache is, against the weights and against the memory."""
    s = scenario
    each, weights = float(memory.kv_per_sequence(s)), memory.weights(s)
    largest = int(memory.max_batch(s))
    ratio = weights / each
    growth = float(s.model.kv_bytes(s.context + 1, s.kv_format)) - each
    compared = (
        f"{text.significant(ratio)} such caches weigh as much as the weights"
        if ratio >= 1
        else f"it outweighs the weights {text.significant(1 / ratio)} times"
    )
    fits = f"memory holds {largest:,}" if largest else "memory holds none beside the weights"
    return (
        f"A sequence of {s.context:,} tokens caches **{text.si(each, 'B')}** in "
        f"{text.plain(s.kv_format.id)}, {text.kibibytes(growth)} more "
        f"with the next token; {compared}, and {fits}."
    )


def speculation(scenario: Scenario, cycle: speculative.Cycle, best: int, free: float) -> str:
    """Whether drafting pays at this batch, and what would pay best."""
    s, gain = scenario, float(cycle.speedup)
    if math.isnan(gain):
        return (
            f"No dense {text.plain(s.compute_format.id)} rate is published for "
            f"{text.plain(s.chip.name)}, so what verification costs is not known here."
        )
    drafted = f"Drafting {s.n_draft} tokens at acceptance {s.acceptance:g}"
    effect = (
        f"makes decoding **{text.times(gain)}** as fast"
        if gain >= 1.005
        else "changes nothing"
        if gain > 0.995
        else f"**slows decoding** to {text.times(gain)}"
    )
    longest = (
        f"the best draft length here is {text.at_least(best)}"
        if best
        else "here it pays not to draft at all"
    )
    verify = (
        f"verification is free up to batch {math.floor(free):,}"
        if s.batch <= free
        else f"verification has not been free since batch {math.floor(free):,}"
    )
    return f"{drafted} {effect} at batch {s.batch:,}; {longest}, and {verify}."


def speculation_caveats(scenario: Scenario, cost_ratio: float) -> list[str]:
    """What makes the draft a doubtful one."""
    s, found = scenario, []
    if s.draft is not None and s.draft.total_params >= s.model.total_params:
        found.append("The draft model is no smaller than the target.")
    if cost_ratio >= 1:
        found.append(
            f"A draft step costs {text.times(cost_ratio)} a target step: drafting cannot pay."
        )
    elif s.draft is not None:
        found.append(
            f"{text.plain(s.draft.name)} costs {text.significant(100 * cost_ratio)} % of a target "
            "step here; the cost ratio is not used."
        )
    if s.draft is not None and s.draft.vocabulary != s.model.vocabulary:
        found.append("Draft and target have vocabularies of different sizes: tokens may not match.")
    if s.batch > speculative.max_batch(s):
        found.append("Target, draft and both caches do not fit in memory together.")
    return found
