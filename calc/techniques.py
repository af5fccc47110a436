"""What serving techniques buy in a scenario, which bottleneck they relieve, and when they help."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import decode, memory, paging, prefill, spans, speculative, variants
from calc.aims import Outcome, outcome
from calc.attention import PerToken
from calc.levers import Formats, Lever
from calc.scenario import Scenario
from calc.words import digits, marked, say

Array = NDArray[np.float64]

# Bottlenecks, as documents on serving name them.
WEIGHTS, CACHE, ROOM, IDLE, PHASES = (
    marked("reading weights"), marked("reading the KV cache"), marked("memory for the KV cache"),
    marked("idle FLOPs"), marked("prefill beside decode steps"),
)  # fmt: skip
# A change of time below this is none.
_FASTER = 1.0005


@dataclass(frozen=True)
class Technique(Lever):
    """A lever with the bottleneck it relieves, whether it is in use already, and when it helps.

    One in use has the scenario as it is for its `outcome`, and for its `before` the scenario
    without it. `name` is its label without what it does here; `relieves` is marked for translation,
    the others are in the reader's language.
    """

    name: str = ""
    relieves: str = ""
    in_use: bool = False
    condition: str = ""


@dataclass(frozen=True)
class _Found:
    """Two outcomes, without and with, what it is called more closely, and when it helps."""

    before: Outcome
    after: Outcome
    condition: str
    in_use: bool = False
    to: str = ""


Try = Callable[[Scenario, Formats], _Found | str]


def _when(faster: Callable[[Array], Array], here: int) -> str:
    """At which batches something is faster, in words."""
    first, last = (int(end[0]) for end in spans.largest(lambda batch: np.atleast_2d(faster(batch))))
    told = _between(first, last)
    # With a mixture of experts small batches may gain, and larger ones not yet.
    if first <= here <= last or not faster(np.array([float(here)])).any():
        return told
    return say("{when}, and at batch {here:,}", when=told, here=here) if last else ""


def _between(first: int, last: int) -> str:
    if not last:
        return say("not faster at any batch")
    if first <= 1 and last >= spans.MOST_BATCH:
        return say("faster at every batch")
    if first <= 1:
        return say("faster up to batch {last:,}", last=last)
    if last >= spans.MOST_BATCH:
        return say("faster from batch {first:,}", first=first)
    return say("faster from batch {first:,} to {last:,}", first=first, last=last)


def _swapped(without: Scenario, used: Scenario, *, in_use: bool = False, to: str = "") -> _Found:
    """Two scenarios that differ in the technique alone."""

    def faster(batch: Array) -> Array:
        plain = decode.step_time(without, batch).total
        return np.asarray(plain > _FASTER * decode.step_time(used, batch).total)

    before, after = outcome(without), outcome(used)
    unknown = math.isnan(before.step_time) or math.isnan(after.step_time)
    return _Found(before, after, "" if unknown else _when(faster, used.batch), in_use, to)


def _speculation(s: Scenario, _: Formats) -> _Found | str:
    if not s.n_draft:
        return say("nothing is drafted")
    now, gain = outcome(s), float(speculative.batch_speedup(s).speedup)
    after = replace(now, step_time=now.step_time / gain,
                    throughput_per_chip=now.throughput_per_chip * gain,
                    usd_per_million_tokens=now.usd_per_million_tokens / gain,
                    max_batch=speculative.max_batch(s))  # fmt: skip

    def faster(batch: Array) -> Array:
        return np.asarray(speculative.batch_speedup(s, batch).speedup > _FASTER)

    to = say("{n} drafted at {alpha:g}", n=s.n_draft, alpha=s.acceptance)
    return _Found(now, after, "" if math.isnan(gain) else _when(faster, s.batch), to=to)


def _heads(s: Scenario, _: Formats, *, kind: str) -> _Found | str:
    """Grouped or latent attention in place of what the model has, or of multi-head attention."""
    layout = variants.head_layout(s.model)
    twin = layout.multi_head if layout else None
    if layout is None or twin is None:
        return say("the model has no such heads")
    own = variants.stacked(s.model, layout)
    if own.kv_bytes(s.context, s.kv_format) != s.model.kv_bytes(s.context, s.kv_format):
        return say("the model has windows or several kinds of attention")
    is_latent = layout.latent is not None
    if kind != "latent" and is_latent:
        return say("the model has latent attention")
    in_use = is_latent if kind == "latent" else layout.split.cache_heads < twin.heads
    many, grouped, _one, latent = variants.of_heads(layout).values()
    wanted = latent if kind == "latent" else grouped

    def of(attention: PerToken) -> Scenario:
        return replace(s, model=variants.stacked(s.model, attention))

    without, used = (of(many), s) if in_use else (s, of(wanted))
    kept = [float(one.model.kv_bytes(s.context, s.kv_format)) for one in (without, used)]
    to = say("KV {factor} × smaller", factor=digits(kept[0] / kept[1])) if kept[1] else ""
    return _swapped(without, used, in_use=in_use, to=to)


_OF_USE = {"weight_format": "weights", "kv_format": "kv", "compute_format": "compute"}


def _bits(s: Scenario, name: str) -> float:
    return s.weight_bits if name == "weight_format" else float(getattr(s, name).bits)


def _fewer_bits(
    s: Scenario, formats: Formats, *, bits: int, names: tuple[str, ...]
) -> _Found | str:
    """Formats of so many bits in place of what is stored; in use where they are no wider now."""
    in_use = all(_bits(s, name) <= 1.15 * bits for name in names)
    if in_use:
        if min(_bits(s, name) for name in names) < bits:
            return say("already narrower")
        wide: dict[str, Any] = dict.fromkeys(names, formats["bf16"])
        if not s.chip.publishes(formats["bf16"]):
            return say("no bf16 rate published")
        return _swapped(replace(s, **wide), s, in_use=True)
    chosen: dict[str, Any] = {}
    for name in names:
        use = _OF_USE[name]
        fitting = [
            one for one in formats.values()
            if use in one.uses and bits <= one.bits <= 1.15 * bits
            and (use != "compute" or s.chip.publishes(one))
        ]  # fmt: skip
        if not fitting:
            return say("no {bits}-bit rate published", bits=bits)
        chosen[name] = min(fitting, key=lambda one: (not s.chip.publishes(one), one.bits))
    to = say(", ").join(dict.fromkeys(one.id for one in chosen.values()))
    return _swapped(s, replace(s, **chosen), to=to)


def _paged(s: Scenario, _: Formats) -> _Found | str:
    """Blocks as they fill, in place of one piece as long as the model's longest context."""
    longest = s.model.max_context
    if not longest or memory.no_cache(s):
        return say("no longest context is published")
    shortest, reserved = (float(memory.kv_per_sequence(s, tokens)) for tokens in (1, longest))
    kept = min(float(memory.kv_per_sequence(s)) / reserved, 1.0)
    if shortest == reserved or (kept == 1 and s.context < longest):
        return say("one piece takes no more here")
    now = outcome(s)
    held = float(paging.paged_utilisation(s.context, s.kv_block))
    return _Found(
        replace(now, max_batch=math.floor(now.max_batch * kept / held)), now,
        say("more fit below {n:,} tokens, which one piece reserves", n=longest),
        in_use=True, to=say("{factor} × fuller", factor=digits(held / kept)),
    )  # fmt: skip


def _shared_prefix(s: Scenario, _: Formats) -> _Found | str:
    """The cache of a common prefix held once, and its tokens not read again."""
    hit = int(prefill.block_hit(s))
    if not hit:
        return say("no prefix is cached")
    now = outcome(s)
    # The last token of a context is a sequence's own.
    fitting = int(memory.max_batch(s, prefix=min(hit, s.context - 1)))
    first, again = (float(prefill.prompt_time(one).total) for one in (replace(s, prefix_hit=0), s))
    faster = first / again
    told = say("prefill {factor} × as fast", factor=digits(faster)) if faster > 0 else ""
    return _Found(now, replace(now, max_batch=fitting), told, to=say("{n:,} tokens", n=hit))


def _apart(s: Scenario, _: Formats) -> _Found | str:
    """Prompts read by replicas of their own, in place of chunks beside decode steps."""
    now, joined = outcome(s), prefill.joined_step(s)
    reading = 1 / prefill.prompt_rate(s, float(prefill.prompt_time(s).total))
    beside = prefill.servers_ratio(reading, s.batch, now.step_time, s.output)
    slower, wider = joined.total / now.step_time, 1 + beside
    before = replace(now, step_time=joined.total,
                     throughput_per_chip=now.throughput_per_chip / slower,
                     usd_per_million_tokens=now.usd_per_million_tokens * slower)  # fmt: skip
    after = replace(now, throughput_per_chip=now.throughput_per_chip / wider,
                    usd_per_million_tokens=now.usd_per_million_tokens * wider)  # fmt: skip
    told = say("prompt tokens that join each step: {n}", n=digits(joined.tokens))
    to = say("prefill : decode {n} : 1", n=digits(beside)) if math.isfinite(beside) else ""
    return _Found(before, after, told, to=to)


_Entry = tuple[str, str, Try]

TECHNIQUES: Mapping[str, _Entry] = {
    "speculation": (marked("Speculative decoding"), IDLE, _speculation),
    "prefix": (marked("Cached prefix"), PHASES, _shared_prefix),
    "grouped": (marked("GQA instead of MHA"), CACHE, partial(_heads, kind="grouped")),
    "latent": (marked("MLA instead of MHA/GQA"), CACHE, partial(_heads, kind="latent")),
    "paged": (marked("Paged cache"), ROOM, _paged),
    "apart": (marked("Disaggregation"), PHASES, _apart),
    "w8": (
        marked("8-bit weights"), WEIGHTS, partial(_fewer_bits, bits=8, names=("weight_format",)),
    ),
    "w4": (
        marked("4-bit weights"), WEIGHTS, partial(_fewer_bits, bits=4, names=("weight_format",)),
    ),
    "w8a8": (
        marked("8-bit weights and compute"), WEIGHTS,
        partial(_fewer_bits, bits=8, names=("weight_format", "compute_format")),
    ),
    "kv8": (marked("8-bit KV cache"), CACHE, partial(_fewer_bits, bits=8, names=("kv_format",))),
    "kv4": (marked("4-bit KV cache"), CACHE, partial(_fewer_bits, bits=4, names=("kv_format",))),
}  # fmt: skip


def try_all(scenario: Scenario, formats: Formats) -> list[Technique]:
    """Every technique on its own: what it buys, or why it cannot.

    Parameters
    ----------
    scenario : Scenario
        Where to start.
    formats : mapping of str to NumberFormat
        Formats by id, for those that store or compute in another one.
    """
    now, found = outcome(scenario), []
    for id, (name, relieves, attempt) in TECHNIQUES.items():
        label, tried = say(name), attempt(scenario, formats)
        if isinstance(tried, str):
            found.append(Technique(id, label, now, None, tried, say(name), relieves))
            continue
        if tried.to:
            label = say("{lever} ({to})", lever=label, to=tried.to)
        found.append(
            Technique(id, label, tried.before, tried.after, "", say(name), relieves,
                      tried.in_use, tried.condition)
        )  # fmt: skip
    return found
