"""The header's report: made when somebody clicks, from what the page knows now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import streamlit as st

from calc import Scenario
from calc.words import say
from pages.ui.frame import language, link
from pages.ui.frame.page import Page
from pages.ui.report import report, workbook


def control(pages: Sequence[Page[Any]], scenario: Scenario) -> None:
    """The report as HTML and the sweep as CSV."""
    with st.popover(
        say("Report"), icon=":material/description:", key="report", on_change="rerun"
    ) as popover:
        if not popover.open:
            return
        day = datetime.now(UTC).date()
        name = f"inference-ledger-{scenario.model.id}-{day.isoformat()}"
        st.download_button(
            say("Report, HTML"),
            _report(scenario, pages, day),
            f"{name}.html",
            "text/html",
            on_click="ignore",
            icon=":material/download:",
        )
        st.download_button(
            say("Sweep over batches, CSV"),
            lambda: report.sweep(scenario),
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            icon=":material/download:",
        )
        st.download_button(
            say("Spreadsheet with live formulas, XLSX"),
            _workbook(scenario),
            f"{name}.xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            on_click="ignore",
            icon=":material/download:",
        )
        st.caption(
            say(
                "One file that opens without a network: verdict, settings, charts, breakdown, "
                "comparison with what is pinned, every assumption with its source, and a "
                "checklist for deployment."
            )
        )


def _workbook(scenario: Scenario) -> Callable[[], bytes]:
    reader = language.current()

    def make() -> bytes:
        language.speak(reader)
        return workbook.xlsx(scenario)

    return make


def _report(scenario: Scenario, pages: Sequence[Page[Any]], day: date) -> Callable[[], str]:
    """Makes the report later, in a thread that knows nothing of this session."""
    values, url, reader = link.widget_values(), link.explicit_url(), language.current()
    seen = [(page, page.later(scenario)) for page in pages]

    def make() -> str:
        language.speak(reader)
        return report.html(scenario, values, seen, url, day)

    return make
