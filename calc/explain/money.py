"""Explanations of cost, energy and utilisation."""

from __future__ import annotations

from collections.abc import Mapping

from calc import cost, host, prefill, purchase
from calc.explain.entry import (
    BOOK,
    DISTSERVE,
    Explanation,
    active,
    bandwidth,
    batch,
    chips,
    kv_sequence,
    rate,
    step_time,
    weight_bytes,
)
from calc.explain.expression import Expression, Number, Symbol
from calc.scenario import Scenario
from calc.words import marked


def _price(s: Scenario) -> Symbol:
    return Symbol("p", cost.price(s), "USD/hour", marked("price of one chip"))


def _reading(s: Scenario) -> Symbol:
    return Symbol(
        r"T_\mathrm{pre}", float(prefill.prompt_time(s).total), "s", marked("prompt time")
    )


def _at_once(s: Scenario) -> Symbol:
    return Symbol("n_p", prefill.concurrency(s), "prompts", marked("read at a time by a replica"))


def _prompt(s: Scenario) -> Symbol:
    return Symbol("S_p", s.prompt, "tokens", marked("prompt"))


def _output(s: Scenario) -> Symbol:
    return Symbol("G", s.output, "tokens", marked("tokens a request generates"))


def _hour(s: Scenario) -> Expression:
    if not cost.is_owned(s):
        rent = Symbol("p_d", cost.rent(s), "USD/hour", marked("price on demand"))
        if s.terms not in purchase.DISCOUNTED:
            return rent
        return rent * (Number(1) - Symbol("d", s.discount, "share", marked("discount")))
    capital = Symbol("C", cost.capital(s), "USD", marked("purchase price of one chip"))
    around = Symbol("a", s.surroundings, "share", marked("host and network beside it"))
    hours = Number(purchase.HOURS_PER_YEAR) * Symbol("y", s.years, "years", marked("written off"))
    hours = hours * Symbol("u", s.in_use, "share", marked("of those years in use"))
    watts = Symbol(r"P_\mathrm{W}", cost.power(s), "W", marked("power of one chip"))
    pue = Symbol(r"\mathrm{PUE}", s.pue, "ratio", marked("power of the building over machines"))
    energy = Symbol("p_E", s.energy_price, "USD/kWh", marked("price of electricity"))
    return capital * (Number(1) + around) / hours + watts * pue * energy / Number(1000)


def _input_tokens(s: Scenario) -> Expression:
    each = chips(s) * _price(s) * _reading(s) / (Number(3600) * _prompt(s) * _at_once(s))
    return Number(1e6) * each


def _requests(s: Scenario) -> Expression:
    seconds = _output(s) * step_time(s) / batch(s) + _reading(s) / _at_once(s)
    return Number(1000) * chips(s) * _price(s) / Number(3600) * seconds


def _flops(s: Scenario) -> Expression:
    return Number(3600) * rate(s) / _price(s)


def _joule(s: Scenario) -> Expression:
    watts = Symbol(r"P_\mathrm{W}", cost.power(s), "W", marked("power of one chip"))
    return batch(s) / (chips(s) * watts * step_time(s))


def _mfu(s: Scenario) -> Expression:
    return Number(2) * active(s) * batch(s) / (chips(s) * rate(s) * step_time(s))


def _mbu(s: Scenario) -> Expression:
    read = Symbol(
        r"P_\mathrm{read}", float(host.chip_params_read(s, s.batch)), "parameters",
        marked("parameters streamed in this step"),
    )  # fmt: skip
    moved = read * weight_bytes(s, s.batch) + batch(s) * kv_sequence(s)
    return moved / (chips(s) * bandwidth(s) * step_time(s))


def _end_to_end(s: Scenario) -> Expression:
    return _reading(s) + (_output(s) - 1) * step_time(s)


def _retired(s: Scenario) -> Expression:
    return batch(s) * (_prompt(s) + _output(s)) / _output(s)


EXPLANATIONS: Mapping[str, Explanation] = {
    "usd_per_million_input_tokens": Explanation(
        marked("USD per M input"), r"p_\mathrm{in}", "USD", "F8.12",
        marked("Prompts read one after another on the replica's chips."), _input_tokens,
    ),
    "usd_per_thousand_requests": Explanation(
        marked("USD, 1k requests"), r"p_{1000}", "USD", "F8.12",
        marked(
            "A thousand times the chip time of one request: its share of decode steps, and its "
            "prompt."
        ), _requests,
        marked("USD per 1,000 requests"),
    ),
    "usd_per_chip_hour": Explanation(
        marked("USD per chip-hour"), "p", "USD/hour", "F13.6",
        marked(
            "Rented: the price on demand, less a discount where terms have one. Owned: purchase "
            "price with host and network over the hours in use, and electricity."
        ), _hour,
    ),
    "flops_per_usd": Explanation(
        marked("FLOP per USD"), r"F_\$", "FLOP/USD", f"F8.12; {BOOK}, part 8",
        marked("FLOPs at the dense peak that a dollar buys."), _flops,
    ),
    "tokens_per_joule": Explanation(
        marked("Token per joule"), r"X_J", "token/J", "F8.13",
        marked("Generated tokens over the energy of chips that are always busy."), _joule,
    ),
    "mfu": Explanation(
        marked("MFU"), r"\mathrm{MFU}", "share", "F4.2; Chowdhery et al. 2022, arXiv 2204.02311",
        marked(
            "Two FLOPs per active parameter and token over the dense peak; attention FLOPs are "
            "left out by convention."
        ), _mfu,
    ),
    "mbu": Explanation(
        marked("MBU"), r"\mathrm{MBU}", "share", "F4.3; Agarwal et al. 2023",
        marked(
            "Bytes that had to move, weights and cache once, over what the memory could have "
            "moved. Copies that a layout reads are no useful bytes."
        ), _mbu,
    ),
    "end_to_end": Explanation(
        marked("End to end"), r"T_\mathrm{E2E}", "s", f"F8.1; {DISTSERVE}",
        marked(
            "The first token comes with the prompt; one step for each further one. Some count a "
            "step for every token."
        ), _end_to_end,
    ),
    "kv_tokens_retired": Explanation(
        marked("KV tokens retired"), r"e_\mathrm{KV}", "token/step",
        f"F8.7; {BOOK}, part 8",
        marked(
            "Cached tokens that finished sequences give back in one step, on average."
        ), _retired,
    ),
}  # fmt: skip
