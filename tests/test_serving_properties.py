"""What holds of every run, whatever the traffic, the policy and the memory."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import scenario, with_room
from strategies import scenarios

from calc import Scenario, decode, serving
from calc.serving import Fate, ServiceClass, State, deployment
from calc.serving.batch import Batch
from calc.serving.chains import Hashes
from calc.serving.pool import Footprint
from calc.serving.prefix import SpareBlocks
from calc.serving.replica import Replica
from calc.serving.task import Task

COUNTS = st.integers(1, 200)


@st.composite
def lengths(draw: st.DrawFn) -> Any:
    mean = draw(COUNTS)
    return draw(
        st.sampled_from([
            serving.Constant(mean), serving.Lognormal(mean), serving.Exponential(mean),
            serving.Uniform(1, mean), serving.Mix((1, mean)),
        ])
    )  # fmt: skip


# Of all priorities, patient or not.
CLASSES = (
    ServiceClass(name="chat", share=0.4, prompt=40, output=20, priority=2, timeout=30.0),
    ServiceClass(name="tool", share=0.3, prompt=90, output=5, priority=1, patience=0.3),
    ServiceClass(name="batch", share=0.3, prompt=60, output=60),
)


@st.composite
def traffics(draw: st.DrawFn) -> serving.Traffic:
    if draw(st.integers(0, 4)) == 0:
        return serving.closed_loop(
            draw(st.integers(1, 60)), draw(st.integers(1, 12)), draw(lengths()), draw(lengths()),
            pause=draw(st.sampled_from([0.0, 0.2])), system=draw(st.sampled_from([0, 20])),
            classes=draw(st.sampled_from([(), CLASSES])),
        )  # fmt: skip
    rate = draw(st.floats(0.1, 1000))
    arrivals: Any = draw(
        st.sampled_from([
            serving.Poisson(rate), serving.Bursty(rate, 3.0), serving.Even(rate), serving.AtOnce()
        ])
    )  # fmt: skip
    classes = draw(st.sampled_from([(), (), CLASSES]))
    found = serving.generate(
        draw(st.integers(1, 60)), arrivals, draw(lengths()), draw(lengths()),
        seed=draw(st.integers(0, 100)),
        system=draw(st.sampled_from([0, 0, 7, 100])),
        samples=draw(st.sampled_from([1, 1, 2, 5])),
        turns=draw(st.sampled_from([1, 1, 3])),
        think=0.5,
        classes=classes,
    )  # fmt: skip
    if draw(st.booleans()):
        return found
    # Blocks of 24 tokens, the first of which requests share.
    shared = draw(st.integers(0, 4))
    blocks = [range(-(-prompt // 24)) for prompt in found.prompt.tolist()]
    ids = (
        tuple(block if block < shared else 1000 * (row + 1) + block for block in each)
        for row, each in enumerate(blocks)
    )
    return replace(found, hashes=Hashes(24, tuple(ids)))


FAILING = serving.Failures(0.2, 0.1)
LOSING = serving.Failures(0.2, 0.1, retried=False, seed=3)
SCALING = serving.Autoscaler(1, 2.0, cold_start=0.05, hold=0.1, interval=0.03)
# All at once, so that nobody is there for a while.
OUT = serving.Outages(((0, 0.1, 0.3), (1, 0.1, 0.2), (2, 0.11, 0.5)))
BATCHINGS: list[Any] = [
    serving.Static(6),
    serving.Dynamic(5, 0.02),
    serving.Continuous(1),
    serving.Continuous(8, budget=300),
    serving.ChunkedPrefill(8, budget=32),
]
DEPLOYMENTS: list[Any] = [
    *BATCHINGS,
    serving.Colocated(serving.Continuous(8), 3, affinity=False),
    serving.Colocated(serving.ChunkedPrefill(8, budget=64), 2),
    serving.Colocated(serving.Continuous(4), 3, routing=serving.LeastTokens()),
    serving.Colocated(
        serving.ChunkedPrefill(8, budget=32, groups=2), 2, routing=serving.LeastRequests()
    ),
    serving.Colocated(serving.Static(5), 2, False, serving.PrefixAware()),
    serving.Disaggregated(2, 1, 1e9, batching=serving.Continuous(8)),
    serving.Disaggregated(1, 2, 1e8, streaming=False, batching=serving.Continuous(8)),
    *(
        serving.Colocated(batching, 3, affinity, routing, staffing)
        for batching, affinity, routing, staffing in (
            (serving.Continuous(4), True, serving.InTurn(), (FAILING,)),
            (serving.ChunkedPrefill(8, budget=32), False, serving.LeastTokens(), (LOSING,)),
            (serving.Static(3), False, serving.LeastRequests(), (SCALING,)),
            (serving.Continuous(4, budget=100), True, serving.PrefixAware(), (FAILING, SCALING)),
            (serving.Dynamic(3, 0.02), True, serving.LeastTokens(), (OUT,)),
        )
    ),
    serving.Disaggregated(1, 2, 1e9, batching=serving.Continuous(8), staffing=(FAILING,)),
]
RELIEFS = [serving.Reject(), serving.Recompute(), serving.Swap(1e9)]
MEMORIES = [serving.Paged(), serving.Paged(), serving.Contiguous(250)]
PREFIXES = [
    None,
    None,
    serving.SpareMemory(),
    serving.HostMemory(2e7, 1e9),
    serving.HostAndDisk(serving.HostMemory(1e7, 1e9), serving.HostMemory(4e7, 1e8)),
]


class Watch:
    """Replicas as they run, asked after every event."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[Replica] = []
        watch = self

        class Watched(Replica):
            def run(self) -> Any:
                watch.seen.append(self)
                before = 0.0
                for event in super().run():
                    assert self.due >= self.now >= before
                    before = self.now
                    watch.check(self)
                    yield event

        monkeypatch.setattr(deployment, "Replica", Watched)

    def check(self, replica: Replica) -> None:
        pool, batch = replica.store.pool, replica.batch
        assert 0 <= pool.used <= pool.total
        assert pool.references >= 0
        assert replica.occupied <= replica.batching.slots
        contexts = [task.prompt + task.output - (task.end - batch.step) - 1 for task in batch.tasks]
        assert_array_equal(batch.contexts(), contexts)
        held = sum(
            replica.store.footprint.blocks(task.prompt, context, task.width) - task.hit
            for task, context in zip(batch.tasks, contexts, strict=True)
        ) + sum(
            replica.store.footprint.blocks(task.prompt, task.next_context, task.width) - task.hit
            for task in replica.reading
        )
        kept = replica.store.prefixes
        if isinstance(kept, SpareBlocks):
            trie = kept.trie
            assert trie.held == sum(edge.held for edge in trie._edges.values())
            assert trie.cached == sum(edge.length for edge in trie._edges.values())
            assert trie.cached - trie.held <= pool.free
            held += trie.held
        assert pool.used == held

    def at_the_end(self) -> None:
        for replica in self.seen:
            assert replica.store.pool.used == replica.store.pool.references == 0
            assert not replica.batch.tasks and not len(replica.batch)
            assert not replica.queue and not replica.reading
            assert replica.store.prefixes.held == 0


@settings(max_examples=250)
@given(
    traffics(), st.sampled_from(DEPLOYMENTS), st.sampled_from(RELIEFS), st.sampled_from(MEMORIES),
    st.sampled_from(PREFIXES), st.integers(5, 120), st.sampled_from([1, 16]),
)  # fmt: skip
def test_conservation(
    traffic: serving.Traffic,
    policy: Any,
    relief: Any,
    kept: Any,
    prefix: Any,
    blocks: int,
    block: int,
) -> None:
    s = with_room(
        scenario("llama-3-8b", n_chips=1, kv_block=block), blocks * (5 if block == 1 else 1)
    )
    with pytest.MonkeyPatch.context() as patch:
        watch = Watch(patch)
        if isinstance(prefix, serving.SpareMemory) and isinstance(kept, serving.Contiguous):
            kept = serving.Paged()
        run = serving.simulate(s, traffic, policy, memory=kept, relief=relief, prefix=prefix)
        watch.at_the_end()
    traffic = run.traffic
    assert (np.diff(traffic.arrival) >= 0).all()
    # Every request ends exactly once.
    assert Fate.UNFINISHED not in run.fate
    of = traffic.classified
    stayed = run.ended - traffic.arrival
    for fate, limit in (
        (Fate.CANCELLED, lambda one: one.gives_up), (Fate.TIMED_OUT, lambda one: one.ends)
    ):  # fmt: skip
        gone = run.fate == fate
        assert not gone.any() or (of and (stayed >= of.each(limit) - 1e-9)[gone].all())
    assert np.isfinite(run.ended).all()
    done = run.finished
    assert_array_equal(run.produced[done], traffic.output[done] * traffic.samples)
    assert (run.produced[~done] < traffic.output[~done] * traffic.samples).all()
    assert (run.admitted[done] >= traffic.arrival[done]).all()
    assert (run.first[done] > run.admitted[done]).all()
    assert (run.ended[done] >= run.first[done]).all()
    # What came is there until it ends (Little).
    pair = serving.theory.little(run)
    assert math.isnan(pair.run) or math.isclose(pair.run, pair.theory, rel_tol=1e-6)
    if isinstance(relief, serving.Reject):
        assert not run.preemptions.any()
    # Intervals of a request follow each other without a gap, from its arrival to its end.
    order = np.lexsort((run.intervals.start, run.intervals.request))
    request = run.intervals.request[order]
    start, end = run.intervals.start[order], run.intervals.end[order]
    assert (end >= start).all()
    same = request[1:] == request[:-1]
    assert_allclose(start[1:][same], end[:-1][same], rtol=0, atol=1e-12)
    total = np.bincount(request, end - start, minlength=len(traffic))
    assert_allclose(total, run.ended - traffic.arrival, rtol=0, atol=1e-9)
    for memory in run.memory:
        assert (np.diff(memory.time) >= 0).all()
        assert (memory.filled <= memory.used + 1e-9).all()
        assert (memory.used + memory.kept <= memory.total).all()
        assert memory.peak <= memory.total


@settings(max_examples=30)
@given(traffics(), st.sampled_from(DEPLOYMENTS), st.sampled_from(PREFIXES))
def test_the_same_arguments_give_the_same_run(
    traffic: serving.Traffic, policy: Any, prefix: Any
) -> None:
    s = with_room(scenario("llama-3-8b", n_chips=1), 60)
    one, two = (serving.simulate(s, traffic, policy, prefix=prefix) for _ in range(2))
    assert_array_equal(one.ended, two.ended)
    assert_array_equal(one.first, two.first)
    assert one.steps == two.steps


@given(traffics(), st.integers(0, 5))
def test_the_same_seed_gives_the_same_traffic(traffic: serving.Traffic, seed: int) -> None:
    def draw(rate: float) -> serving.Traffic:
        return serving.generate(
            50, serving.Poisson(rate), serving.Lognormal(100), serving.Exponential(50), seed=seed
        )

    one, two, slow = draw(2.0), draw(2.0), draw(1.0)
    assert_array_equal(one.arrival, two.arrival)
    assert_array_equal(one.prompt, slow.prompt)
    assert_allclose(slow.arrival, 2 * one.arrival)
    assert_allclose(one.at_rate(1.0).arrival, slow.arrival)


@settings(max_examples=100)
@given(scenarios() | scenarios(operators=True), st.integers(1, 200), st.integers(0, 5000))
def test_equal_contexts_take_the_time_of_a_step(s: Scenario, batch: int, context: int) -> None:
    assume(math.isfinite(float(decode.step_time(s).total)))
    clock = serving.Clock(s, 5000, 200)
    time = clock.step(np.full(batch, context))
    # Layers that are split by batch in different ways have no common factor.
    close = 1e-2 if s.kv_sharding == "batch" else 1e-9
    assert_allclose(time, decode.step_time(s, batch=batch, context=context).total, rtol=close)


@settings(max_examples=100)
@given(
    scenarios() | scenarios(operators=True),
    st.lists(st.tuples(st.integers(1, 900), st.integers(1, 3)), min_size=1, max_size=8),
    st.integers(1, 90),
)
def test_many_steps_take_the_sum_of_each(
    s: Scenario, sequences: list[tuple[int, int]], steps: int
) -> None:
    """For any cache and layout, with work and messages that hide behind each other."""
    assume(math.isfinite(float(decode.step_time(s).total)))
    # Its work grows within a jump, which the search for the longer of both takes for granted.
    assume(not any("chunk" in block.attention.label for block in s.model.blocks))
    clock = serving.Clock(s, 1000, 32)
    room = Footprint(16, 1.0, 10**9, np.zeros(1001), np.zeros(1001, int), np.zeros(1001, int))
    batch = Batch(clock, room)
    for row, (prompt, width) in enumerate(sequences):
        batch.join(Task(row, 0.0, prompt, 100, width, produced=1))
    contexts = np.repeat(*np.array(sequences).T)
    each = [clock.step(contexts + step) for step in range(steps)]
    times = np.cumsum(each)
    assert_allclose([batch.elapsed(k + 1) for k in range(steps)], times, rtol=1e-9)
    # Between two ends of steps, so that rounding decides nothing.
    for asked in (times[0] / 2, times[-1] - each[-1] / 2, times[len(times) // 2] - each[0] / 4):
        found = batch.steps_until(float(asked), steps)
        assert found == np.searchsorted(times, asked) + 1


def test_states_of_a_request() -> None:
    traffic = serving.generate(
        200, serving.Poisson(2.0), serving.Lognormal(500), serving.Lognormal(200), seed=3
    )
    run = serving.simulate(scenario(), traffic, serving.Disaggregated(bandwidth=1e9))
    found = {State(state) for state in run.intervals.state.tolist()}
    assert found >= {State.WAITING, State.PREFILL, State.DECODE, State.TRANSFER}
    assert run.names == ("prefill 1", "decode 1")
    assert set(run.intervals.on(0).state.tolist()) == {State.WAITING, State.PREFILL, State.TRANSFER}
    assert set(run.intervals.on(1).state.tolist()) <= {State.WAITING, State.DECODE}
    assert set(run.intervals.upto(3).request.tolist()) == {0, 1, 2}
    times, counts = run.intervals.running()
    assert counts.min() == 0
    assert counts[-1] == 0
    # Little's law: requests that are there on average are their rate times their stay.
    mean = float((counts[:-1] * np.diff(times)).sum() / run.duration)
    law = serving.queueing.in_system(len(traffic) / run.duration, float(run.e2e.mean()))
    assert_allclose(mean, law, rtol=1e-9)


def test_progress_and_stop() -> None:
    traffic = serving.generate(
        2000, serving.Poisson(3.0), serving.Constant(500), serving.Constant(50)
    )
    shares: list[float] = []
    run = serving.simulate(scenario(), traffic, serving.Continuous(), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert not run.stopped
    halted = serving.simulate(
        scenario(), traffic, serving.Continuous(), progress=lambda share: share < 0.5
    )
    assert halted.stopped
    assert 0.5 <= halted.finished.mean() < 0.7
    figures = serving.summary(halted)
    assert figures.unfinished == (halted.fate == Fate.UNFINISHED).sum()
    assert math.isinf(figures.e2e.percentiles[99])


def test_a_run_ends_after_so_many_events_and_says_so() -> None:
    traffic = serving.generate(300, serving.AtOnce(), serving.Constant(500), serving.Lognormal(50))
    short = serving.simulate(scenario(), traffic, serving.Continuous(), most_events=600)
    assert short.stopped and 0 < short.finished.sum() < 300
    ended = int(short.finished.sum())
    assert short.notices == (f"Stopped after 600 events, when {ended} of 300 requests had ended.",)
    whole = serving.simulate(scenario(), traffic, serving.Continuous(), most_events=10**6)
    assert not whole.stopped and not whole.notices
    assert whole.finished.all()


def test_a_sweep_yields_as_it_goes() -> None:
    traffic = serving.generate(
        300, serving.Poisson(1.0), serving.Lognormal(1000), serving.Lognormal(300)
    )
    sweep = serving.load_sweep(scenario(), traffic, serving.Continuous(), [0.5, 4.0, 50.0])
    first = next(sweep)
    assert first.rate == 0.5
    worst = [first, *sweep]
    figures = [serving.summary(point.run) for point in worst]
    waits = [each.ttft.percentiles[99] for each in figures]
    assert waits == sorted(waits)
    assert serving.knee([point.rate for point in worst], [each.good_share for each in figures]) < 50
    assert math.isnan(serving.knee([1, 2], [0, 0]))


def test_replicas() -> None:
    traffic = serving.generate(10, serving.AtOnce(), serving.Constant(10), serving.Constant(5))
    run = serving.simulate(scenario(), traffic, serving.Colocated(serving.Continuous(), replicas=3))
    assert [memory.name for memory in run.memory] == list(run.names)
    assert run.names == ("replica 1", "replica 2", "replica 3")
    assert run.chips == 48
    assert sorted(set(run.replica.tolist())) == [0, 1, 2]


@settings(max_examples=80)
@given(
    scenarios() | scenarios(operators=True),
    st.sampled_from(DEPLOYMENTS),
    st.sampled_from(PREFIXES),
    st.integers(0, 20),
)
def test_any_scenario_is_served_or_refused_in_words(
    s: Scenario, policy: Any, prefix: Any, seed: int
) -> None:
    traffic = serving.generate(
        30, serving.Bursty(5.0), serving.Lognormal(700), serving.Lognormal(100), seed=seed,
        system=50,
    )  # fmt: skip
    try:
        run = serving.simulate(s, traffic, policy, prefix=prefix)
    except serving.ServingError as error:
        assert str(error).endswith(".")
        return
    figures = serving.summary(run)
    assert figures.finished + figures.rejected + figures.lost == 30
    assert not figures.mfu > 1
    assert not figures.mbu > 1
