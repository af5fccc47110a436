"""How each ``model_type`` of a Hugging Face configuration becomes layers.

Another architecture is one function in the room of its kind, named in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from calc.hf_families import early, latents, mixtures, plain, states, windows
from calc.hf_keys import Keys
from calc.hf_parts import Stack


@dataclass(frozen=True)
class Family:
    """How one ``model_type`` is read: its layers, and what its files leave unsaid.

    Parameters
    ----------
    read : callable
        The layers, and what stands around them.
    tied : bool
        Whether the output head is the input embedding unless the file says otherwise.
    spelling : mapping
        What the family calls keys that most others call something else.
    defaults : mapping
        Figures that its own class takes where the file has none.
    sizes : mapping
        Such figures for a decoder described inside another file: those leave out whatever is the
        class's default, down to the width.
    """

    read: Callable[[Keys], Stack]
    tied: bool = False
    spelling: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


def _sizes(
    width: int, columns: int, layers: int, heads: int, kv_heads: int, vocabulary: int
) -> Mapping[str, int]:
    """The sizes that a class starts from."""
    return {
        "hidden_size": width,
        "intermediate_size": columns,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
    }


def _starts(vocabulary: int, context: int, window: int) -> Mapping[str, int]:
    """What a Gemma class starts from even in a file of its own."""
    return {
        "vocab_size": vocabulary,
        "max_position_embeddings": context,
        "sliding_window": window,
    }


def _latent_ranks(
    queries: int, latent: int, nope: int, rope: int, value: int | None = None
) -> Mapping[str, int]:
    """The ranks and head widths of latent attention that a class starts from."""
    ranks = {
        "q_lora_rank": queries,
        "kv_lora_rank": latent,
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
    }
    return ranks if value is None else {**ranks, "v_head_dim": value}


def _spelt(**names: str) -> Mapping[str, str]:
    """What a family calls the usual keys."""
    return names


_GPT = _spelt(
    hidden_size="n_embd",
    intermediate_size="n_inner",
    max_position_embeddings="n_positions",
    num_attention_heads="n_head",
    num_hidden_layers="n_layer",
    num_key_value_heads="n_head_kv",
)
_BLOOM = _spelt(num_attention_heads="n_head", num_hidden_layers="n_layer")
_MPT = _spelt(
    hidden_size="d_model",
    max_position_embeddings="max_seq_len",
    num_attention_heads="n_heads",
    num_hidden_layers="n_layers",
)
_OLD_FALCON = _spelt(
    num_attention_heads="n_head", num_hidden_layers="n_layer", num_key_value_heads="n_head_kv"
)
_FALCON = _spelt(num_key_value_heads="num_kv_heads", intermediate_size="ffn_hidden_size")
_LOCAL = _spelt(num_experts="num_local_experts", moe_intermediate_size="intermediate_size")
_OWN_WIDTH = _spelt(moe_intermediate_size="intermediate_size")
_ROUTED = _spelt(num_experts="n_routed_experts", num_shared_experts="n_shared_experts")
_GEMMA4 = _spelt(num_experts_per_tok="top_k_experts")
_ERNIE = _spelt(
    num_experts="moe_num_experts",
    num_experts_per_tok="moe_k",
    num_shared_experts="moe_num_shared_experts",
)
_KIMI = _spelt(
    num_experts_per_tok="num_experts_per_token",
    linear_num_heads="num_heads",
    linear_head_dim="head_dim",
    linear_conv_kernel_dim="short_conv_kernel_size",
    max_position_embeddings="model_max_length",
)
_LONGCAT = _spelt(
    num_hidden_layers="num_layers",
    num_experts="n_routed_experts",
    num_experts_per_tok="moe_topk",
    intermediate_size="ffn_hidden_size",
    moe_intermediate_size="expert_ffn_hidden_size",
)
_MINIMAX_M3 = _spelt(
    num_experts="num_local_experts",
    moe_intermediate_size="intermediate_size",
    index_topk_blocks="sparse_topk_blocks",
    index_block_size="sparse_block_size",
    index_n_heads="sparse_num_index_heads",
    index_head_dim="sparse_index_dim",
)
_STEP = _spelt(num_key_value_heads="num_attention_groups")
_MAMBA2 = _spelt(
    mamba_n_heads="num_heads",
    mamba_d_head="head_dim",
    mamba_d_state="state_size",
    mamba_n_groups="n_groups",
    mamba_d_conv="conv_kernel",
    mamba_expand="expand",
)
_NEMOTRON_H = _spelt(
    mamba_n_heads="mamba_num_heads",
    mamba_d_head="mamba_head_dim",
    mamba_d_state="ssm_state_size",
    mamba_n_groups="n_groups",
    mamba_d_conv="conv_kernel",
    mamba_expand="expand",
    num_experts="n_routed_experts",
    num_shared_experts="n_shared_experts",
    state_dtype="mamba_ssm_cache_dtype",
)
_ZAMBA2 = _spelt(mamba_n_heads="n_mamba_heads", mamba_n_groups="mamba_ngroups")
_LFM2 = _spelt(tie_word_embeddings="tie_embedding")

_DEEPSEEK_V2 = {"q_lora_rank": 1536}
_DEEPSEEK_V3 = {"q_lora_rank": 1536, "first_k_dense_replace": 3}

_LLAMA_SIZES = _sizes(4096, 11008, 32, 32, 32, 32_000)
_MINISTRAL3_SIZES = _sizes(4096, 14336, 34, 32, 8, 131_072)

FAMILIES: Mapping[str, Family] = {
    # Every layer the same
    "llama": Family(plain.llama, sizes=_LLAMA_SIZES),
    "apertus": Family(plain.apertus),
    "arcee": Family(plain.arcee),
    "baichuan": Family(plain.unbiased),
    "exaone": Family(plain.unbiased, spelling=_spelt(num_hidden_layers="num_layers")),
    "glm": Family(plain.glm),
    "glm4": Family(plain.glm),
    "granite": Family(plain.llama),
    "helium": Family(plain.llama, defaults={"head_dim": 128}),
    "hunyuan_v1_dense": Family(plain.hunyuan),
    "internlm": Family(plain.internlm),
    "internlm2": Family(plain.internlm),
    "internlm3": Family(plain.internlm, defaults={"head_dim": 128}),
    "iquestcoder": Family(plain.unbiased),
    "minicpm": Family(plain.unbiased, tied=True),
    "ministral3": Family(plain.ministral3, sizes=_MINISTRAL3_SIZES),
    "mistral": Family(plain.mistral),
    "mllama_text_model": Family(plain.mllama),
    "nemotron": Family(plain.nemotron),
    "nemotron-nas": Family(plain.nemotron_nas),
    "olmo": Family(plain.olmo),
    "olmo2": Family(plain.olmo2),
    "orion": Family(plain.orion),
    "phi3": Family(plain.mistral),
    "phi3_v": Family(plain.mistral),
    "qwen": Family(plain.qwen1),
    "seed_oss": Family(plain.seed_oss),
    "smollm3": Family(plain.llama, tied=True),
    # Plain MLPs, or layer norms with a bias
    "bloom": Family(early.bloom, tied=True, spelling=_BLOOM),
    "cohere": Family(early.cohere, tied=True),
    "falcon": Family(early.falcon, tied=True, spelling=_FALCON),
    "RefinedWeb": Family(early.falcon, tied=True, spelling=_OLD_FALCON),
    "RefinedWebModel": Family(early.falcon, tied=True, spelling=_OLD_FALCON),
    "gpt2": Family(early.gpt2, tied=True, spelling=_GPT),
    "gpt_bigcode": Family(early.gpt2, tied=True, spelling=_GPT),
    "gpt_neox": Family(early.gpt_neox),
    "gptj": Family(early.gptj, spelling=_GPT),
    "mpt": Family(early.mpt, tied=True, spelling=_MPT),
    "opt": Family(early.opt, tied=True, spelling=_spelt(intermediate_size="ffn_dim")),
    "phi": Family(early.phi),
    "phi-msft": Family(early.phi, spelling=_GPT),
    "stablelm": Family(early.stablelm),
    "starcoder2": Family(early.starcoder2, tied=True),
    # Full attention and windows
    "cohere2": Family(windows.cohere2, tied=True),
    "exaone4": Family(windows.exaone4),
    "gemma": Family(windows.gemma, tied=True),
    "gemma2": Family(windows.gemma2, tied=True),
    "gemma3_text": Family(
        windows.gemma3,
        tied=True,
        defaults=_starts(262_208, 131_072, 4096),
        sizes=_sizes(2304, 9216, 26, 8, 4, 262_208),
    ),
    "gemma3n_text": Family(
        windows.gemma3n,
        tied=True,
        defaults=_starts(262_400, 32_768, 512),
        sizes=_sizes(2048, 16384, 35, 8, 2, 262_400),
    ),
    "gemma4_text": Family(
        windows.gemma4,
        tied=True,
        spelling=_GEMMA4,
        defaults=_starts(262_144, 131_072, 512),
        sizes=_sizes(2304, 9216, 30, 8, 4, 262_144),
    ),
    "ministral": Family(windows.ministral),
    "olmo3": Family(windows.olmo3),
    "vaultgemma": Family(windows.vaultgemma, tied=True),
    # Mixtures of experts, and families that are dense or sparse
    "afmoe": Family(mixtures.afmoe, spelling=_spelt(first_k_dense_replace="num_dense_layers")),
    "bailing_moe": Family(mixtures.bailing_moe),
    "bailing_moe_v2": Family(mixtures.bailing_moe),
    "dots1": Family(mixtures.dots1, spelling=_ROUTED),
    "ernie4_5": Family(mixtures.ernie, tied=True),
    "ernie4_5_moe": Family(mixtures.ernie, tied=True, spelling=_ERNIE),
    "exaone_moe": Family(mixtures.exaone_moe),
    "glm4_moe": Family(mixtures.glm4_moe, spelling=_ROUTED),
    "gpt_oss": Family(mixtures.gpt_oss, spelling=_LOCAL),
    "granitemoe": Family(mixtures.granite_moe, spelling=_LOCAL),
    "granitemoeshared": Family(mixtures.granite_moe, spelling=_LOCAL),
    "hunyuan_v1_moe": Family(mixtures.hunyuan_moe, spelling=_spelt(num_experts_per_tok="moe_topk")),
    "llama4_text": Family(mixtures.llama4, spelling=_LOCAL),
    "mimo_v2_flash": Family(mixtures.mimo, spelling=_ROUTED),
    "minimax_m2": Family(mixtures.minimax_m2, spelling=_LOCAL),
    "minimax_m3": Family(mixtures.minimax_m3, spelling=_MINIMAX_M3),
    "minimax_m3_vl_text": Family(mixtures.minimax_m3, spelling=_MINIMAX_M3),
    "mixtral": Family(mixtures.mixtral, spelling=_LOCAL),
    "olmoe": Family(mixtures.olmoe, spelling=_OWN_WIDTH),
    "phimoe": Family(mixtures.phimoe, spelling=_LOCAL),
    "qwen2": Family(mixtures.qwen),
    "qwen2_moe": Family(mixtures.qwen),
    "qwen2_vl": Family(mixtures.qwen),
    "qwen2_vl_text": Family(mixtures.qwen),
    "qwen2_5_vl": Family(mixtures.qwen),
    "qwen2_5_vl_text": Family(mixtures.qwen),
    "qwen3": Family(mixtures.qwen),
    "qwen3_moe": Family(mixtures.qwen),
    "qwen3_vl_text": Family(mixtures.qwen),
    "qwen3_vl_moe_text": Family(mixtures.qwen),
    "step3p5": Family(mixtures.step3, spelling=_STEP),
    "step3p7": Family(mixtures.step3, spelling=_STEP),
    # Latent attention
    "deepseek": Family(latents.deepseek, spelling=_ROUTED),
    "deepseek_v2": Family(latents.deepseek, spelling=_ROUTED, defaults=_DEEPSEEK_V2),
    "deepseek_v3": Family(latents.deepseek, spelling=_ROUTED, defaults=_DEEPSEEK_V3),
    "deepseek_v32": Family(latents.sparse_latent, spelling=_ROUTED, defaults=_DEEPSEEK_V3),
    "deepseek_v4": Family(latents.deepseek_v4, spelling=_ROUTED),
    "glm4_moe_lite": Family(
        latents.glm4_moe_lite, spelling=_ROUTED, defaults=_latent_ranks(768, 512, 192, 64, 256)
    ),
    "glm_moe_dsa": Family(
        latents.sparse_latent,
        spelling=_ROUTED,
        defaults={"q_lora_rank": 2048, "first_k_dense_replace": 3},
    ),
    "kimi_k2": Family(latents.deepseek, spelling=_ROUTED, defaults=_DEEPSEEK_V3),
    "kimi_linear": Family(latents.kimi_linear, spelling=_KIMI),
    "longcat_flash": Family(latents.longcat_flash, spelling=_LONGCAT, defaults=_DEEPSEEK_V2),
    "minicpm3": Family(latents.minicpm3, tied=True, defaults=_latent_ranks(768, 256, 64, 32)),
    # Constant states
    "bamba": Family(states.bamba),
    "falcon_h1": Family(states.falcon_h1),
    "falcon_mamba": Family(states.mamba, tied=True),
    "granitemoehybrid": Family(states.granite_hybrid, spelling=_LOCAL),
    "jamba": Family(states.jamba, spelling=_OWN_WIDTH),
    "lfm2": Family(states.lfm2, tied=True, spelling=_LFM2),
    "lfm2_moe": Family(states.lfm2, tied=True, spelling=_LFM2),
    "mamba": Family(states.mamba, tied=True),
    "mamba2": Family(
        states.mamba_2, spelling=_MAMBA2, defaults={"mamba_n_groups": 8, "mamba_d_state": 128}
    ),
    "minimax": Family(states.minimax, spelling=_LOCAL),
    "minimax_m1": Family(states.minimax, spelling=_LOCAL),
    "minimax_text_01": Family(states.minimax, spelling=_LOCAL),
    "nemotron_h": Family(
        states.nemotron_h,
        spelling=_NEMOTRON_H,
        defaults={"mamba_n_groups": 8, "mamba_d_state": 128},
    ),
    "qwen3_next": Family(states.qwen_hybrid),
    "qwen3_5_text": Family(states.qwen_hybrid),
    "qwen3_5_moe_text": Family(states.qwen_hybrid),
    "zamba2": Family(states.zamba2, tied=True, spelling=_ZAMBA2, defaults={"mamba_d_state": 64}),
}
