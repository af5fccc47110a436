"""A worker that is killed in the middle of a session, behind the proxy: what its reader notices.

By hand, where nginx and openssl are installed: ``python tests/load/killed.py``. Two workers, a path
and a certificate of the moment; the numbers, the address and what was typed must be there again.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser.environment import _free_port, launched
from browser.steps import IDLE, PATIENCE, expect_metric, metric

from deploy import proxy

BASE = "/ledger"


@contextmanager
def worker(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """One server of the app below its path, once it answers."""
    settings = {
        "STREAMLIT_SERVER_BASE_URL_PATH": BASE.strip("/"), "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SERVER_COOKIE_SECRET": "of-the-moment", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    command = [sys.executable, str(ROOT / "deploy" / "start.py")]
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **settings})
    try:
        _wait(f"http://localhost:{port}{BASE}/_stcore/health")
        yield server
    finally:
        server.terminate()
        server.wait(timeout=60)


def _wait(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"nothing answers at {url}")


def _listens(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("localhost", port), timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"nothing listens on {port}")


@contextmanager
def behind(ports: Sequence[int], at: int) -> Iterator[str]:
    """The proxy before workers, on another port; the app's address."""
    nginx = shutil.which("nginx", path=f"/usr/sbin:{os.environ['PATH']}")
    if nginx is None:
        raise RuntimeError("nginx is not installed")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        # nginx reads as nobody.
        out.chmod(0o755)
        pair = (str(out / "certificate.pem"), str(out / "key.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-keyout", pair[1], "-out", pair[0]],
            check=True, capture_output=True,
        )  # fmt: skip
        proxy.files(out, BASE)
        logs = (str(out / "access"), str(out / "errors"))
        workers = [f"localhost:{port}" for port in ports]
        text = proxy.configuration(out, workers, BASE, at, pair, logs)
        (out / "nginx.conf").write_text(text)
        command = [nginx, "-e", logs[1], "-c", str(out / "nginx.conf"), "-g", "daemon off;"]
        served = subprocess.Popen(command)
        try:
            _listens(at)
            yield f"https://localhost:{at}{BASE}"
        finally:
            served.send_signal(signal.SIGQUIT)
            served.wait(timeout=60)


def busy(ports: Sequence[int]) -> int:
    """Which of the workers holds the session: its place."""
    told = subprocess.run(["ss", "-Htn"], capture_output=True, text=True, check=True).stdout
    counts = [told.count(f":{port} ") for port in ports]
    return counts.index(max(counts))


def main() -> None:
    """Kill and print."""
    ports, at = (_free_port(), _free_port()), _free_port()
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(port)) for port in ports]
        url = stack.enter_context(behind(ports, at))
        browser = stack.enter_context(launched())
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/cost?b=77&chip=h100-sxm&n=8")
        page.wait_for_selector(IDLE)
        page.get_by_text("Custom model", exact=True).click()
        box = page.get_by_role("textbox", name="Paste a config.json")
        box.fill("{ typed and not read")
        box.press("Control+Enter")
        page.get_by_text("This configuration cannot be used").wait_for()
        page.wait_for_selector(IDLE)
        label = "USD per M output"
        before, address = metric(page, label), page.url
        workers[busy(ports)].kill()
        start = time.perf_counter()
        page.locator("[data-test-connection-state=CONNECTED]").wait_for(state="detached")
        page.locator("[data-test-connection-state=CONNECTED]").wait_for()
        page.wait_for_selector(IDLE)
        took = time.perf_counter() - start
        expect_metric(page, label, before)
        assert page.url == address
        assert box.input_value() == "{ typed and not read"
        print(f"the page is on the other worker after {1e3 * took:.0f} ms, as it was")


if __name__ == "__main__":
    main()
