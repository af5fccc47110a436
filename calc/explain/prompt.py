"""Explanations of prefill."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import answer, host, prefill, ring, roofline
from calc.explain.entry import (
    BOOK,
    DISTSERVE,
    PAGED,
    RING,
    SARATHI,
    Explanation,
    bandwidth,
    batch,
    chips,
    hosted,
    kv_sequence,
    linear_rate,
    rate,
    step_time,
    weight_bytes,
)
from calc.explain.expression import Expression, Floor, Maximum, Number, Symbol, total
from calc.explain.sought import Edge
from calc.layout import Layout
from calc.operators import Operator
from calc.scenario import Scenario
from calc.words import marked


def _tokens(s: Scenario) -> Symbol:
    new = s.prompt - int(prefill.block_hit(s))
    return Symbol("T", new, "tokens", marked("prompt tokens, cached prefix left out"))


def _mfu(s: Scenario) -> Symbol:
    return Symbol(
        r"\mathrm{MFU}", s.constants.mfu, "share", marked("of the dense rate that prefill reaches")
    )


def _parts(s: Scenario, active: float | None = None) -> tuple[Symbol, Symbol]:
    """What multiplies every token, and what the last one of a prompt only."""
    multiplied = s.model.active_params if active is None else active
    body = Symbol(
        r"P_\mathrm{body}", multiplied - s.model.head_params, "parameters",
        marked("active parameters, output head left out"),
    )  # fmt: skip
    head = Symbol(
        r"P_\mathrm{head}",
        s.model.head_params,
        "parameters",
        marked("output head, for the last token"),
    )
    return body, head


def _linear(s: Scenario) -> Expression:
    body, head = _parts(s)
    return Number(2) * body * _tokens(s) + Number(2) * head


def _attention(s: Scenario) -> Symbol:
    known = prefill.block_hit(s)
    flops = s.model.prefill_attention_flops(s.prompt) - s.model.prefill_attention_flops(known)
    return Symbol(
        r"F_\mathrm{att}", float(flops), "FLOP", marked("scores and values under the causal mask")
    )


def _flops(s: Scenario) -> Expression:
    return _linear(s) + _attention(s)


def _time(s: Scenario) -> Expression:
    step = prefill.prompt_time(s)
    if s.fidelity == "bound":
        whole, *hosts = step.work.operators
        moved = Symbol(
            "Q",
            float(whole.moved) * s.n_chips,
            "byte",
            marked("weights and the prompt's cache, once"),
        )
        reach = chips(s) * bandwidth(s)
        whole_rate = linear_rate(s)
        if not s.one_rate:
            whole_rate = Symbol(
                r"\bar C", float(whole.rate) / s.constants.mfu, "FLOP/s",
                marked("dense peak of one chip for all parts of a prompt"),
            )  # fmt: skip
        done: Expression = _flops(s)
        if hosts:
            words = marked("FLOPs of the prompt, those with weights on the host left out")
            done = Symbol("F_n", float(whole.done) * s.n_chips, "FLOP", words)
        near = Maximum(done / (chips(s) * whole_rate * _mfu(s)), moved / reach)
        return total([near, *(_on_host(s, each) for each in hosts)])
    names = {
        "linear_compute": marked("linear FLOPs at the MFU"),
        "attention_compute": marked("attention FLOPs at the MFU"),
        "weight_read": marked("operators bound by weights"),
        "kv_read": marked("attention bound by its cache"),
        "communication": marked("communication not hidden"),
        "overhead": marked("overhead"),
    }
    charged = step.charged()
    return total(
        [
            Symbol(rf"T_{{{i}}}", float(charged[name]), "s", words)
            for i, (name, words) in enumerate(names.items(), 1)
        ]
    )


def _on_host(s: Scenario, work: Operator) -> Expression:
    """What a step at fidelity bound does with weights on the host."""
    n = s.n_chips
    return Maximum(*hosted(s, float(work.moved) * n, float(work.done) * n, float(work.rate)))


def _free(s: Scenario) -> Expression:
    crossing = Symbol("B^*", roofline.compute_bound_batch(s), "sequences", marked("critical batch"))
    room = Maximum(Number(0), crossing - batch(s)) * _mfu(s)
    reached = s.constants.compute_efficiency
    if s.fidelity == "bound":
        return room / Symbol(r"\eta_C", reached, "share", marked("of the rate in decoding"))
    groups = Symbol("D", float(Layout.of(s).dp), "groups", marked("attention data parallel"))
    kept = Symbol(r"\eta_C", reached, "share", marked("of the dense rate in decoding"))
    return room / (kept * groups)


def _ratio(s: Scenario) -> Expression:
    reading = Symbol(
        r"T_\mathrm{pre}", float(prefill.prompt_time(s).total), "s", marked("prompt time")
    )
    output = Symbol("G", s.output, "tokens", marked("tokens a request generates"))
    return reading * batch(s) / (step_time(s) * output * _at_once(s))


def _token_rate(s: Scenario) -> Expression:
    prompt = Symbol("S_p", s.prompt, "tokens", marked("prompt"))
    reading = Symbol(
        r"T_\mathrm{pre}", float(prefill.prompt_time(s).total), "s", marked("prompt time")
    )
    return prompt * _at_once(s) / reading


def _at_once(s: Scenario) -> Symbol:
    return Symbol("n_p", prefill.concurrency(s), "prompts", marked("read at a time by a replica"))


def _share(s: Scenario) -> Expression:
    return _attention(s) / _flops(s)


def _chunk(s: Scenario) -> Expression:
    """The chunk found, and one token more."""
    largest = prefill.largest_chunk(s)
    found = 0 if math.isnan(largest) else int(largest)
    tried = [size for size in (found, found + 1) if 0 < size <= s.prompt]
    wanted = Symbol("t", s.tpot_target, "s", marked("time per output token that is wanted"))

    def sides(size: int) -> tuple[Expression, Expression]:
        return _chunk_bound(s, size) if s.fidelity == "bound" else _chunk_step(s, size), wanted

    return Edge("c", tried, sides, last=True)


def _chunk_step(s: Scenario, size: int) -> Symbol:
    taken = float(prefill.chunked_step(s, size).total)
    return Symbol("T(c)", taken, "s", marked("decode step that takes so many prompt tokens along"))


def _chunk_bound(s: Scenario, size: int) -> Expression:
    before = max(s.prompt - size, 0)
    model, chunked = s.model, prefill.chunked_step(s, size)
    aboard = Symbol("c", size, "tokens", marked("prompt tokens in the step"))
    read = Symbol(
        r"P_\mathrm{read}(B+c)", float(host.chip_params_read(s, s.batch + size)),
        "parameters", marked("parameters streamed for the batch and the chunk"),
    )  # fmt: skip
    cache = Symbol(
        "K_c", float(model.kv_bytes(before, s.kv_format)), "byte",
        marked("cache of the prompt before the chunk"),
    )  # fmt: skip
    pairs = model.prefill_attention_flops(s.prompt if before else size)
    pairing = Symbol(
        "F_c", float(pairs - model.prefill_attention_flops(before)), "FLOP",
        marked("scores and values of the chunk"),
    )  # fmt: skip
    reach, power = chips(s) * bandwidth(s), chips(s) * rate(s)
    body, head = _parts(s, host.chip_active(s))
    scored = batch(s) + Number(float(0 < size >= s.prompt - before)) / _mfu(s)
    multiplied = Number(2) * ((batch(s) + aboard / _mfu(s)) * body + scored * head)
    return total(
        [
            batch(s) * kv_sequence(s) / reach,
            Maximum(
                read * weight_bytes(s, s.batch + size) / reach,
                multiplied / (chips(s) * linear_rate(s)),
            ),
            Maximum(cache / reach, pairing / (power * _mfu(s))),
            *(_on_host(s, work) for work in chunked.work.operators if work.name == host.ON_HOST),
        ]
    )


def _hit(s: Scenario) -> Expression:
    block = Symbol("b", s.kv_block, "tokens", marked("tokens of a cache block"))
    prefix = Symbol("h", min(s.prefix_hit, s.prompt - 1), "tokens", marked("prefix cached"))
    return Floor(prefix / block) * block


def _transfer(s: Scenario) -> Expression:
    cache = Symbol(
        "K_T", float(s.model.kv_bytes(s.prompt, s.kv_format)), "byte", marked("cache of the prompt")
    )
    port = Symbol(r"W_\mathrm{net}", s.scale_out, "byte/s", marked("network of one chip"))
    return cache / port


def _ring(s: Scenario) -> Expression:
    """The width found, and one fewer."""
    limit = ring.limit(s)
    if math.isinf(limit):
        return Number(limit)
    found = 2 if math.isnan(limit) else int(limit)
    attention = Symbol(
        r"T_\mathrm{att}", float(ring.read(s, 1).attention), "s",
        marked("attention of the prompt on one replica"),
    )  # fmt: skip

    def sides(width: int) -> tuple[Expression, Expression]:
        number = Symbol("n", width, "replicas", marked("in the ring"))
        if width == 1:
            return attention / number, Number(0)
        came = Symbol(
            "K_n", float(ring.arriving(s, width)), "byte",
            marked("cache of the other replicas' tokens, into each chip"),
        )  # fmt: skip
        link = Symbol(
            "W_1", float(ring.link(s, width)), "byte/s", marked("from a chip to its counterpart")
        )
        hops = Symbol("L", float(ring.layers(s)), "layers", marked("that keep a cache"))
        hop = Symbol(r"t_\mathrm{hop}", s.hop_latency, "s", marked("time of a hop"))
        return attention / number, came / link + hops * (number - 1) * hop

    return Edge("n", [found - 1, found], sides, last=False)


def _answer(s: Scenario) -> tuple[Symbol, Symbol]:
    prompt = Symbol("S_p", s.prompt, "tokens", marked("prompt"))
    return prompt, Symbol("G", s.output, "tokens", marked("tokens a request generates"))


def _attended(work: answer.Work) -> Symbol:
    return Symbol(
        r"F_\mathrm{att}", float(work.attention[-1]), "FLOP",
        marked("scores and values of all its tokens"),
    )  # fmt: skip


def _with_cache(s: Scenario) -> Expression:
    body, head = _parts(s)
    prompt, output = _answer(s)
    once = prompt + output - 1
    linear = Number(2) * body * once + Number(2) * head * output
    return linear + _attended(answer.with_cache(s, s.output))


def _without_cache(s: Scenario) -> Expression:
    body, head = _parts(s)
    prompt, output = _answer(s)
    again = output * prompt + output * (output - 1) / Number(2)
    linear = Number(2) * body * again + Number(2) * head * output
    return linear + _attended(answer.without_cache(s, s.output))


def _joined(s: Scenario) -> Expression:
    found = prefill.joined_step(s)
    step = step_time(s)
    size = Symbol("c", found.chunk, "tokens", marked("prompt tokens of one chunk"))
    tokens = Symbol("n", found.tokens, "tokens", marked("prompt tokens that join each step"))
    words = marked("one decode step with such a chunk")
    return step + (Symbol("T_c", found.taken, "s", words) - step) * tokens / size


EXPLANATIONS: Mapping[str, Explanation] = {
    "prefill_time": Explanation(
        marked("Prefill time"), r"T_\mathrm{pre}", "s", f"F5.2; {BOOK}, part 8",
        marked(
            "All prompt tokens are multiplied at once: FLOPs at the share of the dense rate that "
            "prefill reaches, or the bytes if they take longer. Nothing waits in a queue."
        ), _time,
    ),
    "prefill_flops": Explanation(
        marked("Prefill FLOPs"), "F", "FLOP", f"F5.1; {BOOK}, part 4",
        marked(
            "Two FLOPs per parameter and token, the output head for the last token only, and "
            "attention under the causal mask."
        ), _flops,
    ),
    "prompt_token_rate": Explanation(
        marked("Prompt token/s"), r"X_\mathrm{pre}", "token/s", "F5.2",
        marked("Prompt tokens that a replica takes in, each of its groups a prompt."), _token_rate,
    ),
    "attention_share": Explanation(
        marked("Attention share"), r"a_\mathrm{att}", "share", f"F5.1; {BOOK}, part 4",
        marked("Part of the prompt's FLOPs that scores and values take."), _share,
        marked("Attention's share of prefill"),
    ),
    "largest_chunk": Explanation(
        marked("Largest chunk"), r"c_\mathrm{max}", "tokens", f"F5.3; {SARATHI}",
        marked(
            "Most prompt tokens that a decode step takes along within the time per token that is "
            "wanted, held against one token more. 0 if the step alone takes longer, the whole "
            "prompt if even that fits."
        ), _chunk,
    ),
    "free_tokens": Explanation(
        marked("Tokens riding free"), r"c_\mathrm{free}", "tokens", f"F5.3; {SARATHI}",
        marked(
            "A decode step reads the weights anyway: so many more tokens may be multiplied by "
            "them, at the MFU of prefill; for each group of the layout."
        ), _free, marked("Prompt tokens that ride along free"),
    ),
    "servers_ratio": Explanation(
        marked("Prefill : decode"), r"n_P/n_D", "replicas", f"F8.8; {BOOK}, part 8",
        marked("Prefill replicas that keep one decode replica of the same chips busy."), _ratio,
    ),
    "joined_step": Explanation(
        marked("Step with prompts"), r"T_\mathrm{joined}", "s", f"F8.28; {SARATHI}",
        marked(
            "A decode step of a replica that also reads prompts, in chunks: as many as answers "
            "end."
        ), _joined,
        marked("Decode step with prompts"),
    ),
    "block_hit": Explanation(
        marked("Prefix that counts"), "h_b", "tokens", f"F8.10; {PAGED}",
        marked("Only whole blocks are found again."), _hit,
    ),
    "transfer_time": Explanation(
        marked("KV transfer"), r"T_\mathrm{xfer}", "s", f"F8.9; {DISTSERVE}",
        marked("The prompt's cache through one network port."), _transfer,
    ),
    "ring_limit": Explanation(
        marked("Ring limit"), r"n_\mathrm{ring}", "replicas", f"F5.5; {RING}",
        marked(
            "From this many replicas on, receiving the others' keys and values takes longer "
            "than attention. Checked against one replica fewer."
        ), _ring, marked("Replicas from which a ring waits"),
    ),
    "answer_flops": Explanation(
        marked("Answer FLOPs"), r"F_\mathrm{answer}", "FLOP", f"F5.6; {BOOK}, part 7",
        marked("The prompt is multiplied once, then each token, which attends to the cache."),
        _with_cache,
        marked("FLOPs of an answer with a cache"),
    ),
    "answer_flops_uncached": Explanation(
        marked("FLOPs without a cache"), r"F_\mathrm{again}", "FLOP", f"F5.6; {BOOK}, part 7",
        marked("The whole text is multiplied again for every token of the answer."), _without_cache,
        marked("FLOPs of an answer without a cache"),
    ),
}  # fmt: skip
