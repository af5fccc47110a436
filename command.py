"""The command ``inference-ledger``: a link's figures as a table or as JSON, for scripts and CI."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import presets
from calc import LedgerError, Scenario, link, scenario
from calc.explain import EXPLANATIONS, bounds

CATALOGUES = {"models": presets.models, "chips": presets.chips, "formats": presets.formats}
_SIGNS = {bounds.LEAST: "≥", bounds.MOST: "≤", "": " "}
# Of a shell: a link that was read with changes is not the link that was asked.
_READ, _CHANGED = 0, 2


def main(given: Sequence[str] | None = None) -> int:
    """Print the figures of a link; the code for the shell."""
    asked = _arguments().parse_args(given)
    if unknown := [id for id in asked.only if id not in EXPLANATIONS]:
        print(f"No figure is called {', '.join(unknown)}.", file=sys.stderr)
        return _CHANGED
    query = _query(asked.link)
    values, problems = link.parse(query, CATALOGUES)
    texts = {text.key: values[text.name] for text in link.TEXTS}
    try:
        built = scenario.build(values, link.with_custom(CATALOGUES, texts)[0])
    except LedgerError as error:
        print(error, file=sys.stderr)
        return _CHANGED
    figures = _figures(built, asked.only or list(EXPLANATIONS))
    print(_json(values, figures) if asked.json else _table(figures))
    for problem in problems:
        print(problem.sentence, file=sys.stderr)
    return _CHANGED if problems else _READ


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="inference-ledger", description="The figures of a scenario, from a link."
    )
    parser.add_argument("link", help="a link of the ledger, or its query: model=…&chip=…&n=…")
    parser.add_argument(
        "--json", action="store_true", help="settings and figures as JSON, SI units"
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


def _json(values: dict[str, Any], figures: dict[str, dict[str, Any]]) -> str:
    kept = {field.key: values[field.name] for field in link.FIELDS}
    return json.dumps({"settings": kept, "figures": figures}, ensure_ascii=False, indent=1)


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
