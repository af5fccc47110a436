"""Tables and sentences of the Prefill page."""

from __future__ import annotations

import math

from calc import Scenario, cost, decode, prefill
from pages.ui import tables, text


def chunk_sentence(scenario: Scenario) -> str:
    """What reading the prompt in chunks costs."""
    s = scenario
    read, whole = prefill.chunked(s), float(prefill.prompt_time(s).total)
    again = text.significant(read.reread / max(s.prompt, 1))
    cents = cost.per_million_input_tokens(s, prefill.prompt_rate(s, whole))
    worst = text.si(read.longest_step, "s")
    return (
        f"In chunks of {s.chunk:,}: {text.plural(read.steps, 'step')}, {text.si(read.time, 's')} "
        f"to the first token, at worst {worst} per output token for the batch; later chunks read "
        f"{text.count(read.reread)} cached tokens again, {again} × the prompt. Read at once, a "
        f"million input tokens cost {text.usd(cents)}."
    )


def layers(scenario: Scenario) -> tables.Table:
    """FLOPs of one layer of each kind over the prompt."""
    head = ["Layer", "Count", "Projections", "If multi-head", "MLP", "Attention, causal",
            "All pairs", "Absorbed (MLA)"]  # fmt: skip
    rows = []
    for layer in prefill.layer_flops(scenario.model, scenario.prompt):
        rows.append(
            [
                text.plain(layer.block.attention.label),
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
        f"from {value:,.0f} tokens" if math.isfinite(value) else "never"
        for value in (prefill.attention_overtakes(model), prefill.decode_attention_overtakes(model))
    )
    return (
        f"For a prompt of {scenario.prompt:,} tokens; 1 multiply-add is 2 FLOP. Grouped queries "
        "shrink projections and cache, not scores and values. Attention takes more FLOPs than all "
        f"weights {prompt} in a prompt, {context} of context in decoding."
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
        ["Prompt tokens to read", text.count(s.prompt), text.count(s.prompt - hit)],
        ["FLOPs", text.si(float(whole), "FLOP"), text.si(float(left), "FLOP")],
        ["Time", text.si(before, "s"), text.si(after, "s")],
        ["Saved", "", text.percent(1 - after / before)],
    ]
    table = tables.markdown(["", "Nothing cached", "With the prefix"], rows, " rr")
    return (
        f"Of {text.plural(s.prefix_hit, 'cached token')} {hit:,} count: whole blocks of "
        f"{s.kv_block:,}, and never the last token.\n\n{table}"
    )


def disaggregation(scenario: Scenario, total: float, step: decode.StepTime) -> str:
    """Sending the cache, and how many prefill replicas a decode replica needs."""
    s, n = scenario, scenario.n_chips
    rate = s.batch / (s.output * float(step.total))
    rows = [
        ["Cache of the prompt", text.si(float(s.model.kv_bytes(s.prompt, s.kv_format)), "B")],
        [f"Sent through one port of {text.si(s.scale_out, 'B/s')}",
         text.si(prefill.transfer_time(s), "s")],
        [f"Sent through a port of each of {n:,} chips", text.si(prefill.transfer_time(s, n), "s")],
        ["Left over when streamed, one port",
         text.si(prefill.exposed_transfer(s, total), "s")],
        ["Left over when streamed, all ports",
         text.si(prefill.exposed_transfer(s, total, n), "s")],
        ["Requests per second of one decode replica", text.significant(rate)],
        ["Prompts per second of one prefill replica",
         text.significant(prefill.prompt_rate(s, total))],
        ["Prefill replicas per decode replica",
         text.ratio(
             prefill.servers_ratio(
                 1 / prefill.prompt_rate(s, total), s.batch, float(step.total), s.output
             )
         )],
    ]  # fmt: skip
    return tables.markdown(["Disaggregated", ""], rows, " r")
