"""Explanations of cost, energy and utilisation."""

from __future__ import annotations

from collections.abc import Mapping

from calc import cost, decode, prefill
from calc.explain.entry import (
    Explanation,
    active,
    bandwidth,
    batch,
    chips,
    rate,
    weight_bytes,
)
from calc.expression import Expression, Number, Symbol
from calc.scenario import Scenario


def _price(s: Scenario) -> Symbol:
    return Symbol("p", cost.price(s), "USD/hour", "price of one chip")


def _step(s: Scenario) -> Symbol:
    return Symbol(r"T_\mathrm{step}", float(decode.step_time(s).total), "s", "one decode step")


def _reading(s: Scenario) -> Symbol:
    return Symbol(r"T_\mathrm{pre}", float(prefill.prompt_time(s).total), "s", "prompt time")


def _at_once(s: Scenario) -> Symbol:
    return Symbol("n_p", prefill.concurrency(s), "prompts", "read at a time by a replica")


def _prompt(s: Scenario) -> Symbol:
    return Symbol("S_p", s.prompt, "tokens", "prompt")


def _output(s: Scenario) -> Symbol:
    return Symbol("G", s.output, "tokens", "tokens a request generates")


def _input_tokens(s: Scenario) -> Expression:
    each = chips(s) * _price(s) * _reading(s) / (Number(3600) * _prompt(s) * _at_once(s))
    return Number(1e6) * each


def _requests(s: Scenario) -> Expression:
    seconds = _output(s) * _step(s) / batch(s) + _reading(s) / _at_once(s)
    return Number(1000) * chips(s) * _price(s) / Number(3600) * seconds


def _flops(s: Scenario) -> Expression:
    return Number(3600) * rate(s) / _price(s)


def _joule(s: Scenario) -> Expression:
    watts = Symbol(r"P_\mathrm{W}", cost.power(s), "W", "power of one chip")
    return batch(s) / (chips(s) * watts * _step(s))


def _mfu(s: Scenario) -> Expression:
    return Number(2) * active(s) * batch(s) / (chips(s) * rate(s) * _step(s))


def _mbu(s: Scenario) -> Expression:
    model = s.model
    read = Symbol(
        r"P_\mathrm{read}", float(model.params_read(s.batch, s.routing_skew)), "parameters",
        "parameters streamed in this step",
    )  # fmt: skip
    cache = Symbol(
        r"\kappa_S", float(model.kv_bytes_read(s.context, s.kv_format)), "byte",
        "cache read for one sequence",
    )  # fmt: skip
    moved = read * weight_bytes(s) + batch(s) * cache
    return moved / (chips(s) * bandwidth(s) * _step(s))


def _end_to_end(s: Scenario) -> Expression:
    return _reading(s) + (_output(s) - 1) * _step(s)


def _retired(s: Scenario) -> Expression:
    return batch(s) * (_prompt(s) + _output(s)) / _output(s)


EXPLANATIONS: Mapping[str, Explanation] = {
    "usd_per_million_input_tokens": Explanation(
        "USD per M input", r"p_\mathrm{in}", "USD", "price over prompt tokens; F8.12",
        "Prompts read one after another on the replica's chips.", _input_tokens,
    ),
    "usd_per_thousand_requests": Explanation(
        "USD per 1,000 requests", r"p_{1000}", "USD", "seed 004; F8.12",
        "A thousand times the chip time of one request: its share of decode steps, and its "
        "prompt.", _requests,
    ),
    "flops_per_usd": Explanation(
        "FLOP per USD", r"F_\$", "FLOP/USD", "How To Scale Your Model, part 8; F8.12",
        "FLOPs at the dense peak that a dollar buys.", _flops,
    ),
    "tokens_per_joule": Explanation(
        "Token per joule", r"X_J", "token/J", "F8.13",
        "Generated tokens over the energy of chips that are always busy.", _joule,
    ),
    "mfu": Explanation(
        "MFU", r"\mathrm{MFU}", "share", "seed 004; F4.2",
        "Two FLOPs per active parameter and token over the dense peak; attention FLOPs are left "
        "out by convention.", _mfu,
    ),
    "mbu": Explanation(
        "MBU", r"\mathrm{MBU}", "share", "F4.3",
        "Bytes that had to move, weights and cache once, over what the memory could have moved. "
        "Copies that a layout reads are no useful bytes.", _mbu,
    ),
    "end_to_end": Explanation(
        "End to end", r"T_\mathrm{E2E}", "s", "seed 000 §6.1; F8.1",
        "The first token comes with the prompt; one step for each further one. Some count a step "
        "for every token.", _end_to_end,
    ),
    "kv_tokens_retired": Explanation(
        "KV tokens retired", r"e_\mathrm{KV}", "token/step",
        "How To Scale Your Model, part 8; F8.7",
        "Cached tokens that finished sequences give back in one step, on average.", _retired,
    ),
}  # fmt: skip
