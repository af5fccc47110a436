"""The command: a link's figures for scripts, and a code that says whether the link was read."""

from __future__ import annotations

import json

import pytest
from pages_app import asked

import command
from calc import decode


def test_json_has_settings_and_figures_in_si_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--json", "http://localhost:8501/cost?b=64&model=qwen3-32b"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["b"] == 64
    s = asked(b="64", model="qwen3-32b")
    assert told["figures"]["step_time"]["value"] == pytest.approx(float(decode.step_time(s).total))
    assert told["figures"]["step_time"]["unit"] == "s"


def test_a_table_has_the_figures_that_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "step_time,max_batch", "chip=m5-max&n=8"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[0] == "step_time"
    assert "≥" in first
    assert second.split()[0] == "max_batch"


@pytest.mark.parametrize("given", ["b=-1", "model=nobody", "chip=custom&hw=no"])
def test_what_a_link_got_wrong_is_said(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([given]) == 2
    assert "is used." in capsys.readouterr().err


def test_a_plan_is_the_page_s(capsys: pytest.CaptureFixture[str]) -> None:
    chat = "model=qwen3-32b&p=1000&g=100&qps=5&tl=2&tt=40&len=constant&on=amd&u=0.9"
    assert command.main(["--plan", "--json", chat]) == 0
    best = json.loads(capsys.readouterr().out)["plans"][0]
    assert (best["chip"], best["kv"]) == ("mi300x", "bf16")
    assert best["usd_per_hour"] == pytest.approx(best["chips"] * 1.85)
    assert best["tpot"] < 0.04 and best["requests_per_second"] >= 5
    assert command.main(["--plan", chat]) == 0
    first = capsys.readouterr().out.splitlines()[1].split()
    assert first[:2] == ["mi300x", f"{best['replicas']}x{best['chips_per_replica']}"]
    assert command.main(["--plan", chat + "&tt=1"]) == 2  # the key twice
    assert command.main(["--plan", chat.replace("tt=40", "tt=1&f=operators")]) == 1
    assert "in the way" in capsys.readouterr().out


def test_an_unknown_figure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "speed", ""]) == 2
    assert "speed" in capsys.readouterr().err
