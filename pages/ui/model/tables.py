"""The tables of the Model page."""

from __future__ import annotations

from collections.abc import Callable

from calc import known, memory
from calc.design import measures
from calc.words import say
from pages.ui.model import words
from pages.ui.model.view import Costs, ModelView
from pages.ui.writing import palette, tables, text, written

# How each measure is written.
FORMS: dict[str, Callable[[float], str]] = {
    "step_time": lambda value: text.si(value, "s"),
    "max_batch": text.count,
    "kv_per_sequence": lambda value: text.si(value, "B"),
    "kv_per_token": text.kibibytes,
    "total_params": words.billions,
    "active_params": words.billions,
    "flops_per_token": lambda value: text.si(value, "FLOP"),
    "throughput_per_chip": text.rate,
    "usd_per_million_tokens": text.usd,
}


# Measures that a rate which nobody published leaves as a bound.
_TIMED = ("step_time", "throughput_per_chip", "usd_per_million_tokens")


def beside(view: ModelView) -> str:
    """Every figure of the model, and of what it was edited from."""
    now, before = view.now, view.before
    bounded = known.bounded(view.scenario)
    rows = [
        _row(say("Parameters"), view.model.total_params, view.origin.total_params, text.count),
        _row(say("Active parameters"), view.model.active_params, view.origin.active_params,
             text.count),
        _row(say("Layers"), view.model.layers, view.origin.layers, text.count),
        *(
            # To or from a bound there is no difference.
            _row(say(one.label), _of(one, now), _of(one, before), _form(id, view),
                 bounded and id in _TIMED)
            for id, one in measures.MEASURES.items()
            if id not in ("total_params", "active_params")
        ),
        *([] if bounded else _terms(now, before)),
        _row(say("Fewest chips"), memory.min_chips(now.scenario),
             memory.min_chips(before.scenario),
             lambda value: written.quantity("fewest_chips", value)),
    ]  # fmt: skip
    head = [say("Figure"), text.plain(view.model.name)]
    if not view.edited:
        return tables.markdown(head, [row[:2] for row in rows], "lr")
    return tables.markdown([*head, text.plain(view.origin.name), say("Difference")], rows, "lrrr")


def _form(id: str, view: ModelView) -> Callable[[float], str]:
    """How a measure of the view is written, a bound with its sign."""
    if id not in _TIMED:
        return FORMS[id]
    return lambda value: written.bounded(id, value, view.scenario)


def _of(one: measures.Measure, costs: Costs) -> float:
    return float(one.of(costs.scenario))


def _row(
    label: str, now: float, before: float, form: Callable[[float], str], bounded: bool = False
) -> list[str]:
    change = "=" if now == before else text.change(now, before)
    return [label, form(now), form(before), "" if bounded else change]


def _terms(now: Costs, before: Costs) -> list[list[str]]:
    """What the steps are charged for."""
    new, old = now.step.charged(), before.step.charged()
    return [
        _row(
            say("Step: {term}", term=say(palette.QUANTITIES[name].label)),
            float(new[name]),
            float(old[name]),
            FORMS["step_time"],
        )
        for name in new
        if float(new[name]) or float(old[name])
    ]
