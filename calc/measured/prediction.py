"""How long a measured run should take, at any fidelity (F12.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calc import decode, known, prefill
from calc.decode import StepTime
from calc.measured.row import Row
from calc.operators import Work
from calc.scenario import Scenario

Array = NDArray[np.float64]

# Constants that a bound leaves out, whatever a scenario's defaults are.
IDEAL = {"mfu": 1.0, "hop_latency": 1e-6}


@dataclass(frozen=True)
class Part:
    """Work of one sort in a measured run: how often, and what it takes once."""

    times: float
    step: StepTime


def parts(row: Row, fidelity: str) -> list[Part]:
    """What a measured run consists of.

    Rates and links that nobody published are taken as unlimited. At ``bound`` and ``operators``
    prompts come at the full rate and a hop takes 1 µs.

    References
    ----------
    F12.1.
    """
    s = replace(row.scenario, fidelity=fidelity)
    if fidelity in ("bound", "operators"):
        s = replace(s, **IDEAL)
    s = known.least(s)
    found = []
    if row.decode_steps:
        found.append(Part(row.decode_steps * _stages(s), _step(s, row)))
    if row.prompts and row.ride_along:
        found.append(Part(row.prompts / prefill.concurrency(s), riding(s)))
    elif row.prompts:
        found.append(Part(row.prompts, together(s, row.together)))
    return found


def predicted(row: Row, fidelity: str) -> float:
    """How long a measured run takes at a fidelity [s] (F12.1)."""
    return float(sum(part.times * part.step.total for part in parts(row, fidelity)))


def _step(s: Scenario, row: Row) -> StepTime:
    return decode.step_time(s, batch=row.batch, context=row.context)


def _stages(s: Scenario) -> int:
    # The bound counts all chips at work; a token of one sequence passes the stages one by one.
    return s.pipeline if s.fidelity == "bound" else 1


def riding(s: Scenario) -> StepTime:
    """The scenario's prompt read beside decoding: its FLOPs and the bytes of its messages."""
    step = prefill.prompt_time(replace(s, hop_latency=0.0), known=0)
    none = np.zeros(())
    beside = tuple(replace(operator, moved=none) for operator in step.work.operators)
    return replace(step, work=Work(beside, step.work.transfers, none))


def together(s: Scenario, prompts: float) -> StepTime:
    """So many of the scenario's prompts that share one read of the weights and each wait.

    Of routed experts those that one prompt wants are read.
    """
    step = prefill.prompt_time(s, known=0)
    if prompts == 1:
        return step
    more = prompts - 1
    sent = prefill.prompt_time(replace(s, hop_latency=0.0), known=0).work.transfers
    own = s.model.kv_bytes(s.prompt, s.kv_format) / s.n_chips
    work = step.work
    operators = tuple(
        replace(
            operator,
            # At the bound weights and cache are one operator.
            moved=operator.moved
            + more * (operator.moved if operator.cache else own if s.fidelity == "bound" else 0.0),
            done=operator.done * prompts,
        )
        for operator in work.operators
    )
    transfers = {name: time + more * sent[name] for name, time in work.transfers.items()}
    return replace(step, work=replace(work, operators=operators, transfers=transfers))
