"""Speculative decoding: what a draft buys, when the batch takes it away, and why it is exact.

`alpha` is the probability that a drafted token is accepted, `n_draft` the tokens drafted before
each verification, `cost_ratio` the time of one draft step over that of one target step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, memory, spans
from calc.errors import LedgerError
from calc.scenario import Scenario
from calc.words import say

Array = NDArray[np.float64]

LONGEST_DRAFT = 64


class SpeculationError(LedgerError):
    """An acceptance, a draft or a distribution that cannot be."""


def _probability(alpha: ArrayLike) -> Array:
    value = np.asarray(alpha, dtype=float)
    if not ((value >= 0) & (value <= 1)).all():
        raise SpeculationError("alpha is outside 0 to 1")
    return value


def _length(n_draft: ArrayLike) -> Array:
    value = np.asarray(n_draft, dtype=float)
    if not ((value >= 0) & np.isfinite(value)).all():
        raise SpeculationError("n_draft is negative or not finite")
    return value


def expected_tokens(alpha: ArrayLike, n_draft: ArrayLike) -> Array:
    """Tokens that one verification yields on average, the target's own included [token].

    .. math:: (1 - \\alpha^{k+1}) / (1 - \\alpha)

    Parameters
    ----------
    alpha : array_like
        Acceptance of each drafted token, independent of the others; 0 gives 1, 1 gives k + 1.
    n_draft : array_like
        Tokens drafted.

    Raises
    ------
    SpeculationError
        If alpha is no probability or n_draft is negative.

    References
    ----------
    F7.2; Leviathan et al. 2022, equation 1.

    Examples
    --------
    >>> round(float(expected_tokens(0.8, 4)), 2)
    3.36
    """
    accepted, drafted = np.broadcast_arrays(_probability(alpha), _length(n_draft))
    # Both ends are limits; between them expm1 keeps the quotient exact close to 1.
    inside = (accepted > 0) & (accepted < 1)
    log = np.log(np.where(inside, accepted, 0.5))
    between = np.expm1((drafted + 1) * log) / np.expm1(log)
    return np.asarray(np.where(inside, between, np.where(accepted == 1, drafted + 1, 1.0)))


def expected_tokens_by_position(acceptance: ArrayLike) -> float:
    """Mean tokens of a round where each position has an acceptance of its own [token] (F7.2).

    >>> expected_tokens_by_position([0.5, 0.5])
    1.75
    """
    return float(1 + np.cumprod(_probability(acceptance)).sum())


def accepted_in_turn(shares: ArrayLike) -> Array:
    """Acceptance of each position, given those before it, from what engines print by position.

    .. math:: a_i = p_i / p_{i-1}

    Parameters
    ----------
    shares : array_like
        Share of all drafts whose token i was accepted: none is above the one before it.

    Raises
    ------
    SpeculationError
        If a share is no probability, or above the one before it.

    References
    ----------
    F7.2.

    Examples
    --------
    >>> [round(float(one), 3) for one in accepted_in_turn([0.769, 0.381])]
    [0.769, 0.495]
    >>> round(expected_tokens_by_position(accepted_in_turn([0.769, 0.381])), 2)
    2.15
    """
    reached = np.concatenate([[1.0], _probability(shares)])
    if (np.diff(reached) > 0).any():
        raise SpeculationError(say("a position is accepted more often than the one before it"))
    before = reached[:-1]
    # Behind a position that is never accepted there is nothing to accept.
    return np.asarray(np.where(before > 0, reached[1:] / np.where(before > 0, before, 1.0), 0.0))


def expected_tokens_of_tree(acceptance: ArrayLike, branches: ArrayLike) -> float:
    """Tokens per verification of a tree with so many candidates at each depth [token].

    A depth is passed if any candidate is accepted, ``1 - (1 - a)^c`` (F7.5).
    """
    passed = 1 - (1 - _probability(acceptance)) ** _length(branches)
    return expected_tokens_by_position(passed)


def speedup(alpha: ArrayLike, n_draft: ArrayLike, cost_ratio: ArrayLike) -> Array:
    """Speed over plain decoding when verifying costs one decode step.

    .. math:: \\frac{1 - \\alpha^{k+1}}{(1 - \\alpha)(k c + 1)}

    Holds while verification is bound by memory: see `batch_speedup` for when it is not.

    References
    ----------
    F7.3; Leviathan et al. 2022, theorem 3.8.

    Examples
    --------
    >>> round(float(speedup(0.8, 4, 0.05)), 2)
    2.8
    """
    cost = np.asarray(cost_ratio, dtype=float)
    return np.asarray(expected_tokens(alpha, n_draft) / (_length(n_draft) * cost + 1))


def best_n_draft(alpha: float, cost_ratio: float, longest: int = LONGEST_DRAFT) -> int:
    """Draft length with the largest `speedup`; 0 if drafting never pays.

    >>> best_n_draft(0.8, 0.1), best_n_draft(0.8, 0.05), best_n_draft(0.1, 0.2)
    (6, 8, 0)
    """
    return int(np.argmax(speedup(alpha, np.arange(longest + 1), cost_ratio)))


def operations_factor(alpha: ArrayLike, n_draft: ArrayLike, draft_operations: ArrayLike) -> Array:
    """FLOPs per token over plain decoding (F7.3; Leviathan et al. 2022, theorem 3.11).

    `draft_operations` is the draft's FLOPs per token over the target's.
    """
    drafted = _length(n_draft)
    spent = drafted * np.asarray(draft_operations, dtype=float) + drafted + 1
    return np.asarray(spent / expected_tokens(alpha, n_draft))


def reported_acceptance(alpha: ArrayLike, n_draft: ArrayLike) -> Array:
    """Acceptance as engines print it, accepted over drafted tokens (F7.2).

    >>> round(float(reported_acceptance(0.8, 4)), 2)
    0.59
    """
    drafted = _length(n_draft)
    return np.asarray(
        (expected_tokens(alpha, n_draft) - 1) / np.where(drafted > 0, drafted, np.nan)
    )


def alpha_of_reported(rate: float, n_draft: int) -> float:
    """The acceptance per token behind what an engine prints; the inverse of the above.

    >>> round(alpha_of_reported(float(reported_acceptance(0.8, 4)), 4), 6)
    0.8
    """
    if not 0 <= rate <= 1 or n_draft < 1:
        raise SpeculationError("the reported rate is outside 0 to 1, or nothing is drafted")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reported_acceptance(middle, n_draft) < rate else (low, middle)
    return (low + high) / 2


def draft_scenario(scenario: Scenario) -> Scenario:
    """The draft model on the same chips, precision and workload, none of it on the host."""
    if scenario.draft is None:
        raise SpeculationError("the scenario has no draft model")
    return replace(scenario, model=scenario.draft, draft=None, host_share=0.0)


def draft_time(
    scenario: Scenario, batch: ArrayLike | None = None, context: ArrayLike | None = None
) -> Array:
    """Time of one draft step: a draft model's own, else `cost_ratio` of the target's [s]."""
    if scenario.draft is None:
        return scenario.cost_ratio * decode.step_time(scenario, batch, context).total
    return decode.step_time(draft_scenario(scenario), batch, context).total


def effective_cost_ratio(scenario: Scenario) -> float:
    """Time of one draft step over one target step at the scenario's batch."""
    if scenario.draft is None:
        return scenario.cost_ratio
    return float(draft_time(scenario) / decode.step_time(scenario).total)


def max_batch(scenario: Scenario, context: int | None = None) -> int:
    """Whole sequences that fit beside target and draft, drafted tokens included [sequence]."""
    length = (scenario.context if context is None else context) + scenario.n_draft + 1
    alone = [scenario] + ([draft_scenario(scenario)] if scenario.draft is not None else [])
    stored = sum(memory.weights(one) for one in alone)
    each = sum(float(memory.kv_per_sequence(one, length)) for one in alone)
    room = memory.capacity(scenario) - stored
    return int(memory.whole(room, each, memory.largest_asked()))


@dataclass(frozen=True)
class Cycle:
    """One round of drafting and verifying; times in seconds.

    `n_draft` tokens are drafted, `plain` is one step without speculation, `draft` all draft steps,
    `verify` the verification, `tokens` what it yields.
    """

    n_draft: Array
    plain: Array
    draft: Array
    verify: Array
    tokens: Array

    @property
    def speedup(self) -> Array:
        """Tokens per second over plain decoding."""
        return np.asarray(self.tokens * self.plain / (self.draft + self.verify))

    def accepting(self, alpha: float) -> Cycle:
        """The round at another acceptance, which changes its `tokens` and no time."""
        return replace(self, tokens=expected_tokens(alpha, self.n_draft))


def batch_speedup(
    scenario: Scenario,
    batch: ArrayLike | None = None,
    context: ArrayLike | None = None,
    n_draft: ArrayLike | None = None,
) -> Cycle:
    """Speed over plain decoding with the real costs of drafting and verifying at a batch.

    .. math:: \\frac{E[N]\\,T(B, 1)}{k\\,T_\\mathrm{draft}(B) + T(B, k+1)}

    Verification reads weights and cache once and multiplies k + 1 tokens for every sequence: free
    while memory-bound, and no longer once B (k + 1) passes the critical batch. A mixture of experts
    also reads more experts.

    Parameters
    ----------
    scenario : Scenario
        Target, chips, precision, acceptance, and the draft as a model or a cost ratio.
    batch, context, n_draft : array_like, optional
        To use instead of the scenario's; they broadcast.

    References
    ----------
    F7.4, F3.6.
    """
    drafted = scenario.n_draft if n_draft is None else n_draft
    plain = decode.step_time(scenario, batch, context)
    verify = decode.step_time(scenario, batch, context, tokens=np.asarray(drafted) + 1)
    drafting = np.asarray(drafted) * draft_time(scenario, batch, context)
    tokens = expected_tokens(scenario.acceptance, drafted)
    return Cycle(np.asarray(drafted), plain.total, drafting, verify.total, tokens)


def tree_speedup(
    scenario: Scenario, branches: ArrayLike, acceptance: ArrayLike | None = None
) -> tuple[float, int, float]:
    """A tree of candidates instead of a chain, as Medusa and EAGLE draft.

    Parameters
    ----------
    scenario : Scenario
        Target, batch, acceptance of one candidate, and the cost of a draft step.
    branches : array_like
        Candidates below each node, depth by depth.
    acceptance : array_like, optional
        Of one candidate at each depth, instead of the scenario's at all of them.

    Returns
    -------
    tokens : float
        Tokens per verification.
    nodes : int
        Drafted tokens that one verification checks.
    speedup : float
        Tokens per second over plain decoding, each depth costing one draft step.

    References
    ----------
    F7.5.
    """
    widths = _length(branches)
    nodes = int(np.cumprod(widths).sum())
    each = np.broadcast_to(scenario.acceptance if acceptance is None else acceptance, widths.shape)
    tokens = expected_tokens_of_tree(each, widths)
    plain = decode.step_time(scenario)
    verify = decode.step_time(scenario, tokens=nodes + 1)
    drafting = widths.size * float(draft_time(scenario))
    return tokens, nodes, float(tokens * plain.total / (drafting + verify.total))


def paying_batches(
    scenario: Scenario,
    acceptance: ArrayLike | None = None,
    n_draft: ArrayLike | None = None,
    cost_ratio: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Between which batches drafting is not slower than plain decoding [sequence].

    .. math:: k\\,T_\\mathrm{draft}(B) + T(B, k+1) \\le E[N]\\,T(B, 1)

    Parameters
    ----------
    scenario : Scenario
        Target, chips, precision and context.
    acceptance, n_draft, cost_ratio : array_like, optional
        Of several drafts, in one dimension, to use instead of the scenario's.

    Returns
    -------
    first, last : ndarray
        Of the largest batches without a gap; with a mixture of experts smaller ones may pay too,
        and some between lose. 0 where no batch up to 65,536 pays; nan where times are unknown.

    References
    ----------
    F7.4; looked for as in `spans.largest`.
    """
    given = (scenario.acceptance if acceptance is None else acceptance,
             scenario.n_draft if n_draft is None else n_draft)  # fmt: skip
    alpha, drafted = (np.atleast_1d(one)[:, np.newaxis] for one in np.broadcast_arrays(*given))
    ratio = None if cost_ratio is None else np.atleast_1d(cost_ratio)[:, np.newaxis]
    tokens = expected_tokens(alpha, drafted)

    def pays(batch: Array) -> NDArray[np.bool_]:
        plain = decode.step_time(scenario, batch).total
        verify = decode.step_time(scenario, batch, tokens=drafted + 1).total
        draft = draft_time(scenario, batch) if ratio is None else ratio * plain
        return np.where(np.isnan(plain), False, drafted * draft + verify <= tokens * plain)

    first, last = spans.largest(pays)
    if np.isnan(float(decode.step_time(scenario).total)):
        return np.full_like(first, np.nan), np.full_like(last, np.nan)
    return first, last


# A verification within this of a plain step counts as free.
FREE = 1.01


def checked_batches(compute_bound_from: float) -> Array:
    """Batches at which `free_batch` looks, up to the compute-bound one [sequence]."""
    return np.unique(np.round(np.geomspace(1, max(compute_bound_from, 2), 200)))


def free_batch(scenario: Scenario, compute_bound_from: float) -> float:
    """Largest batch whose verification costs no more than a plain step [sequence].

    At fidelity ``bound`` that is while its tokens leave the linear layers memory-bound. With
    operators and links of their own it is looked for: the last batch within 1 %, nan if times are
    unknown.
    """
    last = compute_bound_from / (scenario.n_draft + 1)
    if scenario.fidelity == "bound" or not math.isfinite(last):
        return last
    batch = checked_batches(compute_bound_from)
    plain = decode.step_time(scenario, batch=batch).total
    checked = decode.step_time(scenario, batch=batch, tokens=scenario.n_draft + 1).total
    if np.isnan(plain).any():
        return math.nan
    free = np.cumprod(checked <= FREE * plain).astype(bool)
    return float(batch[free].max(initial=0.0))
