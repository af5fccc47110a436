"""What the Serving page shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from calc import Scenario, known, serving
from calc.words import say
from pages.ui.frame import link
from pages.ui.frame.page import View
from pages.ui.serving import simulations, traces, words
from pages.ui.serving.simulations import Outcome, Simulated
from pages.ui.writing import tables


@dataclass(frozen=True, eq=False)
class ServingView(View):
    """A service: simulated when a part first asks.

    Parameters
    ----------
    values : mapping
        The settings as the controls hold them.
    simulate : callable
        Gives what each policy made of the traffic, or raises a ServingError.
    """

    values: Mapping[str, Any]
    simulate: Callable[[], Simulated]

    @classmethod
    def here(cls, scenario: Scenario, choices: Mapping[Any, Any]) -> ServingView:
        """In a session, which keeps what is known, shows how far it is, and may stop it."""
        values, scenario = link.widget_values(), known.least(scenario)
        return cls(
            scenario,
            choices,
            values,
            # A slide, which has no choices, is drawn once. (A session counts its own slowly.)
            lambda: simulations.here(
                scenario, values, traces.given(), whole=choices is not st.session_state
            ),
        )

    @classmethod
    def detached(cls, scenario: Scenario) -> ServingView:
        """Where there will be no session, from what this one knows."""
        values, scenario = link.widget_values(), known.least(scenario)
        return cls(scenario, {}, values, simulations.later(scenario, values, traces.given()))

    @property
    def load(self) -> str:
        """The traffic and the limits, in place of batch and context."""
        return tables.asked(self.values, self.scenario.tpot_target)

    @cached_property
    def _found(self) -> tuple[Simulated | None, str]:
        try:
            return self.simulate(), ""
        except serving.ServingError as error:
            return None, str(error)

    @property
    def simulated(self) -> Simulated | None:
        """The traffic and what came of it; none where there can be no service."""
        return self._found[0]

    @property
    def shown(self) -> Outcome | None:
        """The policy whose requests are drawn."""
        return self.simulated.shown if self.simulated else None

    @property
    def answered(self) -> bool:
        """Whether there is a latency to draw."""
        return self.shown is not None and bool(self.shown.run.finished.any())

    @property
    def verdict(self) -> str:
        """How many requests are answered in time, or why none can be."""
        if self.simulated is None:
            return words.cannot(self._found[1])
        if self.shown is None:
            policy = self.simulated.setup.shown
            stopped = say("Its simulation was stopped.")
            return words.cannot(self.simulated.problems.get(policy, stopped))
        run = self.shown.run
        bounded = known.bounded(run.scenario) or known.bounded(run.reader)
        return words.verdict(self.simulated, self.shown, bounded=bounded)
