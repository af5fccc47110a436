"""What a step is made of: bytes moved, FLOPs done and messages sent by the busiest chip.

At fidelity ``bound`` there are two operators, the cache and the linear layers; at ``operators``
each has a roofline of its own (F3.2), and chips that share the work wait for each other
(F3.7–F3.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import host
from calc.checkpoint import ATTENTION, HEAD
from calc.feedforward import Part
from calc.layout import Layout
from calc.model import Block
from calc.network import Network
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]

# Names that others look for.
ALL_REDUCE = marked("all-reduce")
COMBINE_BYTES = 2  # experts return their sums in bf16, whatever they were sent (F3.8)


@dataclass(frozen=True)
class Operator:
    """One kind of work of one chip in one step.

    Parameters
    ----------
    name : str
        What the field calls it, marked for translation.
    cache : bool
        Whether it reads cache; otherwise it reads weights.
    moved, done : array
        Bytes moved and FLOPs done [byte, FLOP].
    bandwidth, rate : float or array
        What one chip reaches [byte/s, FLOP/s].
    overlap : float
        Share of the shorter of the two that hides behind the longer.
    read_only : bool
        Leaves the FLOPs out of its time, as the textbook bound does for attention.
    """

    name: str
    cache: bool
    moved: Array
    done: Array
    bandwidth: float | Array
    rate: float | Array
    overlap: float = 1.0
    read_only: bool = False

    @cached_property
    def read(self) -> Array:
        """Time to move its bytes [s]."""
        return np.asarray(self.moved / self.bandwidth)

    @cached_property
    def compute(self) -> Array:
        """Time to do its FLOPs [s]."""
        return np.asarray(self.done / self.rate)

    @cached_property
    def time(self) -> Array:
        """Its time: the longer, and what does not hide of the shorter [s]."""
        if self.read_only:
            return self.read
        longer = np.maximum(self.read, self.compute)
        if self.overlap == 1:
            return np.asarray(longer)
        return np.asarray(longer + (1 - self.overlap) * np.minimum(self.read, self.compute))

    @property
    def compute_bound(self) -> NDArray[np.bool_]:
        """Whether its FLOPs outlast its bytes."""
        if self.read_only:
            return np.zeros(np.shape(self.read), dtype=bool)
        return np.asarray(self.compute > self.read)

    def charged(self) -> tuple[Array, Array]:
        """What its time consists of: reading and computing [s]."""
        if self.read_only:
            return self.read, np.zeros_like(self.read)
        exposed = 1 - self.overlap
        return (
            np.where(self.compute_bound, exposed * self.read, self.read),
            np.where(self.compute_bound, self.compute, exposed * self.compute),
        )


@dataclass(frozen=True)
class Named:
    """Operators of one name together: their bytes and FLOPs, both sides and the time they take.

    In byte, FLOP and s, of one chip.
    """

    name: str
    cache: bool
    moved: float
    done: float
    read: float
    compute: float
    time: float

    @property
    def intensity(self) -> float:
        """FLOPs for each byte [FLOP/byte]; nan where nothing is moved."""
        return self.done / self.moved if self.moved else math.nan

    @property
    def attained(self) -> float:
        """FLOPs each second [FLOP/s], never more than its roof, also where only reading counts."""
        taken = max(self.time, self.compute)
        return self.done / taken if taken else math.nan

    @property
    def rated(self) -> bool:
        """Whether a rate of its FLOPs is known: an unknown one counts as unlimited."""
        return self.compute > 0 or not self.done

    @property
    def compute_bound(self) -> bool:
        """Whether FLOPs outlast bytes, over all of them."""
        return self.compute > self.read


@dataclass(frozen=True)
class Work:
    """All that one chip does in a step, and what it waits for.

    `transfers` are seconds by name, marked for translation; `overhead` is seconds.
    """

    operators: tuple[Operator, ...]
    transfers: Mapping[str, Array]
    overhead: Array

    def by_name(self) -> list[Named]:
        """Operators of one scenario summed by name, in the order a token passes them."""
        groups: dict[str, list[Operator]] = {}
        for operator in self.operators:
            groups.setdefault(operator.name, []).append(operator)
        return [
            Named(
                name,
                group[0].cache,
                sum(float(operator.moved) for operator in group),
                sum(float(operator.done) for operator in group),
                sum(float(operator.read) for operator in group),
                sum(float(operator.compute) for operator in group),
                sum(float(operator.time) for operator in group),
            )
            for name, group in groups.items()
        ]


@dataclass(frozen=True)
class Chunk:
    """Prompt tokens that each group takes along in a decode step.

    Parameters
    ----------
    tokens, before : array
        Its own tokens, and those of the prompt that were read before [token].
    scored : array
        How many of them the output head sees: of a prompt, the last [token].
    span : (float, float) or None
        First and last token of a prompt whose mean chunk it is, as far as attention goes; by
        default it attends from its own place.
    """

    tokens: Array
    before: Array
    scored: Array
    span: tuple[float, float] | None = None

    @classmethod
    def mean(cls, tokens: Array, prompt: float, known: float = 0.0) -> Chunk:
        """The mean of the chunks of a prompt, whose first `known` tokens are cached (F5.3)."""
        new = prompt - known
        before = known + np.maximum(new - tokens, 0.0) / 2
        return cls(tokens, before, tokens / new, (known, prompt))

    def part(self, ways: Array) -> Chunk:
        """What one of so many micro-batches takes along."""
        return replace(self, tokens=self.tokens / ways, scored=self.scored / ways)

    @property
    def after(self) -> Array:
        """Tokens of the prompt that are read when it is done [token]."""
        return self.before + self.tokens

    def flops(self, prompt_flops: Callable[[ArrayLike], Array]) -> Array:
        """FLOPs of its attention, from those of a prompt by its length [FLOP]."""
        if self.span is None:
            return prompt_flops(self.after) - prompt_flops(self.before)
        first, last = self.span
        return self.tokens / (last - first) * (prompt_flops(last) - prompt_flops(first))


def bound(scenario: Scenario, chips: Array, batch: Array, context: Array, tokens: Array) -> Work:
    """The two operators of the textbook roofline, over chips that share everything (F3.1)."""
    s, model, n = scenario, scenario.model, chips
    rate = s.chip.peak(s.compute_format)
    multiplied = batch * tokens
    cache = Operator(
        marked("KV cache"), True,
        batch * (model.kv_bytes_read(context, s.kv_format) / n),
        multiplied * (model.attention_flops(context) / n),
        s.chip.bandwidth, rate, read_only=True,
    )  # fmt: skip
    linear = Operator(
        marked("linear layers"), False,
        model.bytes_read(multiplied, s.stored, s.routing_skew) / n,
        multiplied * (2.0 * model.active_params / n),
        s.chip.bandwidth, s.linear_rate,
    )  # fmt: skip
    moved = host.bytes_read(s, multiplied) / n
    parts = host.apart(s, linear, moved, multiplied * (2.0 * host.active(s) / n))
    return Work((cache, *parts), {}, np.zeros(()))


def by_operator(
    scenario: Scenario, layout: Layout, batch: Array, context: Array, tokens: Array
) -> Work:
    """One roofline for each operator of a decode step, and what its chips send each other."""
    return _Roofline(scenario, layout, batch, context, tokens).work()


def of_prompt(
    scenario: Scenario, layout: Layout, prompt: Array, known: Array, ways: ArrayLike = 1
) -> Work:
    """One roofline for each operator of a prompt, whose first `known` tokens are cached [token].

    Of so many `ways` that its tokens are dealt out evenly, one (F5.5).
    """
    return _Prompt(scenario, layout, prompt, known, np.asarray(ways, dtype=float)).work()


def with_chunk(
    scenario: Scenario, layout: Layout, batch: Array, context: Array, chunk: Chunk
) -> Work:
    """Operators of a decode step that takes prompt tokens along."""
    return _Chunked(scenario, layout, batch, context, chunk).work()


class _Roofline:
    """The rows of F3.2 for one layout, on the busiest chip."""

    def __init__(
        self, scenario: Scenario, layout: Layout, batch: Array, context: Array, tokens: Array
    ) -> None:
        self.s, self.layout, self.context, self.tokens = scenario, layout, context, tokens
        self.sequences = layout.sequences(batch)
        # Tokens that pass the matrices, those whose FLOPs are charged, those that are scored.
        self.multiplied = self.charged = self.scored = self.sequences * tokens
        self.efficiency = scenario.constants.compute_efficiency

    def work(self) -> Work:
        """Operators, messages and overhead."""
        s = self.s
        layers = s.constants.layer_overhead * s.model.layers
        kernels = s.constants.kernel_time * s.model.kernels
        overhead = s.step_overhead + (layers + kernels) * self.layout.rounds
        # The host takes its time for what a prompt adds, the chip that of the MFU.
        again = self.multiplied / self.charged if s.host_share else 1.0
        parts = (part for whole in self.operators() for part in host.split(s, whole, again))
        return Work(tuple(parts), self.transfers(), np.asarray(overhead))

    @property
    def activation(self) -> Array:
        """Bytes of one element of every token."""
        return self.multiplied * self.s.compute_format.bytes

    def _operator(self, name: str, cache: bool, moved: Array, done: Array) -> Operator:
        s, rounds = self.s, self.layout.rounds
        own = s.stored.multiplied(name, s.compute_format)
        if cache:
            own = s.attention_format or s.compute_format
        return Operator(
            name, cache, moved * rounds, done * rounds,
            s.chip.bandwidth * s.constants.bandwidth_efficiency,
            s.chip.peak(own) * self.efficiency,
            s.overlap,
        )  # fmt: skip

    def operators(self) -> Iterator[Operator]:
        """Every operator of every block, in the order a token passes them."""
        model = self.s.model
        for part in model.outside.parts(model.d_model):
            yield self._dense(part.name, part.total)
        for block in model.blocks:
            projections = block.attention.params(model.d_model) + block.norms * model.d_model
            if projections:
                yield self._dense(ATTENTION, block.count * projections)
            yield self._attention(block)
            for part in block.feedforward.parts(model.d_model):
                yield (
                    self._routed(block.count, part)
                    if part.routed
                    else self._dense(part.name, block.count * part.total)
                )
        if model.head_params:
            yield self._dense(HEAD, model.head_params, self.scored)

    def _dense(self, name: str, params: int, tokens: Array | None = None) -> Operator:
        share = np.asarray(params / self.layout.tp)
        charged = self.charged if tokens is None else tokens
        return self._operator(
            name, False, share * self.s.stored.of(name).bytes, 2.0 * charged * share
        )

    def _attention(self, block: Block) -> Operator:
        kv, kind, count = self.s.kv_format, block.attention, block.count
        share = self.layout.cache_share(kind.split, self.s.kv_sharding, self.sequences)
        written = self.tokens * kind.kv_bytes_per_token(kv)
        each = (kind.kv_bytes_read(self.context, kv) + written) * (count * share)
        # A chip with a copy scores its own query heads only.
        part = np.maximum(1 / self.layout.tp, share / self.layout.copies(kind.split, self.s))
        flops = kind.flops(self.context) * self.tokens * (count * part)
        return self._operator(
            marked("attention"), True, self.sequences * each, self.sequences * flops
        )

    def _routed(self, count: int, part: Part) -> Operator:
        """Experts see the tokens of all groups when they are spread over them."""
        s, spread = self.s, self.layout.ep > 1
        ways, imbalance = self.layout.expert_ways(), np.where(spread, s.load_imbalance, 1.0)
        tokens = self.multiplied * np.where(spread, self.layout.dp, 1.0)
        hit = np.minimum(part.read(tokens, s.routing_skew) * imbalance, 1.0 * part.total)
        if s.redundant_experts:
            # A token goes to one of an expert's copies: they are hit as so many experts would be.
            held = replace(part, experts=part.experts + s.redundant_experts)
            copied = np.minimum(held.read(tokens, s.routing_skew) * imbalance, 1.0 * held.total)
            hit = np.where(spread, copied, hit)
        flops = 2.0 * self.charged * np.where(spread, self.layout.dp, 1.0)
        flops = flops * part.active * imbalance
        moved = hit * s.stored.of(part.name).bytes
        return self._operator(part.name, False, moved * count / ways, flops * count / ways)

    def transfers(self) -> dict[str, Array]:
        """Time of each kind of message over a step [s]."""
        layout, model, rounds = self.layout, self.s.model, self.layout.rounds
        network = Network.of(self.s)
        reductions = sum(block.count * self._reductions(block) for block in model.blocks)
        per_reduction = network.reduce(self.activation * model.d_model, layout.tp)
        found = {
            ALL_REDUCE: reductions * per_reduction * rounds,
            marked("KV exchange"): sum(self._shared_cache(network, b) for b in model.blocks)
            * rounds,
            marked("expert exchange"): self._experts(network) * rounds,
            marked("pipeline"): np.where(
                layout.pp > 1,
                (layout.pp - 1) * network.send(self.activation * model.d_model, layout.chips),
                0.0,
            ),
        }
        return {name: np.asarray(time) for name, time in found.items() if np.any(time != 0)}

    def _reductions(self, block: Block) -> Array:
        """All-reduces of a layer: after attention, and after what of the MLP is split by column."""
        d = self.s.model.d_model
        parts = block.feedforward.parts(d)
        dense = any(part.columns for part in parts if not part.routed)
        routed = any(part.routed for part in parts)
        after = 1.0 * dense if not routed else np.where(self.layout.ep > 1, 1.0 * dense, 1.0)
        return np.asarray(1.0 * (block.attention.params(d) > 0) + after)

    def _shared_cache(self, network: Network, block: Block) -> Array:
        """Queries and sums that travel where a cached head is split over chips (F3.8)."""
        split, layout = block.attention.split, self.layout
        if self.s.kv_sharding == "replicated" or not split.query_elements:
            return np.zeros(())
        # Of heads that chips cannot share evenly, the one that most of them share.
        group = np.ceil(layout.copies_per_head(split))
        if self.s.kv_sharding == "batch":
            sent = self.activation / layout.tp
            time = network.exchange(sent * split.query_elements, group)
            time = time + network.exchange(sent * split.output_elements, group)
        else:
            # Of each query head two numbers travel with its sum: the maximum and the exponent.
            head = self.activation / split.cache_heads
            time = network.gather(head * split.query_elements, group)
            sums = split.output_elements + 2 * split.query_heads
            time = time + network.gather(head * sums, group)
        return np.asarray(block.count * time)

    def _experts(self, network: Network) -> Array:
        """Tokens that travel to their experts, and the sums that come back (F3.8)."""
        layout, s = self.layout, self.s
        if not np.any(layout.ep > 1):
            return np.zeros(())
        copies = sum(
            block.count * part.top_k
            for block in s.model.blocks
            for part in block.feedforward.parts(s.model.d_model)
            if part.routed
        )
        # Chips of a group hold the same tokens: each sends its share of them, to every chip that
        # has a part of the expert.
        ways = layout.stage / layout.ep
        sent = self.multiplied / layout.tp * s.model.d_model * copies * s.load_imbalance * ways
        each = s.compute_format.bytes + COMBINE_BYTES
        layers = sum(b.count for b in s.model.blocks if _has_experts(b, s.model.d_model))
        if not layers:
            return np.zeros(())
        # A dispatch and a combine for each layer, in one call for both sizes.
        per_layer = network.exchange(sent * each / layers / 2, layout.stage, copies / layers)
        return np.where(layout.ep > 1, 2 * layers * per_layer, 0.0)


def _has_experts(block: Block, d_model: int) -> bool:
    return any(part.routed for part in block.feedforward.parts(d_model))


class _Prompt(_Roofline):
    """A prompt: many tokens of one sequence, of which only the last is scored."""

    def __init__(
        self, scenario: Scenario, layout: Layout, prompt: Array, known: Array, ways: Array
    ) -> None:
        # One prompt is one batch, whatever the micro-batches of decoding are.
        alone = replace(layout, micro_batches=layout.pp)
        new = np.maximum(prompt - known, 0.0) / ways
        super().__init__(scenario, alone, np.ones(()), prompt, new)
        self.known, self.scored, self.efficiency = known, np.ones(()), scenario.constants.mfu
        self.ways = ways

    def _attention(self, block: Block) -> Operator:
        kv, kind, count = self.s.kv_format, block.attention, block.count
        share = self.layout.cache_share(kind.split, self.s.kv_sharding)
        # The cache of what is known is read, that of what is new written.
        cache = kind.kv_bytes(self.context, kv) * (count * share)
        flops = kind.prefill_flops(self.context) - kind.prefill_flops(self.known)
        done = flops * (count / (self.layout.tp * self.ways))
        return self._operator(marked("attention"), True, cache, done)


class _Chunked(_Roofline):
    """A decode step beside some tokens of one prompt."""

    def __init__(
        self, scenario: Scenario, layout: Layout, batch: Array, context: Array, chunk: Chunk
    ) -> None:
        super().__init__(scenario, layout, batch, context, np.ones(()))
        # Each micro-batch takes a part along. FLOPs of a prompt come at its MFU: they take longer.
        self.chunk = part = chunk.part(layout.micro_batches)
        self.slower = self.efficiency / scenario.constants.mfu
        self.multiplied = self.multiplied + part.tokens
        self.charged = self.charged + self.slower * part.tokens
        self.scored = self.scored + self.slower * part.scored

    def operators(self) -> Iterator[Operator]:
        yield from super().operators()
        for block in self.s.model.blocks:
            kv, kind, count = self.s.kv_format, block.attention, block.count
            share = self.layout.cache_share(kind.split, self.s.kv_sharding)
            moved = kind.kv_bytes(self.chunk.after, kv) * (count * share * (self.chunk.tokens > 0))
            flops = self.chunk.flops(kind.prefill_flops) * self.slower
            yield self._operator(
                marked("chunk attention"), True, moved, flops * (count / self.layout.tp)
            )
