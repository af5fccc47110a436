"""What the Measured page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc.measured import Agreement, Row
from pages.ui.frame.page import View
from pages.ui.frame.presentation import EVERY, ROWS
from pages.ui.measured import public

Array = NDArray[np.float64]
Places = NDArray[np.intp]

CHOSEN = "_measured_row"


class MeasuredView(View):
    """Public measurements that the filters keep, and what the scenario's fidelity predicts."""

    @cached_property
    def wanted(self) -> public.Wanted:
        """What the filters ask for; those that take all left out."""
        asked = ((field.name, str(self.chosen(field.key, EVERY))) for field in ROWS)
        return tuple((name, value) for name, value in asked if value != EVERY)

    @cached_property
    def places(self) -> Places:
        """Where the rows stand that are shown."""
        return public.places(self.wanted, self.scenario.fidelity)

    def errors(self, feature: str) -> Mapping[str, Mapping[str, Agreement]]:
        """How far each fidelity is from them, by a feature's values."""
        return public.errors(feature, self.wanted)

    @cached_property
    def rows(self) -> Sequence[Row]:
        """Those rows."""
        return [public.rows()[place] for place in self.places]

    @cached_property
    def seconds(self) -> Array:
        """What was measured [s]."""
        return public.seconds()[self.places]

    @cached_property
    def batches(self) -> Array:
        """Mean batches [sequence]."""
        return public.batches()[self.places]

    @cached_property
    def engines(self) -> NDArray[np.str_]:
        """What ran them."""
        return public.features()["rows_engine"][self.places]

    @cached_property
    def told(self) -> Sequence[str]:
        """Each in a line."""
        return [public.told()[place] for place in self.places]

    @cached_property
    def predicted(self) -> Array:
        """What the scenario's fidelity predicts [s]."""
        return public.predicted(self.scenario.fidelity)[self.places]

    @cached_property
    def agreement(self) -> Agreement:
        """How far they are apart."""
        return Agreement.of(self.rows, self.predicted)

    @cached_property
    def outside(self) -> Sequence[int]:
        """Which of the rows lie outside the band, the farthest first."""
        return self.agreement.outside(self.seconds, self.predicted)

    @cached_property
    def picked(self) -> Row | None:
        """The row whose point was clicked."""
        id = self.chosen(CHOSEN, "")
        return next((row for row in self.rows if row.id == id), None)
