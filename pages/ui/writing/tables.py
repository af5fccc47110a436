"""Tables and sentences that say in text what the charts show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calc import Scenario, calibration, metrics, serving
from calc.decode import StepTime
from calc.explain import EXPLANATIONS
from calc.layout import Layout
from calc.memory import Ledger
from calc.words import marked, say
from pages.ui.writing import published, text


def summary(scenario: Scenario, load: str = "") -> str:
    """The scenario in one line, as Markdown; `load` is as in `told`."""
    return text.plain(told(scenario, load))


def told(scenario: Scenario, load: str = "") -> str:
    """The scenario in one line; a `load` stands in place of batch and context."""
    s = scenario
    return say(
        "{model} · {n:,} × {chip} · {weights} weights, {kv} KV, {compute} compute · "
        "{load} · {usable} of memory · fidelity: {fidelity}",
        model=s.model.name,
        n=s.n_chips,
        chip=s.chip.name,
        weights=s.stored.id,
        kv=s.kv_format.id,
        compute=s.compute_format.id,
        load=load
        or say(
            "batch {batch:,} · context {context}", batch=s.batch, context=text.tokens(s.context)
        ),
        usable=text.percent(s.usable_memory),
        fidelity=text.listed([s.fidelity, *filter(None, [calibration.basis(s)]), *widths(s)]),
    )


def asked(values: Mapping[str, Any], tpot: float) -> str:
    """What comes and what it must keep, in one line; `tpot` is the limit on it [s]."""
    told = {"rate": values["rate"], "output": values["output"],
            "prompt": text.tokens(values["prompt"])}  # fmt: skip
    clients = text.plural(values["clients"], marked("{n} client"), marked("{n} clients"))
    classes = len(serving.classes.read(values["classes"])) if values.get("classes") else 0
    if classes and not values.get("trace"):
        # Each with lengths and limits of its own.
        if values["clients"]:
            return say("{clients}, {n} classes", clients=clients, n=classes)
        return say("{rate:g} requests/s, {n} classes", n=classes, **told)
    if values.get("trace"):
        traffic = say("requests of a trace")
    elif values["clients"]:
        traffic = say("{clients}, {prompt} in, {output:,} out", clients=clients, **told)
    else:
        traffic = say("{rate:g} requests/s, {prompt} in, {output:,} out", **told)
    kept = {"ttft": text.si(values["ttft_limit"], "s"), "tpot": text.si(tpot, "s")}
    return say("{traffic} · TTFT ≤ {ttft}, TPOT ≤ {tpot}", traffic=traffic, **kept)


def tab_title(page: str, scenario: Scenario) -> str:
    """What the browser's tab, a bookmark and the history call a page of a scenario."""
    s = scenario
    return say("{page}: {model} on {n:,} × {chip}", page=page, model=s.model.name, n=s.n_chips,
               chip=s.chip.name)  # fmt: skip


def widths(s: Scenario) -> list[str]:
    """The layout, where it matters."""
    if s.fidelity == "bound":
        return []
    chosen = Layout.of(s)
    sizes = {"TP": chosen.tp, "DP": chosen.dp, "EP": chosen.ep, "PP": chosen.pp}
    return [f"{name} {int(size)}" for name, size in sizes.items() if size > 1]


def step_sentence(step: StepTime) -> str:
    """What the step is made of, and what is hidden behind it."""
    charged = {name: float(term) for name, term in step.charged().items()}
    full = {name: float(getattr(step, name)) for name in charged}
    parts = _listed({name: term for name, term in charged.items() if term != 0})
    hidden = {name: full[name] - term for name, term in charged.items() if full[name] > term}
    unpaid = hidden.pop("attention_compute", 0.0) if not charged["attention_compute"] else 0.0
    made = say("Step: {terms}.", terms=parts)
    if any(operator.read_only for operator in step.work.operators):
        return text.sentences(
            made,
            _hidden(hidden),
            say(
                "Not charged at this fidelity: attention FLOPs {time}.",
                time=text.si(full["attention_compute"], "s"),
            )
            if full["attention_compute"]
            else "",
        )
    if unpaid:
        hidden["attention_compute"] = unpaid
    return text.sentences(made, _hidden(hidden))


def _listed(terms: Mapping[str, float]) -> str:
    return text.quantities(terms, "s")


def _hidden(terms: Mapping[str, float]) -> str:
    return say("Hidden behind it: {terms}.", terms=_listed(terms)) if terms else ""


def operators_sentence(step: StepTime) -> str:
    """Each operator with its time and the side that binds it."""
    return text.clauses(
        say("{name} {time}, compute-bound", name=say(row.name), time=text.si(row.time, "s"))
        if row.compute_bound
        else say("{name} {time}, memory-bound", name=say(row.name), time=text.si(row.time, "s"))
        for row in step.work.by_name()
    )


def utilisation_sentence(scenario: Scenario, step: StepTime) -> str:
    """What of memory's and of the chips' speed the step uses."""
    return say(
        "MBU {mbu}, MFU {mfu}.",
        mbu=published.most(scenario, text.percent(float(metrics.mbu(scenario, step)))),
        mfu=_mfu(scenario, step),
    )


def _mfu(scenario: Scenario, step: StepTime) -> str:
    share = float(metrics.mfu(scenario, step))
    return text.unknown() if math.isnan(share) else published.most(scenario, text.percent(share))


def memory_sentence(ledger: Ledger) -> str:
    """What the memory holds, and what is free or missing."""
    others = {
        name: size
        for name, size in ledger.parts().items()
        if name in ("activations", "runtime", "reserved") and size
    }
    parts = [
        text.quantities({"weights": ledger.weights, "kv_cache": ledger.kv_cache}, "B"),
        text.quantities({"free": ledger.free}, "B")
        if ledger.free >= 0
        else say("missing {size}", size=text.si(-ledger.free, "B")),
        *(text.quantities({name: size}, "B") for name, size in others.items()),
    ]
    return say(
        "Memory: {parts}, of {total}.", parts=text.listed(parts), total=text.si(ledger.total, "B")
    )


Table = dict[str, list[str]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Columns by heading, for Streamlit's own table: it scrolls where a phone is too narrow."""
    return {name: list(cells) for name, cells in zip(head, zip(*rows, strict=True), strict=True)}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: str = "") -> str:
    """A Markdown table; `numbers` has an ``r`` for each column to align right.

    It redraws many times faster than Streamlit's table of the same cells.
    """
    rows = list(rows)
    assert all(len(row) == len(head) for row in rows), head
    rule = ["---:" if i < len(numbers) and numbers[i] == "r" else "---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def symbols(scenario: Scenario) -> list[list[str]]:
    """The symbols that formulas are written in, each once."""
    seen: dict[str, list[str]] = {}
    shown = {entry.symbol for entry in EXPLANATIONS.values()}
    for entry in EXPLANATIONS.values():
        for symbol in entry.build(scenario).symbols():
            words = [say(symbol.meaning), say(symbol.unit)]
            seen.setdefault(symbol.name, [f"${symbol.name}$", *words, ""])
    return [row for name, row in seen.items() if "_{" not in name and name not in shown]
