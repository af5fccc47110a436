"""The names that others rely on are those that the docs promise, no more and no fewer."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from types import ModuleType

import pytest
from said import ROOT

import calc
import presets
from calc import LedgerError, Scenario, decode, hf_config, memory, roofline, speculative
from presets import chips, formats, models

PROMISES = (ROOT / "docs" / "surface.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def promised(package: str) -> list[str]:
    """Names in the first columns of the tables about a package."""
    parts = re.split(r"^## ", PROMISES, flags=re.MULTILINE)
    return [
        name
        for part in parts
        if part.startswith(f"`{package}`")
        for name in re.findall(r"^\| `(\w+)`", part, flags=re.MULTILINE)
    ]


@pytest.mark.parametrize("package", [calc, presets], ids=lambda package: package.__name__)
def test_what_is_exported_is_what_is_promised(package: ModuleType) -> None:
    names = promised(package.__name__)
    assert sorted(names) == sorted(package.__all__)
    assert len(set(names)) == len(names)


def test_every_function_that_is_promised_is_there_and_says_what_it_gives() -> None:
    functions = re.findall(r"`((\w+)\.(\w+))`", PROMISES)
    starts = {module for _, module, _ in functions if module in calc.__all__}
    modules = {name for name in calc.__all__ if inspect.ismodule(getattr(calc, name))}
    assert starts == modules
    for name in ("Scenario", "Model", "Block", "Chip", "Price", "NumberFormat", *modules):
        assert getattr(calc, name).__doc__, name
    for whole, module, name in functions:
        if module in starts:
            assert getattr(getattr(calc, module), name).__doc__, whole


def test_what_pages_of_the_project_import_is_public() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for package, names in re.findall(r"from (calc|presets) import ([\w, ]+)", text):
            public = importlib.import_module(package).__all__
            assert {name.strip() for name in names.split(",")} <= set(public), page.name


def test_the_documented_example() -> None:
    s = Scenario(
        model=models["llama-3-70b"], chip=chips["tpu-v5e"], n_chips=16,
        weight_format=formats["int8"], kv_format=formats["int8"],
        compute_format=formats["bf16"], batch=32, context=8192, fidelity="bound",
    )  # fmt: skip
    step = decode.step_time(s)
    times = (step.kv_read, step.weight_read, step.linear_compute, step.attention_compute)
    assert all(time > 0 for time in (*times, step.throughput, step.throughput_per_chip))
    assert step.communication == step.overhead == 0
    assert memory.weights(s) + memory.kv_cache(s) <= memory.capacity(s)
    assert memory.max_batch(s) == 149
    assert memory.min_chips(s) == 8
    assert round(roofline.critical_batch(s.chip, s.stored, s.compute_format)) == 120
    assert s.model.kv_bytes(8192, s.kv_format) == 8192 * s.model.kv_bytes_per_token(s.kv_format)
    assert 0 < s.model.active_params < s.model.total_params == 70_553_706_496
    assert speculative.best_n_draft(0.8, 0.05) > 0


def modules() -> Iterator[ModuleType]:
    for package in (calc, presets):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def test_every_error_that_a_user_meets_is_a_ledger_error() -> None:
    own = {
        one
        for module in modules()
        for one in vars(module).values()
        if inspect.isclass(one)
        and issubclass(one, Exception)
        and one.__module__.split(".")[0] in ("calc", "presets")
    }
    assert len(own) > 8
    assert all(issubclass(one, LedgerError) for one in own)
    assert issubclass(LedgerError, ValueError)
    with pytest.raises(LedgerError, match="model_type"):
        hf_config.parse({})
    with pytest.raises(LedgerError, match="top_k 9 is not between 1 and experts 8"):
        calc.feedforward.MixtureOfExperts(experts=8, top_k=9, expert_width=64)


def test_types_are_shipped() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package in ("calc", "presets"):
        assert "py.typed" in project["tool"]["setuptools"]["package-data"][package]
        assert (ROOT / package / "py.typed").is_file()


def test_no_docstring_begins_with_the_same() -> None:
    files = [file for package in ("calc", "presets") for file in (ROOT / package).rglob("*.py")]
    vague = [file.name for file in files if '"""The same' in file.read_text(encoding="utf-8")]
    assert not vague
