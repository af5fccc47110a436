"""Every page for every reader: both languages, both themes, every width."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from browser.steps import (
    CHARTS,
    expect_charts,
    expect_no_overflow,
    no_exception,
    serious,
    visit,
)

PATHS = [
    "", "prefill", "kv_cache", "sharding", "capacity", "quantization", "cost", "serving",
    "speculative", "compare", "about",
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PATHS)
def test_every_reader_is_served(tab: Page, app: str, path: str, language: str) -> None:
    """Both languages, light and dark: no exception, no serious violation, no sideways scrolling."""
    visit(tab, f"{app}/{path}{'?lang=zh' if language == 'zh' else ''}")
    if CHARTS.get(path, 2):
        expect_charts(tab, CHARTS.get(path, 2))
    if path == "about":
        expect(tab.locator(".katex").last).to_be_visible()
    no_exception(tab)
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        tab.wait_for_function(
            "theme => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme"
            " === theme",
            arg=theme,
        )
        assert not serious(tab), theme
    expect_no_overflow(tab)
