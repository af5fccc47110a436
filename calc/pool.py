"""Memory as a paged engine sees it: a pool of equal pages, and the requests that it promises.

`memory` counts what a steady decode step holds, with windows as full as they stay. An engine plans
for its worst moment: every request as long as it may get and in the middle of its prompt. Both are
right, and for windowed models they are far apart. Everything here is for one chip of a group,
unless it says otherwise; as in `memory`, chips share all evenly at fidelity ``bound``, and have the
copies of the layout at ``operators``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from calc import loaded, memory
from calc.layout import Layout
from calc.memory import widest_parted
from calc.paging import page_groups
from calc.scenario import Scenario

CHUNK = 8192  # token budget of one step that servers start with
_LARGE_CHIP = 70 * 2**30  # from here on vLLM decodes up to 1,024 sequences, else 256 [byte]

# Bytes beside the logit itself that a sampler takes for each score: the score in fp32, sorted, and
# its place; fitted to the 20 start-ups of vLLM 0.19 that the tests hold.
_SAMPLER_BYTES = 13
# CUDA context and workspaces, and NCCL with its buffers where chips talk [byte]; the same logs.
_ALONE, _TALKING = 0.25 * 2**30, 2.1 * 2**30
_WIDEST = 2.0  # activations are never narrower than 16 bits [byte]

# What start-ups took, over the estimate: of 20 logs, and of mixtures of 120 to 235 billion.
SPREAD = (0.95, 1.3)
WORST = 2.4


@dataclass(frozen=True)
class OwnMemory:
    """What an engine is estimated to take on a chip beside weights and cache [byte].

    `activations` is the peak of its start-up run, `beside` what it takes outside the framework's
    allocator.
    """

    activations: float
    beside: float

    @property
    def total(self) -> float:
        """Both [byte]."""
        return self.activations + self.beside


def slots_by_default(scenario: Scenario) -> int:
    """Sequences at most (`max_num_seqs`) that vLLM starts with on such a chip."""
    return 1024 if scenario.chip.memory >= _LARGE_CHIP else 256


def own_memory(scenario: Scenario, chunk: int = CHUNK, slots: int | None = None) -> OwnMemory:
    """An estimate of what the engine itself takes on one chip; nothing applies it by itself.

    Parameters
    ----------
    scenario : Scenario
        Widths, compute format and layout count.
    chunk : int
        Token budget of one step, `max_num_batched_tokens` [token].
    slots : int, optional
        Sequences at most, `max_num_seqs`; by default what vLLM starts with.

    Returns
    -------
    OwnMemory
        Give its `total` as `runtime_memory`. 20 start-ups of vLLM 0.19 took `SPREAD` times it;
        large mixtures of experts have taken `WORST` times.

    References
    ----------
    F6.5. The larger of sampling for all slots at once, whose scores no chip splits, and of the
    widest layer for a whole chunk, with the residual stream beside it.

    Examples
    --------
    Llama 3.1 8B on an H100, where the engine reports 1.89 + 0.25 GiB:

    >>> from calc import Scenario
    >>> from presets import chips, formats, models
    >>> bf16 = formats["bf16"]
    >>> s = Scenario(models["llama-3.1-8b"], chips["h100-sxm"], 1, bf16, bf16, bf16, 1, 8192)
    >>> round(own_memory(s).total / 2**30, 2)
    2.15
    """
    s, chosen = scenario, Layout.of(scenario)
    wide = max(_WIDEST, s.compute_format.bytes)
    sequences = slots_by_default(s) if slots is None else slots
    sampled = sequences * s.model.vocabulary * (_SAMPLER_BYTES + wide)
    layer = chunk * (s.model.d_model + widest_parted(s.model) / float(chosen.tp)) * wide
    stream = chunk * s.model.d_model * wide
    talks = chosen.stage > 1
    return OwnMemory(max(sampled, layer) + stream, _TALKING if talks else _ALONE)


@dataclass(frozen=True)
class Pages:
    """How a pool is cut: the same pages for all kinds of layers.

    Parameters
    ----------
    groups, layers : int
        Groups of layers that draw pages of their own, and layers in each.
    block : int
        Tokens of a block of the layers with the widest tokens [token].
    bytes : float
        One block of all layers of a group on a chip [byte].
    held : int
        Blocks that one request may hold, over all groups.
    """

    groups: int
    layers: int
    block: int
    bytes: float
    held: int


@dataclass(frozen=True)
class Pool:
    """What an engine makes of the memory of one chip; sizes in byte.

    Parameters
    ----------
    budget : float
        The share of the chip's memory that the engine may use [byte].
    weights, loaded, own, cache : float
        What weights take, what the engine loads beside them, the engine itself, and what is left
        for the cache; negative by what is missing [byte].
    longest : int
        Longest request [token].
    pages : Pages
        How the cache is cut.
    each : float
        What a sequence of that length keeps in a steady step, windows no fuller than they stay.
    replicas : int
        Groups of chips with a pool of their own each.
    """

    budget: float
    weights: float
    loaded: float
    own: float
    cache: float
    longest: int
    pages: Pages
    each: float
    replicas: int

    @property
    def blocks(self) -> int:
        """Blocks of the pool."""
        return max(0, math.floor(self.cache / self.pages.bytes))

    @property
    def concurrency(self) -> float:
        """Requests of the longest length that one group promises to hold at once."""
        return self.blocks / self.pages.held

    @property
    def steady(self) -> float:
        """Sequences of the longest length that steady decoding of one group would hold."""
        return max(0.0, self.cache) / self.each

    @property
    def tokens(self) -> int:
        """Tokens of the pool as vLLM prints them up to 0.19: blocks of one group."""
        return self.blocks // self.pages.groups * self.pages.block

    @property
    def tokens_of_longest(self) -> int:
        """And from 0.25 on: those of as many longest requests as fit."""
        return math.floor(self.concurrency * self.longest)


def reason(scenario: Scenario) -> str:
    """Why a model has no pool of equal pages: ``none`` cached, or ``unequal``; empty if it has."""
    kinds = [block.attention for block in scenario.model.blocks if block.attention.paged_as]
    if any(not kind.equal_pages for kind in kinds):
        return "unequal"
    held = any(float(kind.kv_bytes(1, scenario.kv_format)) for kind in kinds)
    return "" if held else "none"


def pages(scenario: Scenario, longest: int, chunk: int = CHUNK) -> Pages:
    """How a paged engine cuts the cache of a model with equal pages.

    Layers of every kind draw from one pool. A kind whose tokens are narrower has longer blocks, so
    that pages are equally large; a constant state takes one page, and lengthens the blocks of all
    until it fits.

    Parameters
    ----------
    scenario : Scenario
        `kv_block` is the engine's block size.
    longest : int
        Longest request, `max_model_len` [token].
    chunk : int
        Token budget of one step, `max_num_batched_tokens` [token].

    Raises
    ------
    ValueError
        If `reason` names one.

    References
    ----------
    F2.3, F2.4, F2.13.

    Examples
    --------
    >>> from calc import Scenario
    >>> from presets import chips, formats, models
    >>> bf16 = formats["bf16"]
    >>> s = Scenario(models["gemma-3-27b"], chips["h100-sxm"], 1, bf16, bf16, bf16, 1, 8192)
    >>> cut = pages(s, longest=8192)
    >>> cut.groups, cut.layers, cut.held
    (7, 10, 3590)
    """
    s, chosen = scenario, _layout(scenario)
    if reason(s):
        raise ValueError(f"no pool of equal pages: {reason(s)}")
    groups, layers = page_groups(s.model)
    kinds = {b.attention.paged_as: b.attention for b in s.model.blocks if b.attention.paged_as}
    counts = dict.fromkeys(kinds, 0)
    tokens, states, together = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0.0), 0.0
    for one in s.model.blocks:
        kind, attention = one.attention.paged_as, one.attention
        if not kind:
            continue
        share = 1 / s.n_chips
        if s.fidelity != "bound":
            share = float(chosen.cache_share(attention.split, s.kv_sharding))
        each = attention.kv_bytes_per_token(s.kv_format) * share
        counts[kind] += one.count
        together += one.count * each
        tokens[kind] = max(tokens[kind], each)
        if not each:
            states[kind] = max(states[kind], float(attention.kv_bytes(1, s.kv_format)) * share)
    widest, largest = max(tokens.values()), max(states.values())
    block = s.kv_block * max(1, math.ceil(largest / (s.kv_block * widest))) if widest else 1
    page = max(block * widest, largest)
    held = 0
    for kind, attention in kinds.items():
        # Rounded, since shares of a cache are no whole numbers of byte.
        longer = math.floor(round(widest / tokens[kind], 6)) if tokens[kind] else 1
        ways = -(-counts[kind] // layers)
        held += ways * attention.blocks_held(longest, chunk, block * longer)
    # Layers of one kind need not be equally wide: they have a page each, and no padding.
    size = block * together if len(kinds) == 1 and widest else layers * page
    return Pages(groups, layers, block, size / float(chosen.pp), held)


def _layout(s: Scenario) -> Layout:
    """That of the scenario, of which the bound knows one group of all chips only."""
    return Layout.of_widths(s.n_chips) if s.fidelity == "bound" else Layout.of(s)


def of(scenario: Scenario, longest: int, chunk: int = CHUNK) -> Pool:
    """The pool of a scenario, with its `runtime_memory` taken off.

    Parameters
    ----------
    scenario : Scenario
        `usable_memory` is the engine's share of memory, `gpu_memory_utilization`.
    longest, chunk : int
        As in `pages`.

    Raises
    ------
    ValueError
        If `reason` names one.

    References
    ----------
    F6.5.
    """
    s, chosen = scenario, _layout(scenario)
    budget = s.chip.memory * s.usable_memory
    weights = memory.weights(s) / s.n_chips
    beside = loaded.beside(s)
    cache = budget - weights - beside - s.runtime_memory
    return Pool(
        budget=budget,
        weights=weights,
        loaded=beside,
        own=s.runtime_memory,
        cache=cache,
        longest=longest,
        pages=pages(s, longest, chunk),
        each=float(memory.kv_per_sequence(s, longest) / (chosen.tp * chosen.pp)),
        replicas=int(chosen.dp),
    )
