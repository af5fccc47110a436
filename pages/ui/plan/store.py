"""What is kept for all sessions: what chips can do, and what simulations made of plans.

What chips can do hangs on neither rate, limits nor prices.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from calc import Scenario, plan
from calc.plan import Ask, Candidate, Proof, Space
from calc.plan.survey import Ground
from calc.scenario import FIELDS
from calc.serving import ServingError

# What chips can do hangs on no price.
_UNPAID: Mapping[str, Any] = {
    name: FIELDS[name].absent
    for name in ("price", "power", "terms", "discount", "capital", "surroundings", "years",
                 "in_use", "energy_price", "pue")
}  # fmt: skip
# Surveys of all chips are tens of megabytes.
_KEPT = 3


def ground(scenario: Scenario, ask: Ask, space: Space) -> Ground:
    """All that the chips of a space can do, from what is kept where that is the same."""
    plain = replace(scenario, chip=space.chips[0], n_chips=1, batch=1, context=1,
                    tpot_target=1.0, **_UNPAID)  # fmt: skip
    asked = (ask.prompt, ask.output, ask.spread, ask.known, ask.percentile, ask.classes)
    # Texts, since models and chips hold mappings; prices are left out.
    chips = tuple(
        repr(replace(chip, price=None, other_prices=(), power=0.0)) for chip in space.chips
    )
    of = (repr(plain), asked, chips, repr(replace(space, chips=space.chips[:1])))
    found: Ground = _ground(str(hash(of)) + repr(of[1]), scenario, ask, space)
    return found


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _ground(of: str, _scenario: Scenario, _ask: Ask, _space: Space) -> Ground:
    return plan.survey_all(_scenario, _ask, _space)


_PROOFS = 200
# Enough for a p99 of ten requests.
_REQUESTS = 1000


@st.cache_resource(show_spinner=False)
def _proofs() -> OrderedDict[str, Proof | str]:
    """What came of each plan that was simulated, or why it cannot be."""
    return OrderedDict()


def proof(one: Candidate) -> Proof | str | None:
    """What a simulation made of a plan, or why it cannot be; None where it was not tried."""
    return _proofs().get(repr(one))


def prove(one: Candidate) -> None:
    """Simulate a plan."""
    found, kept = _outcome(one), _proofs()
    kept[repr(one)] = found
    while len(kept) > _PROOFS:
        kept.popitem(last=False)


def _outcome(one: Candidate) -> Proof | str:
    try:
        return plan.verify(one, _REQUESTS)
    except ServingError as error:
        return str(error)
