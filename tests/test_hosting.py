"""What a host takes: the proxy's configuration, the images, and a log that quotes nobody."""

from __future__ import annotations

import json
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import plotly
import pytest

import serve
from deploy import proxy, start
from pages.ui.charts import renderer

ROOT = Path(__file__).parents[1]
HEAD = proxy.head("/ledger", "https://ledger.example")


def test_the_policy_knows_the_installed_front_end() -> None:
    page = (proxy.STATIC / "index.html").read_text()
    assert len(proxy.inline_scripts(page)) == page.count("<script>") == 1
    # What is served adds none.
    assert "<script" not in serve.head()
    assert not re.search(r"\son\w+=|javascript:", page)
    allowed = proxy.policy(page)
    assert allowed.count("'sha256-") == 1
    assert "'unsafe-eval'" not in allowed and "http" not in allowed


def test_the_head_names_files_that_are_there() -> None:
    chunks = re.findall(r'modulepreload" crossorigin href="/ledger/(static/js/[^"]+)"', HEAD)
    assert len(chunks) == len(set(chunks)) == len(proxy.CHUNKS)
    assert all((proxy.STATIC / chunk).exists() for chunk in chunks)
    assert f"{renderer.__name__}.plotly_js/plotly.min.js" in proxy.LIBRARY_PATH
    assert f"{proxy.LIBRARY_PATH}?v={plotly.__version__}" in HEAD
    assert "'" not in HEAD and "\n" not in HEAD
    assert 'property="og:image" content="https://ledger.example/ledger/head/decode.png"' in HEAD


@pytest.mark.parametrize("base", ["/ledger", ""])
def test_nginx_reads_its_configuration(tmp_path: Path, base: str) -> None:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/opt/homebrew/bin")
    logs = (str(tmp_path / "access"), str(tmp_path / "errors"))
    workers = ("localhost:8501", "localhost:8502")
    written = proxy.configuration(tmp_path, workers, base, 8080, (), logs)
    for wanted in ("hash $ledger_id consistent", "proxy_read_timeout 1h", "4 64k", *workers):
        assert wanted in written
    # Nothing behind a question mark is logged.
    assert not re.search(r"\$(request|request_uri|args|query_string|http_referer)\b",
                         written[: written.index("access_log")])  # fmt: skip
    if nginx is None:
        pytest.skip("nginx is not installed: its own check of the configuration is left out")
    (tmp_path / "nginx.conf").write_text(written)
    check = [nginx, "-t", "-e", logs[1], "-c", str(tmp_path / "nginx.conf")]
    told = subprocess.run(check, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_the_images_are_pinned_small_and_nobodys() -> None:
    written, compose = (ROOT / "Dockerfile").read_text(), (ROOT / "compose.yaml").read_text()
    bases = re.findall(r"^FROM (\S+) AS (\w+)", written, re.MULTILINE)
    assert all(re.search(r":\d+\.\d+\.\d+-", image) for image, _ in bases)
    assert "[dev]" not in written
    for _, stage in bases[1:]:
        part = written.split(f" AS {stage}\n")[1].split("\nFROM ")[0]
        assert "\nUSER 10001\n" in part
        assert f"target: {stage} " in compose
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", written, re.MULTILINE)
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists() and f"!{name}" in sent
    workers = re.findall(r"--worker ([\w-]+):", written)
    assert workers == re.findall(r"^  ([\w-]+): \*worker$", compose, re.MULTILINE)
    assert compose.count("read_only: true") == 2


def test_no_file_of_the_host_holds_a_secret() -> None:
    for file in (*(ROOT / "deploy").glob("*.*"), ROOT / "Dockerfile", ROOT / "compose.yaml"):
        text = file.read_text()
        assert "PRIVATE KEY" not in text
        assert not re.search(r"(?i)(secret|password|token)\s*[:=]\s*[\"']?[0-9a-z]{12}", text), file


def test_the_log_says_what_failed_and_where_and_quotes_nothing() -> None:
    typed = "my secret model"
    try:
        raise ValueError(f"{typed} is none")
    except ValueError:
        failed = sys.exc_info()
    record = start.Line("ledger", logging.ERROR, __file__, 7, f"in {typed}: %s", (typed,), failed)
    line = logging.Formatter("%(message)s").format(record)
    assert typed not in line and "\n" not in line
    told = json.loads(line)
    assert told.keys() == {"time", "level", "at", "page", "error", "frames"}
    assert (told["level"], told["error"], told["page"]) == ("ERROR", "ValueError", "")
    assert told["frames"][-1].startswith("tests/test_hosting.py:")
