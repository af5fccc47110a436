"""Where literature prints another figure than the ledger, and why: beside the figure itself.

Each says something for the scenario of the text that it answers only, and is empty elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calc import Scenario, capacity, cost, roofline
from calc.decode import StepTime
from calc.words import say
from pages.ui.writing import text
from presets import formats, models

# Batch, step and contexts of the examples that are answered [s, token].
_LIMIT, _CONTEXTS = 0.02, (8192, 2048)
_COMPARED, _SIX_BIT = ("deepseek-v2", "deepseek-67b"), "kv-q5-1"


def _of_book(s: Scenario) -> bool:
    """Whether it is the model, chip and fidelity of Austin et al. 2025, parts 7 and 8."""
    return (s.model.id, s.chip.id, s.fidelity) == ("llama-3-70b", "tpu-v5e", "bound")


def kv_overtakes(scenario: Scenario) -> str:
    """From what context on reading the cache takes longer than the FLOPs."""
    if not _of_book(scenario):
        return ""
    wide, narrow = (
        text.count(roofline.kv_overtakes(replace(scenario, kv_format=formats[id])))
        for id in ("bf16", "int8")
    )
    return say(
        "Austin et al. 2025 print 2,048 tokens beside an int8 cache. A bf16 cache passes the FLOPs "
        "at {wide} tokens, an int8 cache at {narrow}.",
        wide=wide, narrow=narrow,
    )  # fmt: skip


def servers(scenario: Scenario, step: StepTime, ratio: float) -> str:
    """Prefill replicas for one decode replica."""
    s = scenario
    if not _of_book(s) or (s.n_chips, s.prompt, s.output) != (16, 8192, 512):
        return ""
    return say(
        "Austin et al. 2025 print 3 : 1. They count prompts of batch 32 over the 19 ms step of "
        "batch 43. A step here takes {step}, hence {ratio}.",
        step=text.si(float(step.total), "s"), ratio=text.ratio(ratio),
    )  # fmt: skip


def cache(scenario: Scenario) -> str:
    """What DeepSeek-V2 caches less than DeepSeek 67B."""
    if scenario.model.id not in _COMPARED:
        return ""
    latent, grouped = (models[id] for id in _COMPARED)
    bf16, six = formats["bf16"], formats[_SIX_BIT]
    whole = grouped.kv_bytes_per_token(bf16)
    same, mixed = (1 - latent.kv_bytes_per_token(kept) / whole for kept in (bf16, six))
    return say(
        "DeepSeek-AI 2024a print 93.3 % less cache than DeepSeek 67B: {mixed} with V2 in 6 bit "
        "({format}) against bf16. At equal precision it is {same}.",
        mixed=text.share(mixed), same=text.share(same), format=text.plain(six.id),
    )  # fmt: skip


def cheaper(scenario: Scenario) -> str:
    """How much cheaper tokens of large batches are."""
    if not _of_book(scenario):
        return ""
    long, short = (
        text.times(cost.batch_saving(replace(scenario, context=context), _LIMIT))
        for context in _CONTEXTS
    )
    return say(
        "Austin et al. 2025 print tokens of large batches as about 100 × cheaper. Within {limit} a "
        "token they are {long} cheaper at 8,192 tokens of context, {short} at 2,048.",
        limit=text.si(_LIMIT, "s", 2), long=long, short=short,
    )  # fmt: skip


def slices(scenario: Scenario, found: Sequence[capacity.Topology]) -> str:
    """The time of doubled slices in int4."""
    doubled = [one for one in found if one.stored.id == one.kv_format.id == "int4"]
    if not _of_book(scenario) or not doubled or not doubled[-1].sequences:
        return ""
    return say(
        "Austin et al. 2025 print 19 ms and 1.78 request/s for doubled int4 slices. Multiplying "
        "takes longer there than reading weights: {step} and {rate}.",
        step=text.si(doubled[-1].step_time, "s"),
        rate=text.significant(doubled[-1].decoded_per_second),
    )  # fmt: skip


def int4_step(scenario: Scenario, step: StepTime) -> str:
    """The step of such a slice."""
    s = scenario
    stored = s.stored.id == s.kv_format.id == "int4"
    if not (_of_book(s) and stored and bool(step.compute_bound)):
        return ""
    return say(
        "Reading alone would take {read}, as Austin et al. 2025 count for int4. Here multiplying "
        "takes {compute}, longer than reading weights.",
        read=text.si(float(step.kv_read + step.weight_read), "s"),
        compute=text.si(float(step.linear_compute), "s"),
    )  # fmt: skip
