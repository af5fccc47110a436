"""config.json files: every architecture read, every assumption told, everything else refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import custom
from calc.attention import Chunked, SharedCache, SlidingWindow
from calc.hf_config import ConfigError, compact, parse
from calc.sparse_attention import SparseTopK
from calc.state_space import ConstantState
from presets import formats, models

# Architecture keys only, and what must come of them: total parameters exact to the integer.
FIXTURES: dict[str, tuple[dict[str, Any], int]] = {
    "llama-3-70b": (
        {"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
         "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8,
         "vocab_size": 128256, "tie_word_embeddings": False, "torch_dtype": "bfloat16"},
        70_553_706_496,
    ),
    "mixtral-8x7b": (
        {"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
         "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
         "num_key_value_heads": 8, "num_local_experts": 8, "sliding_window": None,
         "vocab_size": 32000},
        46_702_792_704,
    ),
    "qwen2.5-7b": (
        {"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
         "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
         "use_sliding_window": False, "vocab_size": 152064, "tie_word_embeddings": False},
        7_615_616_512,
    ),
    "qwen3-30b-a3b": (
        {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "head_dim": 128,
         "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128,
         "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
         "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936},
        30_532_122_624,
    ),
    "qwen3-next-80b-a3b": (
        {"model_type": "qwen3_next", "hidden_size": 2048, "head_dim": 256,
         "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
         "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
         "moe_intermediate_size": 512, "num_attention_heads": 16, "num_experts": 512,
         "num_experts_per_tok": 10, "num_hidden_layers": 48, "num_key_value_heads": 2,
         "shared_expert_intermediate_size": 512, "intermediate_size": 5120, "vocab_size": 151936,
         "tie_word_embeddings": False},
        79_674_391_296,
    ),
    "gemma-2-27b": (
        {"model_type": "gemma2", "hidden_size": 4608, "intermediate_size": 36864, "head_dim": 128,
         "num_attention_heads": 32, "num_hidden_layers": 46, "num_key_value_heads": 16,
         "sliding_window": 4096, "vocab_size": 256000},
        27_227_128_320,
    ),
    "gemma-3-27b, sparse and nested": (
        {"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376,
            "intermediate_size": 21504, "num_attention_heads": 32, "num_hidden_layers": 62,
            "num_key_value_heads": 16, "sliding_window": 1024}},
        27_009_346_304,
    ),
    "gemma-3-4b, sparser still": (
        {"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
            "num_hidden_layers": 34, "sliding_window": 1024}},
        3_880_263_168,
    ),
    "deepseek-v3": (
        {"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
         "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
         "num_attention_heads": 128, "num_hidden_layers": 61, "num_key_value_heads": 128,
         "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "topk_method": "noaux_tc",
         "vocab_size": 129280, "tie_word_embeddings": False,
         "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
        671_026_419_200,
    ),
    "deepseek-v2-lite": (
        {"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
         "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
         "num_experts_per_tok": 6, "first_k_dense_replace": 1, "num_attention_heads": 16,
         "num_hidden_layers": 27, "q_lora_rank": None, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "topk_method": "greedy", "vocab_size": 102400},
        15_706_484_224,
    ),
    "gpt-oss-120b": (
        {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64,
         "num_attention_heads": 64, "num_hidden_layers": 36, "num_key_value_heads": 8,
         "num_local_experts": 128, "num_experts_per_tok": 4, "attention_bias": True,
         "layer_types": ["sliding_attention", "full_attention"] * 18, "sliding_window": 128,
         "vocab_size": 201088, "quantization_config": {"quant_method": "mxfp4"}},
        116_829_156_672,
    ),
    "glm-4.5-air": (
        {"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
         "head_dim": 128, "moe_intermediate_size": 1408, "n_routed_experts": 128,
         "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
         "num_attention_heads": 96, "num_hidden_layers": 46, "num_key_value_heads": 8,
         "attention_bias": True, "use_qk_norm": False, "vocab_size": 151552},
        106_852_251_264,
    ),
    "llama-4-maverick": (
        {"model_type": "llama4", "text_config": {
            "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
            "intermediate_size_mlp": 16384, "head_dim": 128, "attention_chunk_size": 8192,
            "interleave_moe_layer_step": 2, "num_attention_heads": 40, "num_hidden_layers": 48,
            "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 1,
            "vocab_size": 202048}},
        400_711_848_960,
    ),
    "falcon-7b, legacy keys": (
        {"model_type": "RefinedWebModel", "hidden_size": 4544, "n_head": 71, "n_layer": 32,
         "multi_query": True, "bias": False, "parallel_attn": True, "vocab_size": 65024},
        6_921_720_704,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXTURES)
def test_totals_are_exact(name: str) -> None:
    config, total = FIXTURES[name]
    assert parse(config).total_params == total
    assert parse(json.dumps(config)).total_params == total


@pytest.mark.parametrize("name", FIXTURES)
def test_the_compact_form_gives_the_same_model_in_a_link(name: str) -> None:
    config, total = FIXTURES[name]
    padded = json.dumps({**config, "architectures": ["X"], "id2label": {"0": "a"}})
    short = custom.compact_model(padded)
    assert len(short) < custom.LONGEST_LINK_TEXT
    assert "id2label" not in short
    assert custom.model(short) == parse(config)
    assert custom.compact_model(short) == short
    assert custom.model(short).total_params == total


@pytest.mark.parametrize("id", [id for id in FIXTURES if id in models])
def test_a_config_gives_the_preset(id: str) -> None:
    parsed, preset = parse(FIXTURES[id][0]), models[id]
    assert parsed.kv_bytes(50_000, formats["bf16"]) == preset.kv_bytes(50_000, formats["bf16"])
    assert parsed.active_params == preset.active_params


def test_qwen3_next_keeps_77_megabytes_of_state() -> None:
    model = parse(FIXTURES["qwen3-next-80b-a3b"][0])
    states = [b for b in model.blocks if isinstance(b.attention, ConstantState)]
    held = sum(b.count * float(b.attention.kv_bytes(1, formats["bf16"])) for b in states)
    assert held == pytest.approx(77.3e6, rel=1e-3)
    assert model.kv_bytes_per_token(formats["bf16"]) == 24_576
    moved = sum(b.count * float(b.attention.kv_bytes_read(1, formats["bf16"])) for b in states)
    assert moved == 2 * held


def test_assumptions_are_told() -> None:
    model = parse(FIXTURES["gemma-3-4b, sparser still"][0])
    assert "tie_word_embeddings absent: gemma3_text default true" in model.assumptions
    assert "num_key_value_heads absent: gemma3_text default 4" in model.assumptions
    assert "sliding_window_pattern absent: gemma3_text default 6" in model.assumptions


def test_multi_query_overrides_the_written_kv_heads() -> None:
    config = {**FIXTURES["falcon-7b, legacy keys"][0], "model_type": "falcon", "num_kv_heads": 71}
    assert parse(config).kv_bytes_per_token(formats["bf16"]) == 32 * 2 * 64 * 2


def test_latent_files_that_carry_head_dim_ignore_it() -> None:
    config = {**FIXTURES["deepseek-v3"][0], "head_dim": 64}
    assert parse(config).kv_bytes_per_token(formats["bf16"]) == 70_272


def test_indexer_windows_and_chunks() -> None:
    sparse = {**FIXTURES["deepseek-v3"][0], "model_type": "deepseek_v32", "index_topk": 2048,
              "index_n_heads": 64, "index_head_dim": 128}  # fmt: skip
    assert isinstance(parse(sparse).blocks[0].attention, SparseTopK)
    assert isinstance(parse(FIXTURES["gemma-2-27b"][0]).blocks[0].attention, SlidingWindow)
    assert isinstance(parse(FIXTURES["llama-4-maverick"][0]).blocks[0].attention, Chunked)


def test_shared_caches() -> None:
    config = {"model_type": "gemma4_text", "hidden_size": 256, "intermediate_size": 512,
              "head_dim": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
              "num_hidden_layers": 4, "num_kv_shared_layers": 2, "sliding_window": 16,
              "layer_types": ["sliding_attention", "full_attention"] * 2,
              "vocab_size": 1000}  # fmt: skip
    model = parse(config)
    assert sum(isinstance(block.attention, SharedCache) for block in model.blocks) == 2
    held, read = (f(8, formats["int8"]) for f in (model.kv_bytes, model.kv_bytes_read))
    assert read == 2 * held


BF16_TABLES = {"output head": "bf16", "input embedding": "bf16"}


def compressed(weights: Any, **more: Any) -> dict[str, Any]:
    group = {"weights": weights, "targets": ["Linear"]}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, **more}


FIRST, LAST = "model.layers.0.mlp", "model.layers.79.mlp"
# What a file says, the format of its linear layers, and those of other parts.
QUANTIZATIONS: list[tuple[Any, str, dict[str, str]]] = [
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block128", BF16_TABLES),
    ({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"},
     "fp8-block128-e8m0", BF16_TABLES),
    ({"quant_method": "fp8", "weight_block_size": [1, 128]}, "fp8-block1x128", BF16_TABLES),
    ({"quant_method": "fp8"}, "fp8", BF16_TABLES),
    ({"quant_method": "mxfp4"}, "bf16", {}),
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4-g128-zero", BF16_TABLES),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4-g128", BF16_TABLES),
    ({"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": False}, "int4-g64-zero",
     BF16_TABLES),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}, "nvfp4",
     BF16_TABLES),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", {"input embedding": "bf16"}),
    (compressed({"num_bits": 4, "group_size": 32, "type": "int"}, ignore=["lm_head"]), "int4-g32",
     BF16_TABLES),
    (compressed({"num_bits": 4, "group_size": 32, "type": "int", "symmetric": False},
                ignore=["lm_head"]), "int4-g32-zero", BF16_TABLES),
    (compressed({"num_bits": 4, "group_size": 32, "type": "float"}, ignore=["lm_head"]), "mxfp4",
     BF16_TABLES),
    (compressed({"num_bits": 6, "group_size": 32, "type": "float"}, ignore=["lm_head"]), "mxfp6",
     BF16_TABLES),
    (compressed({"num_bits": 8, "type": "float"}, ignore=["re:.*self_attn.*", "lm_head"]), "fp8",
     {**BF16_TABLES, "attention projections": "bf16"}),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4-g64", BF16_TABLES),
    ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head", FIRST, LAST]},
     "fp8 + bf16", {**BF16_TABLES, "attention projections": "fp8"}),
]  # fmt: skip
NOT_UNDERSTOOD: list[Any] = [
    {"quant_method": "unheard-of"},
    {"quant_method": "<b>"},
    compressed({"num_bits": 5, "type": "float"}),
    compressed({"num_bits": 4, "group_size": 32, "type": "int"}, ignore=["re:("]),
    {"quant_method": "compressed-tensors", "config_groups": []},
    {"quant_method": "gptq", "bits": "4"},
    {"quant_method": "modelopt", "quant_algo": "W3"},
]


@pytest.mark.parametrize(("quantization", "linear", "others"), QUANTIZATIONS)
def test_each_part_is_stored_as_the_file_says(
    quantization: Any, linear: str, others: dict[str, str]
) -> None:
    config = {**FIXTURES["llama-3-70b"][0], "quantization_config": quantization}
    model = parse(config)
    assert model.checkpoint is not None
    assert model.checkpoint.rest.id == linear
    assert {part: one.id for part, one in model.checkpoint.parts} == others
    again = parse(compact(config))
    assert again.checkpoint == model.checkpoint


@pytest.mark.parametrize("quantization", NOT_UNDERSTOOD)
def test_a_scheme_that_is_not_understood_is_said(quantization: Any) -> None:
    model = parse({**FIXTURES["llama-3-70b"][0], "quantization_config": quantization})
    assert model.checkpoint is None
    assert any("is not interpreted" in assumed for assumed in model.assumptions)
    assert not any("<" in assumed for assumed in model.assumptions)


def test_mlx_quantizes_tables_too_and_single_modules_their_own_way() -> None:
    config = {**FIXTURES["llama-3-70b"][0],
              "quantization": {"group_size": 64, "bits": 4,
                               "lm_head": {"group_size": 64, "bits": 8}}}  # fmt: skip
    stored = parse(config).checkpoint
    assert stored is not None
    assert stored.of("input embedding").bits == stored.rest.bits == 4.5
    assert stored.of("output head").bits == 8.5


LLAMA = json.dumps(FIXTURES["llama-3-70b"][0])
REFUSED = [
    (LLAMA[:-20], "Not JSON: line 1"),
    ("[]", "The configuration is not a JSON object"),
    ("", "Not JSON"),
    (" " * 8_000_001, "larger than 8,000,000 characters"),
    ("[" * 200_000, "nested too deeply"),
    (LLAMA.replace('"hidden_size": 8192', '"hidden_size": 8192, "hidden_size": 1'),
     "hidden_size: stands twice in the same object"),
    (LLAMA.replace("{", '{"is_encoder_decoder": true, ', 1), "llama is an encoder-decoder"),
    (LLAMA.replace("8192", "[8192]"), "hidden_size: is not a whole number"),
    (LLAMA.replace("8192", '"8192"'), "hidden_size: is not a whole number"),
    (LLAMA.replace("8192", "8192.5"), "hidden_size: is not a whole number"),
    (LLAMA.replace("8192", "NaN"), "hidden_size: is not a whole number"),
    (LLAMA.replace("8192", "true"), "hidden_size: is not a whole number"),
    (LLAMA.replace('heads": 64', 'heads": 0'), "num_attention_heads: is outside 1 to"),
    (LLAMA.replace('value_heads": 8', 'value_heads": 7'), "num_key_value_heads: 7 does not divide"),
    (LLAMA.replace("80", "1000000000"), "num_hidden_layers: is outside 1 to 4,096"),
    (LLAMA.replace("28672", "9" * 5000), "number too long"),
    (LLAMA.replace("28672", "1" + "0" * 30), "intermediate_size: is outside"),
    (LLAMA.replace('"intermediate_size": 28672, ', ""), "intermediate_size: is missing"),
    (LLAMA.replace("false", '"no"'), "tie_word_embeddings: is not true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


def test_a_bare_infinity_is_accepted() -> None:
    text = LLAMA.replace("{", '{"time_step_limit": [0.0, Infinity], ', 1)
    assert parse(text).total_params == 70_553_706_496


@given(st.text(max_size=60))
def test_any_text_gives_a_model_or_its_own_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text)


def test_what_is_loaded_beside_a_decoder_is_counted_or_named() -> None:
    """Published: 417 M of SigLIP in Gemma 3; 5.5 B of draft layers in GLM-4.5, tables included."""
    vision = {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
              "num_hidden_layers": 27, "patch_size": 14, "image_size": 896}  # fmt: skip
    llama = FIXTURES["llama-3-70b"][0]
    seeing = parse({**llama, "vision_config": vision})
    [tower] = seeing.resident
    assert tower.params - 1152 * 8192 == pytest.approx(417e6, rel=0.02)
    assert seeing.total_params == parse(llama).total_params
    stored = formats["bf16"]
    assert seeing.weight_bytes(stored) == 2 * (seeing.total_params + tower.params)
    assert parse(compact({**llama, "vision_config": vision})).resident == seeing.resident
    blind = parse({**llama, "vision_config": {"depth": 32}})
    assert blind.resident_params == 0
    assert "vision tower not counted" in blind.assumptions
    drafting = parse({**llama, "num_nextn_predict_layers": 1})
    layer = seeing.blocks[0]
    own = layer.attention.params(8192) + layer.feedforward.params(8192)
    tables = 2 * 128256 * 8192
    assert drafting.resident_params == own + 5 * 8192 + 2 * 8192**2 + tables


def test_layers_of_a_decoder_within_something_are_named_with_what_is_around() -> None:
    left = [f"model.language_model.layers.{n}.self_attn*" for n in range(80)]
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", *left]}
    stored = parse({**FIXTURES["llama-3-70b"][0], "quantization_config": quantization}).checkpoint
    assert stored is not None
    assert stored.of("attention projections").id == "bf16"
    assert stored.rest.id == "nvfp4"


@pytest.mark.parametrize(
    "scaling",
    [{"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
     {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0},
                          "sliding_attention": {"rope_type": "default"}}}],
    ids=["before transformers 5", "since"],
)  # fmt: skip
def test_linear_scaling_lengthens_the_tables_of_positions(scaling: dict[str, object]) -> None:
    plain = {
        "model_type": "gemma3_text", "num_hidden_layers": 12, "hidden_size": 640,
        "intermediate_size": 2048, "vocab_size": 1000, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256,
    }  # fmt: skip
    model = parse({**plain, **scaling})
    assert model.rotary_rows == 9 * 131072 == models["gemma-3-27b"].rotary_rows
    assert parse(compact({**plain, **scaling})).rotary_rows == model.rotary_rows
    assert parse(plain).rotary_rows == 0
