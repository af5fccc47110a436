"""Explanations of the decode step: its terms, its rate, its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import cost, decode, host, roofline
from calc.explain.entry import (
    BOOK,
    Explanation,
    active,
    attention_sequence,
    bandwidth,
    batch,
    chips,
    host_power,
    host_reach,
    hosted,
    kv_sequence,
    linear_rate,
    rate,
    step_time,
    weight_bytes,
)
from calc.explain.expression import Expression, Maximum, Minimum, Number, Symbol, total
from calc.layout import Layout
from calc.network import Network
from calc.operators import ALL_REDUCE, Operator
from calc.scenario import Scenario
from calc.words import marked, say


def _bound(s: Scenario) -> bool:
    return s.fidelity == "bound"


def _params_read(s: Scenario) -> Symbol:
    return Symbol(
        r"P_\mathrm{read}",
        float(host.chip_params_read(s, s.batch)),
        "parameters",
        marked("parameters streamed in this step: no input embedding, only experts that are hit"),
    )


def _near(s: Scenario) -> tuple[Expression, Expression]:
    """Reading and computing of the weights on the chips, at fidelity bound."""
    read = _params_read(s) * weight_bytes(s, s.batch) / (chips(s) * bandwidth(s))
    multiplied = active(s)
    if s.host_share:
        words = marked("parameters on the chips that multiply one token")
        multiplied = Symbol(r"P_\mathrm{act}", host.chip_active(s), "parameters", words)
    return read, Number(2) * batch(s) * multiplied / (chips(s) * linear_rate(s))


def _hosted(s: Scenario) -> list[tuple[Expression, Expression]]:
    """Both of those on the host, if there are any."""
    if not s.host_share:
        return []
    return [hosted(s, float(host.bytes_read(s, s.batch)), 2.0 * s.batch * host.active(s))]


def _grouped(s: Scenario) -> list[list[Operator]]:
    """Operators of one name that are bound by the same side: their sums have one maximum."""
    groups: dict[tuple[str, bool, float], list[Operator]] = {}
    for operator in decode.step_time(s).work.operators:
        key = operator.name, bool(operator.compute_bound), float(operator.rate)
        groups.setdefault(key, []).append(operator)
    return list(groups.values())


def _sides(s: Scenario, group: list[Operator], index: int) -> tuple[Expression, Expression]:
    """Reading and computing of some operators on the busiest chip."""
    first = group[0]
    moved = Symbol(
        f"Q_{{{index}}}",
        float(sum(o.moved for o in group)),
        "byte",
        say("moved: {operator}", operator=say(first.name)),
    )
    done = Symbol(
        f"F_{{{index}}}",
        float(sum(o.done for o in group)),
        "FLOP",
        say("done: {operator}", operator=say(first.name)),
    )
    if first.name == host.ON_HOST:
        reach, power = host_reach(s), host_power(s, float(first.rate))
    else:
        words = marked("memory bandwidth that one chip reaches")
        reach = Symbol(r"W_\eta", float(first.bandwidth), "byte/s", words)
        name = r"C_{\eta,a}" if first.cache else r"C_\eta"
        power = Symbol(name, float(first.rate), "FLOP/s", marked("rate that one chip reaches"))
    return moved / reach, done / power


def _side(s: Scenario, cache: bool, side: int) -> Expression:
    return total(
        [
            _sides(s, group, i)[side]
            for i, group in enumerate(_grouped(s), 1)
            if group[0].cache == cache
        ]
        or [Number(0)]
    )


def _kv_read(s: Scenario) -> Expression:
    if _bound(s):
        return batch(s) * kv_sequence(s) / (chips(s) * bandwidth(s))
    return _side(s, cache=True, side=0)


def _weight_read(s: Scenario) -> Expression:
    if _bound(s):
        return total([sides[0] for sides in (_near(s), *_hosted(s))])
    return _side(s, cache=False, side=0)


def _linear_compute(s: Scenario) -> Expression:
    if _bound(s):
        return total([sides[1] for sides in (_near(s), *_hosted(s))])
    return _side(s, cache=False, side=1)


def _attention_compute(s: Scenario) -> Expression:
    if _bound(s):
        return batch(s) * attention_sequence(s) / (chips(s) * rate(s))
    return _side(s, cache=True, side=1)


def _communication(s: Scenario) -> Expression:
    step = decode.step_time(s)
    terms: list[Expression] = []
    for name, time in step.work.transfers.items():
        if name == ALL_REDUCE and float(time):
            terms.append(_all_reduce(s, float(time)))
        else:
            words = say("{message}, over the whole step", message=say(name))
            terms.append(Symbol(rf"T_\text{{{name}}}", float(time), "s", words))
    return total(terms or [Number(0)])


def _all_reduce(s: Scenario, time: float) -> Expression:
    """So many all-reduces, each a reduce-scatter and an all-gather over the group's links."""
    chosen, network = Layout.of(s), Network.of(s)
    path = network.path(float(chosen.tp))
    size = float(chosen.sequences(s.batch)) * s.compute_format.bytes * s.model.d_model
    sent = Symbol("V", size, "byte", marked("activations of the group's tokens"))
    width = Symbol("Y", float(chosen.tp), "chips", marked("tensor-parallel width"))
    link = Symbol(r"W_\mathrm{link}", path.bandwidth, "byte/s", marked("into each chip of a group"))
    hops = Symbol("h", path.hops, "hops", marked("hops across the group"))
    hop = Symbol(r"t_\mathrm{hop}", s.hop_latency, "s", marked("time of one hop"))
    shared, crossed = sent * (width - 1) / (width * link), hops * hop
    once = Number(2) * Maximum(shared, crossed)
    if network.reduction:
        kernel = Symbol(
            r"\alpha", network.reduction, "s", marked("all-reduce beside what it sends")
        )
        once = Maximum(Number(2) * shared + kernel, Number(2) * crossed)
    number = Symbol(
        r"n_\mathrm{AR}", time / once.value, "all-reduces", marked("two a layer in most models")
    )
    return number * once


def _overhead(s: Scenario) -> Expression:
    if _bound(s):
        return Number(0)
    layers = Symbol(
        "L",
        s.model.layers * float(Layout.of(s).rounds),
        "layers",
        marked("layers, once a micro-batch"),
    )
    fixed = Symbol(r"t_\mathrm{step}", s.step_overhead, "s", marked("overhead of a step"))
    each = Symbol(
        r"t_\mathrm{layer}", s.constants.layer_overhead, "s", marked("overhead of a layer")
    )
    if not s.constants.kernel_time:
        return fixed + layers * each
    started = Symbol(
        r"n_\mathrm{k}",
        s.model.kernels * float(Layout.of(s).rounds),
        "kernels",
        marked("kernels of all layers and the head, once a micro-batch"),
    )
    kernel = Symbol("t_k", s.constants.kernel_time, "s", marked("time of a kernel beside its work"))
    return fixed + layers * each + started * kernel


def _step(s: Scenario) -> Expression:
    if _bound(s):
        longer = (Maximum(*sides) for sides in (_near(s), *_hosted(s)))
        return total([_kv_read(s), *longer])
    step = decode.step_time(s)
    terms: list[Expression] = []
    for i, group in enumerate(_grouped(s), 1):
        sides = _sides(s, group, i)
        terms.append(Maximum(*sides))
        if s.overlap < 1:
            shown = Symbol(r"\varphi", s.overlap, "share", marked("of the shorter side that hides"))
            terms.append((Number(1) - shown) * Minimum(*sides))
    links = Symbol(
        r"T_\mathrm{links}", float(step.exposed), "s", marked("communication not hidden")
    )
    fixed = Symbol(r"T_\mathrm{fixed}", float(step.overhead), "s", marked("overhead"))
    return total([*terms, links, fixed])


def _throughput(s: Scenario) -> Expression:
    return batch(s) / step_time(s)


def _throughput_per_chip(s: Scenario) -> Expression:
    return batch(s) / (chips(s) * step_time(s))


def _compute_bound_batch(s: Scenario) -> Expression:
    crossing = roofline.compute_bound_batch(s)
    if not _bound(s) or s.host_share:
        return Symbol(
            "B^*", crossing, "sequences", marked("first batch whose FLOPs outlast its weight read")
        )
    streamed = math.nan
    if not math.isnan(crossing):
        streamed = float(s.model.params_read(crossing, s.routing_skew))
    read = Symbol(
        r"P_\mathrm{read}(B^*)",
        streamed,
        "parameters",
        marked("parameters streamed by a step of the batch sought; all that are active, if dense"),
    )
    each, power = weight_bytes(s, crossing), linear_rate(s)
    return each * power / (Number(2) * bandwidth(s)) * (read / active(s))


def _cost(s: Scenario) -> Expression:
    price = Symbol("p", cost.price(s), "USD/hour", marked("price of one chip"))
    made = float(decode.step_time(s).throughput_per_chip)
    return (
        Number(1e6)
        * price
        / (Number(3600) * Symbol("r", made, "token/s", marked("tokens per second per chip")))
    )


EXPLANATIONS: Mapping[str, Explanation] = {
    "step_time": Explanation(
        marked("Step time"), r"T_\mathrm{step}", "s", f"F3.1, F3.2, F3.12; {BOOK}, part 7",
        marked(
            "At fidelity bound: reading the cache, then the longer of reading the weights and "
            "multiplying by them; a lower bound without communication, overhead or attention "
            "FLOPs. At fidelity operators: for each operator the longer of its two sides, then "
            "what the links and the overhead add. At fidelity calibrated: the same with the shares "
            "and times that engines were measured at."
        ), _step,
    ),
    "kv_read": Explanation(
        marked("KV read"), r"T_\mathrm{KV}", "s", f"F3.1, F3.7; {BOOK}, part 7",
        marked(
            "Every sequence has its own cache, so a larger batch shares nothing here."
        ), _kv_read,
    ),
    "weight_read": Explanation(
        marked("Weight read"), r"T_\mathrm{w}", "s", f"F1.9, F3.5; {BOOK}, part 7",
        marked(
            "Weights are read once per step for the whole batch. The input embedding is gathered, "
            "not read; of the routed experts only those that some token hits."
        ), _weight_read,
    ),
    "linear_compute": Explanation(
        marked("Linear FLOPs"), r"T_\mathrm{lin}", "s", f"F3.1; {BOOK}, part 7",
        marked("Two FLOPs per active parameter and token."), _linear_compute,
    ),
    "attention_compute": Explanation(
        marked("Attention FLOPs"), r"T_\mathrm{att}", "s", f"F3.2, F3.3; {BOOK}, part 7",
        marked(
            "Scores and values over the whole context. The bound leaves them out of the step."
        ), _attention_compute,
    ),
    "communication": Explanation(
        marked("Communication"), r"T_\mathrm{comm}", "s",
        f"F3.7–F3.9; {BOOK}, part 3",
        marked(
            "What chips of a layout send each other; each message takes its bytes over the links "
            "or its hops, whichever is longer. The bound knows none."
        ), _communication,
    ),
    "overhead": Explanation(
        marked("Overhead"), r"T_\mathrm{fixed}", "s", "F3.10, F3.12",
        marked(
            "Time that no operator accounts for. At fidelity calibrated mostly that of starting "
            "kernels: about ten microseconds each, whatever they do."
        ), _overhead,
    ),
    "throughput": Explanation(
        marked("Token/s"), "X", "token/s", f"F8.2; {BOOK}, part 7",
        marked("Each step makes one token for every sequence."), _throughput,
    ),
    "throughput_per_chip": Explanation(
        marked("Token/s per chip"), r"X/N", "token/s", f"F8.2; {BOOK}, part 7",
        marked("What a chip earns; it sets the cost of a token."), _throughput_per_chip,
    ),
    "compute_bound_batch": Explanation(
        marked("Critical batch"), r"B^*", "sequences", f"F4.1, F3.5; {BOOK}, part 7",
        marked(
            "Where the FLOPs line crosses the weight-read line. For a dense model it is the "
            "critical batch of the chip, whatever the number of chips; a mixture of experts reads "
            "more weights the more tokens there are, and crosses later."
        ), _compute_bound_batch,
    ),
    "usd_per_million_tokens": Explanation(
        marked("USD per Mtoken"), r"p_\mathrm{Mtok}", "USD", "F8.12",
        marked("The hourly price over the tokens of an hour, with every chip always busy."), _cost,
    ),
    "usd_per_million_output_tokens": Explanation(
        marked("USD per M output"), r"p_\mathrm{out}", "USD", "F8.12",
        marked("The hourly price over the tokens of an hour, with every chip always busy."), _cost,
    ),
}  # fmt: skip
