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
    return (
        f"In chunks of {s.chunk:,}: {read.steps:,} steps, {text.si(read.time, 's')} to the first "
        f"token, at worst {text.si(read.longest_step, 's')} per output token for the batch; later "
        f"chunks read {text.count(read.reread)} cached tokens again, {again} × the prompt. Read at "
        f"once, a million input tokens cost {text.usd(cost.per_million_input_tokens(s, whole))}."
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
        ["Prefix cached", f"{s.prefix_hit:,} tokens", ""],
        ["Counts, in whole blocks", f"{hit:,} tokens", text.percent(hit / s.prompt)],
        ["FLOPs", text.si(float(whole), "FLOP"), text.si(float(left), "FLOP")],
        ["Time", text.si(before, "s"), text.si(after, "s")],
        ["Saved", text.si(before - after, "s"), text.percent(1 - after / before)],
    ]
    return tables.markdown(["", "Without / found", "With / share"], rows, " rr")


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
        ["Prompts per second of one prefill replica", text.significant(1 / total)],
        ["Prefill replicas per decode replica",
         text.ratio(prefill.servers_ratio(total, s.batch, float(step.total), s.output))],
    ]  # fmt: skip
    return tables.markdown(["Disaggregated", ""], rows, " r")
