"""One browser and one profile for all tests, a fresh tab for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.environment import launched, serve

# A loaded machine is slow; nothing here is about speed.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def app() -> Iterator[str]:
    with serve() as url:
        yield url


@pytest.fixture(scope="session")
def profile(chromium: Browser) -> Iterator[BrowserContext]:
    """One profile for all tabs: its cache spares them the libraries' download."""
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def tab(profile: BrowserContext) -> Iterator[Page]:
    """A tab of its own, and so a session of its own."""
    page = profile.new_page()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    yield page
    page.close()
