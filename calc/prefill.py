"""How long a prompt takes before its first answer token, and what may ride along or be saved.

All that concerns a prompt is for one prompt on one replica; nothing waits in a queue here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, host, roofline
from calc.attention import causal_pairs
from calc.layout import Layout
from calc.model import Block, Model
from calc.operators import Chunk, Operator, Work, of_prompt, with_chunk
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]


def linear_flops(model: Model, tokens: ArrayLike) -> Array:
    """FLOPs of all weights over a prompt, of which only the last token is scored [FLOP].

    References
    ----------
    F5.1.
    """
    body = model.active_params - model.head_params
    return np.asarray(2.0 * body * np.asarray(tokens, dtype=float) + 2.0 * model.head_params)


def flops(model: Model, tokens: ArrayLike, known: ArrayLike = 0) -> Array:
    """FLOPs of a prompt of which the first `known` tokens are cached [FLOP] (F5.1, F8.10)."""
    length, cached = np.asarray(tokens, dtype=float), np.asarray(known, dtype=float)
    attention = model.prefill_attention_flops(length) - model.prefill_attention_flops(cached)
    return linear_flops(model, length - cached) + attention


def attention_overtakes(model: Model) -> float:
    """Prompt length from which attention takes more FLOPs than all weights [token].

    inf if windows or constant states keep it from ever doing so.
    """
    return roofline.crossing(
        lambda length: model.prefill_attention_flops(length) - linear_flops(model, length)
    )


def decode_attention_overtakes(model: Model) -> float:
    """Context from which attention takes more FLOPs a token than all weights [token] (F3.4)."""
    return roofline.crossing(
        lambda length: model.attention_flops(length) - 2.0 * model.active_params
    )


def block_hit(scenario: Scenario, prefix: ArrayLike | None = None) -> Array:
    """Cached prefix tokens that count: whole blocks, and never the whole prompt [token].

    References
    ----------
    F8.10.
    """
    s = scenario
    found = np.minimum(s.prefix_hit if prefix is None else prefix, s.prompt - 1)
    return np.asarray(np.floor(found / s.kv_block) * s.kv_block)


def prompt_time(
    scenario: Scenario,
    prompt: ArrayLike | None = None,
    known: ArrayLike | None = None,
    layout: Layout | None = None,
    ways: ArrayLike = 1,
) -> decode.StepTime:
    """Time to read a prompt at the scenario's fidelity.

    At ``bound`` the FLOPs at the MFU, or the bytes if they take longer

    .. math:: T = \\max\\left(\\frac{F}{n C\\,\\mathrm{MFU}},
              \\frac{P\\,b_w + \\kappa T}{n W}\\right)

    and at ``operators`` a roofline for each operator, with the MFU in place of the efficiency of
    compute.

    Parameters
    ----------
    scenario : Scenario
        What to time.
    prompt, known : array_like, optional
        Prompt lengths and cached prefixes to use instead of the scenario's.
    layout : Layout, optional
        Widths to use instead of the scenario's, as in `decode.step_time`.
    ways : array_like
        Replicas that share the prompt's tokens evenly: the time is that of one (see `ring`).

    Returns
    -------
    StepTime
        Of a batch of one sequence.

    References
    ----------
    F5.1, F5.2, F5.5; Austin et al. 2025, part 8.
    """
    s = scenario
    length = np.asarray(s.prompt if prompt is None else prompt, dtype=float)
    cached = np.asarray(block_hit(s) if known is None else known, dtype=float)
    chips = s.n_chips if layout is None else layout.chips
    if s.fidelity == "bound":
        shared = np.asarray(ways, dtype=float)
        work = _bound(s, np.asarray(chips, dtype=float), length, cached, shared)
        return decode.StepTime(np.ones(()), work, 0.0, chips)
    work = of_prompt(s, layout or Layout.of(s), length, cached, ways)
    return decode.StepTime(np.ones(()), work, s.link_overlap, chips)


def _bound(s: Scenario, n: Array, length: Array, cached: Array, ways: Array) -> Work:
    linear, attention = _sides(s, n, length, cached, ways)
    done, rate = linear.done + attention.done, attention.rate
    if not s.one_rate:
        rate = done / (linear.compute + attention.compute)
    moved = linear.moved + attention.moved
    whole = replace(linear, name=marked("prompt"), moved=moved, done=done, rate=rate)
    return Work(tuple(_apart(s, whole, n, (length - cached) / ways)), {}, np.zeros(()))


def _sides(
    s: Scenario, n: Array, length: Array, cached: Array, ways: Array
) -> tuple[Operator, Operator]:
    """Linear layers and attention of a prompt, over chips that share everything."""
    model, new = s.model, (length - cached) / ways
    pairs = model.prefill_attention_flops(length) - model.prefill_attention_flops(cached)
    pairs = pairs / ways
    linear = Operator(
        marked("linear layers"), False,
        model.bytes_read(new, s.stored, s.routing_skew) / n, linear_flops(model, new) / n,
        s.chip.bandwidth, s.linear_rate * s.constants.mfu,
    )  # fmt: skip
    attention = Operator(
        marked("attention"), True,
        model.kv_bytes(length, s.kv_format) / n, pairs / n,
        s.chip.bandwidth, s.chip.peak(s.compute_format) * s.constants.mfu,
    )  # fmt: skip
    return linear, attention


def _apart(s: Scenario, whole: Operator, n: Array, new: Array) -> Iterable[Operator]:
    """What of it is done on the host apart."""
    return host.apart(s, whole, host.bytes_read(s, new) / n, new * (2.0 * host.active(s) / n))


def by_operator(scenario: Scenario) -> Work:
    """The operators of the scenario's prompt, as `prompt_time` times them.

    The bound knows one, which is parted into linear layers and attention: their FLOPs, and their
    bytes, add up to its own.
    """
    s = scenario
    if s.fidelity != "bound":
        return prompt_time(s).work
    n, length, cached = (
        np.asarray(one, dtype=float) for one in (s.n_chips, s.prompt, block_hit(s))
    )
    linear, attention = _sides(s, n, length, cached, np.ones(()))
    return Work((*_apart(s, linear, n, length - cached), attention), {}, np.zeros(()))


@dataclass(frozen=True)
class Terms:
    """What a prompt takes, term by term, hidden or not [s]."""

    linear_compute: Array
    attention_compute: Array
    read: Array
    communication: Array


def terms(scenario: Scenario, prompt: ArrayLike | None = None) -> Terms:
    """The terms of `prompt_time` for prompts of which the scenario's prefix is cached."""
    s = scenario
    length = np.asarray(s.prompt if prompt is None else prompt, dtype=float)
    cached = np.asarray(np.minimum(block_hit(s), length - 1))
    step = prompt_time(s, length, cached)
    if s.fidelity != "bound":
        read = step.weight_read + step.kv_read
        return Terms(step.linear_compute, step.attention_compute, read, step.communication)
    new = s.model.prefill_attention_flops(length) - s.model.prefill_attention_flops(cached)
    attention = new / (s.n_chips * s.chip.peak(s.compute_format) * s.constants.mfu)
    linear = step.linear_compute - attention
    return Terms(linear, attention, step.weight_read, step.communication)


def attention_share(scenario: Scenario) -> float:
    """Part of a prompt's FLOPs that scores and values take [share]."""
    s, known = scenario, block_hit(scenario)
    return float(1 - linear_flops(s.model, s.prompt - known) / flops(s.model, s.prompt, known))


def concurrency(scenario: Scenario) -> float:
    """Prompts that a replica reads at a time: one for each group of each stage."""
    if scenario.fidelity == "bound":
        return 1.0
    chosen = Layout.of(scenario)
    return float(chosen.dp * chosen.pp)


def prompt_rate(scenario: Scenario, prompt_time: float) -> float:
    """Prompts that a replica reads each second [1/s]."""
    return concurrency(scenario) / prompt_time


def free_tokens(scenario: Scenario) -> float:
    """Prompt tokens that a decode step of a group takes along for free [token]; nan if unknown.

    Up to the critical batch, at the MFU of prefill. Free for the linear layers; their attention is
    extra.

    References
    ----------
    F5.3.
    """
    s = scenario
    room = roofline.compute_bound_batch(s) - s.batch
    groups = 1.0 if s.fidelity == "bound" else float(Layout.of(s).dp)
    kept = s.constants
    return float(np.maximum(0.0, room) * kept.mfu / kept.compute_efficiency / groups)


def chunked_step(
    scenario: Scenario,
    chunk: ArrayLike,
    before: ArrayLike | None = None,
    prompt: float | None = None,
) -> decode.StepTime:
    """A decode step that takes `chunk` tokens of one prompt along.

    Parameters
    ----------
    scenario : Scenario
        Batch and context of the decoding sequences.
    chunk : array_like
        Prompt tokens in the step.
    before : array_like, optional
        Prompt tokens read before; by default all but the chunk, the slowest of the steps.
    prompt : float, optional
        Length of the prompt, whose last token is scored, to use instead of the scenario's.

    References
    ----------
    F5.3.
    """
    s = scenario
    size = np.asarray(chunk, dtype=float)
    whole = s.prompt if prompt is None else prompt
    first = np.maximum(whole - size, 0) if before is None else np.asarray(before, dtype=float)
    last = 1.0 * ((size > 0) & (first + size >= whole))
    return mixed_step(s, Chunk(size, first, last))


def mixed_step(
    scenario: Scenario,
    chunk: Chunk,
    batch: ArrayLike | None = None,
    context: ArrayLike | None = None,
    layout: Layout | None = None,
) -> decode.StepTime:
    """A decode step that takes prompt tokens along, for arrays of batches, contexts and layouts.

    References
    ----------
    F5.3.
    """
    s = scenario
    sequences = np.asarray(s.batch if batch is None else batch, dtype=float)
    length = np.asarray(s.context if context is None else context, dtype=float)
    chips = s.n_chips if layout is None else layout.chips
    if s.fidelity == "bound":
        work = _bound_chunk(s, np.asarray(chips, dtype=float), sequences, length, chunk)
        return decode.StepTime(sequences, work, 0.0, chips)
    work = with_chunk(s, layout or Layout.of(s), sequences, length, chunk)
    return decode.StepTime(sequences, work, s.link_overlap, chips)


def _bound_chunk(s: Scenario, n: Array, batch: Array, context: Array, chunk: Chunk) -> Work:
    """The bound of the decode step with more tokens to multiply, and the chunk's attention."""
    model, rate = s.model, s.chip.peak(s.compute_format)
    # FLOPs of the chunk come at the MFU of prefill, as those of a whole prompt do.
    # Of a prompt only the last token is scored.
    kept = s.constants.mfu
    slower, scored = chunk.tokens / kept, chunk.scored / kept
    body = model.active_params - model.head_params
    multiplied = (batch + slower) * body + (batch + scored) * model.head_params
    read = model.kv_bytes(chunk.before, s.kv_format) * (chunk.tokens > 0)
    each = model.kv_bytes_read(context, s.kv_format)
    tokens, none = batch + chunk.tokens, np.zeros(())
    linear = Operator(
        marked("linear layers"),
        False,
        model.bytes_read(tokens, s.stored, s.routing_skew) / n,
        2.0 * multiplied / n,
        s.chip.bandwidth,
        s.linear_rate,
    )
    charged = batch + slower
    hosted = (host.bytes_read(s, tokens) / n, charged * (2.0 * host.active(s) / n))
    return Work(
        (
            Operator(marked("KV cache"), True, batch * each / n, none, s.chip.bandwidth, rate),
            *host.apart(s, linear, *hosted, tokens / charged),
            Operator(
                marked("chunk attention"),
                True,
                read / n,
                chunk.flops(model.prefill_attention_flops) / (n * kept),
                s.chip.bandwidth,
                rate,
            ),
        ),
        {},
        none,
    )


def largest_chunk(scenario: Scenario) -> float:
    """Most prompt tokens a group's decode step may take along within `tpot_target` [token].

    0 if the step alone takes longer; the whole prompt if even that fits; nan if times are unknown
    (F5.3).
    """
    low, high = 0, scenario.prompt
    if math.isnan(float(chunked_step(scenario, 0).total)):
        return math.nan
    while high - low > 1:
        sizes = np.unique(np.round(np.linspace(low, high, 130)))
        within = chunked_step(scenario, sizes).total <= scenario.tpot_target
        if not within[0]:
            return 0
        if within[-1]:
            return int(sizes[-1])
        last = int(np.argmin(within)) - 1
        low, high = int(sizes[last]), int(sizes[last + 1])
    fits = chunked_step(scenario, [low, high]).total <= scenario.tpot_target
    return high if fits[1] else low if fits[0] else 0


@dataclass(frozen=True)
class Chunked:
    """A prompt read in chunks beside a decoding batch.

    `steps` is their number, `time` until the last is done [s], `longest_step` the worst time per
    token of the batch meanwhile [s], `reread` the cached tokens read again (F5.3).
    """

    steps: int
    time: float
    longest_step: float
    reread: float


# Beyond so many chunks their sum is taken over a sample of them.
MOST_CHUNKS = 512


def chunked(scenario: Scenario, chunk: int | None = None) -> Chunked:
    """Reading the scenario's prompt in chunks, its cached prefix left out."""
    s = scenario
    size, known = s.chunk if chunk is None else chunk, int(block_hit(s))
    steps = math.ceil((s.prompt - known) / size)
    at = np.unique(np.linspace(0, steps - 1, min(steps, MOST_CHUNKS)).round())
    before = known + at * size
    times = chunked_step(s, np.minimum(size, s.prompt - before), before).total
    total = float(times.mean()) * steps if len(at) < steps else float(times.sum())
    return Chunked(steps, total, float(times.max()), reread_tokens(s.prompt - known, size))


@dataclass(frozen=True)
class Joined:
    """A decode step that takes prompts along as fast as answers end [token, s].

    `tokens` of prompts join each step; one with a chunk of `chunk` of them takes `taken`, and one
    without any `plain`.
    """

    tokens: float
    chunk: float
    plain: float
    taken: float

    @property
    def total(self) -> float:
        """The step with all of them, each chunk adding the same [s]."""
        return self.plain + (self.taken - self.plain) * self.tokens / self.chunk


def joined_step(scenario: Scenario) -> Joined:
    """The decode step of a replica that reads its own prompts and keeps its batch full.

    .. math:: n = B (p - h) / g

    A step ends one of `g` tokens for each of `B` sequences, so that in the mean `B / g` answers end
    and as many prompts must be read.

    References
    ----------
    F8.28.
    """
    s = scenario
    new = max(s.prompt - float(block_hit(s)), 1.0)
    tokens = s.batch / s.output * new
    chunk = max(min(tokens, new), 1.0)
    taken = chunked_step(s, chunk, before=max((s.prompt - chunk) / 2, 0.0))
    return Joined(tokens, chunk, float(decode.step_time(s).total), float(taken.total))


def reread_tokens(prompt: int, chunk: int) -> float:
    """Cached tokens that later chunks read again [token] (F5.3).

    >>> reread_tokens(8192, 512)
    61440.0
    """
    steps = math.ceil(prompt / chunk)
    return chunk * steps * (steps - 1) / 2


def transfer_time(scenario: Scenario, ports: int = 1) -> float:
    """Time to send a prompt's cache to other chips through so many network ports [s].

    References
    ----------
    F8.9.
    """
    s = scenario
    return float(s.model.kv_bytes(s.prompt, s.kv_format)) / (ports * s.scale_out)


def exposed_transfer(scenario: Scenario, reading: float, ports: int = 1) -> float:
    """What of the transfer is left when it streams layer by layer behind `reading` [s] (F8.9)."""
    layers = scenario.model.layers
    hidden = reading * (layers - 1) / layers
    return max(0.0, transfer_time(scenario, ports) - hidden)


def servers_ratio(prompt_time: float, batch: float, step_time: float, output: float) -> float:
    """Prefill replicas that keep one decode replica busy (F8.8).

    >>> round(servers_ratio(0.91, 32, 0.019, 512), 2), round(servers_ratio(0.91, 43, 0.019, 512), 1)
    (2.99, 4.0)
    """
    return prompt_time * batch / (step_time * output)


@dataclass(frozen=True)
class LayerFlops:
    """FLOPs of one layer of a block over a prompt [FLOP], and what they would be otherwise.

    `attention` counts the causal half, `unmasked` all pairs. `as_multi_head` is the projections'
    with a key and value head for each query head, `absorbed` attention in the form that decoding
    uses; nan where a layer knows no such other.
    """

    block: Block
    projections: float
    feedforward: float
    attention: float
    unmasked: float
    as_multi_head: float
    absorbed: float


def layer_flops(model: Model, tokens: int) -> list[LayerFlops]:
    """Each block's layer over a prompt (F5.1)."""
    found = []
    for block in model.blocks:
        kind, twin = block.attention, block.attention.multi_head
        latent = kind.core is not None and kind.core.latent is not None
        masked, every = float(kind.prefill_flops(tokens)), kind.unmasked_flops(tokens)
        # An indexer scores pairs alike in all forms.
        index = float(kind.index_flops(causal_pairs(tokens)))
        index_every = float(kind.index_flops(float(tokens) ** 2))
        found.append(
            LayerFlops(
                block,
                projections=2.0 * tokens * kind.params(model.d_model),
                feedforward=2.0 * tokens * block.feedforward.active_params(model.d_model),
                attention=masked,
                unmasked=(every - index_every) / kind.absorption + index_every,
                as_multi_head=2.0 * tokens * twin.params(model.d_model) if twin else math.nan,
                absorbed=(masked - index) * kind.absorption + index if latent else math.nan,
            )
        )
    return found
