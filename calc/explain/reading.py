"""Explanations of what one reader of an answer notices."""

from __future__ import annotations

from collections.abc import Mapping

from calc import prefill
from calc.explain.entry import Explanation, batch, step_time
from calc.explain.expression import Expression, Number, Symbol
from calc.scenario import Scenario
from calc.words import marked


def _prompt(s: Scenario) -> Symbol:
    return Symbol("S_p", s.prompt, "tokens", marked("prompt"))


def _reading(s: Scenario) -> Symbol:
    taken = float(prefill.prompt_time(s).total)
    return Symbol(r"T_\mathrm{pre}", taken, "s", marked("prompt time"))


def _rate(s: Scenario) -> Expression:
    return Number(1) / step_time(s)


def _by_time(s: Scenario) -> Expression:
    return step_time(s) * _prompt(s) / _reading(s)


def _by_cost(s: Scenario) -> Expression:
    at_once = Symbol(
        "n_p", prefill.concurrency(s), "prompts", marked("read at a time by a replica")
    )
    return step_time(s) * _prompt(s) * at_once / (batch(s) * _reading(s))


EXPLANATIONS: Mapping[str, Explanation] = {
    "user_rate": Explanation(
        marked("Token/s per user"), r"X_1", "token/s", "F8.27",
        marked("Each step makes one token of each answer, whatever the batch."), _rate,
    ),
    "input_tokens_by_time": Explanation(
        marked("Input tokens by time"), r"n_\mathrm{t}", "tokens", "F8.27",
        marked("Prompt tokens that are read in the time of one output token."), _by_time,
    ),
    "input_tokens_by_cost": Explanation(
        marked("Input tokens by cost"), r"n_\mathrm{c}", "tokens", "F8.27",
        marked(
            "Prompt tokens that cost as much as one output token. The batch shares a decode "
            "step, so they are fewer than by time."
        ), _by_cost,
    ),
}  # fmt: skip
