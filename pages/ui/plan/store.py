"""What chips can do, kept for all sessions: it hangs on neither rate, limits nor prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from calc import Scenario, plan
from calc.plan import Ask, Space
from calc.plan.survey import Survey

# Surveys of all chips are tens of megabytes.
_KEPT = 3


def surveys(scenario: Scenario, ask: Ask, space: Space) -> Sequence[Survey]:
    """All that the chips of a space can do, from what is kept where that is the same."""
    plain = replace(scenario, chip=space.chips[0], price=0.0, power=0.0, n_chips=1, batch=1,
                    context=1, tpot_target=1.0)  # fmt: skip
    asked = (ask.prompt, ask.output, ask.spread, ask.known, ask.percentile)
    # Texts, since models and chips hold mappings; prices are left out.
    chips = tuple(repr(replace(chip, price=None, other_prices=())) for chip in space.chips)
    of = (repr(plain), asked, chips, repr(replace(space, chips=space.chips[:1])))
    found: Sequence[Survey] = _surveys(str(hash(of)) + repr(of[1]), scenario, ask, space)
    return found


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _surveys(of: str, _scenario: Scenario, _ask: Ask, _space: Space) -> Sequence[Survey]:
    return plan.survey_all(_scenario, _ask, _space)
