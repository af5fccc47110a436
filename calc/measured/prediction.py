"""How long a measured run should take, at any fidelity (F12.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calc import decode, known, prefill
from calc.decode import StepTime
from calc.layout import Layout
from calc.measured.row import Row
from calc.operators import Work
from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Work of one sort in measured runs: how often, and what it takes once.

    `prompt` says whose FLOPs those are, `kernels` how many are started.
    """

    times: Array
    step: StepTime
    prompt: bool = False
    kernels: float = 0.0


@dataclass(frozen=True)
class _Load:
    """What was done in runs of one setting, an element each."""

    batch: Array
    context: Array
    prompt: Array
    decode_steps: Array
    prompts: Array
    together: Array
    ride_along: bool

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Load:
        counts = np.array([
            [row.batch, row.context, row.scenario.prompt, row.decode_steps, row.prompts,
             row.together]
            for row in rows
        ], dtype=float)  # fmt: skip
        batch, context, prompt, decode_steps, prompts, together = counts.T
        return cls(
            batch, context, prompt, decode_steps, prompts, together, rows[0].ride_along
        )  # fmt: skip


def parts(row: Row, fidelity: str) -> list[Part]:
    """What a measured run consists of.

    Rates and links that nobody published are taken as unlimited. At ``bound`` and ``operators``
    prompts come at the full rate and a hop takes 1 µs.

    References
    ----------
    F12.1.
    """
    return _parts(_at(row.scenario, fidelity), _Load.of([row]))


def predicted(row: Row, fidelity: str) -> float:
    """How long a measured run takes at a fidelity [s] (F12.1)."""
    return float(total(parts(row, fidelity))[0])


def predictions(rows: Sequence[Row], fidelity: str) -> Array:
    """`predicted` of many rows [s]; those of one setting are timed together."""
    found = np.empty(len(rows))
    for places, made_of in by_setting(rows, partial(_at, fidelity=fidelity)):
        found[places] = total(made_of)
    return found


def by_setting(
    rows: Sequence[Row], settled: Callable[[Scenario], Scenario]
) -> list[tuple[list[int], list[Part]]]:
    """What rows consist of in the scenarios that `settled` makes of theirs, one setting at a time.

    Places of the rows of a setting, and their parts, an element each.
    """
    settings: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        settings.setdefault(_setting(row), []).append(place)
    found = []
    for places in settings.values():
        alike = [rows[place] for place in places]
        found.append((places, _parts(settled(alike[0].scenario), _Load.of(alike))))
    return found


def _setting(row: Row) -> Hashable:
    """What rows that are timed together have in common: all but lengths and counts."""
    s = row.scenario
    return (
        id(s.model), id(s.chip), s.n_chips, id(s.weight_format), id(s.kv_format),
        id(s.compute_format), s.tensor_parallel, s.attention_dp, s.expert_parallel, s.pipeline,
        s.engine, row.ride_along,
    )  # fmt: skip


def _at(s: Scenario, fidelity: str) -> Scenario:
    asked = replace(s, fidelity=fidelity)
    if fidelity != "calibrated":
        # What a bound leaves out, whatever a scenario's defaults are.
        asked = replace(asked, mfu=1.0, hop_latency=1e-6)
    return known.least(asked)


def total(found: Sequence[Part]) -> Array:
    """All parts together [s]."""
    return np.asarray(sum(part.times * part.step.total for part in found))


def _parts(s: Scenario, load: _Load) -> list[Part]:
    found = []
    kernels = 0.0 if s.fidelity == "bound" else s.model.kernels * float(Layout.of(s).rounds)
    if load.decode_steps.any():
        # The bound counts all chips at work; a token of one sequence passes the stages in turn.
        stages = s.pipeline if s.fidelity == "bound" else 1
        step = decode.step_time(s, batch=load.batch, context=load.context)
        found.append(Part(load.decode_steps * stages, step, kernels=kernels))
    if load.prompts.any():
        if load.ride_along:
            times = load.prompts / prefill.concurrency(s)
            found.append(Part(times, _riding(s, load.prompt), prompt=True))
        else:
            read = _together(s, load.prompt, load.together)
            found.append(Part(load.prompts, read, prompt=True, kernels=kernels))
    return found


def _riding(s: Scenario, prompt: Array) -> StepTime:
    """A prompt read beside decoding: its FLOPs and the bytes of its messages."""
    step = prefill.prompt_time(_unwaiting(s), prompt, known=0)
    none = np.zeros(())
    beside = tuple(replace(operator, moved=none) for operator in step.work.operators)
    return replace(step, work=Work(beside, step.work.transfers, none))


def _unwaiting(s: Scenario) -> Scenario:
    """Links that only take what is sent."""
    return replace(s, hop_latency=0.0, reduce_latency=0.0)


def _together(s: Scenario, prompt: Array, prompts: Array) -> StepTime:
    """So many prompts that share one read of the weights and each wait.

    Of routed experts those that one prompt wants are read.
    """
    step = prefill.prompt_time(s, prompt, known=0)
    more = prompts - 1
    sent = prefill.prompt_time(_unwaiting(s), prompt, known=0).work.transfers
    # At the bound weights and cache are one operator.
    own = s.model.kv_bytes(prompt, s.kv_format) / s.n_chips if s.fidelity == "bound" else 0.0
    operators = tuple(
        replace(
            operator,
            moved=operator.moved + more * (operator.moved if operator.cache else own),
            done=operator.done * prompts,
        )
        for operator in step.work.operators
    )
    transfers = {
        name: time + more * sent[name] if name in sent else time
        for name, time in step.work.transfers.items()
    }
    return replace(step, work=replace(step.work, operators=operators, transfers=transfers))
