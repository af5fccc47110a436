"""Redraws docs/decode.png, the picture in the README, from the running app."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.environment import ROOT, launched, serve
from browser.steps import IDLE


def main() -> None:
    """Open the Decode page and save what a visitor sees first."""
    with serve() as url, launched() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.wait_for_selector(IDLE)
        page.wait_for_function(
            "() => document.querySelectorAll('.js-plotly-plot .main-svg').length > 1"
        )
        page.wait_for_timeout(1500)  # fonts settle
        page.screenshot(path=ROOT / "docs" / "decode.png")


if __name__ == "__main__":
    main()
