"""One browser and one profile for all tests, and a fresh tab for each that changes anything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.environment import launched, serve
from browser.steps import PATIENCE, expect_charts, visit

expect.set_options(timeout=PATIENCE)


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
    arrange(page)
    yield page
    page.close()


@pytest.fixture(scope="session")
def opened(profile: BrowserContext, app: str) -> Page:
    page = profile.new_page()
    arrange(page)
    visit(page, app)
    expect_charts(page)
    return page


@pytest.fixture
def home(opened: Page) -> Page:
    """The first page in a tab that its tests share, since each leaves it as it was."""
    opened.bring_to_front()
    arrange(opened)
    return opened


def arrange(page: Page) -> None:
    """A desk by day."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light", media="screen")
