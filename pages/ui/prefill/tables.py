"""Tables and sentences of the Prefill page."""

from __future__ import annotations

import math

from calc import Scenario, cost, decode, known, prefill
from calc.words import marked, say
from pages.ui.writing import published, tables, text


def chunk_sentence(scenario: Scenario) -> str:
    """What reading the prompt in chunks costs."""
    s = scenario
    read, whole = prefill.chunked(s), float(prefill.prompt_time(s).total)
    cents = cost.per_million_input_tokens(s, prefill.prompt_rate(s, whole))
    steps = text.plural(read.steps, marked("{n} step"), marked("{n} steps"))
    return say(
        "In chunks of {chunk:,}: {steps}, {time} to the first token, at worst {worst} per output "
        "token for the batch; later chunks read {reread} cached tokens again, {again} × the "
        "prompt. Read at once, a million input tokens cost {price}.",
        chunk=s.chunk,
        steps=steps,
        time=published.least(s, text.si(read.time, "s")),
        worst=published.least(s, text.si(read.longest_step, "s")),
        reread=text.count(read.reread),
        again=text.significant(read.reread / max(s.prompt, 1)),
        price=published.least(s, text.usd(cents)),
    )


def layers(scenario: Scenario) -> tables.Table:
    """FLOPs of one layer of each kind over the prompt."""
    head = [say("Layer"), say("Count"), say("Projections"), say("If multi-head"), "MLP",
            say("Attention, causal"), say("All pairs"), say("Absorbed (MLA)")]  # fmt: skip
    rows = []
    for layer in prefill.layer_flops(scenario.model, scenario.prompt):
        rows.append(
            [
                text.plain(say(layer.block.attention.label)),
                text.count(layer.block.count),
                *(
                    text.si(flops, "FLOP") if math.isfinite(flops) else "–"
                    for flops in (
                        layer.projections,
                        layer.as_multi_head,
                        layer.feedforward,
                        layer.attention,
                        layer.unmasked,
                        layer.absorbed,
                    )
                ),
            ]
        )
    return tables.table(head, rows)


def layer_notes(scenario: Scenario) -> str:
    """Where attention leads, for prompts and for decoding."""
    model = scenario.model
    prompt, context = (
        say("from {n} tokens", n=text.round_count(value)) if math.isfinite(value) else say("never")
        for value in (prefill.attention_overtakes(model), prefill.decode_attention_overtakes(model))
    )
    return say(
        "For a prompt of {tokens}; 1 multiply-add is 2 FLOP. Grouped queries shrink projections "
        "and cache, not scores and values. Attention takes more FLOPs than all weights {prompt} "
        "in a prompt, {context} of context in decoding.",
        tokens=text.tokens(scenario.prompt),
        prompt=prompt,
        context=context,
    )


def prefix(scenario: Scenario) -> str:
    """What the cached prefix saves."""
    s = scenario
    hit = int(prefill.block_hit(s))
    whole = prefill.flops(s.model, s.prompt)
    left = prefill.flops(s.model, s.prompt, hit)
    before = float(prefill.prompt_time(s, known=0).total)
    after = float(prefill.prompt_time(s).total)
    rows = [
        [say("Prompt tokens to read"), text.count(s.prompt), text.count(s.prompt - hit)],
        [say("FLOPs"), text.si(float(whole), "FLOP"), text.si(float(left), "FLOP")],
        [say("Time"), published.seconds(s, before), published.seconds(s, after)],
        # Of two bounds no quotient is known.
        [say("Saved"), "", text.percent(math.nan if known.bounded(s) else 1 - after / before)],
    ]
    table = tables.markdown(
        [say("Quantity"), say("Nothing cached"), say("With the prefix")], rows, " rr"
    )
    tokens = text.plural(s.prefix_hit, marked("{n} cached token"), marked("{n} cached tokens"))
    counted = say(
        "Of {tokens} {hit:,} count: whole blocks of {block:,}, and never the last token.",
        tokens=tokens,
        hit=hit,
        block=s.kv_block,
    )
    return f"{counted}\n\n{table}"


def _time(seconds: float) -> str:
    return text.si(seconds, "s")


def disaggregation(scenario: Scenario, total: float, step: decode.StepTime) -> str:
    """Sending the cache, and how many prefill replicas a decode replica needs."""
    s, n = scenario, scenario.n_chips
    rate = s.batch / (s.output * float(step.total))
    each = 1 / prefill.prompt_rate(s, total)
    replicas = prefill.servers_ratio(each, s.batch, float(step.total), s.output)
    rows = [
        [say("Cache of the prompt"), text.si(float(s.model.kv_bytes(s.prompt, s.kv_format)), "B")],
        [say("Sent through one port of {rate}", rate=text.si(s.scale_out, "B/s")),
         text.si(prefill.transfer_time(s), "s")],
        [say("Sent through a port of each of {n:,} chips", n=n),
         text.si(prefill.transfer_time(s, n), "s")],
        [say("Left over when streamed, one port"),
         published.upper(s, prefill.exposed_transfer(s, total), _time)],
        [say("Left over when streamed, all ports"),
         published.upper(s, prefill.exposed_transfer(s, total, n), _time)],
        [say("Requests per second of one decode replica"),
         published.upper(s, rate, text.significant)],
        [say("Prompts per second of one prefill replica"),
         published.upper(s, prefill.prompt_rate(s, total), text.significant)],
        [say("Prefill replicas per decode replica"),
         text.ratio(math.nan if known.bounded(s) else replicas)],
    ]  # fmt: skip
    return tables.markdown([say("Disaggregated"), say("Value")], rows, " r")
