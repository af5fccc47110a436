"""How wide a replica may be sharded: where links take over, what widths are legal, which layout.

`tp` is the tensor-parallel width, called Y in the formulas. Everything here looks at links, so it
is timed at fidelity ``operators`` where the scenario says ``bound``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, host, layout
from calc.checkpoint import DENSE, HEAD, ROUTED
from calc.feedforward import Part
from calc.formats import NumberFormat
from calc.layout import Layout
from calc.model import Model
from calc.network import Network, torus_shape
from calc.scenario import Scenario
from calc.words import say

Array = NDArray[np.float64]


def with_links(scenario: Scenario) -> Scenario:
    """The scenario at a fidelity that knows links."""
    return scenario if scenario.fidelity != "bound" else replace(scenario, fidelity="operators")


def width(scenario: Scenario) -> int:
    """Its tensor-parallel width [chip]."""
    return int(Layout.of(scenario).tp)


def mlp_columns(model: Model) -> int:
    """Hidden columns that one token passes in the widest kind of layer: F [column]."""
    return int(max(_columns(model, lambda part: part.top_k), default=0))


def columns_read(scenario: Scenario) -> float:
    """Hidden columns that a step reads in the widest layer, of all experts hit [column]."""
    s = scenario
    tokens = float(Layout.of(s).sequences(s.batch))

    def hit(part: Part) -> float:
        return float(part.read(tokens, s.routing_skew)) / part.params

    return max(_columns(s.model, hit), default=0.0)


def mlp_format(s: Scenario) -> NumberFormat:
    """What the widest MLP is stored in."""
    return s.stored.of(ROUTED if s.model.routed_params else DENSE)


def _columns(model: Model, times: Callable[[Part], float]) -> list[float]:
    return [
        sum(times(part) * part.columns for part in block.feedforward.parts(model.d_model))
        for block in model.blocks
    ]


@dataclass(frozen=True)
class Matmul:
    """One product of activations [B, D] with weights [D, F] on each of `tp` chips [s].

    `link` is the all-gather or reduce-scatter of the activations beside it.
    """

    tp: Array
    hbm: Array
    math: Array
    link: Array


def matmul(scenario: Scenario, tp: ArrayLike | None = None) -> Matmul:
    """Times of one product of the MLP, of a group's tokens, against the tensor-parallel width.

    .. math:: T_\\mathrm{HBM} = \\frac{D F b_w}{Y W},\\quad
              T_\\mathrm{math} = \\frac{2 B D F}{Y C},\\quad
              T_\\mathrm{link} = \\frac{B D b_a}{W_\\mathrm{link}}

    `link` is the limit of a large width, as the sources write it; a group of one sends nothing.
    Of a mixture of experts F counts in memory the experts that are hit, in FLOPs those of a token.

    References
    ----------
    F11.1; Austin et al. 2025, parts 3 and 8.
    """
    s = scenario
    width = np.asarray(Layout.of(s).tp if tp is None else tp, dtype=float)
    d, tokens = float(s.model.d_model), float(Layout.of(s).sequences(s.batch))
    return Matmul(
        width,
        d * columns_read(s) * mlp_format(s).bytes / (width * s.chip.bandwidth),
        2.0 * tokens * d * mlp_columns(s.model) / (width * s.chip.peak(s.compute_format)),
        np.asarray(message(s) / Network.of(s).bandwidth(width)),
    )


@dataclass(frozen=True)
class Layer:
    """One layer of the mean kind: its matrices' reading and FLOPs, and its messages [s]."""

    hbm: float
    math: float
    link: float


def layer(scenario: Scenario, step: decode.StepTime) -> Layer:
    """Reading, FLOPs and messages of a mean layer of a step [s], the output head left out."""
    inner = [o for o in step.work.operators if not o.cache and o.name != HEAD]
    number = scenario.model.layers
    return Layer(
        sum(float(o.read) for o in inner) / number,
        sum(float(o.compute) for o in inner) / number,
        float(step.communication) / number,
    )


def hbm_limit(
    columns: float, batch: float, ratio: float, weight_bytes: float = 1, activation_bytes: float = 1
) -> float:
    """Width from which sending activations outlasts reading weights [chip].

    .. math:: Y > \\frac{F\\,b_w}{B\\,b_a\\,\\beta},\\quad \\beta = W / W_\\mathrm{link}

    References
    ----------
    F11.2; Austin et al. 2025, part 7.

    Examples
    --------
    >>> hbm_limit(16384, 32, 8), hbm_limit(28672, 64, 8)
    (64.0, 56.0)
    """
    return columns * weight_bytes / (batch * activation_bytes * ratio)


def compute_limit(
    columns: float, rate: float, link: float, axes: int = 1, activation_bytes: float = 2
) -> float:
    """Width from which sending activations outlasts multiplying them [chip].

    .. math:: Y > \\frac{2 M_Y F W_\\mathrm{link}}{b_a C}

    References
    ----------
    F5.4; Austin et al. 2025, part 5.

    Examples
    --------
    >>> round(compute_limit(28672, 1.97e14, 9e10, axes=2)), round(
    ...     compute_limit(28672, 1.97e14, 4.5e10, axes=2))
    (26, 13)
    """
    return 2 * axes * columns * link / (activation_bytes * rate)


def latency_bound_below(chips: float, one_way: float, hop: float) -> float:
    """Message size under which a collective on a torus only waits for its hops [byte] (F11.3).

    >>> latency_bound_below(8, 4.5e10, 1e-6)
    360000.0
    """
    return chips * one_way * hop


def waits_below(scenario: Scenario) -> float:
    """Message size under which the group's collectives only wait for their hops [byte]."""
    s, tp = scenario, float(Layout.of(scenario).tp)
    if tp == 1:
        return 0.0
    path = Network.of(s).path(tp)
    return path.hops * s.hop_latency * path.bandwidth * tp / (tp - 1)


@dataclass(frozen=True)
class Limit:
    """Widths at which links take over, for some axes of a torus or a switch [chip]."""

    label: str
    bandwidth: float
    hbm: float
    compute: float


def current_limits(scenario: Scenario) -> Limit:
    """Where links pass memory and compute with the links that the scenario's group has."""
    tp = float(Layout.of(scenario).tp)
    return _limit(scenario, say("this group"), Network.of(scenario).path(tp).bandwidth, 1)


def _limit(s: Scenario, label: str, link: float, axes: int) -> Limit:
    columns, rate = mlp_columns(s.model), s.chip.peak(s.compute_format)
    tokens = float(Layout.of(s).sequences(s.batch))
    # A group of one has no links that could be too slow.
    if math.isinf(link):
        return Limit(label, link, math.inf, math.inf)
    ratio = s.chip.bandwidth / (axes * link)
    formats = mlp_format(s).bytes, s.compute_format.bytes
    return Limit(
        label,
        axes * link,
        hbm_limit(columns_read(s), tokens, ratio, *formats),
        compute_limit(columns, rate, link, axes, s.compute_format.bytes),
    )


def limits(scenario: Scenario) -> list[Limit]:
    """Where links pass memory and compute, with each number of axes, open or closed to rings."""
    s = scenario
    if s.chip.fabric.kind != "torus":
        return [_limit(s, say("all links of a chip"), s.chip.link_one_way, 1)]
    kinds = ((False, s.chip.link_one_way), (True, s.chip.link_two_way))
    return [
        _limit(s, _axes(axes, wraps), link, axes)
        for axes in range(1, s.chip.fabric.axes + 1)
        for wraps, link in kinds
    ]


def _axes(number: int, wraps: bool) -> str:
    if number == 1:
        return say("1 axis, wraparound") if wraps else say("1 axis, no wraparound")
    if wraps:
        return say("{number} axes, wraparound", number=number)
    return say("{number} axes, no wraparound", number=number)


def one_axis_time(batch: float, d_model: float, link: float, activation_bytes: float = 2) -> float:
    """Messages of one MLP with its hidden columns split, each collective on its own axes [s]."""
    return 2 * activation_bytes * batch * d_model / (3 * link)


def two_axis_time(
    chips: ArrayLike,
    batch: float,
    d_model: float,
    columns: float,
    link: float,
    activation_bytes: float = 2,
) -> Array:
    """Messages of one MLP with both dimensions of every matrix split, as evenly as is best [s].

    References
    ----------
    F11.4; Pope et al. 2022, 2-D weight-stationary.
    """
    root = np.sqrt(np.asarray(chips, dtype=float))
    return np.asarray(
        2 * math.sqrt(2) * activation_bytes * batch * math.sqrt(d_model * columns) / (root * link)
    )


def two_axis_crossover(d_model: float, columns: float, *, uniform: bool = False) -> float:
    """Chips beyond which splitting both dimensions sends less than splitting one [chip].

    Each collective is charged only the bandwidth of its own axes; with `uniform` all of them have
    the whole of a chip's bandwidth, as in Pope et al. 2022.

    References
    ----------
    F11.4: ``18 F / D`` and ``4 F / D``.

    Examples
    --------
    >>> two_axis_crossover(1, 4), two_axis_crossover(1, 4, uniform=True)
    (72.0, 16.0)
    """
    return (4 if uniform else 18) * columns / d_model


def split_times(scenario: Scenario, chips: ArrayLike) -> tuple[Array, Array]:
    """`one_axis_time` and `two_axis_time` of a scenario's MLP over its links, against chips [s]."""
    s = scenario
    # A group of two has one link: what each axis of a torus, or a switch, gives.
    link = Network.of(s).path(2.0).bandwidth
    d, columns, size = s.model.d_model, mlp_columns(s.model), s.compute_format.bytes
    one = one_axis_time(s.batch, d, link, size)
    both = two_axis_time(chips, s.batch, d, columns, link, size)
    return np.full(both.shape, one), both


def gathered(scenario: Scenario) -> float:
    """Weights that pass every chip in a step whose layers are gathered: all experts too [byte]."""
    s = scenario
    return float(
        sum(
            one.runs * one.part.total * s.stored.of(one.part.name).bytes for one in s.model.streamed
        )
    )


def gather_time(scenario: Scenario, chips: ArrayLike | None = None) -> Array:
    """Gathering every layer's weights over the links of so many chips in each step [s].

    .. math:: T_\\mathrm{gather} = \\frac{P\\,b_w}{W_\\mathrm{link}}

    The limit of many chips, as for `matmul`; a chip alone gathers nothing.

    References
    ----------
    F11.5; Austin et al. 2025, parts 5 and 7.
    """
    s = scenario
    number = np.asarray(s.n_chips if chips is None else chips, dtype=float)
    return np.asarray(gathered(s) / Network.of(s).bandwidth(number))


def gather_hidden_from(scenario: Scenario) -> float:
    """Tokens in a step from which their FLOPs take longer than gathering the weights [token].

    References
    ----------
    F11.5.
    """
    s = scenario
    return float(gather_time(s)) * s.n_chips * s.linear_rate / (2.0 * s.model.active_params)


def legal_widths(scenario: Scenario) -> dict[int, list[str]]:
    """For each power of two up to the chips, and the chips: what it does not divide, in words."""
    s = scenario
    widths = sorted({*(2**i for i in range(s.n_chips.bit_length())), s.n_chips})
    return {width: layout.illegal(s.model, width) + _cut_groups(s, width) for width in widths}


def _cut_groups(s: Scenario, width: int) -> list[str]:
    """What a width does to quantization groups and to the vocabulary, which is padded."""
    found = []
    group, columns = mlp_format(s).group, layout.shapes(s.model).get("MLP columns", 0)
    if group > 1 and columns and columns % (width * group):
        found.append(say("Groups of {group} weights are cut.", group=group))
    if s.model.vocabulary % width:
        padded = math.ceil(s.model.vocabulary / width) * width
        found.append(say("The vocabulary is padded to {padded:,}.", padded=padded))
    return found


@dataclass(frozen=True)
class PerChip:
    """What one chip of a layout holds [byte]; copies are what it would not hold if all was split.

    `expert_weights` are routed experts, `other_weights` the rest.
    """

    expert_weights: float
    other_weights: float
    weight_copies: float
    kv_cache: float
    kv_copies: float


def per_chip(scenario: Scenario) -> PerChip:
    """The ledger of the fullest chip."""
    s = with_links(scenario)
    chosen = Layout.of(s)
    model = s.model
    experts = float(chosen.experts_per_chip(s))
    weights = float(chosen.weights_per_chip(s))
    cache = float(chosen.sequences(s.batch) * chosen.micro_batches) * float(
        chosen.cache_per_chip(s, s.context)
    )
    shared = float(model.kv_bytes(s.context, s.kv_format)) * s.batch / s.n_chips
    return PerChip(
        experts,
        weights - experts,
        weights - (model.weight_bytes(s.stored) - host.weights(s)) / s.n_chips,
        cache,
        max(0.0, cache - shared),
    )


@dataclass(frozen=True)
class Widths:
    """The step against a tensor-parallel width that is all of the replica.

    `bound` is the textbook roofline of as many chips [s].
    """

    tp: Array
    step: decode.StepTime
    bound: Array


def by_width(scenario: Scenario, tp: ArrayLike) -> Widths:
    """Decode steps of replicas of one group of so many chips."""
    wide = np.asarray(tp, dtype=float)
    step = decode.step_time(with_links(scenario), layout=Layout.of_widths(wide))
    bound = decode.step_time(replace(scenario, fidelity="bound")).total
    return Widths(wide, step, np.asarray(bound * scenario.n_chips / wide))


def message(scenario: Scenario) -> float:
    """Activations that a collective of one product carries [byte] (F11.1)."""
    s = scenario
    sequences = float(Layout.of(s).sequences(s.batch))
    return sequences * s.model.d_model * s.compute_format.bytes


def latency_floor(scenario: Scenario) -> float:
    """What a step's reductions take if their messages are of no size [s] (F3.7)."""
    return float(decode.step_time(with_links(scenario), batch=0).communication)


def shape_words(scenario: Scenario, tp: int) -> str:
    """The shape of a group on a torus, such as 4 × 8; empty on other fabrics."""
    fabric = scenario.chip.fabric
    if fabric.kind != "torus":
        return ""
    return " × ".join(str(length) for length in torus_shape(tp, fabric.axes))
