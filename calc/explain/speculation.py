"""Explanations of speculative decoding."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from calc import decode, roofline, spans, speculative
from calc.explain.entry import LEVIATHAN, Explanation, step_time
from calc.explain.expression import Expression, Floor, Number, Power, Symbol
from calc.explain.sought import Best, Edge
from calc.scenario import Scenario
from calc.words import marked

# Draft lengths that are compared.
LONGEST = 16


def _drafted(s: Scenario, length: int | None = None) -> Symbol:
    return Symbol(
        "k", s.n_draft if length is None else length, "tokens",
        marked("tokens drafted before a check"),
    )  # fmt: skip


def _tokens(s: Scenario) -> Expression:
    if s.acceptance == 1:
        return _drafted(s) + 1
    accepted = Symbol(
        r"\alpha", s.acceptance, "probability", marked("that a drafted token is accepted")
    )
    return (Number(1) - Power(accepted, _drafted(s) + 1)) / (Number(1) - accepted)


def _yielded(s: Scenario, length: int) -> Symbol:
    tokens = float(speculative.expected_tokens(s.acceptance, length))
    return Symbol("E_k", tokens, "tokens", marked("tokens that a check yields on average"))


def _draft_step(s: Scenario) -> Symbol:
    return Symbol(
        r"T_\mathrm{draft}", float(speculative.draft_time(s)), "s", marked("one draft step")
    )


def _check(taken: float) -> Symbol:
    return Symbol(
        r"T_\mathrm{check}", taken, "s", marked("checking a draft: so many tokens and one more")
    )


def _ratio(s: Scenario) -> Expression:
    if s.draft is not None:
        return _draft_step(s) / step_time(s)
    return Symbol("c", s.cost_ratio, "ratio", marked("a draft step over a decode step"))


def _here(s: Scenario) -> Expression:
    check = _check(float(decode.step_time(s, tokens=s.n_draft + 1).total))
    return _tokens(s) * step_time(s) / (_drafted(s) * _draft_step(s) + check)


def _free(s: Scenario) -> Expression:
    return _tokens(s) / (_drafted(s) * _ratio(s) + 1)


def _best_here(s: Scenario) -> Expression:
    plain, draft = step_time(s), _draft_step(s)
    checks = decode.step_time(s, tokens=np.arange(LONGEST + 1) + 1).total

    def faster(length: int) -> Expression:
        spent = _drafted(s, length) * draft + _check(float(checks[length]))
        return _yielded(s, length) * plain / spent

    return Best("k", range(LONGEST + 1), faster)


def _best_free(s: Scenario) -> Expression:
    ratio = _ratio(s)

    def faster(length: int) -> Expression:
        return _yielded(s, length) / (_drafted(s, length) * ratio + 1)

    return Best("k", range(LONGEST + 1), faster)


def _free_batch(s: Scenario) -> Expression:
    crossing = roofline.compute_bound_batch(s)
    if s.fidelity == "bound" or not math.isfinite(crossing):
        critical = Symbol("B^*", crossing, "sequences", marked("critical batch"))
        return Floor(critical / (_drafted(s) + 1))
    # The last that is free and the one after it; where none is known, the first.
    found = speculative.free_batch(s, crossing)
    tried = [int(batch) for batch in speculative.checked_batches(crossing) if not batch < found][:2]

    def sides(batch: int) -> tuple[Expression, Expression]:
        check = decode.step_time(s, batch=batch, tokens=s.n_draft + 1)
        plain = decode.step_time(s, batch=batch)
        return (
            Symbol(
                "T(B, k+1)", float(check.total), "s",
                marked("checking a draft: so many tokens and one more"),
            ),
            Number(speculative.FREE)
            * Symbol("T(B, 1)", float(plain.total), "s", marked("one decode step")),
        )  # fmt: skip

    return Edge("B", tried, sides, last=True)


def _paying(s: Scenario) -> Expression:
    last = float(speculative.paying_batches(s)[1][0])
    # The last that pays and the one after it; where none is known or none pays, the first.
    known = 1 if math.isnan(last) else int(last)
    tried = [batch for batch in (known, known + 1) if 1 <= batch <= spans.MOST_BATCH]

    def sides(batch: int) -> tuple[Expression, Expression]:
        plain = float(decode.step_time(s, batch=batch).total)
        check = float(decode.step_time(s, batch=batch, tokens=s.n_draft + 1).total)
        draft = Symbol(
            r"T_\mathrm{draft}", float(speculative.draft_time(s, batch=batch)), "s",
            marked("one draft step"),
        )  # fmt: skip
        step = Symbol("T(B, 1)", plain, "s", marked("one decode step"))
        return _drafted(s) * draft + _check(check), _yielded(s, s.n_draft) * step

    return Edge("B", tried, sides, last=True)


EXPLANATIONS: Mapping[str, Explanation] = {
    "speedup_here": Explanation(
        marked("Speed-up here"), r"S_\mathrm{spec}", "×", f"F7.4; {LEVIATHAN}",
        marked(
            "Tokens of a round over its time, against one token a decode step: drafting and "
            "checking cost what they cost at this batch and context."
        ), _here,
        marked("Speed-up of speculation"),
    ),
    "speedup_free": Explanation(
        marked("If verifying is free"), r"S_\mathrm{free}", "×",
        f"F7.3; {LEVIATHAN}, theorem 3.8",
        marked("The same if checking a draft took no longer than a decode step."), _free,
        marked("Speed-up if verifying is free"),
    ),
    "tokens_per_check": Explanation(
        marked("Tokens per check"), "E", "tokens", f"F7.2; {LEVIATHAN}, equation 1",
        marked(
            "The accepted part of a draft, each token independent of the others, and one token "
            "of the target's own."
        ), _tokens,
    ),
    "best_length_here": Explanation(
        marked("Best length here"), r"k_\mathrm{best}", "tokens", "F7.4",
        marked("Of the drafts of up to 16 tokens the one with the largest speed-up here."),
        _best_here,
        marked("Best draft length here"),
    ),
    "best_length_free": Explanation(
        marked("Best if free"), r"k_\mathrm{free}", "tokens", f"F7.3; {LEVIATHAN}, §3.4",
        marked(
            "Of the drafts of up to 16 tokens the one that would pay most if checking cost no more "
            "than a decode step."
        ),
        _best_free,
        marked("Best draft length if verifying is free"),
    ),
    "free_batch": Explanation(
        marked("Free up to batch"), r"B_\mathrm{free}", "sequences", "F7.4, F3.6",
        marked(
            "At fidelity bound the last batch whose drafts leave the linear layers memory-bound. "
            "At fidelity operators the last of some batches tried, each a few per cent above the "
            "one before, whose check takes at most 1.01 times a decode step."
        ), _free_batch,
        marked("Verifying is free up to batch"),
    ),
    "paying_batch": Explanation(
        marked("Pays up to batch"), r"B_\mathrm{pays}", "sequences", "F7.4",
        marked(
            "The largest batch, up to 65,536, at which drafting and checking take no longer "
            "than decode steps for the same tokens."
        ), _paying,
        marked("Speculation pays up to batch"),
    ),
}  # fmt: skip
