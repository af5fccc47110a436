"""The table of the Speculation page."""

from __future__ import annotations

from calc import Scenario, speculative
from calc.words import say
from pages.ui.writing import tables, text


def budget(scenario: Scenario, cycle: speculative.Cycle, cost_ratio: float) -> str:
    """What a thousand tokens take with and without drafting."""
    s, per_check = scenario, float(cycle.tokens)
    draft_flops = s.draft.active_params / s.model.active_params if s.draft else 0.0
    factor = float(speculative.operations_factor(s.acceptance, s.n_draft, draft_flops))
    reported = (
        f"{float(speculative.reported_acceptance(s.acceptance, s.n_draft)):.2f}"
        if s.n_draft
        else ""
    )
    rows = [
        [say("Target passes for 1,000 tokens"), "1,000", text.count(1000 / per_check)],
        [say("Draft passes for 1,000 tokens"), "0", text.count(1000 * s.n_draft / per_check)],
        [say("Weight and cache reads of the target"), "1", text.significant(1 / per_check)],
        [say("FLOPs per token, draft included") if s.draft else say("Target FLOPs per token"), "1",
         text.times(factor)],
        [say("Time of one round"), text.si(float(cycle.plain), "s"),
         text.si(float(cycle.draft + cycle.verify), "s")],
        [say("of which drafting"), "", text.si(float(cycle.draft), "s")],
        [say("of which verifying"), "", text.si(float(cycle.verify), "s")],
        [say("Accepted over drafted, as engines print it"), "", reported],
        [say("Cost of a draft step"), "", text.times(cost_ratio)],
    ]  # fmt: skip
    return tables.markdown(
        [say("Per target model"), say("Plain"), say("With drafting")], rows, " rr"
    )
