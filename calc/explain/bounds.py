"""Which quantities still say something where a figure of the chip is not published, and what."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import known
from calc.explain.entry import Explanation
from calc.explain.expression import Expression
from calc.scenario import Scenario

LEAST, MOST = "least", "most"

# Times grow with what is unknown, and prices with them; what is made in a time shrinks. Quotients
# of two times go either way and are not known.
BOUNDS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "step_time", "kv_read", "weight_read", "linear_compute", "attention_compute",
            "communication", "prefill_time", "end_to_end", "matmul_hbm", "matmul_math",
            "matmul_link", "usd_per_million_tokens", "usd_per_million_output_tokens",
            "usd_per_million_input_tokens", "usd_per_thousand_requests",
        ),
        LEAST,
    ),
    **dict.fromkeys(
        ("throughput", "throughput_per_chip", "tokens_per_joule", "prompt_token_rate", "mbu",
         "mfu", "largest_chunk", "user_rate"),
        MOST,
    ),
}  # fmt: skip


def written(id: str, entry: Explanation, scenario: Scenario) -> tuple[str, Expression]:
    """Whether a quantity is a bound, `LEAST` or `MOST`, else nothing, and its formula.

    The formula is that of the least scenario for a bound, else that of what is published.
    """
    stated = known.stated(scenario)
    least = known.least(stated)
    formula = entry.build(stated)
    if least is stated or not math.isnan(formula.value) or id not in BOUNDS:
        return "", formula
    bound = entry.build(least)
    if not (math.isfinite(bound.value) and bound.value > 0):
        return "", formula
    return BOUNDS[id], bound
