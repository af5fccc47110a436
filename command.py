"""The command ``inference-ledger``: a link's figures, or its plan, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import presets
from calc import LedgerError, Scenario, link, plan, scenario
from calc.explain import EXPLANATIONS, bounds
from calc.fields import Catalogues
from calc.plan import asked as wanted

CATALOGUES = {"models": presets.models, "chips": presets.chips, "formats": presets.formats}
_SIGNS = {bounds.LEAST: "≥", bounds.MOST: "≤", "": " "}
# Of a shell: a link that was read with changes is not the link that was asked, and limits that
# nothing keeps are no plan.
_READ, _UNSERVED, _CHANGED = 0, 1, 2


def main(given: Sequence[str] | None = None) -> int:
    """Print the figures of a link; the code for the shell."""
    asked = _arguments().parse_args(given)
    if unknown := [id for id in asked.only if id not in EXPLANATIONS]:
        print(f"No figure is called {', '.join(unknown)}.", file=sys.stderr)
        return _CHANGED
    query = _query(asked.link)
    values, problems = link.parse(query, CATALOGUES)
    texts = {text.key: values[text.name] for text in link.TEXTS}
    catalogues = link.with_custom(CATALOGUES, texts)[0]
    served = True
    try:
        built = scenario.build(values, catalogues)
        if asked.plan:
            found = _planned(values, built, catalogues)
            served = bool(found["plans"])
            print(_json(values, found) if asked.json else _plans(found))
        else:
            figures = _figures(built, asked.only or list(EXPLANATIONS))
            print(_json(values, {"figures": figures}) if asked.json else _table(figures))
    except LedgerError as error:
        print(error, file=sys.stderr)
        return _CHANGED
    for problem in problems:
        print(problem.sentence, file=sys.stderr)
    return _CHANGED if problems else _READ if served else _UNSERVED


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="inference-ledger", description="The figures of a scenario or its plan, from a link."
    )
    parser.add_argument("link", help="a link of the ledger, or its query: model=…&chip=…&n=…")
    parser.add_argument(
        "--json", action="store_true", help="settings and figures as JSON, SI units"
    )
    parser.add_argument(
        "--plan", action="store_true", help="the plans for its traffic and limits, best first"
    )
    parser.add_argument(
        "--only", type=lambda ids: ids.split(","), default=[], metavar="ID,…",
        help="these figures only, by their ids, such as step_time,max_batch",
    )  # fmt: skip
    return parser


def _query(given: str) -> dict[str, list[str]]:
    """The parameters of a link, or of a query without one."""
    parts = urlsplit(given)
    whole = parts.query if parts.scheme or given.startswith(("/", "?")) else given
    return parse_qs(whole, keep_blank_values=False)


def _figures(built: Scenario, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By id: label, value in SI units or nothing, unit, and the side that a bound is one of."""
    found = {}
    for id in ids:
        entry = EXPLANATIONS[id]
        sense, formula = bounds.written(id, entry, built)
        value = formula.value if math.isfinite(formula.value) else None
        found[id] = {"label": entry.title, "value": value, "unit": entry.unit, "bound": sense}
    return found


def _planned(values: dict[str, Any], built: Scenario, catalogues: Catalogues) -> dict[str, Any]:
    """Plans for a link's traffic, best first, and what keeps each other chip from one."""
    ask = wanted.ask(values, built)
    found = plan.search(built, ask, wanted.space(values, built, catalogues))
    return {
        "plans": [_plan(one) for one in found.rows],
        "obstacles": [
            {"chip": one.chip, "what": one.kind, "tpot": _known(one.tpot), "ttft": _known(one.ttft)}
            for one in found.obstacles
        ],
    }


def _plan(one: plan.Candidate) -> dict[str, Any]:
    """A plan in SI units; what is not published is nothing."""
    s, pool = one.scenario, one.prefill
    usd_in, usd_out = one.split
    figures = {
        "usd_per_hour": one.usd_per_hour, "usd_per_million_in": usd_in,
        "usd_per_million_out": usd_out, "tpot": one.tpot, "ttft": one.ttft,
        "longest_gap": one.longest, "requests_per_second": plan.most_served(one),
        "reading_share": one.used, "tokens_per_joule": one.tokens_per_joule, "watts": one.watts,
    }  # fmt: skip
    return {
        "chip": s.chip.id, "arrangement": one.arrangement, "chips": one.chips,
        "replicas": one.replicas, "chips_per_replica": s.n_chips,
        "prefill_replicas": pool.replicas if pool else 0,
        "chips_per_prefill_replica": pool.scenario.n_chips if pool else 0,
        "tensor_parallel": s.tensor_parallel, "attention_dp": s.attention_dp,
        "expert_parallel": s.expert_parallel, "pipeline": s.pipeline,
        "weights": s.stored.id, "kv": s.kv_format.id, "compute": s.compute_format.id,
        "batch": one.batch, "slots": one.slots, "token_budget": one.budget,
        **{name: _known(value) for name, value in figures.items()},
        "binds": one.binds,
    }  # fmt: skip


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


# Columns of a plan's table: head, unit, and how many of it SI units are.
_COLUMNS = {
    "usd_per_hour": ("USD/h", 1.0), "usd_per_million_out": ("USD/M out", 1.0),
    "usd_per_million_in": ("USD/M in", 1.0), "tpot": ("TPOT ms", 1e3), "ttft": ("TTFT s", 1.0),
}  # fmt: skip


def _plans(found: dict[str, Any]) -> str:
    rows = [["chip", "replicas", "layout", "formats", *(head for head, _ in _COLUMNS.values()),
             "binds"]]  # fmt: skip
    for one in found["plans"]:
        replicas = f"{one['replicas']}x{one['chips_per_replica']}"
        if one["prefill_replicas"]:
            replicas += f"+{one['prefill_replicas']}x{one['chips_per_prefill_replica']}"
        widths = {
            "tp": one["tensor_parallel"], "dp": one["attention_dp"], "ep": one["expert_parallel"],
            "pp": one["pipeline"],
        }  # fmt: skip
        layout = " ".join(f"{name}{width}" for name, width in widths.items() if width > 1) or "-"
        formats = "/".join(dict.fromkeys((one["weights"], one["kv"], one["compute"])))
        figures = [
            "unknown" if one[name] is None else f"{one[name] * scale:.4g}"
            for name, (_, scale) in _COLUMNS.items()
        ]
        rows.append([one["chip"], replicas, layout, formats, *figures, one["binds"]])
    if not found["plans"]:
        rows = [["chip", "in the way", "least TPOT ms", "least TTFT s"]]
        rows += [
            [one["chip"], one["what"],
             "-" if one["tpot"] is None else f"{1e3 * one['tpot']:.4g}",
             "-" if one["ttft"] is None else f"{one['ttft']:.4g}"]
            for one in found["obstacles"]
        ]  # fmt: skip
    widest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widest, strict=True)).rstrip()
        for row in rows
    )


def _json(values: dict[str, Any], found: dict[str, Any]) -> str:
    kept = {field.key: values[field.name] for field in link.FIELDS}
    return json.dumps({"settings": kept, **found}, ensure_ascii=False, indent=1)


def _table(figures: dict[str, dict[str, Any]]) -> str:
    width = max(len(one["label"]) for one in figures.values())
    names = max(map(len, figures))
    return "\n".join(
        f"{id:{names}}  {one['label']:{width}} {_SIGNS[one['bound']]} {_number(one['value']):>12} "
        f"{one['unit']}".rstrip()
        for id, one in figures.items()
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


if __name__ == "__main__":
    sys.exit(main())
