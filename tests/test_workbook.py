"""The spreadsheet's formulas, evaluated by other means, give what pages show."""

from __future__ import annotations

import ast
import io
import math
import re
import zipfile
from typing import Any

import pytest
from scenarios import scenario

from calc import Scenario, known
from pages.ui.report import workbook

SCENARIOS = {
    "textbook": scenario(),
    "compute": scenario(batch=1024, context=512),
    "operators": scenario(fidelity="operators", step_overhead=2e-2, overlap=0.5),
    "experts": scenario("deepseek-v3", "h200", n_chips=16, w="fp8", fidelity="operators"),
    "calibrated": scenario("llama-3-70b", "h100-sxm", n_chips=8, fidelity="calibrated"),
    "unknown rate": scenario(chip="m5-max", n_chips=8),
    "does not fit": scenario(n_chips=1),
}
FUNCTIONS: dict[str, Any] = {"max": max, "min": min, "floor": lambda value, _: math.floor(value)}


class Cells(dict[str, Any]):
    """Cells by name, large and small letters alike, each computed when it is asked for."""

    def __init__(self, sheet: workbook.Sheet, changed: dict[str, float]) -> None:
        given = {name: symbol.value for name, symbol in sheet.inputs.items()} | changed
        super().__init__({name.casefold(): value for name, value in given.items()})
        self.sheet = sheet
        self.ids = {cell.casefold(): id for id, cell in sheet.cells.items()}

    def __missing__(self, name: str) -> Any:
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        id = self.ids[name]
        written = self.sheet.formulas[id]
        if written is None:
            return self.sheet.figures[id][1].value
        tree = ast.parse(written.casefold().replace("^", "**"), mode="eval")
        self[name] = eval(compile(tree, "cell", "eval"), {"__builtins__": {}}, self)
        return self[name]


def evaluated(sheet: workbook.Sheet, changed: dict[str, float]) -> dict[str, float]:
    """All figures as a spreadsheet would compute them, with some inputs changed."""
    held = Cells(sheet, changed)
    return {id: held[cell.casefold()] for id, cell in sheet.cells.items() if sheet.formulas[id]}


@pytest.mark.parametrize("s", SCENARIOS.values(), ids=SCENARIOS)
def test_formulas_give_what_the_page_shows(s: Scenario) -> None:
    sheet = workbook.Sheet(known.least(s))
    finite = {id for id, (_, one) in sheet.figures.items() if math.isfinite(one.value)}
    for id, value in evaluated(sheet, {}).items():
        if id in finite:
            assert value == pytest.approx(sheet.figures[id][1].value, rel=1e-9), id


def test_a_changed_batch_moves_what_hangs_on_it() -> None:
    sheet = workbook.Sheet(scenario())
    moved = evaluated(sheet, {"B_": 64})
    other = workbook.Sheet(scenario(batch=64))
    for id in ("step_time", "throughput", "kv_read", "usd_per_million_tokens"):
        assert moved[id] == pytest.approx(other.figures[id][1].value, rel=1e-9), id
        assert moved[id] != sheet.figures[id][1].value


def test_the_file_is_a_workbook_with_named_cells() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook.xlsx(scenario()))) as file:
        names = re.findall(r'definedName name="(\w+)"', file.read("xl/workbook.xml").decode())
        figures = file.read("xl/worksheets/sheet2.xml").decode()
    assert {"B_", "N_", "W_", "fig_step_time"} <= set(names)
    assert len(names) == len({name.casefold() for name in names})
    assert figures.count("<f>") > 40
