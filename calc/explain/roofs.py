"""Explanations of the roofline: how many FLOPs each kind of work does for a byte."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import decode, host, prefill, roofline
from calc.explain.entry import (
    BOOK,
    Explanation,
    active,
    attention_sequence,
    bandwidth,
    batch,
    kv_sequence,
    linear_rate,
    rate,
    weight_bytes,
)
from calc.explain.expression import Expression, Number, Symbol, total
from calc.operators import Work
from calc.scenario import Scenario
from calc.words import marked, say


def _over_operators(work: Work, cache: bool) -> Expression:
    """FLOPs of all operators of a kind over their bytes, on one chip."""
    rows = [row for row in work.by_name() if row.cache == cache and row.name != host.ON_HOST]
    done: list[Expression] = []
    moved: list[Expression] = []
    for i, row in enumerate(rows, 1):
        words = say("done: {operator}", operator=say(row.name))
        done.append(Symbol(f"F_{{{i}}}", row.done, "FLOP", words))
        words = say("moved: {operator}", operator=say(row.name))
        moved.append(Symbol(f"Q_{{{i}}}", row.moved, "byte", words))
    return total(done or [Number(0)]) / total(moved or [Number(0)])


def _weights(s: Scenario) -> Expression:
    if s.fidelity != "bound" or s.host_share:
        return _over_operators(decode.step_time(s).work, cache=False)
    read = Symbol(
        r"P_\mathrm{read}", float(host.chip_params_read(s, s.batch)), "parameters",
        marked("parameters streamed in this step"),
    )  # fmt: skip
    return Number(2) * batch(s) * active(s) / (read * weight_bytes(s, s.batch))


def _cache(s: Scenario) -> Expression:
    if s.fidelity != "bound":
        return _over_operators(decode.step_time(s).work, cache=True)
    return attention_sequence(s) / kv_sequence(s)


def _prompt_weights(s: Scenario) -> Expression:
    return _over_operators(prefill.by_operator(s), cache=False)


def _prompt_cache(s: Scenario) -> Expression:
    return _over_operators(prefill.by_operator(s), cache=True)


def _token_flops(s: Scenario) -> Expression:
    if s.host_share:
        words = marked("chip time of one token's FLOPs, those on the host included")
        return Symbol(r"t_F", roofline.token_flops_time(s), "s", words)
    return Number(2) * active(s) / linear_rate(s)


def _ceiling(s: Scenario) -> Expression:
    useful = Number(2) * active(s) / rate(s)
    return useful / (_token_flops(s) + kv_sequence(s) / bandwidth(s))


def _overtakes(s: Scenario) -> Expression:
    """By the cache of a token where every token has the same, else as it is found."""
    there = roofline.kv_overtakes(s)
    each = s.model.kv_bytes_per_token(s.kv_format)
    read = float(s.model.kv_bytes_read(there, s.kv_format)) if math.isfinite(there) else math.nan
    if s.host_share or not math.isclose(read, there * each, rel_tol=1e-9):
        words = marked("context at which the KV read takes as long as the FLOPs")
        return Symbol(r"S^*", there, "tokens", words)
    one = Symbol(r"\kappa", each, "byte/token", marked("cache of one token over all layers"))
    return Number(2) * active(s) * bandwidth(s) / (linear_rate(s) * one)


EXPLANATIONS: Mapping[str, Explanation] = {
    "weight_intensity": Explanation(
        marked("Linear intensity"), r"I_\mathrm{lin}", "FLOP/byte", f"F3.13; {BOOK}, part 1",
        marked(
            "Every weight that a step reads is multiplied by all tokens of the batch. A larger "
            "batch does more FLOPs for the same bytes."
        ), _weights,
    ),
    "cache_intensity": Explanation(
        marked("Attention intensity on chip"), r"I_\mathrm{att}", "FLOP/byte",
        f"F3.13, F3.3; {BOOK}, part 4",
        marked(
            "FLOPs of scores and values for each byte of cache that a step reads. The batch "
            "cancels: every sequence has its own cache."
        ), _cache,
    ),
    "prompt_weight_intensity": Explanation(
        marked("Prompt linear intensity"), r"I_\mathrm{lin,p}", "FLOP/byte",
        f"F3.13; {BOOK}, part 1",
        marked("Every weight is read once and multiplied by all tokens of the prompt."),
        _prompt_weights,
    ),
    "prompt_cache_intensity": Explanation(
        marked("Prompt attention intensity"), r"I_\mathrm{att,p}", "FLOP/byte",
        f"F3.13; {BOOK}, part 4",
        marked(
            "FLOPs of causal attention for each byte of the prompt's cache. With MHA and a "
            "16-bit cache it is half the prompt's length."
        ), _prompt_cache,
    ),
    "mfu_ceiling": Explanation(
        marked("MFU at most"), r"\mathrm{MFU}_\infty", "share", f"F4.4; {BOOK}, part 7",
        marked(
            "Every sequence reads its own cache, so the MFU of decoding has a limit, whatever "
            "the batch. A longer context lowers it."
        ), _ceiling, marked("MFU at most at this context"),
    ),
    "kv_overtakes": Explanation(
        marked("KV read passes FLOPs"), r"S^*", "tokens", f"F4.5; {BOOK}, part 7",
        marked(
            "From this context on, reading a sequence's cache takes longer than its FLOPs, "
            "whatever the batch."
        ), _overtakes, marked("Context at which the KV read passes the FLOPs"),
    ),
}  # fmt: skip
