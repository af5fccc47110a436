"""The checklist before a launch: what the scenario fixes, and what is left to write down."""

from __future__ import annotations

from pages_app import opened, parsed, words
from scenarios import scenario

from pages.ui.report import report
from pages.ui.writing import checklist

TRAFFIC = {"qps": "5", "p": "1000", "g": "100", "tl": "2", "tt": "40"}


def test_a_report_and_the_page_have_one_list() -> None:
    values = parsed(**TRAFFIC)
    items = checklist.filled(scenario(), values)
    assert len(items) == 8
    assert "5 requests/s, 1,000 tokens in, 100 out" in items[5].known
    assert "TTFT ≤ 2.00 s" in items[5].known
    # Quality, faults and rollback are nothing that a scenario says.
    assert not items[7].known and items[7].blanks
    *_, last = report.sections(scenario(), values, [])
    assert last.blanks == items


def test_the_tab() -> None:
    said = words(opened("capacity", x="capacity_before-deployment", **TRAFFIC))
    rows = [line for line in said.splitlines() if line[:4] in {f"| {n}." for n in range(1, 9)}]
    assert len(rows) == 8
    assert "| context 8,192 tokens, prompt 1,000, output 100 |" in rows[1]
    assert "then one every 8.57 ms" in rows[6]
    assert rows[7].endswith("|  | regression set; fault injection; rollback of versions |")
