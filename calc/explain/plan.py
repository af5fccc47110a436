"""Explanations of a plan: each figure from those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from calc import plan
from calc.explain.entry import DISTSERVE, Explanation
from calc.explain.expression import Ceiling, Expression, Number, Power, Symbol
from calc.plan import Candidate, Steady, replica
from calc.words import marked

_SAKASEGAWA = "Sakasegawa 1977"


def explanations(candidate: Candidate) -> Mapping[str, Explanation]:
    """The figures of a plan by id, those of its hour first."""
    one = candidate
    entries = {
        "plan_replicas": (
            marked("Replicas"), "R", "replicas", "F13.5",
            marked("Whole replicas for the rate and its headroom."), _replicas,
        ),
        "plan_usd_per_hour": (
            marked("USD per hour"), "p", "USD/hour", "F13.5",
            marked("All chips of all pools, a spare replica included."), _usd,
        ),
        "plan_usd_per_million": (
            marked("USD per M out, prompts included"), r"p_\mathrm{out}", "USD", "F13.5",
            marked("Of a million answer tokens at the rate, everything charged to them."), _each,
        ),
        "plan_rate": (
            marked("Rate of a replica"), "x", "1/s", "F13.1",
            marked("Sequences that decode, over the time of an answer (Little)."), _rate,
        ),
        "plan_slots": (
            marked("Slots"), "n", "sequences", "F13.5",
            marked("The 99th percentile of the sequences there, whatever limits are on."), _slots,
        ),
        "plan_tokens_per_joule": (
            marked("Token per joule"), r"X_J", "token/J", "F8.13",
            marked("Answer tokens at the rate over the power of all chips."), _joule,
        ),
    }  # fmt: skip
    if one.prefill is None:
        entries["plan_most"] = (
            marked("Most requests"), r"\lambda_\mathrm{max}", "1/s", "F13.5",
            marked("What all replicas but a spare one answer, the headroom left."), _most,
        )  # fmt: skip
    if one.ask.classes:
        # Slots are for busy periods as well, and times are those of each class.
        del entries["plan_slots"]
        entries["plan_steps"] = (
            marked("Steps of an answer"), "s", "steps", "F13.7",
            marked("After its first token, averaged over the classes by their shares."),
            _mean_steps,
        )  # fmt: skip
    elif one.prefill is None:
        entries |= {
            "plan_tpot": (
                marked("TPOT, mean"), r"\mathrm{TPOT}", "s", "F13.1",
                marked("A step, and what the prompts of others add to it."), _tpot,
            ),
            "plan_used": (
                marked("Reading prompts"), r"\rho", "share", "F13.1",
                marked("Share of its time that a reader of prompts works."), _used,
            ),
            "plan_wait": (
                marked("Mean wait"), r"\bar{W}", "s", f"F13.2; {_SAKASEGAWA}",
                marked("For the reader, before a prompt is read."), _wait,
            ),
        }  # fmt: skip
    if one.prefill and not one.ask.classes:
        entries["plan_transfer"] = (
            marked("Sending a cache"), "t_x", "s", f"F8.9; {DISTSERVE}",
            marked("From a prefill replica through the ports of its chips."), _transfer,
        )  # fmt: skip

    return {id: _entry(one, *told) for id, told in entries.items()}


def _entry(
    one: Candidate,
    label: str,
    symbol: str,
    unit: str,
    source: str,
    reading: str,
    write: Callable[[Candidate], Expression],
) -> Explanation:
    return Explanation(label, symbol, unit, source, reading, lambda _: write(one))


def _steady(one: Candidate) -> Steady:
    layout = replica.layout_of(one.scenario)
    if one.budget:
        return plan.steady(one.scenario, layout, one.batch, one.budget, one.ask)
    return replica.whole(one.scenario, layout, one.batch, one.ask)


def _needed(one: Candidate) -> Expression:
    headroom = Symbol("h", one.ask.headroom, "share", marked("headroom"))
    return (Number(1) + headroom) * _lambda(one)


def _lambda(one: Candidate) -> Symbol:
    return Symbol(r"\lambda", one.ask.rate, "1/s", marked("requests each second"))


def _x(one: Candidate) -> Symbol:
    return Symbol("x", one.rate, "1/s", marked("requests that a replica answers each second"))


def _replicas(one: Candidate) -> Expression:
    whole = Ceiling(_needed(one) / _x(one))
    return whole + Number(1) if one.ask.spare else whole


def _most(one: Candidate) -> Expression:
    replicas = Symbol("R", one.replicas - one.ask.spare, "replicas", marked("replicas"))
    headroom = Symbol("h", one.ask.headroom, "share", marked("headroom"))
    return replicas * _x(one) / (Number(1) + headroom)


def _usd(one: Candidate) -> Expression:
    chips = Symbol("R", one.replicas, "replicas", marked("replicas")) * Symbol(
        "N", one.scenario.n_chips, "chips", marked("chips of a replica")
    )
    if one.prefill:
        pool = one.prefill
        chips = chips + Symbol(
            "R_p", pool.replicas, "replicas", marked("replicas that read prompts")
        ) * Symbol("N_p", pool.scenario.n_chips, "chips", marked("chips of each of them"))
    price = one.usd_per_hour / one.chips
    return chips * Symbol("p_1", price, "USD/hour", marked("price of one chip"))


def _output(one: Candidate) -> Symbol:
    return Symbol("G", one.ask.output, "tokens", marked("tokens of an answer"))


def _each(one: Candidate) -> Expression:
    hour = Symbol("p", one.usd_per_hour, "USD/hour", marked("price of all chips"))
    return Number(1e6) * hour / (Number(3600) * _lambda(one) * _output(one))


def _batch(one: Candidate) -> Symbol:
    return Symbol("B", one.batch, "sequences", marked("sequences that decode, on average"))


def _steps(one: Candidate) -> Symbol:
    return Symbol("s", one.ask.steps, "steps", marked("steps after the first token"))


def _mean_steps(one: Candidate) -> Expression:
    total: Expression | None = None
    for number, part in enumerate(one.ask.parts, start=1):
        share = Symbol(rf"\pi_{number}", part.share, "share", marked("share of a class"))
        steps = Symbol(f"s_{number}", part.steps, "steps", marked("steps of its answers"))
        total = share * steps if total is None else total + share * steps
    assert total is not None
    return total


def _rate(one: Candidate) -> Expression:
    tpot = Symbol(r"\mathrm{TPOT}", one.mean_tpot, "s", marked("mean time per token"))
    return _batch(one) / (_steps(one) * tpot)


def _reading(one: Candidate) -> Symbol:
    return Symbol("D", float(_steady(one).reading), "s", marked("a prompt in the reader"))


def _slots(one: Candidate) -> Expression:
    there: Expression = _batch(one)
    if one.prefill is None:
        there = there + _x(one) * _reading(one)
    return Ceiling(there + Number(2.326) * Power(there, Number(0.5)))


def _joule(one: Candidate) -> Expression:
    watts = Symbol(r"P_\mathrm{W}", one.watts, "W", marked("power of all chips"))
    return _lambda(one) * _output(one) / watts


def _tpot(one: Candidate) -> Expression:
    found = _steady(one)
    step = Symbol("T_0", one.step, "s", marked("a decode step"))
    waiting = Symbol("e", float(found.waiting), "prompts", marked("prompts found waiting"))
    if not one.budget:
        lanes = (one.mean_tpot - one.step) * one.ask.steps / (one.batch + float(found.waiting))
        added = Symbol(r"\delta", lanes, "s", marked("what one prompt adds to all steps"))
        return step + (_batch(one) + waiting) * added / _steps(one)
    longest = Symbol("T_k", one.longest, "s", marked("a step with a part of a prompt"))
    groups = float(replica.groups(one.scenario, replica.layout_of(one.scenario)))
    share = Symbol("f", float(found.share), "share", marked("steps with a part of a prompt"))
    any_group = (
        share
        if groups == 1
        else Number(1)
        - Power(Number(1) - share, Symbol("g", groups, "groups", marked("groups in lockstep")))
    )
    chunks = float(found.reading) / one.longest
    added = Symbol(
        r"\delta", chunks * (one.longest - one.step), "s",
        marked("what one prompt adds to all steps"),
    )  # fmt: skip
    return step + any_group * (longest - step) + waiting * added / _steps(one)


def _used(one: Candidate) -> Expression:
    readers = _x(one).value * _reading(one).value / one.used
    lanes = Symbol("g", readers, "prompts", marked("prompts read at once"))
    return _x(one) * _reading(one) / lanes


def _wait(one: Candidate) -> Expression:
    used = Symbol(r"\rho", one.used, "share", marked("of its time that a reader works"))
    spread = Symbol("c_v", one.ask.spread, "ratio", marked("deviation over mean of lengths"))
    scatter = Number(1) + Power(spread, Number(2))
    return used * _reading(one) * scatter / (Number(2) * (Number(1) - used))


def _transfer(one: Candidate) -> Expression:
    pool = one.prefill
    assert pool
    s = pool.scenario
    cache = Symbol(
        r"\kappa", float(s.model.kv_bytes(one.ask.prompt, s.kv_format)), "byte",
        marked("cache of a prompt"),
    )  # fmt: skip
    chips = Symbol("N_p", s.n_chips, "chips", marked("chips of a prefill replica"))
    return cache / (chips * Symbol("W_n", s.scale_out, "byte/s", marked("network of each chip")))
