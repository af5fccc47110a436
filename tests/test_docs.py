"""What is written about the ledger: citations, formulas on a code host, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calc.explain import EXPLANATIONS

ROOT = Path(__file__).parents[1]
METHOD = (ROOT / "docs/method.md").read_text()
FORMULA = re.compile(r"\bF\d+\.\d+\b")
HEADINGS = re.findall(r"^### (F\d+\.\d+) ", METHOD, re.MULTILINE)
BODY, LITERATURE = METHOD.split("## Literature\n")


def sources(*folders: str) -> dict[Path, str]:
    """Every text of some folders that people write."""
    kinds = {".py", ".toml", ".po", ".md", ".js", ".html"}
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    return {path: path.read_text() for path in files if path.suffix in kinds}


WRITTEN = {**sources("calc", "pages", "presets", "tests", "docs", "locales")}
WRITTEN[ROOT / "app.py"] = (ROOT / "app.py").read_text()


def test_every_cited_formula_is_written_down() -> None:
    cited = {number: path for path, text in WRITTEN.items() for number in FORMULA.findall(text)}
    lost = {number: path.name for number, path in cited.items() if number not in HEADINGS}
    assert not lost
    assert len(cited) > 50


def test_every_formula_is_written_down_once_and_in_order() -> None:
    order = [tuple(map(int, number[1:].split("."))) for number in HEADINGS]
    assert order == sorted(set(order))


def test_no_text_that_is_not_public_is_cited() -> None:
    private = re.compile(r"\bseeds?[ -]0\d|\bformulas\.md|\bgolden\.json", re.IGNORECASE)
    here = Path(__file__)
    assert not [path for path, text in WRITTEN.items() if path != here and private.search(text)]


WHO = r"([A-Z][\w-]+)(?: et al\.| and [A-Z]\w+| Team)?"


def names(text: str) -> set[tuple[str, str]]:
    """Who and when a text cites: Pope et al. 2022, Gu and Dao 2023, Chen 2022."""
    return set(re.findall(WHO + r" ((?:19|20)\d\d[ab]?)\b", text))


def listed() -> set[tuple[str, str]]:
    """Who and when of every entry of the literature."""
    entries = re.findall(r"^- " + WHO + r"[^\d\n]*?(\d{4}[ab]?)\.", LITERATURE, re.MULTILINE)
    return set(entries)


def test_the_literature_is_what_is_cited() -> None:
    on_screen = "\n".join(entry.source for entry in EXPLANATIONS.values())
    cited = names(on_screen) | names(" ".join(BODY.split()))
    assert {("Pope", "2022"), ("Leviathan", "2022")} <= cited
    assert cited == listed()


@pytest.mark.parametrize("id", EXPLANATIONS)
def test_a_source_names_formulas_first(id: str) -> None:
    assert re.match(r"F\d+\.\d+(?:[,–] ?F\d+\.\d+)*(?:; |$)", EXPLANATIONS[id].source)


def test_formulas_render_on_a_code_host() -> None:
    """Markdown takes a backslash before punctuation, and a block needs its lines of dollars."""
    blocks = re.findall(r"^\$\$\n(.*?)\n\$\$$", BODY, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^(\$\$|```).*?^\1$", "", BODY, flags=re.DOTALL | re.MULTILINE)
    assert "$$" not in prose
    inline = re.findall(r"\$([^$\n]+)\$", prose)
    assert len(blocks) > 50 and len(inline) > 100
    for written in (*blocks, *inline):
        assert not re.search(r"\\[^A-Za-z ]|[<|*]", written), written
        assert written == written.strip()
    assert "$" not in re.sub(r"\$[^$\n]+\$", "", prose)
