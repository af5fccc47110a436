"""The deployment checklist: what the scenario knows, and blanks for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calc import Scenario, cost, decode, prefill
from calc.layout import Layout
from calc.words import say
from pages.ui.frame.section import Item
from pages.ui.writing import tables, text


def filled(s: Scenario, values: Mapping[str, Any]) -> list[Item]:
    """All eight items, filled from the scenario and from what the controls hold beside it."""
    step = decode.step_time(s)
    first = float(prefill.prompt_time(s).total)
    return [
        Item(
            say("Model, tokenizer, template, adapter and quantization artefacts"),
            say("{model}; weights in {format}", model=text.plain(s.model.name),
                format=s.stored.id),
            (say("revision of the weights"), say("tokenizer and chat template"), say("adapters"),
             say("quantization artefact")),
        ),
        Item(
            say("Range of context, truncation of input, length of output"),
            say("context {context:,} tokens, prompt {prompt:,}, output {output:,}",
                context=s.context, prompt=s.prompt, output=s.output),
            (say("truncation of input"), say("longest output")),
        ),
        Item(
            say("Scheduling of prefill and decode, token budget of a batch, layout"),
            say("batch {batch:,}, chunk {chunk:,} tokens, {layout}", batch=s.batch, chunk=s.chunk,
                layout=_layout(s)),
            (say("scheduler and its version"), say("admission and priorities")),
        ),
        Item(
            say("KV precision, block size, preemption and prefix cache"),
            say("KV in {format}, blocks of {block} tokens, prefix of {prefix:,} tokens cached",
                format=s.kv_format.id, block=s.kv_block, prefix=s.prefix_hit),
            (say("preemption"), say("policy of the prefix cache")),
        ),
        Item(
            say("Sampling, random seed, stopping, time-outs and retries"),
            say("temperature {t:g}, top-k {k}, top-p {p:g}", t=values["temperature"],
                k=values["top_k"], p=values["top_p"]),
            (say("random seed"), say("stop rules"), say("time-outs and retries")),
        ),
        Item(
            say("Distribution of input and output lengths and of concurrency"),
            text.plain(tables.asked(values, s.tpot_target)),
            (say("distribution of prompts"), say("distribution of outputs"), say("concurrency")),
        ),
        Item(
            say("TTFT, TPOT, throughput, goodput, P95/P99 and how cost is counted"),
            say("without a queue: first token after {ttft}, then one every {tpot}; {rate} token/s; "
                "{usd} per million output tokens", ttft=text.si(first, "s"),
                tpot=text.si(float(step.total), "s"), rate=text.rate(float(step.throughput)),
                usd=text.plain(text.usd(float(cost.per_million_tokens(s, step))))),
            (say("measured P95 and P99"), say("goodput")),
        ),
        Item(
            say("Regression set for quality, fault injection, rollback"),
            "",
            (say("regression set"), say("fault injection"), say("rollback of versions")),
        ),
    ]  # fmt: skip


def _layout(s: Scenario) -> str:
    if s.fidelity == "bound":
        return say("fully sharded over {n:,} chips", n=s.n_chips)
    chosen = Layout.of(s)
    return f"TP {int(chosen.tp)}, DP {int(chosen.dp)}, EP {int(chosen.ep)}, PP {int(chosen.pp)}"


def table(s: Scenario, values: Mapping[str, Any]) -> str:
    """All items on a page: what is known, and what is left to write down."""
    rows = [
        [f"{number}. {item.title}", item.known, text.clauses(item.blanks)]
        for number, item in enumerate(filled(s, values), 1)
    ]
    return tables.markdown([say("To settle"), say("Settled here"), say("Still open")], rows)
