"""Models written as preset files: what was written reads back as the same model."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpora import DECODERS, config_of, corpus

from calc import Block, Model, hf_config
from calc.attention import NO_ATTENTION, CrossAttention, SharedCache, StatedCache
from calc.feedforward import Dense
from presets import PresetError, formats, load, models, writer
from presets.loader import Reader, read_model

# Small ones of the families whose layers are of several kinds, with keys left out.
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {"num_attention_heads": 4, "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    "gemma4_text": {
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 32,
        "num_kv_shared_layers": 2, "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "llama4_text": {
        "num_attention_heads": 4, "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 1,
        "attention_chunk_size": 64, "intermediate_size_mlp": 96, "interleave_moe_layer_step": 2,
    },
    "deepseek_v32": {
        "num_attention_heads": 4, "q_lora_rank": None, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8, "v_head_dim": 16, "index_topk": 64, "index_n_heads": 2,
        "index_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "first_k_dense_replace": 1,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    },
    "nemotron_h": {
        "hybrid_override_pattern": "M-*E", "num_attention_heads": 4, "mamba_num_heads": 4,
        "mamba_head_dim": 16, "ssm_state_size": 8, "n_groups": 2, "conv_kernel": 4,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    },
}  # fmt: skip
COMMON = {"hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 1000, "intermediate_size": 128}


def config(family: str) -> str:
    return json.dumps({"model_type": family, **COMMON, **CONFIGS[family]})


def read_back(model: Model) -> Model:
    content = tomllib.loads(writer.written(model))
    return read_model(model.id, Reader(Path("m.toml"), model.id, content[model.id]), formats)


@pytest.mark.parametrize("model", models.values(), ids=lambda model: model.id)
def test_every_preset_is_written_as_it_was_read(model: Model) -> None:
    again = read_back(model)
    assert again == model
    assert (again.sources, again.note) == (model.sources, model.note)


@pytest.mark.parametrize("model", models.values(), ids=lambda model: model.id)
def test_so_is_every_kind_with_its_cache_shared(model: Model) -> None:
    keeps_none = (StatedCache, SharedCache, CrossAttention)
    blocks = tuple(
        block if isinstance(block.attention, keeps_none)
        else replace(block, attention=SharedCache(block.attention))
        for block in model.blocks
    )  # fmt: skip
    shared = replace(model, blocks=blocks)
    assert read_back(shared) == shared


@pytest.mark.parametrize("family", CONFIGS)
def test_a_config_becomes_a_preset(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "config.json"
    given.write_text(config(family), encoding="utf-8")
    writer.main([str(given), "tiny-1.5", "--name", "Tiny", "--source", "a card"], tmp_path)
    file = Path(capsys.readouterr().out.strip())
    assert file == tmp_path / "tiny-1.5.toml"

    parsed = hf_config.parse(config(family), id="tiny-1.5", name="Tiny")
    [found] = load([file], lambda id, reader: read_model(id, reader, formats)).values()
    assert found == parsed
    assert found.sources == ("a card",)
    comments = [line for line in file.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    assert comments[1:] == [f"# Assumed: {assumption}" for assumption in parsed.assumptions]


def test_a_source_that_is_not_said_has_its_place(tmp_path: Path) -> None:
    text = writer.add(config("llama"), "tiny", tmp_path).read_text(encoding="utf-8")
    assert "# Say where it comes from: the repository and its commit.\nsources = [" in text
    assert 'name = "llama, ' in text


IDS = ["", "Tiny", "tiny_1", "../tiny", "tiny-", "tiny toml", "custom", "order"]


@pytest.mark.parametrize("id", IDS)
def test_ids_that_links_cannot_use_are_refused(id: str, tmp_path: Path) -> None:
    with pytest.raises(PresetError, match="is not an id"):
        writer.add(config("llama"), id, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PresetError, match="llama-3-8b: is there already"):
        writer.add(config("llama"), "llama-3-8b", tmp_path)
    file = writer.add(config("llama"), "tiny", tmp_path)
    before = file.read_bytes()
    with pytest.raises(PresetError, match="tiny: is there already"):
        writer.add(config("gemma4_text"), "tiny", tmp_path)
    assert [file] == list(tmp_path.iterdir())
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"{}", "model_type: is missing"), (b"\xff", "codec can't decode"), (None, "No such file")],
)
def test_what_cannot_be_read_ends_with_a_sentence(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    given = tmp_path / "config.json"
    if content is not None:
        given.write_bytes(content)
    with pytest.raises(SystemExit, match=reason):
        writer.main([str(given), "tiny"], tmp_path)
    assert not list(tmp_path.glob("*.toml"))


def test_what_a_preset_cannot_say_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A width of 0 is a typo in a preset, whatever a configuration may say."""
    empty = Model("tiny", "T", 64, 100, True, (Block(1, NO_ATTENTION, Dense(0)),))
    monkeypatch.setattr(hf_config, "parse", lambda *_, **__: empty)
    with pytest.raises(PresetError, match="width: 0 is outside 1 to"):
        writer.add("{}", "tiny", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("id", DECODERS)
def test_every_decoder_is_written(id: str, tmp_path: Path) -> None:
    written_and_read_back(json.dumps(config_of(id)), "tiny", tmp_path)


def test_every_config_of_the_corpus_is_written(tmp_path: Path) -> None:
    """Set CONFIG_CORPUS to folders of config.json files, such as model caches."""
    for i, file in enumerate(corpus()):
        written_and_read_back(file.read_text(encoding="utf-8"), f"tiny-{i}", tmp_path)


def written_and_read_back(text: str, id: str, folder: Path) -> None:
    """What the written file holds is what the configuration gives."""
    written = writer.add(text, id, folder)
    found = load([written], lambda id, reader: read_model(id, reader, formats))
    assert dict(found) == {id: hf_config.parse(text, id=id)}
