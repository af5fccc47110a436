"""How the browser tests come to a browser on a machine that has none."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from browser import environment
from browser.environment import NoBrowserError, find_browser
from playwright.sync_api import BrowserType, sync_playwright

Machine = Callable[..., list[str]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine whose path is empty, and where an installer is noted instead of run.

    Called with the program that an installer would bring; gives what was asked of installers.
    """
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.setattr(environment, "MAC", str(tmp_path / "none"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(tmp_path / "apt-get")
    really = environment._quietly

    def bare(**brought: Path) -> list[str]:
        asked: list[str] = []

        def noted(command: list[str], seconds: float) -> bool:
            if command[-1] == "--version":
                return really(command, seconds)
            asked.append(" ".join(command))
            for installer, path in brought.items():
                if installer in asked[-1] and "install" in command:
                    program(path)
            return True

        monkeypatch.setattr(environment, "_quietly", noted)
        return asked

    return bare


def program(path: Path, code: int = 0) -> Path:
    """A program that ends with a code."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)
    return path


def beside_playwright(ask: Callable[[BrowserType], str]) -> str:
    """An answer got while a Playwright runs, as it does where the tests look for a browser.

    In a thread of its own: in this one the browser tests' Playwright may run.
    """

    def inside() -> str:
        with sync_playwright() as playwright:
            return ask(playwright.chromium)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inside).result()


def test_a_bare_machine_is_given_debians_browser(machine: Machine, tmp_path: Path) -> None:
    chromium = tmp_path / "chromium"
    asked = machine(apt=chromium)
    assert beside_playwright(find_browser) == str(chromium)
    playwrights, update, debians = asked
    assert playwrights.endswith("-m playwright install chromium")
    assert update.startswith("apt-get update")
    assert debians.startswith("apt-get install") and debians.endswith(" chromium")


def test_playwrights_own_browser_spares_debians(machine: Machine) -> None:
    own = beside_playwright(lambda kind: kind.executable_path)
    asked = machine(playwright=Path(own))
    assert beside_playwright(find_browser) == own
    assert len(asked) == 1


def test_without_any_browser_it_is_said_what_to_install(machine: Machine) -> None:
    asked = machine()
    with pytest.raises(NoBrowserError, match="install Chromium or Chrome, or set BROWSER_PATH"):
        beside_playwright(find_browser)
    assert len(asked) == 3


def test_a_browser_that_does_not_start_is_passed_over(machine: Machine, tmp_path: Path) -> None:
    """As Ubuntu's chromium-browser, a stub that asks for a snap."""
    asked = machine()
    program(tmp_path / "chromium-browser", code=1)
    chrome = program(tmp_path / "google-chrome")
    assert beside_playwright(find_browser) == str(chrome)
    assert not asked
