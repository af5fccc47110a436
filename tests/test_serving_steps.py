"""Jumping to the next event gives what stepping token by token gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import constant, scenario, with_room

from calc import Scenario, decode, memory, prefill, serving, speculative
from calc.serving import Fate
from calc.serving.policies import Batching
from calc.serving.pool import Relief
from presets import models


@dataclass
class Seq:
    """A request in the slow simulation."""

    row: int
    prompt: int
    output: int
    width: int
    made: int = 0
    swapped: bool = False
    read: int = 0
    first: float = math.nan

    @property
    def kept(self) -> int:
        return self.prompt + self.made - 1

    @property
    def to_read(self) -> int:
        return self.prompt + self.width * self.made


@dataclass
class Slow:
    """One replica, one token at a time, with nothing remembered from step to step."""

    s: Scenario
    traffic: serving.Traffic
    policy: Batching
    kind: str
    relief: str
    bandwidth: float
    blocks: int
    longest: int
    now: float = 0.0
    queue: list[Seq] = field(default_factory=list)
    reading: list[Seq] = field(default_factory=list)
    running: list[Seq] = field(default_factory=list)
    waiting_to_leave: list[Seq] = field(default_factory=list)

    def size(self, q: Seq, kept: int) -> int:
        b = self.s.kv_block
        if self.kind == "contiguous":
            return q.width * -(-self.longest // b)
        full = q.prompt // b
        return full + q.width * (-(-kept // b) - full)

    def used(self, grown: int = 0) -> int:
        held = sum(self.size(q, q.kept + grown) for q in self.running)
        return held + sum(self.size(q, q.prompt + q.made) for q in self.reading)

    def step_time(self) -> float:
        s = self.s
        slots = self.running + self.waiting_to_leave
        size = sum(q.width for q in slots)
        read = sum(q.width * float(s.model.kv_bytes_read(q.kept, s.kv_format)) for q in slots) / (
            s.n_chips * s.chip.bandwidth
        )
        return float(decode.step_time(s, batch=size, context=0).total) + read

    def chunk_time(self, parts: list[tuple[int, int]]) -> float:
        s, size = self.s, sum(q.width for q in self.running)
        if not size:
            return one_pass(s, parts)
        beside = replace(s, batch=size, context=1)
        plain = float(prefill.chunked_step(beside, 0, 0).total)
        whole = sum(c for _, c in parts)
        together = prefill.chunked_step(beside, whole, 0)
        linear = float(together.total) - plain - chunk_attention(together)
        return linear + sum(chunk_attention(prefill.chunked_step(beside, c, a)) for a, c in parts)

    def run(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[int], list[int]]:
        t, n = self.traffic, len(self.traffic)
        self.ended, self.fate = np.full(n, math.nan), [0] * n
        self.first, self.put_out = np.full(n, math.nan), [0] * n
        self.coming = []
        for i in range(n):
            q = Seq(i, int(t.prompt[i]), int(t.output[i]), t.samples)
            last = q.prompt + q.output - 1
            if self.size(q, last) > self.blocks or (
                self.kind == "contiguous" and last > self.longest
            ):
                self.end(q, Fate.REJECTED, float(t.arrival[i]))
            else:
                self.coming.append(q)
        while self.coming or self.queue or self.reading or self.running or self.waiting_to_leave:
            self.turn()
        return self.first, self.ended, self.fate, self.put_out

    def end(self, q: Seq, fate: Fate, now: float) -> None:
        self.ended[q.row], self.fate[q.row] = now, int(fate)

    def upcoming(self) -> float:
        return float(self.traffic.arrival[self.coming[0].row]) if self.coming else math.inf

    def turn(self) -> None:
        while self.upcoming() <= self.now:
            self.queue.append(self.coming.pop(0))
        self.start()
        if self.reading:
            self.read()
        elif self.running:
            if self.grow():
                self.now += self.step_time()
                self.one_token()
        elif self.waiting_to_leave:
            for q in self.waiting_to_leave:
                self.end(q, Fate.FINISHED, self.now)
            self.waiting_to_leave = []
        else:
            wake = self.upcoming()
            if isinstance(self.policy, serving.Dynamic) and self.queue:
                oldest = float(self.traffic.arrival[self.queue[0].row])
                wake = min(wake, oldest + self.policy.window)
            if math.isfinite(wake):
                self.now = max(self.now, wake)

    def quota(self) -> int:
        p = self.policy
        occupied = sum(q.width for q in self.running + self.reading + self.waiting_to_leave)
        waiting = sum(q.width for q in self.queue)
        if isinstance(p, serving.Static):
            ready = waiting >= p.slots or not self.coming
            return p.slots if ready and not occupied else 0
        if isinstance(p, serving.Dynamic):
            late = bool(self.queue) and self.now >= (
                float(self.traffic.arrival[self.queue[0].row]) + p.window
            )
            return p.slots if (late or waiting >= p.slots) and not occupied else 0
        return p.slots - occupied

    def start(self) -> None:
        quota = self.quota()
        while self.queue and self.queue[0].width <= quota:
            q = self.queue[0]
            if isinstance(self.policy, serving.ChunkedPrefill):
                left = self.policy.budget - sum(r.width for r in self.running)
                if sum(r.to_read - r.read for r in self.reading) >= left:
                    return
            elif isinstance(self.policy, serving.Continuous) and self.reading:
                unread = sum(r.to_read for r in self.reading) + q.to_read
                if unread > self.policy.budget:
                    return
            busy = self.running or self.reading or self.waiting_to_leave
            spare = 0.01 * self.blocks if busy else 0
            need = self.size(q, q.kept if q.swapped else q.prompt + q.made)
            grown = self.used(grown=1) - self.used() + sum(map(self.first_growth, self.reading))
            if self.used() + need + self.first_growth(q) + max(spare, grown) > self.blocks:
                if self.relief != "reject":
                    return
                self.queue.pop(0)
                self.end(q, Fate.REJECTED, self.now)
                continue
            self.queue.pop(0)
            quota -= q.width
            if q.swapped:
                self.now += need * self.block_bytes() / self.bandwidth
                q.swapped = False
                self.running.append(q)
            else:
                self.reading.append(q)

    def first_growth(self, q: Seq) -> int:
        kept = q.kept if q.swapped else q.prompt + q.made
        return self.size(q, min(kept + 1, q.prompt + q.output - 1)) - self.size(q, kept)

    def block_bytes(self) -> float:
        return float(memory.kv_per_sequence(self.s, self.s.kv_block))

    def read(self) -> None:
        if isinstance(self.policy, serving.ChunkedPrefill):
            if self.running and not self.grow():
                return
            left = self.policy.budget - sum(q.width for q in self.running)
            parts, done = [], []
            for q in self.reading:
                c = min(left, q.to_read - q.read)
                parts.append((q.read, c))
                q.read += c
                left -= c
                if q.read == q.to_read:
                    done.append(q)
                if not left:
                    break
            time = self.chunk_time(parts)
            if self.running:
                self.now += self.step_time()
            self.now += time
            before = list(self.running)
            self.token_after_prompt(done)
            self.one_token(before)
            return
        one = not getattr(self.policy, "budget", 0)
        done = self.reading[:1] if one else list(self.reading)
        self.now += one_pass(self.s, [(0, q.prompt + q.made) for q in done])
        for q in done:
            if q.made:
                branch = float(prefill.prompt_time(self.s, q.prompt + q.made, q.prompt).total)
                self.now += (q.width - 1) * branch
        self.token_after_prompt(done)

    def token_after_prompt(self, done: list[Seq]) -> None:
        for q in done:
            self.reading.remove(q)
            q.made += 1
            if math.isnan(self.first[q.row]):
                self.first[q.row] = self.now
            self.running.append(q)
            if q.made == q.output:
                self.leave(q)

    def leave(self, q: Seq) -> None:
        self.running.remove(q)
        if self.policy.together:
            self.waiting_to_leave.append(q)
        else:
            self.end(q, Fate.FINISHED, self.now)

    def one_token(self, only: list[Seq] | None = None) -> None:
        for q in list(self.running if only is None else only):
            q.made += 1
            if q.made == q.output:
                self.leave(q)

    def grow(self) -> bool:
        if self.used(grown=1) <= self.blocks:
            return True
        q = max(self.running + self.reading, key=lambda q: q.row)
        if q in self.running:
            self.running.remove(q)
            if self.relief == "swap":
                q.swapped = True
                self.now += self.size(q, q.kept) * self.block_bytes() / self.bandwidth
        else:
            self.reading.remove(q)
        q.read = 0
        if self.relief == "reject":
            self.end(q, Fate.REJECTED, self.now)
        else:
            self.put_out[q.row] += 1
            self.queue.insert(0, q)
        return False


def one_pass(s: Scenario, parts: list[tuple[int, int]]) -> float:
    """Time to read parts of prompts in one pass, at the bound."""
    flops = sum(float(prefill.flops(s.model, a + c, a)) for a, c in parts)
    moved = float(s.model.bytes_read(sum(c for _, c in parts), s.stored))
    moved += sum(float(s.model.kv_bytes(a + c, s.kv_format)) for a, c in parts)
    rate = s.chip.peak(s.compute_format) * s.constants.mfu
    return max(flops / rate, moved / s.chip.bandwidth) / s.n_chips


def chunk_attention(step: decode.StepTime) -> float:
    """Time of the chunk's attention in a step."""
    return sum(float(at.time) for at in step.work.operators if at.name == "chunk attention")


@st.composite
def small_traffic(draw: st.DrawFn) -> serving.Traffic:
    count = draw(st.integers(1, 14))
    gaps = draw(st.lists(st.floats(0, 0.2), min_size=count, max_size=count))
    lengths = st.lists(st.integers(1, 60), min_size=count, max_size=count)
    return serving.Traffic(
        np.cumsum(gaps), np.array(draw(lengths)), np.array(draw(lengths)), 1.0,
        np.arange(count), samples=draw(st.sampled_from([1, 1, 1, 3])),
    )  # fmt: skip


POLICIES: list[Batching] = [
    serving.Static(4),
    serving.Dynamic(4, 0.05),
    serving.Continuous(6),
    serving.Continuous(6, budget=50),
    serving.ChunkedPrefill(6, budget=16),
]
RELIEFS: dict[str, Relief] = {
    "reject": serving.Reject(), "recompute": serving.Recompute(), "swap": serving.Swap(2e9)
}  # fmt: skip


@settings(max_examples=150)
@given(
    small_traffic(),
    st.sampled_from(POLICIES),
    st.sampled_from(list(RELIEFS)),
    st.sampled_from(["paged", "paged", "contiguous"]),
    st.integers(4, 60),
    st.sampled_from(["llama-3-8b", "gemma-3-27b"]),
    st.sampled_from([1, 4, 16]),
)
def test_jumping_equals_stepping(
    traffic: serving.Traffic,
    policy: Batching,
    relief: str,
    kind: str,
    blocks: int,
    model: str,
    block: int,
) -> None:
    """Event times, fates and preemptions."""
    s = with_room(scenario(model, n_chips=1, kv_block=block), blocks)
    longest = 70
    kept = serving.Contiguous(longest) if kind == "contiguous" else serving.Paged()
    run = serving.simulate(s, traffic, policy, memory=kept, relief=RELIEFS[relief])
    slow = Slow(s, traffic, policy, kind, relief, 2e9, blocks, longest)
    first, ended, fate, put_out = slow.run()
    assert run.fate.tolist() == fate
    assert run.preemptions.tolist() == put_out
    assert_allclose(run.first, first, rtol=0, atol=1e-9)
    assert_allclose(run.ended, ended, rtol=0, atol=1e-9)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_jumping_equals_stepping_on_longer_answers(policy: Batching) -> None:
    """Windows of 1,024 tokens that fill up on the way, where a step's time bends."""
    traffic = serving.generate(
        12, serving.Poisson(4.0), serving.Uniform(900, 1100), serving.Uniform(1, 300)
    )
    s = with_room(scenario("gemma-3-27b", n_chips=2), 2000)
    run = serving.simulate(s, traffic, policy)
    first, ended, _, _ = Slow(s, traffic, policy, "paged", "recompute", 0.0, 10**9, 0).run()
    assert_allclose(run.first, first, rtol=0, atol=1e-9)
    assert_allclose(run.ended, ended, rtol=0, atol=1e-9)
    assert run.finished.all()
    assert run.memory[0].peak < 2000


def test_a_served_batch_speculates() -> None:
    """F8.26: one sequence takes a check for each so many tokens; in a batch a check costs more."""
    s = scenario(acceptance=0.8, n_draft=4, cost_ratio=0.05)
    drafts = serving.Speculative()
    tokens = (1 - 0.8**5) / 0.2
    for batch in (1, 200):
        cycle = speculative.batch_speedup(s, batch, 1000)
        clock = serving.Clock(s, 2000, 256, drafts)
        found = clock.step(np.full(batch, 1000))
        assert_allclose(found, (cycle.draft + cycle.verify) / tokens, rtol=1e-9)
    traffic = constant(1, serving.AtOnce(), 1000, 1001)
    plain, drafted = (
        serving.simulate(s, traffic, serving.Continuous(8), steps=steps)
        for steps in (serving.Plain(), drafts)
    )
    speedup = float(speculative.batch_speedup(s, 1, 1500).speedup)
    assert_allclose(plain.tpot[0] / drafted.tpot[0], speedup, rtol=1e-3)
    # Nothing accepted, nothing drafted: a plain step.
    idle = serving.Clock(scenario(acceptance=0.0, n_draft=1, cost_ratio=0.0), 100, 8, drafts)
    assert idle.step(np.full(4, 50)) >= serving.Clock(scenario(), 100, 8).step(np.full(4, 50))
    # A draft model takes memory of its own.
    small = replace(s, draft=models["llama-3-8b"])
    assert drafts.memory(s) == 0
    assert_allclose(
        drafts.memory(small), memory.weights(replace(small, model=models["llama-3-8b"]))
    )


def test_adapters_take_memory_and_share_no_cache() -> None:
    s = scenario()
    traffic = constant(200, serving.Poisson(2.0), 100, 20, system=2000)
    runs = [
        serving.simulate(
            s, replace(traffic, adapters=adapters), serving.Continuous(32),
            prefix=serving.SpareMemory(), beside=adapters * 1e9,
        )
        for adapters in (0, 20)
    ]  # fmt: skip
    totals = [run.memory[0].total for run in runs]
    assert_allclose(totals[0] - totals[1], 20e9 / 2621440, atol=1)
    for run, adapters in zip(runs, (1, 20), strict=True):
        # Each adapter reads the system prompt once.
        assert_allclose(run.found, (200 - adapters) * 2000, rtol=0.02)
        assert_allclose(run.traffic.shared, (200 - adapters) * 2000 / (200 * 2100), rtol=1e-9)
