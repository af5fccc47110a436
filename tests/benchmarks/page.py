"""Time from a key press on the batch slider to the last drawn chart, and a rerun on the server.

Run by hand: ``python tests/benchmarks/page.py``. An empty app is measured in the same run, since
figures mean little without it.
"""

from __future__ import annotations

import logging
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser.environment import LAUNCH_ARGUMENTS, find_browser, serve

ROOT = Path(__file__).parents[2]
PRESSES = 25

WATCH = """
window.mark = {pressed: 0, drawn: 0, idle: 0};
addEventListener('keydown', () => {
  mark.pressed = performance.now(); mark.drawn = 0; mark.idle = 0;
}, true);
new MutationObserver(list => {
  for (const change of list) {
    const node = change.target.nodeType === 1 ? change.target : change.target.parentElement;
    if (node?.closest('.js-plotly-plot')) mark.drawn = performance.now();
    if (change.attributeName === 'data-test-script-state'
        && node.dataset.testScriptState === 'notRunning') mark.idle = performance.now();
  }
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""


def press_times(page: Page, url: str, mark: str) -> list[float]:
    """Milliseconds from key press to the last `mark`, for each press."""
    page.goto(url)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(3000)
    page.evaluate(WATCH)
    page.get_by_role("slider", name="Batch").focus()
    times = []
    for i in range(PRESSES + 3):
        page.keyboard.press("ArrowRight" if (i // 4) % 2 == 0 else "ArrowLeft")
        page.wait_for_timeout(700)
        took: float = page.evaluate(f"mark.{mark} - mark.pressed")
        if i >= 3:  # the first presses warm up
            times.append(took)
    return times


def server_times(app: Path) -> list[float]:
    """Milliseconds of a rerun of the script alone, without a browser."""
    from streamlit.testing.v1 import AppTest  # noqa: PLC0415

    test = AppTest.from_file(str(app), default_timeout=30).run()
    times = []
    for i in range(PRESSES):
        test.select_slider(key="b").set_value([28, 32][i % 2])
        start = time.perf_counter()
        test.run()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def row(name: str, times: list[float]) -> None:
    """Print one line of the table."""
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{name:<44}{statistics.median(times):>8.1f}{p95:>8.1f}")


def main() -> None:
    """Measure and print."""
    logging.disable(logging.WARNING)
    empty = Path(__file__).with_name("empty_app.py")
    print(f"{'milliseconds, ' + str(PRESSES) + ' presses':<44}{'median':>8}{'p95':>8}")
    row("empty app, rerun on the server", server_times(empty))
    row("Decode page, rerun on the server", server_times(ROOT / "app.py"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=LAUNCH_ARGUMENTS)
        for name, app, mark in (
            ("empty app, key to idle", empty, "idle"),
            ("Decode page, key to last chart drawn", ROOT / "app.py", "drawn"),
        ):
            with serve(app) as url:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                row(name, press_times(page, url, mark))
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
