"""What one reader of an answer notices: how fast it comes, and how long nothing is seen."""

from __future__ import annotations

from calc import prefill
from calc.scenario import Scenario

# A very fast reader takes so long over a token [s] (Huyen 2025, chapter 9).
READING_TIME = 0.12


def first_visible(ttft: float, tpot: float, hidden: int) -> float:
    """Time to the first token that is shown, behind so many hidden ones [s].

    Parameters
    ----------
    ttft, tpot : float
        Time to the first token, and of each further one [s].
    hidden : int
        Tokens of reasoning that are made before and not shown [token].

    References
    ----------
    F8.27.

    Examples
    --------
    >>> round(first_visible(0.959, 0.00857, 1000), 2)
    9.53
    """
    return ttft + hidden * tpot


def input_tokens_by_time(scenario: Scenario, step_time: float, prompt_time: float) -> float:
    """Prompt tokens that are read in the time of one output token [token] (F8.27)."""
    return step_time / (prompt_time / scenario.prompt)


def input_tokens_by_cost(scenario: Scenario, step_time: float, prompt_time: float) -> float:
    """Prompt tokens that cost as much chip time as one output token of the batch [token].

    References
    ----------
    F8.27.
    """
    share = step_time / scenario.batch
    return share * prefill.prompt_rate(scenario, prompt_time) * scenario.prompt
