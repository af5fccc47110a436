"""The one sentence that answers the Decode page's question, in every regime."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from calc import Scenario, capacity, decode, layout, memory, sharding, speculative
from calc import cost as money
from calc import precision as precisions
from calc import prefill as prompts
from calc.formats import NumberFormat
from calc.words import marked, say
from pages.ui import text

_SPENT_ON = {
    "kv_read": marked("reading the KV cache"),
    "weight_read": marked("reading weights"),
    "linear_compute": marked("multiplying in the linear layers"),
    "attention_compute": marked("multiplying in attention"),
    "communication": marked("sending between chips"),
    "overhead": marked("in overhead"),
}
# The times of which it is said that they are not known, or what they are without links.
_STEP = marked("the step")
_STEP_TIME = marked("the step time")
_PROMPT = marked("the prompt")
_PROMPT_TAKES = marked("what a prompt takes")
_VERIFICATION_COSTS = marked("what verification costs")


def decode_step(
    scenario: Scenario, step: decode.StepTime, max_batch: int, compute_bound_from: float
) -> str:
    """Step time, what takes most of it, where compute takes over, and whether it fits."""
    if math.isnan(float(step.total)):
        return _unknown(scenario, step, max_batch)
    charged = {name: float(term) for name, term in step.charged().items()}
    largest = max(charged, key=charged.__getitem__)
    told = {
        "time": text.si(float(step.total), "s"),
        "share": text.percent(charged[largest] / float(step.total)),
        "spent_on": say(_SPENT_ON[largest]),
    }
    took = (
        say("One decode step takes **{time}**, {share} of it {spent_on}", **told)
        if scenario.batch <= max_batch
        else say("One decode step would take **{time}**, {share} of it {spent_on}", **told)
    )
    crossing = math.floor(compute_bound_from)
    if not bool(step.compute_bound):
        side = say("the linear layers stay memory-bound up to batch {n:,}", n=crossing)
    elif crossing:
        side = say(
            "the linear layers are compute-bound, as they are beyond batch {n:,}", n=crossing
        )
    else:
        side = say("the linear layers are compute-bound at any batch")
    if scenario.fidelity != "bound":
        textbook = float(decode.step_time(replace(scenario, fidelity="bound")).total)
        took = say(
            "{statement} (textbook bound: {time})", statement=took, time=text.si(textbook, "s")
        )
    return text.sentences(_sentence(took, side), _fit(scenario, max_batch))


def _sentence(*statements: str) -> str:
    """Statements as one sentence."""
    return say("{statements}.", statements=text.clauses(statements))


def _unknown(scenario: Scenario, step: decode.StepTime, max_batch: int) -> str:
    if unpublished(scenario) is None:
        return text.sentences(_without_links(scenario, step, _STEP), _fit(scenario, max_batch))
    usable = say(" or ").join(scenario.chip.peaks) or say("none")
    return text.sentences(
        say(
            "{statement} (published: {rates}).",
            statement=_missing_rate(scenario, _STEP_TIME),
            rates=usable,
        ),
        say(
            "Reading takes **{time}**.",
            time=text.si(float(step.kv_read + step.weight_read), "s"),
        ),
        _fit(scenario, max_batch),
    )


def unpublished(scenario: Scenario) -> NumberFormat | None:
    """The format that is computed in though the chip publishes no rate for it, if there is one."""
    s = scenario
    used = [s.compute_format, *([s.attention_format] if s.attention_format else [])]
    return next((format for format in used if not s.chip.peak(format) > 0), None)


def _missing_rate(scenario: Scenario, what: str) -> str:
    """That no rate is published, and what is unknown for it; without a full stop."""
    missing = unpublished(scenario) or scenario.compute_format
    return say(
        "No dense {format} rate is published for {chip}, so {what} is not known here",
        format=text.plain(missing.id),
        chip=text.plain(scenario.chip.name),
        what=say(what),
    )


def _without_links(scenario: Scenario, step: decode.StepTime, what: str) -> str:
    """That no link is published, and what the time is without any."""
    return text.sentences(
        missing_link(scenario),
        say(
            "Without communication {what} takes **{time}**.",
            what=say(what),
            time=text.si(float(step.busy), "s"),
        ),
    )


def misfit(scenario: Scenario) -> str:
    """That a scenario does not fit, where it does not."""
    largest = int(memory.max_batch(scenario))
    return _fit(scenario, largest) if scenario.batch > largest else ""


def _fit(scenario: Scenario, max_batch: int) -> str:
    chip = text.plain(scenario.chip.name)
    if scenario.batch <= max_batch:
        return text.plural(
            max_batch,
            marked("Memory holds {n} sequence of this length."),
            marked("Memory holds {n} sequences of this length."),
        )
    fewest = memory.min_chips(scenario)
    if max_batch == 0 and memory.weights(scenario) > memory.capacity(scenario):
        return say(
            "**The weights alone do not fit** on {n:,} × {chip}: {needed}.",
            n=scenario.n_chips,
            chip=chip,
            needed=_needed(fewest, chip),
        )
    held = (
        text.plural(
            max_batch, marked("memory holds {n} sequence"), marked("memory holds {n} sequences")
        )
        if max_batch
        else say("not one sequence fits")
    )
    needed = _needed(fewest, chip)
    return say("**It does not fit**: {held}; {needed}.", held=held, needed=needed)


def _needed(fewest: int, chip: str) -> str:
    """What would hold the weights and this batch."""
    if fewest:
        return say("it takes {n:,} × {chip} for this batch", n=fewest, chip=chip)
    return say("no number of chips holds it in this layout for this batch")


_NO_NUMBER = marked("no number of chips holds it in this layout")


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
            say(
                "Attention is timed at the {format} rate and activations travel in {format}; many "
                "kernels score in bf16 (Attention compute).",
                format=id,
            )
        )
    return found


def missing_link(scenario: Scenario) -> str:
    """That links are needed of which nothing is published."""
    return say(
        "No one-way link bandwidth is published for {chip}, so what {n:,} of them send each other "
        "is not known here.",
        chip=text.plain(scenario.chip.name),
        n=scenario.n_chips,
    )


def caveats(scenario: Scenario, step: decode.StepTime) -> list[str]:
    """What a reader should know before trusting the numbers; empty in ordinary cases."""
    s = scenario
    found = layout_caveats(s)
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
    if s.model.max_context and s.context > s.model.max_context:
        found.append(_beyond_published(s))
    if s.fidelity == "bound" and float(step.attention_compute) > float(step.kv_read):
        found.append(
            say(
                "Attention FLOPs take {compute}, longer than the KV read of {read}: the bound, "
                "which charges only the read, is too low here.",
                compute=text.si(float(step.attention_compute), "s"),
                read=text.si(float(step.kv_read), "s"),
            )
        )
    return found


def _beyond_published(scenario: Scenario) -> str:
    """Up to what context a model is published."""
    return say(
        "{model} is published for {n:,} tokens of context.",
        model=text.plain(scenario.model.name),
        n=scenario.model.max_context,
    )


def cache_copies(scenario: Scenario) -> str:
    """What copies a layout keeps of a sequence's cache; empty if none."""
    s = scenario
    alone = float(s.model.kv_bytes(s.context, s.kv_format))
    held = float(memory.kv_per_sequence(s))
    if held <= 1.001 * alone:
        return ""
    return say(
        "In this layout a sequence takes {size} over its chips: each keeps whole KV heads, "
        "{factor} what is needed.",
        size=text.si(held, "B"),
        factor=text.times(held / alone),
    )


def kv_cache(scenario: Scenario, largest: int) -> str:
    """How large one sequence's cache is, against the weights and against the memory."""
    s = scenario
    each, weights = float(memory.kv_per_sequence(s)), memory.weights(s)
    ratio = weights / each
    growth = float(s.model.kv_bytes(s.context + 1, s.kv_format)) - each
    compared = (
        say("{n} such caches weigh as much as the weights", n=text.significant(ratio))
        if ratio >= 1
        else say("it outweighs the weights {n} times", n=text.significant(1 / ratio))
    )
    fits = (
        say("memory holds {n:,}", n=largest)
        if largest
        else say("memory holds none beside the weights")
    )
    return say(
        "A sequence of {n:,} tokens caches **{size}** in {format}, {growth} more with the next "
        "token; {compared}, and {fits}.",
        n=s.context,
        size=text.si(each, "B"),
        format=text.plain(s.kv_format.id),
        growth=text.kibibytes(growth),
        compared=compared,
        fits=fits,
    )


def speculation(scenario: Scenario, cycle: speculative.Cycle, best: int, free: float) -> str:
    """Whether drafting pays at this batch, and what would pay best."""
    s, gain = scenario, float(cycle.speedup)
    if math.isnan(gain):
        if unpublished(s) is None:
            return missing_link(s)
        return _sentence(_missing_rate(s, _VERIFICATION_COSTS))
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
        if s.batch <= free
        else say("verification has not been free since batch {n:,}", n=math.floor(free))
        if free >= 1
        else say("verification is free at no batch")
    )
    return say(
        "Drafting {n} tokens at acceptance {acceptance:g} {effect} at batch {batch:,}; {longest}, "
        "and {verify}.",
        n=s.n_draft,
        acceptance=s.acceptance,
        effect=effect,
        batch=s.batch,
        longest=longest,
        verify=verify,
    )


def speculation_caveats(scenario: Scenario, cost_ratio: float) -> list[str]:
    """What makes the draft a doubtful one."""
    s, found = scenario, []
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


def prefill(scenario: Scenario, reading: decode.StepTime) -> str:
    """How long the prompt takes, what it is bound by, and where attention leads."""
    s, total = scenario, float(reading.total)
    if math.isnan(total):
        if unpublished(s) is None:
            return _without_links(s, reading, _PROMPT)
        return _sentence(_missing_rate(s, _PROMPT_TAKES))
    terms = prompts.terms(s)
    compute = float(terms.linear_compute + terms.attention_compute)
    bound = say("bound by compute") if compute > float(terms.read) else say("bound by memory")
    talk = float(reading.charged()["communication"])
    if talk:
        bound = say("{bound}, {talk}", bound=bound, talk=_talk(talk / total))
    hit = int(prompts.block_hit(s))
    prompt = text.plural(
        s.prompt, marked("A prompt of {n} token"), marked("A prompt of {n} tokens")
    )
    if hit:
        prompt = say("{prompt} with {n:,} of them cached", prompt=prompt, n=hit)
    overtakes = prompts.attention_overtakes(s.model)
    share = text.percent(prompts.attention_share(s))
    leads = (
        say(
            "attention takes {share} of the FLOPs and leads from {n} tokens on",
            share=share,
            n=text.round_count(overtakes),
        )
        if math.isfinite(overtakes)
        else say("attention takes {share} of the FLOPs", share=share)
    )
    read = say(
        "{prompt} is read in **{time}** at {mfu} of the dense rate, {bound}",
        prompt=prompt,
        time=text.si(total, "s"),
        mfu=text.percent(s.mfu),
        bound=bound,
    )
    return _sentence(read, leads)


def _talk(share: float) -> str:
    """What of a time is communication."""
    return say("{share} of it communication", share=text.percent(share))


def prefill_caveats(scenario: Scenario) -> list[str]:
    """What is odd about the prompt or the chunk."""
    s = scenario
    found = layout.problems(s) if s.fidelity != "bound" else []
    if s.model.max_context and s.prompt > s.model.max_context:
        found.append(_beyond_published(s))
    if s.prefix_hit >= s.prompt:
        found.append(say("The cached prefix is the whole prompt: its last token is read anyway."))
    if s.chunk > s.prompt:
        found.append(say("The chunk is longer than the prompt: one step takes all of it."))
    return found


def sharding_width(scenario: Scenario, step: decode.StepTime) -> str:
    """What links take of the step, and where they take over."""
    s, total = scenario, float(step.total)
    tp = int(layout.Layout.of(s).tp)
    if math.isnan(total):
        if unpublished(s) is None:
            return _without_links(s, step, _STEP)
        return _sentence(_missing_rate(s, _STEP_TIME))
    talk = float(step.charged()["communication"])
    where = sharding.current_limits(s)
    took = say(
        "{split} the step takes **{time}**, {share}",
        split=say("Split {n} ways", n=tp) if tp > 1 else say("With each group one chip"),
        time=text.si(total, "s"),
        share=_talk(talk / total),
    )
    if math.isinf(where.hbm):
        return _sentence(took, say("no matmul waits for a link"))
    return text.sentences(
        _sentence(took),
        say(
            "Sending a matmul's activations would outlast reading its weights from {memory} ways "
            "on, and multiplying them from {compute} ways on.",
            memory=text.round_count(where.hbm),
            compute=text.round_count(where.compute),
        ),
    )


def sharding_caveats(scenario: Scenario) -> list[str]:
    """What is wrong with the layout, and what the links are taken for."""
    s, found = scenario, layout_caveats(scenario)
    kind, reach = s.chip.fabric.kind, s.chip.fabric.reach
    chip = text.plain(s.chip.name)
    if s.n_chips > reach > 1:
        found.append(
            say(
                "Fast links of {chip} reach {n:,.0f} chips; beyond, {rate} of network for each "
                "chip is assumed.",
                chip=chip,
                n=reach,
                rate=text.si(s.scale_out, "B/s"),
            )
        )
    if kind == "torus":
        shape = sharding.shape_words(s, int(layout.Layout.of(s).tp))
        found.append(
            say(
                "A group is taken as a torus of {shape}, rings only where an axis wraps.",
                shape=shape,
            )
        )
    return found


def cost(scenario: Scenario, step: decode.StepTime, prompts_per_second: float) -> str:
    """Prices of output, of input and of requests, and what keeps them unknown."""
    s, price = scenario, money.price(scenario)
    chip = text.plain(s.chip.name)
    if math.isnan(float(step.total)):
        why = decode_step(s, step, int(memory.max_batch(s)), math.inf)
        return text.sentences(say("What a token costs is not known here."), why)
    if math.isnan(price):
        return say(
            "No price is published for {chip}: type one under Prices and more in the sidebar.",
            chip=chip,
        )
    hour = say("At {price} per {chip} and hour", price=text.usd(price), chip=chip)
    prices = {
        "hour": hour,
        "output": text.usd(float(money.per_million_tokens(s, step))),
        "input": text.usd(money.per_million_input_tokens(s, prompts_per_second)),
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
        price=text.usd(money.requests(s, step, prompts_per_second)),
    )
    return _sentence(tokens, requests)


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
    least = say("the fewest chips that hold it are {n:,}", n=fewest) if fewest else say(_NO_NUMBER)
    lesson = ""
    if (
        small.sequences
        and double.sequences
        and small.requests_per_second < (double.requests_per_second)
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
        "batch": s.batch,
        "context": s.context,
        "size": text.si(taken, "B"),
        "share": text.percent(taken / (s.n_chips * s.chip.memory)),
        "n": s.n_chips,
        "chip": chip,
    }
    held_by = (
        say(
            "{batch:,} sequences of {context:,} tokens and the weights take **{size}**, {share} of "
            "the memory of {n:,} × {chip}",
            **sizes,
        )
        if held.free >= 0
        else say(
            "{batch:,} sequences of {context:,} tokens and the weights would take **{size}**, "
            "{share} of the memory of {n:,} × {chip}",
            **sizes,
        )
    )
    return text.sentences(_sentence(held_by, least), lesson)


def _chips(number: int) -> str:
    return text.plural(number, marked("{n} chip"), marked("{n} chips"))


_MOVED = {
    "weight_read": marked("the weight read"),
    "linear_compute": marked("the FLOPs"),
    "kv_read": marked("the KV read"),
    "critical_batch": marked("the critical batch"),
    "max_batch": marked("the largest batch"),
}
# What is said of a switch that moves something, and of one that stays.
_SWITCH = {
    "weight_format": (
        marked("**{id}** weights move {what} (step {change})"), marked("**{id}** weights stay")
    ),
    "kv_format": (
        marked("a KV cache in **{id}** moves {what} (step {change})"),
        marked("a KV cache in **{id}** stays"),
    ),
    "compute_format": (
        marked("**{id}** compute moves {what} (step {change})"), marked("**{id}** compute stays")
    ),
}  # fmt: skip


def precision(
    scenario: Scenario,
    changed: Mapping[str, Scenario],
    now: precisions.Figures,
    figures: Mapping[str, precisions.Figures],
) -> str:
    """What each switch moves, in words, and what it does to the step."""
    found = []
    for switch, then in changed.items():
        moves, stays = _SWITCH[switch]
        after, id = figures[switch], text.plain(getattr(then, switch).id)
        if getattr(then, switch) is getattr(scenario, switch):
            found.append(say(stays, id=id))
            continue
        if math.isnan(after.step_time) and not math.isnan(now.step_time):
            chip = text.plain(scenario.chip.name)
            found.append(
                say("{chip} publishes no dense {format} rate to compute in", chip=chip, format=id)
            )
            continue
        moved = [
            say(words)
            for name, words in _MOVED.items()
            if precisions.differ(getattr(after, name), getattr(now, name))
        ]
        change = text.change(after.step_time, now.step_time) or say("unknown")
        found.append(say(moves, id=id, what=text.listed(moved) or say("nothing"), change=change))
    return _sentence(*found)
