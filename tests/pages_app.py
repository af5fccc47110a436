"""The pages that app.py names, in Streamlit's own harness, and what tests look for on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamlit.testing.v1 import AppTest

from calc import Scenario
from pages.ui.compare.view import CompareView
from pages.ui.frame.page import ROOT, Page, View, named, pages
from pages.ui.frame.pinned import Contender
from pages.ui.serving.simulations import later
from pages.ui.serving.view import ServingView

APP = ROOT / "app.py"


# In the order of the navigation.
PAGES: Mapping[str, Page[Any]] = {page.name: page for page in pages(named())}


def seen(
    scenario: Scenario, values: Mapping[str, Any], contenders: Sequence[Contender]
) -> list[tuple[Page[Any], View]]:
    """What a report is made of, where there is no session to ask."""
    known: dict[str, View] = {
        "serving": ServingView(scenario, {}, values, later(scenario, values, None)),
        "compare": CompareView(scenario, {}, contenders, ()),
    }
    return [(page, known.get(page.name) or page.slide(scenario)) for page in PAGES.values()]


def opened(page: str | None = None, **query: str) -> AppTest:
    test = AppTest.from_file(APP, default_timeout=30)
    for key, value in query.items():
        test.query_params[key] = value
    if page:
        test.switch_page(page)
    test.run()
    assert not test.exception
    return test


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def words(test: AppTest) -> str:
    return "\n".join(markdown.value for markdown in test.markdown)
