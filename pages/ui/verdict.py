"""The one sentence that answers the Decode page's question, in every regime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from calc import Scenario, capacity, decode, layout, memory, sharding, speculative
from calc import cost as money
from calc import precision as precisions
from calc import prefill as prompts
from pages.ui import text

_SPENT_ON = {
    "kv_read": "reading the KV cache",
    "weight_read": "reading weights",
    "linear_compute": "multiplying in the linear layers",
    "attention_compute": "multiplying in attention",
    "communication": "sending between chips",
    "overhead": "in overhead",
}


def decode_step(
    scenario: Scenario, step: decode.StepTime, max_batch: int, compute_bound_from: float
) -> str:
    """Step time, what takes most of it, where compute takes over, and whether it fits."""
    if math.isnan(float(step.total)):
        return _unknown(scenario, step, max_batch)
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
    if scenario.fidelity != "bound":
        textbook = float(decode.step_time(replace(scenario, fidelity="bound")).total)
        took += f" (textbook bound: {text.si(textbook, 's')})"
    return f"{took}; {side}. {_fit(scenario, max_batch)}"


def _unknown(scenario: Scenario, step: decode.StepTime, max_batch: int) -> str:
    if _rate_known(scenario):
        return f"{_without_links(scenario, step, 'the step')} {_fit(scenario, max_batch)}"
    usable = " or ".join(scenario.chip.peaks) or "none"
    return (
        f"{_missing_rate(scenario, 'the step time')} (published: {usable}). Reading takes "
        f"**{text.si(float(step.kv_read + step.weight_read), 's')}**. {_fit(scenario, max_batch)}"
    )


def _rate_known(scenario: Scenario) -> bool:
    return scenario.chip.peak(scenario.compute_format) > 0


def _missing_rate(scenario: Scenario, what: str) -> str:
    """That no rate is published, and what is unknown for it; without a full stop."""
    return (
        f"No dense {text.plain(scenario.compute_format.id)} rate is published for "
        f"{text.plain(scenario.chip.name)}, so {what} is not known here"
    )


def _without_links(scenario: Scenario, step: decode.StepTime, what: str) -> str:
    """That no link is published, and what the time is without any."""
    busy = text.si(float(step.busy), "s")
    return f"{missing_link(scenario)} Without communication {what} takes **{busy}**."


def _fit(scenario: Scenario, max_batch: int) -> str:
    chip = text.plain(scenario.chip.name)
    if scenario.batch <= max_batch:
        return f"Memory holds {max_batch:,} sequences of this length."
    fewest = memory.min_chips(scenario)
    needed = (
        f"it takes {fewest:,} × {chip}" if fewest else "no number of chips holds it in this layout"
    )
    if max_batch == 0 and memory.weights(scenario) > memory.capacity(scenario):
        return f"**The weights alone do not fit** on {scenario.n_chips:,}: {needed}."
    held = f"memory holds {max_batch:,} sequences" if max_batch else "not one sequence fits"
    return f"**It does not fit**: {held}; {needed} for this batch."


def layout_caveats(scenario: Scenario) -> list[str]:
    """What a layout asks for in vain, what it copies, and what a narrow format takes along."""
    s = scenario
    if s.fidelity == "bound":
        return []
    found = layout.problems(s)
    copies = cache_copies(s)
    if copies:
        found.append(copies)
    if s.compute_format.bits < 16 and s.attention_format is None:
        id = text.plain(s.compute_format.id)
        found.append(
            f"Attention is timed at the {id} rate and activations travel in {id}; many kernels "
            "score in bf16 (Attention compute)."
        )
    return found


def missing_link(scenario: Scenario) -> str:
    """That links are needed of which nothing is published."""
    return (
        f"No one-way link bandwidth is published for {text.plain(scenario.chip.name)}, so what "
        f"{scenario.n_chips:,} of them send each other is not known here."
    )


def caveats(scenario: Scenario, step: decode.StepTime) -> list[str]:
    """What a reader should know before trusting the numbers; empty in ordinary cases."""
    s = scenario
    found = layout_caveats(s)
    chip = text.plain(s.chip.name)
    offered = ", ".join(map(str, s.chip.slices))
    if s.chip.slices and s.n_chips not in s.chip.slices:
        found.append(f"{s.n_chips:,} chips are not one slice of {chip}, which comes in {offered}.")
    if s.model.max_context and s.context > s.model.max_context:
        model = text.plain(s.model.name)
        found.append(f"{model} is published for {s.model.max_context:,} tokens of context.")
    if s.fidelity == "bound" and float(step.attention_compute) > float(step.kv_read):
        found.append(
            f"Attention FLOPs take {text.si(float(step.attention_compute), 's')}, longer than the "
            f"KV read of {text.si(float(step.kv_read), 's')}: the bound, which charges only the "
            "read, is too low here."
        )
    return found


def cache_copies(scenario: Scenario) -> str:
    """What copies a layout keeps of a sequence's cache; empty if none."""
    s = scenario
    alone = float(s.model.kv_bytes(s.context, s.kv_format))
    held = float(memory.kv_per_sequence(s))
    if held <= 1.001 * alone:
        return ""
    return (
        f"In this layout a sequence takes {text.si(held, 'B')} over its chips: each keeps whole KV "
        f"heads, {text.times(held / alone)} what is needed."
    )


def kv_cache(scenario: Scenario, largest: int) -> str:
    """How large one sequence's cache is, against the weights and against the memory."""
    s = scenario
    each, weights = float(memory.kv_per_sequence(s)), memory.weights(s)
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
        if _rate_known(s):
            return missing_link(s)
        return f"{_missing_rate(s, 'what verification costs')}."
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


def prefill(scenario: Scenario, reading: decode.StepTime) -> str:
    """How long the prompt takes, what it is bound by, and where attention leads."""
    s, total = scenario, float(reading.total)
    if math.isnan(total):
        if _rate_known(s):
            return _without_links(s, reading, "the prompt")
        return f"{_missing_rate(s, 'what a prompt takes')}."
    terms = prompts.terms(s)
    compute = float(terms.linear_compute + terms.attention_compute)
    bound = "compute" if compute > float(terms.read) else "memory"
    talk = float(reading.charged()["communication"])
    spent = f", {text.percent(talk / total)} of it communication" if talk else ""
    hit = int(prompts.block_hit(s))
    cached = f" with {hit:,} of them cached" if hit else ""
    overtakes = prompts.attention_overtakes(s.model)
    leads = (
        f"attention takes {text.percent(prompts.attention_share(s))} of the FLOPs and leads from "
        f"{text.round_count(overtakes)} tokens on"
        if math.isfinite(overtakes)
        else f"attention takes {text.percent(prompts.attention_share(s))} of the FLOPs"
    )
    return (
        f"A prompt of {text.plural(s.prompt, 'token')}{cached} is read in "
        f"**{text.si(total, 's')}** at {text.percent(s.mfu)} of the dense rate, bound by "
        f"{bound}{spent}; {leads}."
    )


def prefill_caveats(scenario: Scenario) -> list[str]:
    """What is odd about the prompt or the chunk."""
    s = scenario
    found = layout.problems(s) if s.fidelity != "bound" else []
    if s.model.max_context and s.prompt > s.model.max_context:
        name = text.plain(s.model.name)
        found.append(f"{name} is published for {s.model.max_context:,} tokens of context.")
    if s.prefix_hit >= s.prompt:
        found.append("The cached prefix is the whole prompt: its last token is read anyway.")
    if s.chunk > s.prompt:
        found.append("The chunk is longer than the prompt: one step takes all of it.")
    return found


def sharding_width(scenario: Scenario, step: decode.StepTime) -> str:
    """What links take of the step, and where they take over."""
    s, total = scenario, float(step.total)
    tp = int(layout.Layout.of(s).tp)
    if math.isnan(total):
        if _rate_known(s):
            return _without_links(s, step, "the step")
        return f"{_missing_rate(s, 'the step time')}."
    talk = float(step.charged()["communication"])
    where = sharding.current_limits(s)
    split = f"Split {tp} ways" if tp > 1 else "With each group one chip"
    took = (
        f"{split} the step takes **{text.si(total, 's')}**, "
        f"{text.percent(talk / total)} of it communication"
    )
    if math.isinf(where.hbm):
        return f"{took}; no matmul waits for a link."
    return (
        f"{took}. Sending a matmul's activations would outlast reading its weights from "
        f"{text.round_count(where.hbm)} ways on, and multiplying them from "
        f"{text.round_count(where.compute)} ways on."
    )


def sharding_caveats(scenario: Scenario) -> list[str]:
    """What is wrong with the layout, and what the links are taken for."""
    s, found = scenario, layout_caveats(scenario)
    kind, reach = s.chip.fabric.kind, s.chip.fabric.reach
    chip = text.plain(s.chip.name)
    if s.n_chips > reach > 1:
        found.append(
            f"Fast links of {chip} reach {reach:,.0f} chips; beyond, {text.si(s.scale_out, 'B/s')} "
            "of network for each chip is assumed."
        )
    if kind == "torus":
        shape = sharding.shape_words(s, int(layout.Layout.of(s).tp))
        found.append(f"A group is taken as a torus of {shape}, rings only where an axis wraps.")
    return found


def cost(scenario: Scenario, step: decode.StepTime, prompts_per_second: float) -> str:
    """Prices of output, of input and of requests, and what keeps them unknown."""
    s, price = scenario, money.price(scenario)
    chip = text.plain(s.chip.name)
    if math.isnan(float(step.total)):
        why = decode_step(s, step, int(memory.max_batch(s)), math.inf)
        return f"What a token costs is not known here. {why}"
    if math.isnan(price):
        return f"No price is published for {chip}: type one under Prices and more in the sidebar."
    output = float(money.per_million_tokens(s, step))
    fits = "" if s.batch <= int(memory.max_batch(s)) else ", **if the batch did fit**,"
    read = money.per_million_input_tokens(s, prompts_per_second)
    return (
        f"At {text.usd(price)} per {chip} and hour a million output tokens cost{fits} "
        f"**{text.usd(output)}** and a million input tokens **{text.usd(read)}**; a thousand "
        f"requests of {s.prompt:,} tokens in and {s.output:,} out cost "
        f"{text.usd(money.requests(s, step, prompts_per_second))}."
    )


def capacity_fit(
    scenario: Scenario,
    held: memory.Ledger,
    fewest: int,
    small: capacity.Topology,
    double: capacity.Topology,
) -> str:
    """Whether it fits, on how few chips, and what the smallest topology is worth."""
    s, chip = scenario, text.plain(scenario.chip.name)
    taken = held.weights + held.kv_cache + held.activations
    share = text.percent(taken / (s.n_chips * s.chip.memory))
    least = (
        f"the fewest chips that hold it are {fewest:,}"
        if fewest
        else "no number of chips holds it in this layout"
    )
    lesson = ""
    if (
        small.sequences
        and double.sequences
        and small.requests_per_second < (double.requests_per_second)
    ):
        lesson = (
            f" The smallest slice for the weights, {text.plural(small.n_chips, 'chip')}, serves "
            f"{text.significant(small.requests_per_second)} requests/s per chip with memory full; "
            f"{double.n_chips:,} serve {text.significant(double.requests_per_second)}: the "
            "smallest topology is not the cheapest."
        )
    elif small.n_chips and not small.sequences:
        lesson = (
            f" The smallest slice for the weights, {text.plural(small.n_chips, 'chip')}, leaves no "
            "room for one sequence of this length."
        )
    verb = "take" if held.free >= 0 else "would take"
    return (
        f"{s.batch:,} sequences of {s.context:,} tokens and the weights {verb} "
        f"**{text.si(taken, 'B')}**, {share} of the memory of {s.n_chips:,} × {chip}; "
        f"{least}.{lesson}"
    )


_MOVED = {
    "weight_read": "the weight read",
    "linear_compute": "the FLOPs",
    "kv_read": "the KV read",
    "critical_batch": "the critical batch",
    "max_batch": "the largest batch",
}
_SWITCH = {
    "weight_format": ("{} weights", "move", "stay"),
    "kv_format": ("a KV cache in {}", "moves", "stays"),
    "compute_format": ("{} compute", "moves", "stays"),
}


def precision(
    scenario: Scenario,
    changed: Mapping[str, Scenario],
    now: precisions.Figures,
    figures: Mapping[str, precisions.Figures],
) -> str:
    """What each switch moves, in words, and what it does to the step."""
    sentences = []
    for switch, then in changed.items():
        form, moves, stays = _SWITCH[switch]
        after, id = figures[switch], text.plain(getattr(then, switch).id)
        named = form.format(f"**{id}**")
        if getattr(then, switch) is getattr(scenario, switch):
            sentences.append(f"{named} {stays}")
            continue
        if math.isnan(after.step_time) and not math.isnan(now.step_time):
            chip = text.plain(scenario.chip.name)
            sentences.append(f"{chip} publishes no dense {id} rate to compute in")
            continue
        moved = [
            words
            for name, words in _MOVED.items()
            if precisions.differ(getattr(after, name), getattr(now, name))
        ]
        change = text.change(after.step_time, now.step_time) or "unknown"
        what = ", ".join(moved) or "nothing"
        sentences.append(f"{named} {moves} {what} (step {change})")
    return f"{'; '.join(sentences)}."
