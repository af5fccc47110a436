"""Presets: enough of them, every figure with a source, and bad files refused by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import presets
from calc import Chip, Model
from calc.checkpoint import Checkpoint
from presets import PresetError, chips, formats, load, models
from presets.loader import Reader, read_chips, read_format, read_model

REQUIRED_MODELS = [
    "llama-2-7b",
    "llama-2-13b",
    "llama-2-70b",
    "llama-3-8b",
    "llama-3-70b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "llama-3.3-70b",
    "mistral-7b",
    "mixtral-8x7b",
    "qwen2.5-7b",
    "qwen2.5-14b",
    "qwen2.5-32b",
    "qwen2.5-72b",
    "qwen3-8b",
    "qwen3-14b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "gemma-2-9b",
    "gemma-2-27b",
    "gemma-3-4b",
    "gemma-3-12b",
    "gemma-3-27b",
    "deepseek-v2-lite",
    "deepseek-v2",
    "deepseek-v3",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "kimi-k2",
    "gemma-2b",
    "gemma-3n-e2b",
    "gemma-3n-e4b",
    "qwen2.5-vl-7b",
    "qwen3-vl-4b",
    "qwen3-vl-32b",
    "devstral-2-123b",
    "glm-4.7-flash",
    "lfm2-2.6b",
    "lfm2-8b-a1b",
    "granite-4.0-h-tiny",
    "olmo-2-7b",
    "olmo-3.1-32b",
    "exaone-4.0-32b",
    "seed-oss-36b",
    "falcon-h1-7b",
    "kimi-linear-48b-a3b",
    "llama-3.1-nemotron-ultra-253b",
    "phi-2",
    "phi-3.5-moe",
    "gpt-j-6b",
    "falcon-180b",
    "codellama-34b",
]
REQUIRED_CHIPS = [
    "tpu-v4p",
    "tpu-v5e",
    "tpu-v5p",
    "tpu-v6e",
    "a100-40-sxm",
    "a100-80-sxm",
    "l4",
    "l40s",
    "h100-sxm",
    "h200",
    "h20",
    "b200",
    "gb200-nvl72",
    "mi300x",
    "mi355x",
    "rtx-4090",
    "rtx-5090",
    "gaudi3",
    "trainium2",
]
REQUIRED_FORMATS = ["bf16", "fp16", "fp8", "int8", "int4", "int4-g128", "mxfp4", "nvfp4", "q4-k-m"]


def test_required_presets_are_there() -> None:
    assert set(REQUIRED_MODELS) <= set(models)
    assert set(REQUIRED_CHIPS) <= set(chips)
    assert set(REQUIRED_FORMATS) <= set(formats)


@pytest.mark.parametrize("model", models.values(), ids=lambda model: model.id)
def test_models_have_sources(model: Model) -> None:
    assert model.sources


@pytest.mark.parametrize("chip", chips.values(), ids=lambda chip: chip.id)
def test_every_figure_of_a_chip_has_a_source(chip: Chip) -> None:
    known = [
        "memory",
        *(["bandwidth"] if chip.bandwidth > 0 else []),
        *(f"{rate} peak" for rate in chip.peaks),
    ]
    known += ["slices"] * bool(chip.slices) + ["price"] * bool(chip.price)
    assert all(chip.sources[name] for name in known)


def test_v5e_uses_the_bandwidth_of_the_worked_examples_and_notes_the_conflict() -> None:
    v5e = chips["tpu-v5e"]
    assert v5e.bandwidth == 8.2e11
    assert "8.1e11" in v5e.sources["bandwidth"]


def test_dense_peaks_not_sparse_ones() -> None:
    assert chips["h100-sxm"].peaks["bf16"] == 9.89e14
    assert chips["h100-sxm"].peaks["fp8"] == 1.979e15


def test_format_sizes_count_their_scales() -> None:
    sizes = {id: formats[id].bits for id in ("int4", "int4-g128", "int4-g32", "nvfp4", "mxfp4")}
    assert sizes == {"int4": 4, "int4-g128": 4.125, "int4-g32": 4.5, "nvfp4": 4.5, "mxfp4": 4.25}


HERE = Path(presets.__file__).parent
SOURCES = {"S": "somewhere"}
STORED = sorted(id for id, each in formats.items() if "weights" in each.uses)
MODEL = """
[m]
name = "M"
d_model = 64
vocabulary = 1000
tied = false
sources = ["config.json"]
[[m.blocks]]
count = 2
attention = { kind = "grouped-query", heads = 4, kv_heads = 2, head_dim = 16 }
feedforward = { kind = "dense", width = 128 }
"""
CHIP = """
[c]
name = "C"
vendor = "V"
memory = { value = 16e9, sources = ["S"] }
bandwidth = { value = 8e11, sources = ["S"] }
[c.peaks]
bf16 = { value = 2e14, sources = ["S"] }
"""
FORMAT = """
[f]
name = "F"
bits = 8
uses = ["weights"]
sources = ["S"]
"""

Read = Callable[[str, Reader], object]
CASES: list[tuple[str, Callable[..., object], str, str, str]] = [
    (MODEL, read_model, "d_model", "d_modle", "m.d_model: is missing"),
    (MODEL, read_model, "tied = false", "tied = false\nties = 1", "m.ties: is not a key known"),
    (MODEL, read_model, "kv_heads = 2", "kv_heads = 3",
     "kv_heads: 3 KV heads do not divide 4 query heads"),
    (MODEL, read_model, "kv_heads = 2", "kv_heads = 0", "kv_heads: 0 is outside 1 to 10,000"),
    (MODEL, read_model, "head_dim = 16", "hd = 16", "attention.head_dim: is missing"),
    (MODEL, read_model, "head_dim = 16", "head_dim = 16, q = 1", "attention.q: is not a key"),
    (MODEL, read_model, '"grouped-query"', '"magic"', "kind: magic is not one of grouped-query"),
    (MODEL, read_model, "head_dim = 16", "head_dim = 16, window = 0", "window: 0 is outside 1 to"),
    (MODEL, read_model, "head_dim = 16", "head_dim = 16, window = 8, chunk = 8",
     "attention.chunk: does not go around window 8, grouped-query, 2 KV heads"),
    (MODEL, read_model, "head_dim = 16", "head_dim = 16, shared = 1", "shared: is not bool"),
    (MODEL, read_model, "head_dim = 16",
     "head_dim = 16, sparse = { top_k = 8, index_heads = 1, index_dim = 1 }",
     "attention.sparse: does not go around grouped-query, 2 KV heads"),
    (MODEL, read_model, 'kind = "grouped-query", heads = 4, kv_heads = 2, head_dim = 16',
     'kind = "lightning", heads = 4, head_dim = 16, window = 8', "not go around lightning"),
    (MODEL, read_model, "count = 2", "count = -2", "m.blocks[0].count: -2 is outside 1 to 4,096"),
    (MODEL, read_model, "width = 128", 'width = "128"', "feedforward.width: is not int"),
    (MODEL, read_model, '["config.json"]', "[]", "m.sources: is empty"),
    (MODEL, read_model, "tied", 'checkpoint = "bogus"\ntied',
     "m.checkpoint: bogus is not a format of weights in formats.toml"),
    (MODEL, read_model, "tied", 'checkpoint = "fp8-mla"\ntied', "m.checkpoint: fp8-mla is"),
    (MODEL, read_model, "\n[m]", 'order = "first"\n[m]', "order: is not int"),
    (MODEL, read_model, "\n[m]", "ordre = 1\n[m]", "ordre: is not a table"),
    (MODEL, read_model, "[m]", "[m", "syntax"),
    (CHIP, read_chips, "memory = { value = 16e9", "memory = { value = 16", "memory.value: 16 is"),
    (CHIP, read_chips, "value = 8e11", "value = nan", "bandwidth.value: nan is outside"),
    (CHIP, read_chips, "value = 8e11", "value = true", "bandwidth.value: is not int or float"),
    (CHIP, read_chips, "bf16 =", "bf61 =", "c.peaks.bf61: is not one of bf16"),
    (CHIP, read_chips, '2e14, sources = ["S"]', "2e14", "bf16.sources: is missing"),
    (CHIP, read_chips, '2e14, sources = ["S"]', '2e14, sources = ["T"]', "T is not in sources"),
    (CHIP, read_chips, 'vendor = "V"', "", "c.vendor: is missing"),
    (FORMAT, read_format, "bits = 8", "bits = 0", "f.bits: 0 is outside"),
    (FORMAT, read_format, '["weights"]', '["wieghts"]', "f.uses: is not some of"),
    (FORMAT, read_format, "bits = 8", 'bits = 8\nrate = "bf61"', "f.rate: bf61 is not one of"),
]  # fmt: skip


def reading(read: Callable[..., object]) -> Read:
    known: object = formats if read is read_model else SOURCES
    return lambda id, reader: read(id, reader, known)


GOOD = [(MODEL, read_model), (CHIP, read_chips), (FORMAT, read_format)]


@pytest.mark.parametrize(("text", "read"), GOOD)
def test_good_files_are_read(text: str, read: Callable[..., object], tmp_path: Path) -> None:
    file = tmp_path / "good.toml"
    file.write_text(text, encoding="utf-8")
    assert len(load([file], reading(read))) == 1


@pytest.mark.parametrize(("text", "read", "old", "new", "reason"), CASES)
def test_bad_files_are_refused_with_file_key_and_reason(
    text: str, read: Callable[..., object], old: str, new: str, reason: str, tmp_path: Path
) -> None:
    assert old in text
    file = tmp_path / "bad.toml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PresetError) as refused:
        load([file], reading(read))
    assert str(refused.value).startswith("bad.toml: ")
    assert reason in str(refused.value)


def test_an_id_defined_twice_is_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(MODEL, encoding="utf-8")
    with pytest.raises(PresetError, match="another file"):
        load(tmp_path.glob("*.toml"), reading(read_model))


@pytest.mark.parametrize("checkpoint", STORED)
def test_a_checkpoint_is_a_format_that_weights_are_stored_in(
    checkpoint: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        MODEL.replace("tied", f'checkpoint = "{checkpoint}"\ntied', 1), encoding="utf-8"
    )
    model = load([file], lambda id, reader: read_model(id, reader, formats))["m"]
    assert model.checkpoint == Checkpoint(formats[checkpoint])


VENDORS = ["Google", "NVIDIA", "AMD", "Intel", "AWS", "Apple", "Groq", "Cerebras"]


def test_chips_are_listed_by_vendor_in_the_order_that_their_files_say() -> None:
    listed = dict.fromkeys(chip.vendor for chip in chips.values())
    assert [vendor for vendor in listed if vendor in VENDORS] == VENDORS


def test_every_file_is_read_and_says_its_place(tmp_path: Path) -> None:
    """A new file is a new vendor's chips, and nothing else is touched."""
    shutil.copytree(HERE, tmp_path / "presets")
    for folder, text in (("chips", CHIP), ("models", MODEL)):
        first = text.replace("[c", "[c0").replace("[m", "[m0").replace("[[m.", "[[m0.")
        for name, content in (("first", f"order = -1\n{first}"), ("zuse", text)):
            (tmp_path / "presets" / folder / f"{name}.toml").write_text(
                content.replace('"S"', '"MLE"'), encoding="utf-8"
            )
    script = "from presets import chips, models; print(*chips, '|', *models)"
    out = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, text=True, check=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{HERE.parent}"},
    ).stdout  # fmt: skip
    found = [part.split() for part in out.split("|")]
    assert found == [["c0", *chips, "c"], ["m0", *models, "m"]]
