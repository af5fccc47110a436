"""The one registry of explanations: every shown quantity as a formula with its numbers.

Each entry builds an expression from a scenario. The expression is evaluated as it is printed, and a
test holds its value against the module that computed the number on screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from calc import decode, roofline
from calc.attention import Attention, Limited, PerToken
from calc.expression import Expression, Floor, Maximum, Number, Symbol, total
from calc.scenario import Scenario


@dataclass(frozen=True)
class Explanation:
    """How one quantity comes about.

    `symbol` and `unit` are those of the result; `build` writes the formula for a scenario;
    `reading` says in words what it means.
    """

    label: str
    symbol: str
    unit: str
    source: str
    reading: str
    build: Callable[[Scenario], Expression]


def _batch(s: Scenario) -> Symbol:
    return Symbol("B", s.batch, "sequences", "batch, sequences decoding together")


def _chips(s: Scenario) -> Symbol:
    return Symbol("N", s.n_chips, "chips", "chips sharing one replica")


def _bandwidth(s: Scenario) -> Symbol:
    return Symbol("W", s.chip.bandwidth, "byte/s", "memory bandwidth of one chip")


def _rate(s: Scenario) -> Symbol:
    return Symbol(
        "C", s.chip.peak(s.compute_format), "FLOP/s", "dense peak of one chip in compute format"
    )


def _weight_bytes(s: Scenario) -> Symbol:
    return Symbol("b_w", s.weight_format.bytes, "byte", "bytes per weight, scales included")


def _active(s: Scenario) -> Symbol:
    return Symbol(
        r"P_\mathrm{act}",
        s.model.active_params,
        "parameters",
        "parameters that multiply one token, input embedding left out",
    )


def _params_read(s: Scenario) -> Symbol:
    return Symbol(
        r"P_\mathrm{read}",
        float(s.model.params_read(s.batch)),
        "parameters",
        "parameters streamed in this step: no input embedding, only experts that are hit",
    )


def _kv_sequence(s: Scenario) -> Symbol:
    return Symbol(
        r"\kappa_S",
        float(s.model.kv_bytes_read(s.context, s.kv_format)),
        "byte",
        "cache read for one sequence at this context, over all layers",
    )


def _kv_read(s: Scenario) -> Expression:
    return _batch(s) * _kv_sequence(s) / (_chips(s) * _bandwidth(s))


def _weight_read(s: Scenario) -> Expression:
    return _params_read(s) * _weight_bytes(s) / (_chips(s) * _bandwidth(s))


def _linear_compute(s: Scenario) -> Expression:
    return Number(2) * _batch(s) * _active(s) / (_chips(s) * _rate(s))


def _step(s: Scenario) -> Expression:
    return _kv_read(s) + Maximum(_weight_read(s), _linear_compute(s))


def _step_symbol(s: Scenario) -> Symbol:
    return Symbol(r"T_\mathrm{step}", float(decode.step_time(s).total), "s", "time of one step")


def _throughput(s: Scenario) -> Expression:
    return _batch(s) / _step_symbol(s)


def _throughput_per_chip(s: Scenario) -> Expression:
    return _batch(s) / (_chips(s) * _step_symbol(s))


def _critical_batch(s: Scenario) -> Expression:
    return _weight_bytes(s) * _rate(s) / (Number(2) * _bandwidth(s))


def _compute_bound_batch(s: Scenario) -> Expression:
    crossing = roofline.compute_bound_batch(s)
    read = Symbol(
        r"P_\mathrm{read}(B^*)",
        math.nan if math.isnan(crossing) else float(s.model.params_read(crossing)),
        "parameters",
        "parameters streamed by a step of the batch sought; all that are active, if dense",
    )
    return _critical_batch(s) * (read / _active(s))


def _weights(s: Scenario) -> Expression:
    held = Symbol("P", s.model.total_params, "parameters", "all parameters")
    return held * _weight_bytes(s)


def _kv_held(s: Scenario) -> Symbol:
    return Symbol(
        r"K_S",
        float(s.model.kv_bytes(s.context, s.kv_format)),
        "byte",
        "cache held for one sequence at this context",
    )


def _kv_cache(s: Scenario) -> Expression:
    return _batch(s) * _kv_held(s)


def _max_batch(s: Scenario) -> Expression:
    memory = Symbol("M", s.chip.memory, "byte", "memory of one chip")
    usable = Symbol("u", s.usable_memory, "fraction", "usable share of it")
    return Floor((_chips(s) * memory * usable - _weights(s)) / _kv_held(s))


def _kv_sequence_by_block(s: Scenario) -> Expression:
    terms: list[Expression] = []
    for i, block in enumerate(s.model.blocks, 1):
        kind = f"_{{{i}}}" if len(s.model.blocks) > 1 else ""
        layers = Symbol(f"L{kind}", block.count, "layers", "equal layers of one kind")
        terms.append(layers * _kv_layer(s, block.attention, kind))
    return total(terms)


def _kv_layer(s: Scenario, attention: Attention, kind: str) -> Expression:
    """Cache of one layer: bytes per token times tokens kept, or one figure if it is no product."""
    tokens = (
        float(attention.held(s.context)) if isinstance(attention, Limited) else float(s.context)
    )
    if isinstance(attention, (PerToken, Limited)):
        each = Symbol(
            rf"\kappa{kind}",
            attention.kv_bytes_per_token(s.kv_format),
            "byte/token",
            f"cache of one token in one such layer ({attention.label})",
        )
        return each * Symbol(f"S{kind}", tokens, "tokens", "tokens that such a layer keeps")
    return Symbol(
        f"K{kind}",
        float(attention.kv_bytes(s.context, s.kv_format)),
        "byte",
        f"kept by one such layer at this context ({attention.label})",
    )


def _cost(s: Scenario) -> Expression:
    price = Symbol(
        "p",
        s.chip.price.usd_per_hour if s.chip.price else math.nan,
        "USD/hour",
        "price of one chip",
    )
    rate = Symbol(
        "r",
        float(decode.step_time(s).throughput_per_chip),
        "token/s",
        "tokens per second per chip",
    )
    return Number(1e6) * price / (Number(3600) * rate)


EXPLANATIONS: Mapping[str, Explanation] = {
    "step_time": Explanation(
        "Step time",
        r"T_\mathrm{step}",
        "s",
        "How To Scale Your Model, part 7; F3.1",
        "Reading the cache, then the longer of reading the weights and multiplying by them. "
        "A lower bound: no communication, no kernel overhead, attention FLOPs hidden.",
        _step,
    ),
    "kv_read": Explanation(
        "KV read", r"T_\mathrm{KV}", "s", "How To Scale Your Model, part 7; F3.1",
        "Every sequence has its own cache, so a larger batch shares nothing here.", _kv_read,
    ),
    "weight_read": Explanation(
        "Weight read", r"T_\mathrm{w}", "s", "How To Scale Your Model, part 7; F1.9, F3.5",
        "Weights are read once per step for the whole batch. The input embedding is gathered, "
        "not read; of the routed experts only those that some token hits.", _weight_read,
    ),
    "linear_compute": Explanation(
        "Linear FLOPs", r"T_\mathrm{lin}", "s", "How To Scale Your Model, part 7; F3.1",
        "Two FLOPs per active parameter and token.", _linear_compute,
    ),
    "throughput": Explanation(
        "Token/s", "X", "token/s", "How To Scale Your Model, part 7; F8.2",
        "Each step makes one token for every sequence.", _throughput,
    ),
    "throughput_per_chip": Explanation(
        "Token/s per chip", r"X/N", "token/s", "How To Scale Your Model, part 7; F8.2",
        "What a chip earns; it sets the cost of a token.", _throughput_per_chip,
    ),
    "compute_bound_batch": Explanation(
        "Critical batch", r"B^*", "sequences", "How To Scale Your Model, part 7; F4.1, F3.5",
        "Where the FLOPs line crosses the weight-read line. For a dense model it is the critical "
        "batch of the chip, whatever the number of chips; a mixture of experts reads more weights "
        "the more tokens there are, and crosses later.", _compute_bound_batch,
    ),
    "max_batch": Explanation(
        "Largest batch", r"B_\mathrm{max}", "sequences", "How To Scale Your Model, part 8; F6.2",
        "Whole sequences whose cache fits in what the weights leave free.", _max_batch,
    ),
    "weights": Explanation(
        "Weights held", r"M_\mathrm{w}", "byte", "resident parameters; F6.1",
        "All parameters are resident, the embedding and every expert included.", _weights,
    ),
    "kv_cache": Explanation(
        "KV cache held", r"M_\mathrm{KV}", "byte", "How To Scale Your Model, part 7; F2.1",
        "The cache of one sequence, for each sequence.", _kv_cache,
    ),
    "kv_per_sequence": Explanation(
        "KV cache per sequence", "K_S", "byte", "cache over the model's own layers; F2.1–F2.4",
        "Summed over the kinds of layers that the model has; a sliding window stops growing "
        "once it is full.", _kv_sequence_by_block,
    ),
    "usd_per_million_tokens": Explanation(
        "USD per Mtoken", r"p_\mathrm{Mtok}", "USD", "price over tokens; F8.12",
        "The hourly price over the tokens of an hour, with every chip always busy.", _cost,
    ),
}  # fmt: skip
