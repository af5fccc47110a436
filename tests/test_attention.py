"""Attention kinds: each answers every question, alone and with windows and sharing around it."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace

import pytest
from scenarios import scenario

from calc import Block, Model, attention, hf_config, paging, prefill, sparse_attention, state_space
from calc.attention import Attention, GroupedQuery, Latent, SharedCache, SlidingWindow
from calc.design import kinds
from calc.feedforward import NO_FEEDFORWARD
from calc.formats import NumberFormat
from calc.sparse_attention import SparseTopK
from pages.ui.kv_cache.tables import caches
from pages.ui.prefill.tables import layers
from presets import models

BYTE = NumberFormat("int8", "int8", 8)
PUBLISHED = list(dict.fromkeys(b.attention for m in models.values() for b in m.blocks))
SHARED = [SharedCache(kind) for kind in PUBLISHED]

HEADS = GroupedQuery(8, 2, 64)
WINDOWED = SlidingWindow(HEADS, 128)
LATENT = Latent(16, 0, 512, 128, 64, 128)

# Gemma 4 with sharing: a layer of each kind keeps a cache, a layer of each kind reads another's.
PASTED = {
    "model_type": "gemma4_text", "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 1000,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 16,
    "intermediate_size": 128, "sliding_window": 32, "num_kv_shared_layers": 2,
    "tie_word_embeddings": True, "layer_types": ["sliding_attention", "full_attention"] * 2,
}  # fmt: skip


def test_every_kind_can_be_named_in_a_preset() -> None:
    """By its kind, or by the key that puts it around another."""
    modules = (attention, sparse_attention, state_space)
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Attention) and not inspect.isabstract(kind)
    }
    assert found == {*kinds.ATTENTION.values(), *kinds.AROUND.values()}


@pytest.mark.parametrize("kind", [*PUBLISHED, *SHARED], ids=lambda kind: kind.label)
def test_no_kind_leaves_a_cell_empty(kind: Attention) -> None:
    model = replace(models["llama-3-8b"], blocks=(Block(2, kind, NO_FEEDFORWARD),))
    for table in (caches, layers):
        s = replace(scenario("llama-3-8b", "h100-sxm"), model=model)
        cells = {head: column[0] for head, column in table(s).items()}
        assert all(cells.values()), cells


@pytest.mark.parametrize("kind", PUBLISHED, ids=lambda kind: kind.label)
def test_elements_as_written_are_those_that_are_cached(kind: Attention) -> None:
    written = kind.kv_elements_written
    if written in ("constant", "none of its own", "none of text"):
        assert kind.kv_bytes_per_token(BYTE) == 0
        return
    product = written.replace("×", "*").replace(",", "").removesuffix(" index")
    # Numbers and operators alone: nothing else reaches eval.
    assert set(product) <= set("0123456789 *+/()")
    assert eval(product) == kind.kv_bytes_per_token(BYTE)


@pytest.mark.parametrize("kind", PUBLISHED, ids=lambda kind: kind.label)
def test_tokens_kept_make_up_the_cache_where_it_is_a_product(kind: Attention) -> None:
    kept = kind.tokens_kept([1, 1000, 100_000])
    if kept is not None:
        each = kind.kv_bytes_per_token(BYTE)
        assert (kept * each == kind.kv_bytes([1, 1000, 100_000], BYTE)).all()


@pytest.mark.parametrize("inner", [HEADS, WINDOWED], ids=["full", "windowed"])
def test_a_shared_cache_leaves_the_queries_and_the_output(inner: Attention) -> None:
    d = 512
    shared = SharedCache(inner)
    assert shared.params(d) == 2 * d * 8 * 64
    assert shared.core == HEADS
    # With more key heads it would still have none of its own.
    assert shared.multi_head == SharedCache(inner.multi_head or inner)
    [layer] = prefill.layer_flops(
        Model("m", "m", d, 1, True, (Block(1, shared, NO_FEEDFORWARD),)), 9
    )
    assert layer.as_multi_head == layer.projections == 2 * 9 * shared.params(d)
    assert shared.prefill_flops(9) == inner.prefill_flops(9)


def test_a_shared_latent_is_absorbed_as_its_own_is() -> None:
    blocks = tuple(Block(1, kind, NO_FEEDFORWARD) for kind in (LATENT, SharedCache(LATENT)))
    own, shared = prefill.layer_flops(Model("m", "m", 512, 1, True, blocks), 4096)
    for name in ("attention", "unmasked", "absorbed"):
        assert getattr(own, name) == getattr(shared, name) > 0


def test_multi_head_twins() -> None:
    """Each head with its own key and value: OURS, 2 d H (d_qk + d_v) elements projected."""
    d = 7168
    latent = models["deepseek-v3"].blocks[0].attention
    twin = latent.multi_head
    assert twin is not None
    assert twin.params(d) == d * 128 * (192 + 192 + 128 + 128)
    assert SparseTopK(LATENT, 2048, 64, 128).multi_head == LATENT.multi_head
    assert WINDOWED.multi_head == SlidingWindow(GroupedQuery(8, 8, 64), 128)
    gated = replace(LATENT, output_gate=True)
    assert gated.multi_head.params(d) - LATENT.multi_head.params(d) == 16 * 128 * d
    assert state_space.Lightning(8, 64).multi_head is None


def test_layers_that_share_a_cache_are_handed_no_pages() -> None:
    """An engine's cache groups are those of layers that keep one: vllm kv_sharing_target_layer."""
    model = hf_config.parse(PASTED)
    assert sum(isinstance(b.attention, SharedCache) for b in model.blocks) == 2
    assert paging.page_groups(model) == (2, 1)
    all_shared = hf_config.parse({**PASTED, "num_kv_shared_layers": 4})
    assert paging.page_groups(all_shared) == (0, 0)


def test_a_pasted_config_with_shared_caches_fills_its_tables() -> None:
    s = replace(scenario("llama-3-8b", "h100-sxm"), model=hf_config.parse(PASTED))
    assert caches(s)["Elements per token"] == [
        "2 × (16 + 16)", "2 × (16 + 16)", "none of its own", "none of its own",
    ]  # fmt: skip
    assert not any(math.isnan(layer.as_multi_head) for layer in prefill.layer_flops(s.model, 100))
