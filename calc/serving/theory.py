"""What closed forms say of a run, beside what the run gave: each holds the other up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calc import decode, metrics, paging, prefill
from calc.serving import queueing
from calc.serving.pool import Memory
from calc.serving.run import Run
from calc.serving.task import State
from calc.serving.window import steady


@dataclass(frozen=True)
class Pair:
    """One quantity in theory and in a run; nan where there is none."""

    theory: float
    run: float


def little(run: Run) -> Pair:
    """Requests in the system on average: rate times time (F8.3), and counted [request]."""
    times, present = run.intervals.running()
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    if not span:
        return Pair(math.nan, math.nan)
    there = float((np.diff(times) * present[:-1]).sum()) / span
    # Whoever came is there until it ends, answered or not.
    stayed = (run.ended - run.traffic.arrival)[np.isfinite(run.ended)]
    mean = float(stayed.mean()) if stayed.size else math.nan
    return Pair(queueing.in_system(len(stayed) / span, mean), there)


def closed_loop(run: Run) -> Pair:
    """Requests each second of clients that wait (F8.19), and as they ended [1/s]."""
    loop = run.traffic.loop
    assert loop
    window = steady(run)
    stayed = run.e2e[window.came(run) & np.isfinite(run.e2e)]
    mean = float(stayed.mean()) if stayed.size else math.nan
    theory = queueing.closed_rate(loop.clients, mean, float(loop.pauses.mean()))
    return Pair(theory, window.ended(run) / window.time if window.time > 0 else math.nan)


def static_slots(run: Run, slots: int) -> Pair:
    """Share of slots that make tokens when a batch leaves together (F8.6).

    The samples of a request are equally long and count as one; a replica has its share of requests.
    """
    each = -(-len(run.traffic) // len(run.names))
    batch = max(min(slots // run.traffic.samples, each), 1)
    return Pair(queueing.static_efficiency(run.traffic.output, batch), run.slot_efficiency)


def prompt_wait(run: Run, readers: int) -> Pair:
    """Mean wait for a replica that only reads prompts [s].

    F8.4 over the lengths and at the rate that came, for independent arrivals; nan where there are
    several such replicas, or more work than one can do.
    """
    reading = run.intervals.of(State.PREFILL)
    times = reading.end - reading.start
    waited = (run.admitted - run.traffic.arrival)[np.isfinite(run.admitted)]
    simulated = float(waited.mean()) if waited.size else math.nan
    rate = run.traffic.realised_rate
    busy = rate * float(times.mean()) if times.size else math.nan
    if readers != 1 or not busy < 1:
        return Pair(math.nan, simulated)
    return Pair(rate * float((times**2).mean()) / (2 * (1 - busy)), simulated)


def retired(run: Run) -> Pair:
    """Cached tokens that leave in a decode step, B (P + G) / G (F8.7) [token].

    The samples of a request share their prompt, and finish together.
    """
    traffic, steps = run.traffic, sum(run.steps.values())
    prompt, output = float(traffic.prompt.mean()), float(traffic.output.mean())
    requests = run.mean_batch / traffic.samples
    # Beside a shared prompt each sample has an answer of its own.
    apart = (traffic.samples - 1) * requests
    left = (traffic.prompt + traffic.samples * traffic.output)[run.finished].sum()
    simulated = float(left) / steps if steps else math.nan
    return Pair(metrics.kv_tokens_retired(requests, prompt, output) + apart, simulated)


def servers(run: Run) -> Pair:
    """Replicas that read to those that decode, when neither waits (F8.8), and as they were busy.

    The time to read a prompt is that of the run, in which prefixes may have been found.
    """
    s, traffic = run.scenario, run.traffic
    read = run.intervals.of(State.PREFILL)
    if not read.request.size or not run.steps:
        return Pair(math.nan, math.nan)
    context = queueing.mean_context(float(traffic.prompt.mean()), traffic.output)
    reading = float((read.end - read.start).mean())
    requests = run.mean_batch / traffic.samples
    step = float(decode.step_time(s, batch=run.mean_batch, context=context).total)
    theory = prefill.servers_ratio(reading, requests, step, float(traffic.output.mean()))
    decoding = 0.0
    for replica in range(len(run.names)):
        times, present = run.intervals.of(State.DECODE).on(replica).running()
        decoding += float(np.diff(times)[present[:-1] > 0].sum()) if len(times) else 0.0
    spent = float((read.end - read.start).sum())
    return Pair(theory, spent / decoding if decoding else math.nan)


def filled(run: Run, memory: Memory) -> Pair:
    """Share of what is handed out that holds tokens (F2.9, F8.11)."""
    live = queueing.mean_context(float(run.traffic.prompt.mean()), run.traffic.output)
    theory = (
        float(paging.paged_utilisation(live, run.scenario.kv_block))
        if math.isinf(memory.longest)
        else live / memory.longest
    )
    used = sum(use.mean(use.used) for use in run.memory)
    tokens = sum(use.mean(use.filled) for use in run.memory)
    return Pair(theory, tokens / used if used > 0 else math.nan)


def beside(
    runs: Mapping[str, Run], shown: str, memory: Memory, slots: int, *, independent: bool
) -> dict[str, Pair]:
    """All that can be said of the runs of a setup, of the shown one where any would do.

    `independent` says whether requests come as a Poisson process, which waits are derived for.
    """
    pairs = {"little": little(runs[shown])}
    if runs[shown].traffic.loop:
        pairs["closed"] = closed_loop(runs[shown])
    if "static" in runs:
        pairs["static"] = static_slots(runs["static"], slots)
    if "disaggregated" in runs:
        apart = runs["disaggregated"]
        if independent:
            pairs["wait"] = prompt_wait(apart, apart.readers)
        pairs["servers"] = servers(apart)
    pairs["retired"] = retired(runs[shown])
    pairs["filled"] = filled(runs[shown], memory)
    return pairs
