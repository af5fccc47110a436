"""Keys that come faster than the server answers, and numbers that are typed between them."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from playwright.sync_api import Page, expect
from scenarios import scenario

from browser.steps import expect_charts, expect_metric, query, visit
from calc import decode
from calc.fields import Quantity
from calc.scenario import FIELDS
from pages.ui.frame import sidebar
from pages.ui.writing import text

# Milliseconds between two keys, from a key that repeats to a slow hand.
GAPS = (5, 10, 30, 60, 120, 250)
KEYS = 6
MARKED = "document.querySelector('.js-plotly-plot').data.at(-1).text.join()"


def quantity(name: str) -> Quantity:
    """One of the scenario's numbers."""
    field = FIELDS[name]
    assert isinstance(field, Quantity)
    return field


def expect_agreement(tab: Page, field: Quantity, value: int) -> None:
    """Slider, box, metric, chart and link say the same."""
    moved: dict[str, Any] = {field.name: value}
    time = text.si(float(decode.step_time(scenario(**moved)).total), "s")
    expect_metric(tab, "Step time", time)
    tab.wait_for_function(f"time => {MARKED}.includes(time)", arg=time)
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name=field.label)
    expect(slider).to_have_attribute("aria-valuetext", str(value))
    expect(tab.get_by_label(f"{field.label}, exact")).to_have_value(str(value))
    assert query(tab) == ({} if value == field.default else {field.key: [str(value)]})


def test_every_key_of_a_burst_counts(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_charts(tab)
    for name in ("batch", "context", "n_chips"):
        field = quantity(name)
        stops = sidebar.ladder(int(field.low), int(field.high))
        start = stops.index(int(field.default))
        # Once only: what takes the focus away loses keys.
        tab.get_by_test_id("stSidebar").get_by_role("slider", name=field.label).focus()
        for gap, there in zip(GAPS, cycle((True, False)), strict=False):
            for _ in range(KEYS):
                tab.keyboard.press("ArrowRight" if there else "ArrowLeft")
                tab.wait_for_timeout(gap)
            expect_agreement(tab, field, stops[start + KEYS * there])


def test_what_is_typed_counts_wherever_the_slider_has_been(tab: Page, app: str) -> None:
    field = quantity("batch")
    visit(tab, app)
    expect_charts(tab)
    box = tab.get_by_label("Batch, exact")
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name="Batch")
    slider.press("ArrowRight")
    expect_agreement(tab, field, 40)
    # The number that the box had before the slider moved.
    box.fill("32")
    box.press("Enter")
    expect_agreement(tab, field, 32)
    box.press("ArrowUp")
    expect_agreement(tab, field, 33)
    # Between two stops, and on from there.
    box.fill("100")
    box.press("Enter")
    expect_agreement(tab, field, 100)
    slider.focus()
    for _ in range(KEYS):
        slider.press("ArrowRight")
    expect_agreement(tab, field, 256)
    # Nothing is no number.
    box.fill("")
    box.press("Enter")
    expect_agreement(tab, field, 256)
    tab.go_back()
    expect_agreement(tab, field, 33)
