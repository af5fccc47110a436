"""Every family of configurations: counts to the integer, caches, spellings, refusals, damage."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from corpora import COUNTS, DECODERS, config_of, corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import Model, custom, hf_config
from calc.attention import CrossAttention, SharedCache
from calc.hf_config import ConfigError, UnknownFamilyError, parse
from calc.hf_families import FAMILIES
from calc.state_space import CONVOLUTION_BYTES, STATE_BYTES
from presets import formats, models

CONTEXTS = (100, 5_000, 100_000)


@pytest.mark.parametrize("id", DECODERS)
def test_totals_are_exact(id: str) -> None:
    model = parse(config_of(id))
    assert model.total_params == DECODERS[id]["total"]
    assert sum(model.params_by_part.values()) == model.total_params
    compact = custom.compact_model(json.dumps(config_of(id)))
    assert len(compact) < custom.LONGEST_LINK_TEXT
    assert custom.model(compact) == model
    assert custom.model(compact).assumptions == model.assumptions


@pytest.mark.parametrize("id", [id for id in DECODERS if "per_token" in DECODERS[id]])
def test_caches_are_exact_at_three_contexts(id: str) -> None:
    counted, model = DECODERS[id], parse(config_of(id))
    states = counted.get("state", 0) * STATE_BYTES
    states += counted.get("convolution", 0) * CONVOLUTION_BYTES
    for context in CONTEXTS:
        elements = counted["per_token"] * context
        for window, each in counted.get("in_windows", {}).items():
            elements += each * min(context, int(window))
        assert model.kv_bytes(context, formats["bf16"]) == 2 * elements + states


# Types whose layers are those of another, and the settings that make them so.
ALIKE: list[tuple[str, str, dict[str, Any]]] = [
    *((kind, "llama", {}) for kind in ("exaone", "helium", "internlm3", "iquestcoder")),
    ("ministral", "mistral", {"sliding_window": 64}),
    ("olmo", "llama", {}),
    ("arcee", "llama", {}),
    ("glm", "llama", {"attention_bias": False}),
    ("vaultgemma", "llama", {"sliding_window": None, "tie_word_embeddings": False}),
    *((kind, "qwen2", {}) for kind in ("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl_text")),
    ("minimax_text_01", "minimax_m1", {"attn_type_list": [0, 0, 1], "num_local_experts": 4,
                                       "num_experts_per_tok": 2}),
]  # fmt: skip
SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "head_dim": 16,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
         "tie_word_embeddings": False}  # fmt: skip


@pytest.mark.parametrize(("kind", "like", "settings"), ALIKE, ids=[a[0] for a in ALIKE])
def test_a_type_shaped_like_another(kind: str, like: str, settings: dict[str, Any]) -> None:
    model = parse({**SMALL, **settings, "model_type": kind})
    other = parse({**SMALL, **settings, "model_type": like})
    missing = {"arcee": 3 * 64 * 128, "olmo": (2 * 3 + 1) * 64}.get(kind, 0)
    assert model.total_params == other.total_params - missing


def test_every_family_is_counted() -> None:
    counted = {kind for kind, _, _ in ALIKE}
    for entry in DECODERS.values():
        config = entry["config"]
        counted.add(config.get("text_config", config)["model_type"])
    same = {"minimax_m3": "minimax_m3_vl_text", "step3p5": "step3p7", "RefinedWeb": "falcon",
            "bailing_moe_v2": "bailing_moe", "deepseek_v32": "glm_moe_dsa"}  # fmt: skip
    assert {same.get(kind, kind) for kind in FAMILIES} == counted
    for kind, other in same.items():
        assert FAMILIES[kind].read is FAMILIES[other].read


def test_falcon_40b_under_its_first_name() -> None:
    config = {"model_type": "RefinedWeb", "hidden_size": 8192, "n_head": 128, "n_head_kv": 8,
              "n_layer": 60, "bias": False, "parallel_attn": True, "vocab_size": 65024}  # fmt: skip
    assert parse(config).total_params == 41_303_293_952


RESAVED = [id for id in DECODERS if id.startswith("resaved/")]


@pytest.mark.parametrize("id", RESAVED)
def test_what_transformers_5_wrote_back_is_the_same_model(id: str) -> None:
    original = id.removeprefix("resaved/")
    model = parse(config_of(id))
    assert model.total_params == COUNTS[original]
    if original in DECODERS:
        other = parse(config_of(original))
        assert set(model.blocks) == set(other.blocks)


def test_experts_are_looked_for_under_every_spelling() -> None:
    config = config_of("resaved/qwen3-235b-a22b")
    experts = config.pop("num_local_experts")
    for spelling in ("num_experts", "n_routed_experts", "moe_num_experts"):
        assert parse({**config, spelling: experts}).total_params == 235_093_634_560
    with pytest.raises(ConfigError, match="num_experts: is missing"):
        parse(config)


def test_window_heads_of_step() -> None:
    config = config_of("step-3.7-flash")
    full = {**config, "attention_other_setting": {"num_attention_heads": 96}}
    assert parse(full).total_params - parse(config).total_params == 1_111_621_632
    assert parse({**config, "num_sliding_attention_heads": 96}) == parse(full)


def test_minimax_m3_reads_index_keys_and_the_picked_blocks() -> None:
    model, bf16 = parse(config_of("syn-minimax_m3")), formats["bf16"]
    # Four layers of 2 × 4 × 32 elements, three of which keep a key of 16 and read 16 × 128 tokens.
    assert model.kv_bytes(10_000, bf16) == 2 * 10_000 * (4 * 256 + 3 * 16)
    assert model.kv_bytes_read(10_000, bf16) == 2 * (
        256 * 10_000 + 3 * (256 * 16 * 128 + 16 * 10_000)
    )


def test_shared_picks_need_no_index_keys() -> None:
    model = parse(config_of("glm-5.2"))
    kept = model.kv_bytes_per_token(formats["bf16"])
    assert kept == 2 * (78 * 576 + 21 * 128)
    read = model.kv_bytes_read(100_000, formats["bf16"])
    assert read == 2 * (78 * 2048 * 576 + 21 * 100_000 * 128)


def test_cross_attention_keeps_nothing_of_the_text() -> None:
    model = parse(config_of("llama-3.2-90b-vision"))
    image = [b for b in model.blocks if isinstance(b.attention, CrossAttention)]
    assert sum(block.count for block in image) == 20
    assert model.kv_bytes_per_token(formats["bf16"]) == 2 * 163_840
    assert any("no image" in assumption for assumption in model.assumptions)


def test_gemma_3n_gathers_its_tables_and_shares_its_caches() -> None:
    model = parse(config_of("gemma-3n-e4b-text"))
    assert model.lookup == 262_144 * 256 * 35
    assert model.params_read(1) == model.total_params - model.lookup
    shared = sum(b.count for b in model.blocks if isinstance(b.attention, SharedCache))
    assert shared == 15
    bf16 = formats["bf16"]
    assert model.kv_bytes_read(5_000, bf16) == 2 * 1024 * (7 * 5_000 + 28 * 512)
    assert any("share a cache are not counted" in told for told in model.assumptions)


def test_zamba_runs_its_shared_weights_at_every_place() -> None:
    model = parse(config_of("syn-zamba2"))
    shared = model.blocks[-1]
    assert (shared.count, shared.stored) == (3, 2)
    assert model.layers == 8
    d, inner = 256, 512
    weights = 3 * (2 * d) ** 2 + 2 * d * d + 3 * d * inner + 3 * d
    assert model.params_read(1) == model.total_params + weights


def test_state_precision_is_the_files_or_told() -> None:
    bf16 = formats["bf16"]
    config = config_of("syn-mamba2")
    told = parse(config)
    assert any("float32, as SGLang" in assumption for assumption in told.assumptions)
    half = parse({**config, "mamba_ssm_dtype": "bfloat16"})
    assert not any("SGLang" in assumption for assumption in half.assumptions)
    assert told.kv_bytes(1, bf16) - half.kv_bytes(1, bf16) == 49152 * 2
    with pytest.raises(ConfigError, match="mamba_ssm_cache_dtype: is not a precision"):
        parse({**config, "mamba_ssm_cache_dtype": "int3"})


# What a family calls a key stands in what is said about it.
SPELT = [
    ("gpt2", "n_embd"), ("gpt2", "n_layer"), ("gpt2", "n_head"), ("gpt2", "n_positions"),
    ("syn-mpt-bias", "d_model"), ("syn-mpt-bias", "n_heads"),
    ("falcon-7b-original-keys", "n_layer"),
    ("syn-ernie-moe-interval", "moe_num_experts"), ("syn-ernie-moe-interval", "moe_k"),
    ("syn-longcat_flash", "num_layers"), ("syn-longcat_flash", "moe_topk"),
    ("syn-dots1", "n_routed_experts"), ("syn-granitemoe", "num_local_experts"),
    ("syn-olmoe", "num_experts"), ("kimi-linear-48b-a3b", "num_experts_per_token"),
    ("syn-bloom", "n_head"),
]  # fmt: skip


@pytest.mark.parametrize(("id", "key"), SPELT)
def test_messages_name_the_key_as_the_family_spells_it(id: str, key: str) -> None:
    config = config_of(id)
    assert key in config
    with pytest.raises(ConfigError, match=f"^{key}: is not a whole number"):
        parse({**config, key: "many"})
    del config[key]
    with pytest.raises(ConfigError, match=f"^{key}: is missing, and {config['model_type']} has"):
        parse(config)


def test_nothing_is_assumed_unsaid() -> None:
    """Whatever a file can leave out without being refused is told, or changes nothing."""
    for id in DECODERS:
        config = config_of(id)
        whole = parse(config)
        part = config.get("text_config", config)
        for key in list(part):
            if key == "model_type":
                continue
            value = part.pop(key)
            try:
                model = parse(config)
            except ConfigError:
                pass
            else:
                # A longest context that is not said is unknown, not assumed.
                model = replace(model, max_context=whole.max_context)
                told = set(model.assumptions) - set(whole.assumptions)
                assert told or model == whole, (id, key)
            part[key] = value


UNREADABLE = [
    ({"model_type": "t5", "is_encoder_decoder": True}, "t5 is an encoder-decoder"),
    ({"model_type": "whisper"}, "whisper is an encoder-decoder"),
    ({"model_type": "t5gemma", "encoder": {}}, "t5gemma is an encoder-decoder"),
    ({"model_type": "bert"}, "bert is an encoder"),
    ({"model_type": "xlm-roberta"}, "xlm-roberta is an encoder"),
    ({"model_type": "llada"}, "llada is a diffusion model"),
    ({"model_type": "Dream"}, "Dream is a diffusion model"),
    ({"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30"},
     "FluxTransformer2DModel is a diffusion model"),
    ({"hidden_size": 64}, "model_type: is missing"),
    ({"model_type": ["llama"]}, "model_type: is missing"),
    ({"model_type": "llama5_text"}, "llama5_text is not known here; nearest are llama"),
    ({"model_type": "glm5_moe"}, "nearest are glm4_moe"),
    ({"model_type": "deepseek_v5"}, "nearest are deepseek_v"),
    ({"model_type": "qwq-zzz"}, "qwq-zzz is not known here, nor anything like it"),
    ({"model_type": "<b>wild</b>"}, "bwildb is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "reason"), UNREADABLE)
def test_refusals_say_what_was_found(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(config)
    said = str(refused.value)
    assert reason in said
    assert len(said) < 250
    if isinstance(refused.value, UnknownFamilyError):
        assert "stated as totals, would decide the model" in said
        assert set(refused.value.nearest) <= set(FAMILIES)


def test_a_type_is_taken_from_around_a_part_that_has_none() -> None:
    part = {**SMALL, "model_type": None}
    assert parse({"model_type": "qwen3_vl", "text_config": part}) == parse(
        {"model_type": "qwen3_vl", "text_config": {**SMALL, "model_type": "qwen3_vl_text"}}
    )
    with pytest.raises(UnknownFamilyError, match="qwen9 is not known here; nearest are"):
        parse({"model_type": "qwen9", "text_config": part})


def test_a_file_of_four_megabytes_is_read() -> None:
    config = {**config_of("gpt2"), "quantization_config": {
        "quant_method": "modelopt", "quant_algo": "NVFP4",
        "ignore": [f"model.layers.{i}.self_attn.{'x' * 40}" for i in range(60_000)]}}  # fmt: skip
    text = json.dumps(config)
    assert len(text) > 4_000_000
    assert parse(text).total_params == 124_439_808
    assert len(custom.compact_model(text)) < 1_000


@pytest.mark.parametrize("expression", ["(a+)+$", ".*.*.*.*.*.*x", "(?:x)*", "a{9999999999}"])
def test_an_expression_that_could_take_for_ever_is_not_tried(expression: str) -> None:
    config = {**config_of("gpt2"), "quantization_config": {
        "quant_method": "compressed-tensors", "ignore": [f"re:{expression}"],
        "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}}  # fmt: skip
    model = parse(config)
    assert model.checkpoint is None
    assert any("is not interpreted" in told for told in model.assumptions)


@pytest.mark.parametrize("id", [id for id in DECODERS if id in models])
def test_a_preset_is_what_its_configuration_gives(id: str) -> None:
    same_model(models[id], parse(config_of(id)))


def same_model(preset: Model, read: Model) -> None:
    """Equal in all but the name, how weights are stored, and what stands beside the decoder."""
    for field in fields(Model):
        if field.name == "blocks":
            assert set(preset.blocks) == set(read.blocks)
        elif field.compare and field.name not in ("id", "name", "checkpoint", "resident"):
            assert getattr(preset, field.name) == getattr(read, field.name), field.name


def stored(model: Model) -> dict[str, str]:
    """The format of each part, as the model is published."""
    assert model.checkpoint is not None
    return {part: model.checkpoint.of(part).id for part in model.params_by_part}


def test_lists_written_as_runs_are_read_wherever_lists_are() -> None:
    config = config_of("resaved/nemotron-3-ultra-550b-a55b")
    kinds = config.pop("layers_block_type")
    runs = {"runs": [[kind, 1] for kind in kinds]}
    assert parse({**config, "layer_types": runs}) == parse({**config, "layer_types": kinds})


JUNK = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 1, 7, 0.5, -3.0, 10**9, 10**18, math.nan, math.inf,
                     "", "auto", "full_attention"])
    | st.integers() | st.floats() | st.text(max_size=8),
    lambda part: st.lists(part, max_size=3)
    | st.dictionaries(st.text(max_size=6), part, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.data())
@settings(max_examples=300, derandomize=True)
def test_a_damaged_configuration_gives_a_model_or_its_own_error(data: st.DataObject) -> None:
    config = config_of(data.draw(st.sampled_from(sorted(DECODERS))))
    target = config.get("text_config", config)
    for _ in range(data.draw(st.integers(1, 3))):
        inside = [target, *(v for v in target.values() if isinstance(v, dict))]
        part = data.draw(st.sampled_from(inside))
        key = data.draw(st.sampled_from([*part, "layer_types", "quantization_config", "head_dim"]))
        value = part.get(key)
        how = data.draw(st.sampled_from(["drop", "junk", "truncate", "entry"]))
        if how == "drop":
            part.pop(key, None)
        elif isinstance(value, list) and value and how == "truncate":
            part[key] = value[: len(value) // 2]
        elif isinstance(value, list) and value and how == "entry":
            value[data.draw(st.integers(0, len(value) - 1))] = data.draw(JUNK)
        else:
            part[key] = data.draw(JUNK)
    if data.draw(st.booleans()):
        target["model_type"] = data.draw(st.sampled_from(sorted(FAMILIES)))
    damaged(config)


def damaged(config: dict[str, Any]) -> None:
    """A damaged configuration is refused in one sentence, or gives figures that can be."""
    try:
        model = parse(config)
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert model.total_params > 0
    assert model.active_params > 0
    assert min(model.params_by_part.values()) > 0
    for figure in (
        model.kv_bytes(1000, formats["bf16"]),
        model.kv_bytes_read(1000, formats["fp8"]),
        model.attention_flops(1000),
        model.prefill_attention_flops(1000),
        model.params_read(np.array([1, 64])),
    ):
        assert np.all(np.isfinite(figure))
        assert np.all(np.asarray(figure) >= 0)


def test_every_file_of_the_corpus() -> None:
    """Set CONFIG_CORPUS to folders of config.json files, separated as in PATH.

    Every file is read, and to the integer where it was counted; presets of the same id are the
    same model.
    """
    wrong = {}
    for file in corpus():
        text, id = file.read_text(encoding="utf-8"), file.stem
        try:
            model = hf_config.parse(text)
            assert custom.model(custom.compact_model(text)) == model
            assert model.total_params == COUNTS.get(id, model.total_params)
            if id in models:
                same_model(models[id], model)
                if "quantization_config" in text:
                    assert stored(models[id]) == stored(model)
        except (ValueError, AssertionError) as error:
            wrong[file.name] = str(error)
    assert not wrong
