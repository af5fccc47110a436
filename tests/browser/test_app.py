"""What a person does, in real Chromium."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from browser.environment import serve
from calc.link import BY_KEY

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
METRIC = "[data-testid=stMetric]"


def visit(tab: Page, url: str) -> None:
    tab.goto(url)
    tab.wait_for_selector(IDLE)
    expect(tab.get_by_role("heading", level=1)).to_be_visible(timeout=20_000)


def metric(tab: Page, label: str) -> str:
    card = tab.locator(METRIC).filter(has_text=re.compile(f"^{re.escape(label)}"))
    return card.locator("[data-testid=stMetricValue]").first.inner_text()


def expect_metric(tab: Page, label: str, value: str) -> None:
    card = tab.locator(METRIC).filter(has_text=re.compile(f"^{re.escape(label)}"))
    expect(card.locator("[data-testid=stMetricValue]").first).to_have_text(value)


def expect_charts(tab: Page, number: int | None = None) -> None:
    """So many charts are drawn, or a page's usual two and more."""
    expect(tab.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=20_000)
    if number is None:
        tab.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length > 1")
    else:
        expect(tab.locator(".js-plotly-plot")).to_have_count(number)


def query(tab: Page) -> dict[str, list[str]]:
    return parse_qs(urlparse(tab.url).query)


def no_exception(tab: Page) -> None:
    expect(tab.locator("[data-testid=stException]")).to_have_count(0)


def test_first_request_to_a_fresh_server_may_be_a_deep_link(chromium: Browser) -> None:
    """A folder named pages/ makes a fresh server run the page file alone; the guard starts over."""
    with serve() as url:
        tab = chromium.new_page()
        visit(tab, f"{url}/about?chip=h100-sxm&b=77")
        expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
        expect(tab.get_by_test_id("stSidebar").get_by_label("Chip", exact=True)).to_be_visible()
        expect(tab.get_by_text("page not found")).to_have_count(0)
        expect(tab.get_by_text("3.35 TB/s")).to_be_visible()
        expect(tab.get_by_role("link", name="Decode")).to_be_visible()
        assert query(tab) == {"chip": ["h100-sxm"], "b": ["77"]}
        no_exception(tab)
        tab.close()


def test_the_page_opens_with_its_numbers_and_charts(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_metric(tab, "Step time", "8.57 ms")
    expect_metric(tab, "Critical batch", "120")
    expect_charts(tab)
    figure = tab.get_by_role("figure").first
    expect(figure).to_have_attribute("aria-label", re.compile("weight read 5.30 ms"))
    no_exception(tab)


def total_at_batch(tab: Page) -> float:
    """The marker's height in the step-time chart: what is drawn, not what was sent."""
    found: float = tab.evaluate(
        "() => { const data = document.querySelector('.js-plotly-plot').data;"
        " return data[data.length - 1].y[0]; }"
    )
    return found


def test_moving_a_slider_changes_chart_numbers_and_link_without_history(
    tab: Page, app: str
) -> None:
    visit(tab, app)
    expect_charts(tab)
    before, depth = total_at_batch(tab), tab.evaluate("history.length")
    slider = tab.get_by_test_id("stSidebar").get_by_role("slider", name="Batch")
    slider.focus()
    slider.press("ArrowRight")
    expect(tab).to_have_url(re.compile(r"[?&]b=40\b"))
    expect_metric(tab, "Step time", "9.39 ms")
    tab.wait_for_function(
        "before => document.querySelector('.js-plotly-plot').data.at(-1).y[0] > before", arg=before
    )
    assert tab.evaluate("history.length") == depth


def test_an_exact_number_can_be_typed_and_back_restores(tab: Page, app: str) -> None:
    visit(tab, app)
    expect_metric(tab, "Step time", "8.57 ms")
    box = tab.get_by_label("Batch, exact")
    box.fill("37")
    box.press("Enter")
    expect(tab).to_have_url(re.compile(r"[?&]b=37\b"))
    expect_metric(tab, "Step time", "9.08 ms")
    tab.go_back()
    expect_metric(tab, "Step time", "8.57 ms")
    expect(box).to_have_value("32")
    tab.go_forward()
    expect_metric(tab, "Step time", "9.08 ms")
    expect(box).to_have_value("37")


def test_navigation_is_one_history_entry_and_keeps_the_scenario(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?b=77&chip=h100-sxm")
    expect_charts(tab)
    depth, numbers = tab.evaluate("history.length"), metric(tab, "Step time")
    tab.get_by_role("link", name="About").first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
    tab.wait_for_selector(IDLE)
    assert tab.evaluate("history.length") == depth + 1
    assert query(tab) == {"b": ["77"], "chip": ["h100-sxm"]}
    tab.go_back()
    expect_metric(tab, "Step time", numbers)
    tab.get_by_role("link", name="About").first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("About the ledger")
    tab.get_by_role("link", name="Decode").first.click()
    expect_metric(tab, "Step time", numbers)
    assert query(tab) == {"b": ["77"], "chip": ["h100-sxm"]}


def test_a_shared_link_reproduces_the_numbers_in_a_new_browser(
    tab: Page, app: str, chromium: Browser
) -> None:
    visit(tab, f"{app}/?model=gemma-3-27b&chip=h200&n=8&w=bf16&kv=bf16&b=48&s=32768&u=0.9")
    expect_charts(tab)
    tab.get_by_role("button", name="Share").click()
    code = tab.get_by_test_id("stCode")
    expect(code).to_be_visible()
    shared = code.inner_text().strip().replace("\n", "")
    assert set(parse_qs(urlparse(shared).query)) == {"v", *BY_KEY}
    other = chromium.new_context().new_page()
    visit(other, shared)
    for label in ("Step time", "Token/s per chip", "Largest batch", "USD per Mtoken"):
        expect_metric(other, label, metric(tab, label))
    expect(other.get_by_text("read with changes")).to_have_count(0)
    other.context.close()


BROKEN = "b=0&n=-3&s=nan&u=1e999&model=<img src=x onerror=alert(1)>&chip=&w=bf17&c=q6-k&b=2"


def test_a_broken_link_is_named_and_survived(tab: Page, app: str) -> None:
    alerts: list[str] = []
    tab.on("dialog", lambda dialog: alerts.append(dialog.message))
    visit(tab, f"{app}/?{BROKEN}")
    notice = tab.locator(".st-key-link-notice")
    expect(notice).to_contain_text("Batch (b) in the link is outside 1 to 65,536; 32 is used.")
    for label in ("Chips (n)", "Context (s)", "Usable memory (u)", "Model (model)", "Chip (chip)"):
        expect(notice).to_contain_text(f"{label} in the link is")
    expect_metric(tab, "Step time", "8.57 ms")
    assert query(tab) == {}
    assert not alerts
    assert notice.locator("img").count() == 0
    no_exception(tab)
    notice.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)


def test_a_huge_query_is_survived(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?b=64&junk={'x' * 60_000}&model={'y' * 40_000}")
    expect(tab.locator(".st-key-link-notice")).to_contain_text("Model (model)")
    expect_metric(tab, "Step time", "11.8 ms")
    no_exception(tab)


def test_what_does_not_fit_is_drawn_grey(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?n=1")
    expect(tab.get_by_text("The weights alone do not fit")).to_be_visible()
    expect_charts(tab)
    # 0.24 grey over the whole plot.
    assert tab.evaluate(
        "() => [...document.querySelectorAll('.shapelayer path')]"
        ".some(path => getComputedStyle(path).fill === 'rgb(138, 145, 155)')"
    )


def test_an_explanation_shows_formula_and_numbers(tab: Page, app: str) -> None:
    visit(tab, app)
    tab.get_by_text("Explain a number").click()
    expect(tab.get_by_test_id("stExpander").locator(".katex-display")).to_have_count(2)
    expect(tab.get_by_text("dense peak of one chip in compute format").first).to_be_visible()
    no_exception(tab)


PASTED = """{
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 5120,
  "intermediate_size": 13824, "num_attention_heads": 40, "num_hidden_layers": 40,
  "num_key_value_heads": 40, "vocab_size": 32000, "tie_word_embeddings": false,
  "torch_dtype": "float16", "id2label": {"0": "LABEL_0"}
}"""


def test_a_pasted_model_and_a_custom_chip_travel_in_the_link(
    tab: Page, app: str, chromium: Browser
) -> None:
    visit(tab, f"{app}/kv_cache?n=8&kv=bf16")
    tab.get_by_text("Custom model", exact=True).click()
    box = tab.get_by_role("textbox", name="Paste a config.json")
    box.fill("{ broken")
    box.press("Control+Enter")
    expect(tab.get_by_text("This configuration cannot be used: Not JSON")).to_be_visible()
    expect_metric(tab, "Per token", "320 KiB")
    expect(box).to_have_value("{ broken")
    box.fill(PASTED)
    box.press("Control+Enter")
    # 819,200 B, LLaMA-2-13B.
    expect_metric(tab, "Per token", "800 KiB")
    expect(tab).to_have_url(re.compile("model=custom"))
    tab.get_by_role("button", name="Store weights as published, fp16").click()
    expect(tab).to_have_url(re.compile("w=fp16"))
    tab.wait_for_selector(IDLE)
    tab.get_by_text("Custom chip", exact=True).click()
    tab.get_by_label("Memory (GB)").fill("123")
    before = metric(tab, "Sequences that fit")
    # By key: the expander is still opening, and a button that slides away misses the click.
    tab.get_by_role("button", name="Use this chip").press("Enter")
    expect(tab).to_have_url(re.compile("chip=custom"))
    # The address changes before the page does.
    card = tab.locator(METRIC).filter(has_text=re.compile("^Sequences that fit"))
    expect(card.locator("[data-testid=stMetricValue]")).not_to_have_text(before)
    fits = metric(tab, "Sequences that fit")
    tab.get_by_role("button", name="Share").click()
    shared = tab.get_by_test_id("stCode").inner_text().strip().replace("\n", "")
    assert "id2label" not in shared
    other = chromium.new_context().new_page()
    visit(other, shared)
    expect_metric(other, "Per token", "800 KiB")
    expect_metric(other, "Sequences that fit", fits)
    expect(other.get_by_text("read with changes")).to_have_count(0)
    other.context.close()
    # Back undoes the chip, then the format, then the model, and nothing breaks on the way.
    for _ in range(4):
        tab.go_back()
        tab.wait_for_selector(IDLE)
        no_exception(tab)


def test_an_unusable_custom_model_in_a_link_is_named(tab: Page, app: str) -> None:
    visit(tab, f"{app}/?cfg=%7B%22model_type%22%3A%22bert%22%7D&model=custom")
    notice = tab.locator(".st-key-link-notice")
    expect(notice).to_contain_text("Custom model (cfg) in the link is not usable (model_type: is")
    expect_metric(tab, "Step time", "8.57 ms")
    no_exception(tab)


def test_the_kv_page_draws_every_tab(tab: Page, app: str) -> None:
    visit(tab, f"{app}/kv_cache?model=gemma-3-27b")
    expect_charts(tab, 2)
    for name, charts in (("Intensity", 3), ("Layers", 2), ("Paging", 3)):
        tab.get_by_role("tab", name=name).click()
        tab.wait_for_selector(IDLE)
        expect(tab.locator(".js-plotly-plot:visible")).to_have_count(charts)
        no_exception(tab)


def test_the_speculation_page_draws_every_tab_and_carries_its_link(tab: Page, app: str) -> None:
    visit(tab, f"{app}/speculative?a=0.7&k=6&d=llama-3.2-1b")
    expect_charts(tab, 4)
    expect(tab.get_by_text("Drafting 6 tokens at acceptance 0.7")).to_be_visible()
    tab.get_by_role("tab", name="Token budget").click()
    expect(tab.get_by_text("Target passes for 1,000 tokens")).to_be_visible()
    tab.get_by_role("tab", name="Acceptance bench").click()
    expect(tab.get_by_text("total variation")).to_be_visible()
    expect(tab.get_by_text("100,000 draws with a fixed seed")).to_be_visible()
    no_exception(tab)
    tab.get_by_role("link", name="Decode").first.click()
    expect_metric(tab, "Step time", "8.57 ms")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"a": ["0.7"], "k": ["6"], "d": ["llama-3.2-1b"]}
    tab.get_by_role("link", name="Speculation").first.click()
    expect(tab.get_by_text("Drafting 6 tokens at acceptance 0.7")).to_be_visible()


def test_the_bench_travels_in_the_link(tab: Page, app: str) -> None:
    visit(tab, f"{app}/speculative?pq=0.5,0.3,0.2;0.6,0.3,0.1&t=0.5")
    tab.get_by_role("tab", name="Acceptance bench").click()
    expect(tab.get_by_text("α = 0.875")).to_be_visible()
    no_exception(tab)


def test_the_fidelity_switch_and_a_layout_travel_in_the_link(tab: Page, app: str) -> None:
    visit(tab, app)
    tab.get_by_role("radio", name="operators").click()
    expect_metric(tab, "Step time", "13.8 ms")
    expect_charts(tab, 4)
    tab.get_by_text("Layout", exact=True).click()
    box = tab.get_by_label("Data parallel", exact=True)
    box.fill("2")
    box.press("Enter")
    expect(tab.get_by_text("fidelity: operators, TP 8, DP 2")).to_be_visible()
    step = metric(tab, "Step time")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"f": ["operators"], "dp": ["2"]}
    tab.get_by_role("link", name="Sharding").first.click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("How wide may it be sharded?")
    expect_metric(tab, "Step time", step)
    tab.get_by_role("link", name="Decode").first.click()
    expect_metric(tab, "Step time", step)
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"f": ["operators"], "dp": ["2"]}
    no_exception(tab)


def test_a_layout_is_applied_with_a_click(tab: Page, app: str) -> None:
    visit(tab, f"{app}/sharding?model=deepseek-v3&chip=h200&n=32&w=fp8&c=fp8&b=256")
    expect_charts(tab)
    before = metric(tab, "Step time")
    table = tab.get_by_test_id("stDataFrame").locator(".dvn-scroller")
    expect(table).to_be_visible()
    tab.wait_for_selector(IDLE)
    # The box that selects the first row, which is the best.
    table.click(position={"x": 18, "y": 54})
    expect(tab).to_have_url(re.compile("ks=batch"))
    expect(tab).to_have_url(re.compile("f=operators"))
    tab.wait_for_selector(IDLE)
    assert metric(tab, "Step time") != before
    no_exception(tab)


def test_replicas_are_placed_and_a_price_travels(tab: Page, app: str) -> None:
    visit(tab, f"{app}/capacity")
    tab.get_by_role("tab", name="Replica packing").click()
    expect(tab.get_by_text("9 of 9 replicas")).to_be_visible()
    expect(tab.get_by_text("lie on 5 of 6 devices")).to_be_visible()
    tab.get_by_role("radio", name="all, on the fewest devices").click()
    expect(tab.get_by_text("lie on 4 of 6 devices")).to_be_visible()
    tab.get_by_role("link", name="Cost").first.click()
    expect_metric(tab, "USD per M output", "$1.43")
    box = tab.get_by_label("Price", exact=True)
    box.fill("2.4")
    box.press("Enter")
    expect_metric(tab, "USD per M output", "$2.86")
    tab.wait_for_selector(IDLE)
    assert query(tab) == {"usd": ["2.4"]}
    tab.get_by_role("link", name="Decode").first.click()
    expect_metric(tab, "USD per Mtoken", "$2.86")
    no_exception(tab)


PAGE_TABS = [
    ("serving", ("Percentiles", "Over time", "Load", "Closed forms", "Policies")),
    ("prefill", ("Prefix cache", "Separate prefill servers", "FLOPs per layer")),
    ("capacity", ("Every chip", "Replica packing", "Smallest topologies")),
    ("quantization", ("Bits of every format", "Affine quantization", "What moves")),
    ("sharding", ("Axes and rings", "One or two dimensions", "Legal widths", "Per chip")),
]


@pytest.mark.parametrize(("path", "names"), PAGE_TABS)
def test_every_tab_is_drawn(tab: Page, app: str, path: str, names: tuple[str, ...]) -> None:
    visit(tab, f"{app}/{path}")
    expect_charts(tab, CHARTS.get(path, 2))
    for name in names:
        tab.get_by_role("tab", name=name).click()
        tab.wait_for_selector(IDLE)
        drawn = "table, .js-plotly-plot, [data-testid=stDataFrame]"
        expect(tab.get_by_role("tabpanel").locator(drawn).first).to_be_visible()
        no_exception(tab)


PATHS = [
    "", "prefill", "kv_cache", "sharding", "capacity", "quantization", "cost", "serving",
    "speculative", "compare", "about",
]  # fmt: skip
CHARTS = {"": 3, "speculative": 4, "quantization": 6, "compare": 0, "about": 0}
SIZES = [(1440, 900), (1024, 768), (390, 844)]


def expect_no_overflow(tab: Page) -> None:
    for width, height in SIZES:
        tab.set_viewport_size({"width": width, "height": height})
        # The page's own frame scrolls, not the document.
        tab.wait_for_function(
            "() => { const main = document.querySelector('[data-testid=stMain]');"
            " return main.scrollWidth <= main.clientWidth; }",
            timeout=10_000,
        )


def serious(tab: Page) -> list[str]:
    # Formulas are drawn twice until their style is there, and take more room until their fonts are.
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.katex-mathml')]"
        ".every(copy => getComputedStyle(copy).position === 'absolute')"
    )
    tab.evaluate(
        "async () => { await new Promise(done => requestAnimationFrame(() =>"
        " requestAnimationFrame(done))); await document.fonts.ready; }"
    )
    found = Axe().run(tab)
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in found.response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


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
