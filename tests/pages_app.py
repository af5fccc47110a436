"""The pages that app.py names, in Streamlit's own harness, and what tests look for on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from calc import Scenario, link
from calc.explain import EXPLANATIONS, bounds
from calc.explain.expression import Expression
from calc.scenario import build
from pages.ui.compare.view import CompareView
from pages.ui.frame import redraw
from pages.ui.frame.link import PRESETS
from pages.ui.frame.page import ROOT, Page, View, named, pages
from pages.ui.frame.pinned import Contender
from pages.ui.frame.presentation import FIELDS
from pages.ui.frame.session import HOME
from pages.ui.plan.view import PlanView
from pages.ui.serving.simulations import later
from pages.ui.serving.view import ServingView
from pages.ui.writing import text, written

APP = ROOT / "app.py"

# Each new session of the harness would look through all installed packages for components.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Each run of it would compile the app and the page again.
_COMPILED = ScriptCache()
vars(local_script_runner)["ScriptCache"] = lambda: _COMPILED


class _Served(PagesManager):
    """That of a server behind its first request: the harness resets what it sees as the class's."""


vars(app_test)["PagesManager"] = _Served


# Its harness sees nothing but what was drawn last.
redraw.BY_NAME = False

# In the order of the navigation.
PAGES: Mapping[str, Page[Any]] = {page.name: page for page in pages(named())}


def seen(
    scenario: Scenario, values: Mapping[str, Any], contenders: Sequence[Contender]
) -> list[tuple[Page[Any], View]]:
    """What a report is made of, where there is no session to ask."""
    known: dict[str, View] = {
        "plan": PlanView(scenario, {}, values, PRESETS),
        "serving": ServingView(scenario, {}, values, later(scenario, values, None)),
        "compare": CompareView(scenario, {}, contenders, ()),
    }
    return [(page, known.get(page.name) or page.slide(scenario)) for page in PAGES.values()]


def prepared(page: str | None = None, **query: str) -> AppTest:
    """The app at a page and with a link's query, before it runs."""
    test = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        test.query_params[key] = value
    if page:
        test.switch_page(f"pages/{page}.py")
    return test


def opened(page: str | None = None, **query: str) -> AppTest:
    """The app at a page, by its name; at its first without one."""
    test = prepared(page, **query).run()
    assert not test.exception
    return test


def tour(names: Iterable[str] = PAGES, **query: str) -> Iterator[tuple[Page[Any], AppTest]]:
    """One session that goes from page to page: an open costs a third of that of a new one."""
    test = prepared(**query)
    for name in names:
        test.switch_page(f"pages/{name}.py").run()
        assert not test.exception, name
        assert test.title[0].value == PAGES[name].question
        yield PAGES[name], test


SHEET = """
import streamlit as st
from pages_app import PAGES, asked
from pages.ui.frame import draw, session
from pages.ui.frame.page import ROOT

# What links between pages look for.
st.navigation([st.Page(ROOT / "pages" / f"{name}.py") for name in PAGES], position="hidden")
lent = session.Lent(asked(**st.query_params.to_dict()), ())
with session.lending(lent):
    draw.page(PAGES[st.session_state.page])
"""


def frameless(script: str, **query: str) -> AppTest:
    """A script without the app around it, before it runs; it finds what the sidebar would hold."""
    test = AppTest.from_string(script, default_timeout=60)
    values = parsed(**query)
    for key, value in query.items():
        test.query_params[key] = value
    for field in FIELDS:
        test.session_state[field.key] = values[field.name]
    return test


def sheets(**query: str) -> Iterator[tuple[Page[Any], AppTest]]:
    """All pages without the frame around them: half of what a tour costs."""
    test = frameless(SHEET, **query)
    for page in PAGES.values():
        test.session_state["page"] = page.name
        test.run()
        assert not test.exception, page.name
        assert test.title[0].value == page.question
        yield page, test


def parsed(**query: str) -> dict[str, Any]:
    """Field values as a link gives them."""
    return link.parse({key: [value] for key, value in query.items()}, PRESETS, FIELDS)[0]


def asked(**query: str) -> Scenario:
    """The scenario that a link asks for."""
    values = parsed(**query)
    brought = {text.key: values[text.name] for text in link.TEXTS}
    return build(values, link.with_custom(PRESETS, brought)[0])


def address(name: str) -> str:
    """A page's path below the app's own; the home page has none."""
    return "" if name == HOME else name


@cache
def charts(name: str) -> int:
    """How many charts a page opens with."""
    drawn = (element.proto.component_name for element in opened(name).get("bidi_component"))
    return sum(component == "ledger_renderer" for component in drawn)


def metrics(test: AppTest) -> dict[str, str]:
    """The figures on cards, by their labels."""
    return {metric.label: metric.value for metric in test.metric}


def expected(page: Page[Any], scenario: Scenario) -> dict[str, str]:
    """What the cards of a page should say, by the formulas that explain them."""
    view = page.slide(scenario)
    return {
        EXPLANATIONS[id].label: text.on_card(
            written.bounded(id, formula(id, view.scenario).value, view.scenario)
        )
        for id, of in page.metrics.items()
        if of(view) is not None
    }


def formula(id: str, scenario: Scenario) -> Expression:
    """An explanation as pages write it."""
    return bounds.written(id, EXPLANATIONS[id], scenario)[1]


def words(test: AppTest) -> str:
    """What is said in sentences and tables of Markdown."""
    return "\n".join(markdown.value for markdown in test.markdown)


def notes(test: AppTest) -> str:
    """What is said in small print."""
    return "\n".join(caption.value for caption in test.caption)
