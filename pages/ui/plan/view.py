"""What the Plan page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from calc import Scenario, known, plan
from calc.fields import Catalogues
from calc.plan import Answer, Ask, Candidate, Move, PoolSizes, Proof, Served, asked
from calc.purchase import OWNED
from calc.words import marked, say
from pages.ui.frame import link
from pages.ui.frame.page import View
from pages.ui.plan import store, taken
from pages.ui.writing import tables

# The key of the tabs, and the one that simulates.
TABS, SIMULATED = "plan-tabs", marked("Simulated")


@dataclass(frozen=True, eq=False)
class PlanView(View):
    """The best plans for the traffic of the controls.

    Parameters
    ----------
    values : mapping
        The settings as the controls hold them.
    catalogues : mapping
        Models, chips and formats to choose from.
    """

    values: Mapping[str, Any]
    catalogues: Catalogues

    @classmethod
    def here(cls, scenario: Scenario, choices: Mapping[Any, Any]) -> PlanView:
        """In a session."""
        return cls(scenario, choices, link.widget_values(), link.catalogues())

    @property
    def load(self) -> str:
        """The traffic and the limits, in place of batch and context."""
        return tables.asked(self.values, self.scenario.tpot_target)

    @cached_property
    def stated(self) -> Scenario:
        """The scenario as it is set: what is not published stays unknown."""
        return known.stated(self.scenario)

    @cached_property
    def _found(self) -> tuple[Answer | None, str]:
        try:
            return self._searched(self.stated), ""
        except plan.PlanError as error:
            return None, str(error)

    def _searched(self, scenario: Scenario, **how: Any) -> Answer:
        ask = asked.ask(self.values, scenario)
        space = asked.space(self.values, scenario, self.catalogues)
        return plan.search(scenario, ask, space, store.ground(scenario, ask, space), **how)

    @cached_property
    def at_bound(self) -> Candidate | None:
        """The best if links and losses cost nothing; none where that is what is shown."""
        if self.stated.fidelity == "bound":
            return None
        return self._searched(replace(self.stated, fidelity="bound"), refine=False, most=1).best

    @property
    def answer(self) -> Answer | None:
        """What was found; none where it cannot be looked for."""
        return self._found[0]

    @property
    def problem(self) -> str:
        """Why it cannot."""
        return self._found[1]

    @property
    def unbought(self) -> bool:
        """Whether there is no plan since chips are owned and none has a price."""
        priced = self.found.rows or self.found.curve.cheapest(1)
        return self.stated.terms == OWNED and not priced

    @property
    def found(self) -> Answer:
        """The answer, where there is one."""
        assert self.answer
        return self.answer

    @cached_property
    def pools(self) -> PoolSizes | None:
        """Two pools of the plan's chip, or of the best chip for them; none where there are none."""
        one = self.looked_at
        own = one and self.found.pool_sizes(one.scenario.chip.id)
        return own or self.found.pool_sizes()

    @cached_property
    def served(self) -> Served | None:
        """What the chips of the plan that is looked at serve; none where there is no plan."""
        one = self.looked_at if self.answer else None
        return self.found.served_by(one.scenario.chip.id, one.chips) if one else None

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """What one figure does to the best plan; none where there is no plan."""
        s, space = self.stated, self.found.space
        best = self.found.best
        return plan.moves(best, s, space, store.ground(s, self.ask, space)) if best else ()

    @property
    def priced(self) -> bool:
        """Whether the best plan has a price."""
        best = self.answer.best if self.answer else None
        return best is not None and best.usd_per_hour > 0

    @property
    def pause(self) -> float:
        """How long a user pauses after an answer [s]."""
        return float(self.values["pause"])

    @property
    def ask(self) -> Ask:
        """Traffic and limits."""
        return self.found.ask

    @cached_property
    def refuted(self) -> tuple[Candidate, ...]:
        """Plans better than the best that stands, which break a limit when simulated.

        Only while the simulations are on show: a link says the same whoever simulated before.
        """
        better: list[Candidate] = []
        if self.chosen(TABS, "") != say(SIMULATED):
            return ()
        for one in self.answer.rows if self.answer else ():
            proof = store.proof(one)
            if not isinstance(proof, Proof) or proof.holds:
                break
            better.append(one)
        return tuple(better)

    @property
    def best(self) -> Candidate | None:
        """The best plan that no simulation speaks against; none where nothing can be looked for."""
        rest = self.answer.rows[len(self.refuted) :] if self.answer else ()
        return rest[0] if rest else None

    @cached_property
    def looked_at(self) -> Candidate | None:
        """The plan that is looked at: the one that the sidebar holds, else the best."""
        held = (one for one in self.found.rows if taken.held(self.values, one))
        return next(held, self.best)
