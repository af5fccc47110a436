"""What the tests of a page do and look for in many places."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from deploy import proxy

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
SIZES = [(1440, 900), (1024, 768), (390, 844)]
# A loaded machine is slow; nothing here is about speed [ms].
PATIENCE = 60_000


def visit(tab: Page, url: str) -> None:
    tab.set_default_timeout(PATIENCE)
    tab.goto(url)
    tab.wait_for_selector(IDLE)
    expect(tab.get_by_role("heading", level=1)).to_be_visible()


def go(tab: Page, name: str) -> None:
    """Along the navigation, whose last pages stand in a menu where it has no more room."""
    shown = tab.get_by_role("link", name=name, exact=True)
    menu = tab.get_by_test_id("stTopNavSection")
    expect(shown.or_(menu).first).to_be_visible()
    if not shown.count():
        menu.click()
        shown = tab.get_by_role("menuitem", name=name, exact=True)
    shown.first.click()


def value(tab: Page, label: str) -> Locator:
    """Where the numbers of cards stand whose labels begin so."""
    card = tab.locator("[data-testid=stMetric]").filter(has_text=re.compile(f"^{re.escape(label)}"))
    return card.locator("[data-testid=stMetricValue]")


def metric(tab: Page, label: str) -> str:
    return value(tab, label).first.inner_text()


def expect_metric(tab: Page, label: str, number: str) -> None:
    expect(value(tab, label).first).to_have_text(number)


def expect_charts(tab: Page, number: int | None = None) -> None:
    """So many charts are drawn, or a page's usual two and more."""
    expect(tab.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    if number is None:
        tab.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length > 1")
    else:
        expect(tab.locator(".js-plotly-plot")).to_have_count(number)


def guard(tab: Page, url: str) -> None:
    """Open an address, as `visit` does, under the policy that the proxy sets."""
    policy = proxy.policy((proxy.STATIC / "index.html").read_text(encoding="utf-8"))

    def answer(route: Route) -> None:
        served = route.fetch()
        # Its text is unpacked by now.
        headers = {"content-type": "text/html", "content-security-policy": policy}
        route.fulfill(body=served.text(), headers=headers)

    tab.add_init_script(
        "window.refused = []; addEventListener('securitypolicyviolation', event =>"
        " refused.push(`${event.violatedDirective} ${event.blockedURI}`));"
    )
    tab.route(url, answer)
    visit(tab, url)


def refused(tab: Page) -> list[str]:
    """What that policy has refused."""
    found: list[str] = tab.evaluate("refused")
    return found


def next_frame(tab: Page) -> None:
    """What was sent or played has been drawn."""
    tab.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def query(tab: Page) -> dict[str, list[str]]:
    return parse_qs(urlparse(tab.url).query)


def no_exception(tab: Page) -> None:
    expect(tab.locator("[data-testid=stException]")).to_have_count(0)


def expect_no_overflow(tab: Page) -> None:
    for width, height in SIZES:
        tab.set_viewport_size({"width": width, "height": height})
        # The page's own frame scrolls, not the document.
        tab.wait_for_function(
            "() => { const main = document.querySelector('[data-testid=stMain]');"
            " return main.scrollWidth <= main.clientWidth; }"
        )


def violations(tab: Page) -> list[str]:
    """What axe finds, however slight."""
    # Formulas are drawn twice until their style is there, and take more room until their fonts are.
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.katex-mathml')]"
        ".every(copy => getComputedStyle(copy).position === 'absolute')"
    )
    tab.evaluate(
        "async () => { await new Promise(done => requestAnimationFrame(() =>"
        " requestAnimationFrame(done))); await document.fonts.ready; }"
    )
    found = Axe().run(tab, options={"resultTypes": ["violations"]})
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in found.response["violations"]
    ]
