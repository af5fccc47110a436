"""Time from a key press on the batch slider to the last drawn chart, and a rerun on the server.

Run by hand: ``python tests/benchmarks/page.py``. An empty app is measured in the same run, since
figures mean little without it.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from socket import IPPROTO_TCP, TCP_QUICKACK

from playwright.sync_api import Browser, Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
from browser.environment import launched, serve
from browser.steps import IDLE
from pages_app import PAGES, address

ROOT = Path(__file__).parents[2]
PRESSES = 25
# Nothing has been drawn for so long.
SETTLED = 300
FRESH = 5
STOCK = {"LEDGER_STOCK_CHARTS": "1"}
WATCH = """
window.mark = {pressed: 0, drawn: 0, idle: 0};
addEventListener('keydown', () => {
  mark.pressed = performance.now(); mark.drawn = 0; mark.idle = 0;
}, true);
new MutationObserver(list => {
  for (const change of list) {
    const node = change.target.nodeType === 1 ? change.target : change.target.parentElement;
    if (node?.closest('.main-svg')) mark.drawn = performance.now();
    if (change.attributeName === 'data-test-script-state'
        && node.dataset.testScriptState === 'notRunning') mark.idle = performance.now();
  }
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""

FRAMES = """
window.shown = performance.now(); window.gaps = [];
const tick = () => {
  const now = performance.now(); gaps.push(now - shown); shown = now;
  requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
"""


def press_times(
    page: Page, url: str, mark: str, press: Callable[[Page, int], None], seen: str = ""
) -> list[float]:
    """Milliseconds from key press to the last `mark`, for each press; with `seen` scrolled to."""
    page.goto(url)
    page.wait_for_selector(IDLE)
    page.wait_for_timeout(3000)
    if seen:
        page.locator(seen).scroll_into_view_if_needed()
        page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    times = []
    for i in range(PRESSES + 3):
        press(page, i)
        page.wait_for_timeout(700)
        page.wait_for_function(f"performance.now() - Math.max(mark.{mark}, mark.idle) > {SETTLED}")
        took: float = page.evaluate(f"mark.{mark} - mark.pressed")
        if i >= 3:  # the first presses warm up
            times.append(took)
    return times


def step(page: Page, i: int) -> None:
    """One step of the batch slider, four there and four back."""
    slider = page.get_by_role("slider", name="Batch").first
    slider.press("ArrowRight" if (i // 4) % 2 == 0 else "ArrowLeft")


def choose(label: str) -> Callable[[Page, int], None]:
    """The next format in a select box, and back."""

    def press(page: Page, i: int) -> None:
        box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=label)
        box.click()
        box.press("ArrowUp" if i % 2 else "ArrowDown")
        box.press("Enter")

    return press


def find(label: str, names: tuple[str, str]) -> Callable[[Page, int], None]:
    """One of two, in a box to search in."""

    def press(page: Page, i: int) -> None:
        box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=label)
        box.fill(names[i % 2])
        box.press("Enter")

    return press


def server_times(url: str, path: str = "", query: str = "") -> list[float]:
    """Milliseconds from a slider's message to the last element sent back, without a browser."""
    times = []
    state = ClientState(page_name=path, query_string=query)
    stream = f"{url.replace('http', 'ws')}/_stcore/stream"
    with connect(stream, subprotocols=[Subprotocol("streamlit")], max_size=None) as socket:
        _, slider = _rerun(socket, BackMsg(rerun_script=state))
        for i in range(PRESSES + 3):
            move = BackMsg(rerun_script=state)
            widget = move.rerun_script.widget_states.widgets.add()
            widget.id = slider
            widget.string_array_value.data[:] = [("28", "32")[i % 2]]
            took, _ = _rerun(socket, move)
            if i >= 3:
                times.append(took)
    return times


def _rerun(socket: ClientConnection, message: BackMsg) -> tuple[float, str]:
    """Send one message and read the run that answers it: its time, and the batch slider's id."""
    slider = ""
    socket.send(message.SerializeToString())
    start = last = time.perf_counter()
    while True:
        # A delayed acknowledgement would add 40 ms that no browser waits for.
        socket.socket.setsockopt(IPPROTO_TCP, TCP_QUICKACK, 1)
        answer = ForwardMsg.FromString(socket.recv(timeout=30, decode=False))
        if answer.WhichOneof("type") == "script_finished":
            # A control asked for pieces by name: they come in a run of their own.
            if answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                continue
            return 1e3 * (last - start), slider
        if answer.WhichOneof("type") == "delta":
            last = time.perf_counter()
            if answer.delta.new_element.slider.label == "Batch":
                slider = answer.delta.new_element.slider.id


def row(name: str, times: list[float], floor: float = math.nan) -> None:
    """Print one line of the table, and how often the empty app would be done, if that is known."""
    p95 = statistics.quantiles(times, n=20)[-1]
    ratio = "" if math.isnan(floor) else f"{statistics.median(times) / floor:>8.1f}"
    print(f"{name:<52}{statistics.median(times):>8.1f}{p95:>8.1f}{ratio}", flush=True)


EMPTY = Path(__file__).with_name("empty_app.py")
APP = ROOT / "serve.py"
# What is pressed on Decode, and what must be in sight for it.
PRESSES_ON_DECODE: dict[str, tuple[Callable[[Page, int], None], str]] = {
    "batch": (step, ""),
    "batch, tornado in sight": (step, "[data-chart=sensitivities]"),
    "KV format": (choose("KV cache"), ""),
    "chip": (find("Chip", ("H100 SXM", "TPU v5e")), ""),
    "model": (find("Model", ("Llama 3 8B", "Llama 3 70B")), ""),
}


def main() -> None:
    """Measure and print."""
    print(
        f"{'milliseconds, ' + str(PRESSES) + ' presses':<52}{'median':>8}{'p95':>8}{'× empty':>8}"
    )
    on_server()
    with launched() as browser:
        in_browser(browser)


def on_server() -> None:
    """Reruns of every page, each beside one of the empty app: the machine may have other work."""
    with serve(EMPTY) as empty, serve(APP) as url:
        for path, query in product(map(address, PAGES), ("", "f=operators")):
            floor = server_times(empty)
            if not path and not query:
                row("empty app, rerun on the server", floor)
            name = f"{path or 'decode'} {query}".strip()
            times = server_times(url, path, query)
            row(f"{name}, rerun on the server", times, statistics.median(floor))


def in_browser(browser: Browser) -> None:
    """Keys on Decode, frames of a scrub, and the first chart."""

    def pressed(url: str, mark: str, press: Callable[[Page, int], None], seen: str) -> list[float]:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        try:
            return press_times(page, url, mark, press, seen)
        finally:
            page.close()

    with serve(EMPTY) as url:
        idle = pressed(url, "idle", step, "")
        row("empty app, key to idle", idle)
    floor = statistics.median(idle)
    for drawn, setting in (("stock charts", STOCK), ("drawn in place", {})):
        os.environ.update(setting)
        with serve(APP) as url:
            for name, (press, seen) in PRESSES_ON_DECODE.items():
                if setting and name != "batch":
                    continue
                times = pressed(url, "drawn", press, seen)
                row(f"Decode, {drawn}, {name} to last drawn", times, floor)
            row(f"Decode, {drawn}, first chart", first_charts(browser, url))
            if not setting:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                frames, sent = scrub_frames(page, url)
                page.close()
                row(f"Decode, scrub frame ({sent} messages sent)", frames)
                print(f"{'':<52}{1e3 * len(frames) / sum(frames):>8.1f} frames/s")
        for key in setting:
            del os.environ[key]


def scrub_frames(page: Page, url: str) -> tuple[list[float], int]:
    """Milliseconds of each frame while the context scrubber is dragged, and messages sent."""
    sent: list[str | bytes] = []

    def keep(frame: str | bytes) -> None:
        sent.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", keep))
    page.goto(url)
    scrubber = page.locator(".ledger-scrub input").nth(1)
    scrubber.hover()
    page.wait_for_timeout(3000)
    box = scrubber.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.evaluate(FRAMES)
    before = len(sent)
    for i in range(150):
        page.mouse.move(box["x"] + box["width"] * (0.5 + 0.45 * math.sin(i / 12)), middle)
    frames: list[float] = page.evaluate("gaps")
    messages = len(sent) - before
    page.mouse.up()
    return frames, messages


def first_charts(browser: Browser, url: str) -> list[float]:
    """Milliseconds from opening the page in a fresh browser to its first chart."""
    times = []
    for _ in range(FRESH):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=30_000)
        times.append(1e3 * (time.perf_counter() - start))
        context.close()
    return times


if __name__ == "__main__":
    main()
