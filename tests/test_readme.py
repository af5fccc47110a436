"""The README and the pages it leads to: short, true, and no link that leads nowhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from calc import link
from docs import links as link_page
from pages.ui.frame import presentation

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Headings of a page as a code host links to them."""
    written = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", written, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def local_links() -> list[tuple[Path, str]]:
    """Every link of every page that stays in the checkout."""
    found = [(page, target) for page in PAGES for target in LINK.findall(page.read_text())]
    return [(page, target) for page, target in found if "://" not in target]


@pytest.mark.parametrize(
    ("page", "target"), local_links(), ids=lambda value: getattr(value, "name", value)
)
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, heading = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    assert there.exists()
    assert not heading or heading in anchors(there)


def test_links_were_found() -> None:
    targets = {target for page, target in local_links() if page.name == "README.md"}
    assert {"docs/method.md", "docs/links.md", "docs/decode.png", "LICENSE"} <= targets


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 90


def test_every_dependency_is_named_with_what_it_is_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=]", one)[0] for one in wanted}
    paragraph = README.split("\nDependencies: ")[1].split("\n\n")[0]
    assert set(re.findall(r"\*\*([a-z0-9-]+)\*\*", paragraph)) == names


def test_every_command_of_make_is_said() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert commands
    everything = "\n".join(page.read_text() for page in PAGES)
    told = set(re.findall(r"(?:`|^)make ([a-z]+)", everything, re.MULTILINE))
    assert told == set(commands[1].split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    """Paths between backquotes, but for those that hold a placeholder."""
    named = re.findall(
        r"`((?:calc|pages|presets|docs|tests|locales|\.streamlit)/[^`\s]*)`", page.read_text()
    )
    lost = [path for path in named if "<" not in path and not (ROOT / path).exists()]
    assert not lost


def test_the_page_of_links_is_current() -> None:
    assert link_page.FILE.read_text() == link_page.page(), "run `make links`"


def test_the_page_of_links_holds_every_key() -> None:
    keys = set(re.findall(r"^\| `(\w+)` \|", link_page.page(), re.MULTILINE))
    assert keys == link.keys(presentation.FIELDS)


def test_every_dependency_is_locked_to_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lines = (ROOT / "constraints.txt").read_text().lower().splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {re.split(r"[<>=]", one)[0] for one in wanted} <= locked.keys()
    assert all(re.fullmatch(r"\d[\w.]*", version) for version in locked.values())
