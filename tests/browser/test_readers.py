"""Every page for every reader: both languages, both themes, every width, every tab."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from pages_app import PAGES, address, charts
from playwright.sync_api import Page, expect

from browser.steps import (
    IDLE,
    expect_charts,
    expect_no_overflow,
    guard,
    no_exception,
    refused,
    violations,
)


@pytest.mark.parametrize("name", PAGES)
def test_every_reader_is_served(tab: Page, app: str, name: str) -> None:
    """Both languages, light and dark: no exception, no violation, no sideways scrolling.

    Each of its tabs is drawn, and the policy that a proxy sets refuses nothing. Colours are the
    same in both languages and room is in both themes, hence each language in a theme of its own.
    """
    guard(tab, f"{app}/{address(name)}?lang=zh")
    if charts(name):
        expect_charts(tab, charts(name))
    if name == "about":
        expect(tab.locator(".katex").last).to_be_visible()
    heading = tab.get_by_role("heading", level=1)
    expect(heading).to_have_text(re.compile("[\u4e00-\u9fff]"))
    expect_readable(tab, "light")
    tab.get_by_role("radio", name="en", exact=True).click()
    expect(heading).to_have_text(re.compile("^[^\u4e00-\u9fff]+$"))
    tab.wait_for_selector(IDLE)
    expect_readable(tab, "dark")
    if charts(name):
        expect_charts(tab, charts(name))
    expect_tabs(tab, [*PAGES[name].tabs])
    assert not refused(tab)


# What a tab may have: tables, charts, a file to give, text to copy, words.
CONTENT = (
    "table, .js-plotly-plot, [data-testid=stDataFrame], [data-testid=stFileUploader],"
    " [data-testid=stCode], p"
)


def expect_tabs(tab: Page, labels: list[str]) -> None:
    for label in (*labels[1:], *labels[:1]):
        tab.get_by_role("tab", name=label, exact=True).click()
        tab.wait_for_selector(IDLE)
        content = tab.get_by_role("tabpanel").locator(CONTENT)
        expect(content.filter(visible=True).first).to_be_visible()
        no_exception(tab)


def expect_readable(tab: Page, theme: Literal["light", "dark"]) -> None:
    no_exception(tab)
    tab.emulate_media(color_scheme=theme)
    tab.wait_for_function(
        "theme => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme"
        " === theme",
        arg=theme,
    )
    assert not violations(tab)
    expect_no_overflow(tab)
    tab.set_viewport_size({"width": 1440, "height": 900})
