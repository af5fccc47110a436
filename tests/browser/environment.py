"""A browser and a served app, found and started by the tests themselves."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from playwright.sync_api import Browser, BrowserType, sync_playwright

ROOT = Path(__file__).parents[2]
INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
LAUNCH_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    # A page that a test answers itself counts as from outside, and may not ask localhost.
    "--disable-features=LocalNetworkAccessChecks",
]


class NoBrowserError(RuntimeError):
    """No browser could be found or installed."""


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium with a clean profile, closed at the end."""
    with sync_playwright() as playwright:
        kind = playwright.chromium
        with kind.launch(executable_path=find_browser(kind), args=LAUNCH_ARGUMENTS) as browser:
            yield browser


def find_browser(kind: BrowserType) -> str:
    """Path of a Chromium: $BROWSER_PATH, an installed one, Playwright's, else Debian's package.

    The kind is that of the Playwright which runs: a thread can have one only.

    Raises
    ------
    NoBrowserError
        With one line that says what to install.
    """
    named = os.environ.get("BROWSER_PATH")
    if named:
        if not Path(named).exists():
            raise NoBrowserError(f"BROWSER_PATH is {named}, where there is no file")
        return named
    return _installed() or _from_playwright(kind) or _from_debian() or _give_up()


def _installed() -> str | None:
    found = [path for path in (*map(shutil.which, INSTALLED), MAC) if path and _starts(path)]
    return found[0] if found else None


def _from_playwright(kind: BrowserType) -> str | None:
    path = kind.executable_path
    if not Path(path).exists():
        _quietly([sys.executable, "-m", "playwright", "install", "chromium"], seconds=300)
    return path if _starts(path) else None


def _from_debian() -> str | None:
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return None
    _quietly(["apt-get", "update", "-qq"], seconds=300)
    _quietly(["apt-get", "install", "-y", "-qq", "chromium"], seconds=600)
    return _installed()


def _starts(path: str) -> bool:
    """Whether a browser runs: not one that lacks its libraries, nor a stub that asks for a snap."""
    return _quietly([path, "--version"], seconds=120)


def _quietly(command: list[str], seconds: float) -> bool:
    """Whether a command ran, and to a good end."""
    try:
        done = subprocess.run(command, timeout=seconds, capture_output=True, check=False)
    except (subprocess.TimeoutExpired, OSError):
        return False
    return done.returncode == 0


def _give_up() -> str:
    raise NoBrowserError(
        "No browser for the browser tests: install Chromium or Chrome, or set BROWSER_PATH to one"
    )


@contextmanager
def serve(app: Path = ROOT / "serve.py", port: int | None = None) -> Iterator[str]:
    """A freshly started server of the app, on a free port if none is named; its address."""
    port = port or _free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(app), f"--server.port={port}"]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ready = Event()
    Thread(target=_listen, args=(server, ready), daemon=True).start()
    try:
        if not ready.wait(120) or server.poll() is not None:
            raise RuntimeError(f"the server did not start, code {server.poll()}")
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port: int = probe.getsockname()[1]
        return port


def _listen(server: subprocess.Popen[str], ready: Event) -> None:
    """Read what the server says to its end; it gives its address once it answers.

    No request is made: the first page request stays the first.
    """
    assert server.stdout
    for line in server.stdout:
        if "URL: " in line:
            ready.set()
    server.wait()
    ready.set()
