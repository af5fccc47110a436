"""One measurement: what was run, and how long it took."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from calc.errors import LedgerError
from calc.scenario import Scenario
from calc.words import marked, say

# What a measured time is that of, by the name that a table carries.
KINDS: Mapping[str, str] = {
    "decode": marked("one token of each sequence"),
    "static": marked("a whole batch, from prompt to last token"),
    "max": marked("one token of each sequence, at the largest batch"),
    "prefill": marked("one prompt"),
}


class RowError(LedgerError):
    """A measurement that cannot be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measurement, and the scenario that it was made in.

    What was done in the measured time is `decode_steps` steps and `prompts` times reading
    `together` prompts.

    Parameters
    ----------
    scenario : Scenario
        Model, chips, formats, layout and lengths; whatever an engine decides is at its default.
    kind : str
        One of `KINDS`.
    seconds : float
        What was measured [s].
    batch, context : float
        Means over the run, of which the scenario has the nearest whole [sequence, token].
    decode_steps, prompts : float
        How often each was done; less than 1 where it is the share of one token.
    together : float
        Prompts that share one read of the weights.
    ride_along : bool
        Whether prompts are read beside decoding, so that they cost no read of the weights.
    id, source, reference : str
        What the row and whoever published it are called, and where.
    date : str
        Year, or year and month, or day; empty if nobody says.
    engine_name, engine_version : str
        What ran it; empty if nobody says.

    Raises
    ------
    RowError
        If the time is not positive, or there is nothing that took it.
    """

    scenario: Scenario
    kind: str
    seconds: float
    batch: float
    context: float
    decode_steps: float = 1.0
    prompts: float = 0.0
    together: float = 1.0
    ride_along: bool = False
    id: str = ""
    source: str = ""
    reference: str = ""
    date: str = ""
    engine_name: str = ""
    engine_version: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RowError(say("{kind} is none of {kinds}", kind=self.kind, kinds=", ".join(KINDS)))
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise RowError(say("{seconds} s is not a time", seconds=self.seconds))
        counts = (self.batch, self.context, self.decode_steps, self.prompts, self.together)
        if not all(math.isfinite(count) and count >= 0 for count in counts):
            raise RowError(say("a count is not a number or is negative"))
        if not self.decode_steps + self.prompts > 0:
            raise RowError(say("neither a decode step nor a prompt was timed"))

    @property
    def phase(self) -> str:
        """What was timed, one of `calc.engine.PHASES`."""
        if self.kind != "decode":
            return {"static": "known_batch", "max": "throughput", "prefill": "prompt"}[self.kind]
        if self.batch > 1:
            return "batched"
        # A token of one sequence is in one stage of a pipeline at a time.
        return "single" if self.scenario.n_chips == self.scenario.pipeline else "sharded"

    @property
    def year(self) -> int | None:
        """The year it was published, if that is known."""
        found = re.match(r"\d{4}", self.date)
        return int(found[0]) if found else None

    @property
    def throughput_per_chip(self) -> float:
        """What the whole batch generates [token/s per chip]; 0 for a prompt."""
        return self.batch * self.decode_steps / self.seconds / self.scenario.n_chips
