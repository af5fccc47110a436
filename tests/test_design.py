"""Models that are edited: tables, edits, many at once, what is held, and files."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import LedgerError, Model, Scenario, custom, hf_config, memory
from calc.design import (
    config,
    dimensions,
    edits,
    held,
    ladders,
    measures,
    points,
    python,
    starts,
    table,
    toml,
)
from calc.design.dimensions import Dimension
from calc.design.kinds import AROUND, ATTENTION, FEEDFORWARD, FIGURES, LABELS, figures_of
from calc.design.reading import Table, TableError
from presets import chips, formats, models
from presets.loader import Reader, read_model

PRESETS = pytest.mark.parametrize("model", models.values(), ids=lambda model: model.id)


def scenario(model: Model, fidelity: str = "bound") -> Scenario:
    return Scenario(
        model=model, chip=chips["h200"], n_chips=8, weight_format=None,
        kv_format=formats["fp8"], compute_format=formats["fp8"], batch=32, context=8192,
        fidelity=fidelity,
    )  # fmt: skip


def edited(content: Table, **values: Any) -> Table:
    """Edits, all of which are taken."""
    settled, waits = edits.settled(
        content, {key.replace("__", "."): v for key, v in values.items()}
    )
    assert not waits
    return settled


def of_block(i: int, part: str, **values: Any) -> dict[str, Any]:
    return {f"blocks[{i}].{part}.{name}": value for name, value in values.items()}


@PRESETS
def test_a_preset_comes_back_through_table_link_toml_and_python(model: Model) -> None:
    content = json.loads(json.dumps(table.written(model)))
    assert table.read(content, id=model.id, name=model.name) == model
    text = custom.of_model(replace(model, origin=model.id))
    assert len(text) < custom.LONGEST_LINK_TEXT / 2
    linked = custom.model(text)
    assert (replace(linked, id=model.id), linked.origin) == (model, model.id)
    written = tomllib.loads(toml.written(model))[model.id]
    assert read_model(model.id, Reader(Path("m"), model.id, written), formats) == model
    names: dict[str, Any] = {}
    # What a reader copies has to run.
    exec(python.written(model), names)
    assert names["model"] == model


# Its family has a figure that no count hangs on, and that the model does not hold.
UNSAID = {"kimi-k3"}


def alike(model: Model) -> str:
    """What a model is made of, whatever its figures."""
    return re.sub(r"\d+", "", repr([(b.attention, b.feedforward) for b in model.blocks]))


# One of each make: the search for a family goes through all of them.
MADE = {alike(model): model for model in models.values()}.values()


@pytest.mark.parametrize("model", MADE, ids=lambda model: model.id)
def test_a_preset_comes_back_through_a_config_where_a_family_exists(model: Model) -> None:
    text = config.written(model)
    if model.id in UNSAID:
        assert text is None
        return
    assert text is not None
    assert hf_config.parse(text, id=model.id, name=model.name) == model


def test_totals_are_blocks_too_but_no_file() -> None:
    totals = Model.from_totals(30e9, 1e5)
    content = table.written(totals)
    assert table.read(content, id=totals.id, name=totals.name) == totals
    assert config.written(totals) is None
    half = edited(content, **of_block(0, "feedforward", total=15 * 10**9))
    assert table.read(half).total_params == 15 * 10**9


def test_every_kind_and_figure_has_a_label() -> None:
    for kind in (*ATTENTION.values(), *AROUND.values(), *FEEDFORWARD.values()):
        assert {field.name for field in figures_of(kind)} <= set(FIGURES)
    assert {"d_model", "vocabulary", "tied", *table.WHOLE} <= set(FIGURES)
    assert set(LABELS) == {*ATTENTION, *AROUND, *FEEDFORWARD}


def test_from_llama_3_8b_to_70b_by_edits() -> None:
    content = table.written(models["llama-3-8b"])
    content = edited(content, d_model=8192, **{"blocks[0].count": 80})
    content = edited(content, **of_block(0, "attention", heads=64))
    content = edited(content, **of_block(0, "feedforward", width=28672))
    assert table.read(content).total_params == 70_553_706_496
    assert table.read(content).kv_bytes_per_token(formats["bf16"]) == 327_680


def test_from_mixtral_8x7b_to_qwen3_30b_a3b_by_edits() -> None:
    content = table.written(models["mixtral-8x7b"])
    content = edited(content, d_model=2048, vocabulary=151_936, **{"blocks[0].count": 48})
    content = edited(content, **of_block(0, "attention", kv_heads=4, qk_norm=True))
    content = edited(content, **of_block(0, "feedforward", experts=128, top_k=8, expert_width=768))
    assert table.read(content).total_params == 30_532_122_624
    assert table.read(content).blocks == models["qwen3-30b-a3b"].blocks


def test_from_grouped_heads_to_the_attention_of_deepseek_v3() -> None:
    content = table.written(models["llama-3-70b"])
    content = edits.attention_kind(content, 0, "latent")
    content = edited(content, **{"blocks[0].count": 61}, **of_block(0, "attention", heads=128))
    model = table.read(content)
    assert model.kv_bytes_per_token(formats["bf16"]) == 70_272
    assert model.blocks[0].attention == models["deepseek-v3"].blocks[0].attention


def test_every_sixth_layer_full() -> None:
    content = table.written(models["llama-3-70b"])
    content = edits.split(content, 0, 6)
    assert [block["count"] for block in content["blocks"]] == [67, 13]
    windowed = table.read(edits.around(content, 0, "window"))
    # OURS: 13 full layers and 67 of 4,096 tokens, 2 × 8 × 128 elements of a byte each.
    assert float(windowed.kv_bytes(8192, formats["int8"])) == (13 * 8192 + 67 * 4096) * 2048
    assert windowed.total_params == models["llama-3-70b"].total_params


def test_what_does_not_go_together_waits_until_it_does() -> None:
    content = table.written(models["llama-3-70b"])
    heads, kv = "blocks[0].attention.heads", "blocks[0].attention.kv_heads"
    settled, waits = edits.settled(content, {kv: 5})
    assert (settled, waits) == (content, {kv: "5 KV heads do not divide 64 query heads"})
    settled, waits = edits.settled(content, {kv: 5, heads: 40})
    assert not waits
    assert settled["blocks"][0]["attention"]["kv_heads"] == 5
    # What is impossible alone holds up nothing else.
    settled, waits = edits.settled(content, {"d_model": 0, heads: 32})
    assert list(waits) == ["d_model"]
    assert edits.taken(settled, heads) == 32


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model_type":"blocks"}', "d_model: is missing"),
        ('{"model_type":"blocks","d_model":true}', "d_model: is not int"),
        ('{"model_type":"blocks","d_model":64,"vocabulary":9,"tied":true,"blocks":[]}', "blocks: "),
        ('{"model_type":"blocks","d_model":64,"vocabulary":9,"tied":true,"blocks":[{"count":1}]}',
         "blocks[0].attention: and feedforward are both missing"),
        ('{"model_type":"blocks","d_model":64,"vocabulary":9,"tied":true,"x":1,"blocks":'
         '[{"count":1,"feedforward":{"kind":"dense","width":9}}]}', "x: is not a key known here"),
    ],
)  # fmt: skip
def test_a_bad_link_says_what_is_wrong_and_where(text: str, said: str) -> None:
    with pytest.raises(custom.CustomError) as error:
        custom.model(text)
    assert said in str(error.value)


def test_an_origin_that_is_none_is_left_out() -> None:
    content = json.loads(custom.of_model(models["llama-3-8b"]))
    for given_origin in ("<b>", 3, {"model_type": "bert"}, {"model_type": "blocks", "from": "x"}):
        assert custom.model(json.dumps({**content, "from": given_origin})).origin == ""
    whole = {**content, "from": content}
    assert json.loads(custom.model(json.dumps(whole)).origin) == content


# A model of every kind of layer.
KINDS = (
    "llama-3-70b", "gemma-3n-e4b", "gemma-3-27b", "deepseek-v3.2", "deepseek-v4-flash",
    "falcon-h1-7b", "falcon-mamba-7b", "lfm2-8b-a1b", "minimax-m1", "kimi-linear-48b-a3b",
    "qwen3-next-80b-a3b", "nemotron-h-56b", "llama-4-maverick", "gpt-oss-120b", "mixtral-8x7b",
)  # fmt: skip


@pytest.mark.parametrize("id", KINDS)
def test_many_models_at_once_are_each_as_alone(id: str) -> None:
    model = models[id]
    content = table.written(model)
    found = dimensions.of(content)
    chance = np.random.default_rng(len(model.id))
    for fidelity in ("bound", "operators"):
        s = scenario(model, fidelity)
        for name in chance.choice(sorted(found), min(3, len(found)), replace=False):
            one = found[str(name)]
            values = dimensions.values(one, content, 6)
            place = int(chance.integers(len(values)))
            alone = edits.put(content, dict.fromkeys(one.paths, values[place]))
            for what, measure in measures.MEASURES.items():
                if what in ("throughput_per_chip", "usd_per_million_tokens"):
                    continue
                together = points.measured(s, content, {one.paths: values}, measure.of)
                moved = replace(s, model=table.read(alone))
                expected = memory.max_batch(moved) if what == "max_batch" else measure.of(moved)
                assert together[place] == pytest.approx(float(expected), rel=1e-12), what


def test_a_map_is_blank_where_figures_do_not_go_together() -> None:
    content = table.written(models["mixtral-8x7b"])
    found = dimensions.of(content)
    experts, top_k = found["feedforward.experts"], found["feedforward.top_k"]
    x, y = np.array([4, 8, 16]), np.array([2, 4, 8])
    for fidelity in ("bound", "operators"):
        z = points.measured(
            scenario(models["mixtral-8x7b"], fidelity),
            content,
            {experts.paths: x[None, :], top_k.paths: y[:, None]},
            measures.MEASURES["step_time"].of,
        )
        assert (np.isnan(z) == (y[:, None] > x[None, :])).all()


SOLVED = ("llama-3-8b", "mixtral-8x7b", "gemma-3-27b", "deepseek-v3", "qwen3-30b-a3b")


@given(st.data())
@settings(max_examples=15)
def test_solved_dimensions_meet_their_target_as_far_as_granules_allow(data: st.DataObject) -> None:
    model = models[data.draw(st.sampled_from(SOLVED))]
    content, s = table.written(model), scenario(model)
    found = dimensions.of(content)
    gives = [id for id, one in found.items() if one.name in held.GIVES and one.value]
    giving = found[data.draw(st.sampled_from(gives))]
    moving = found[data.draw(st.sampled_from([id for id in found if id != giving.id]))]
    what = data.draw(st.sampled_from(sorted(held.HOLDS)))
    of = measures.MEASURES[what].of
    solved = held.solve(s, content, what, moving, dimensions.values(moving, content, 5), giving)
    assert solved.target == float(of(s))
    for moved, value, reached in zip(solved.moved, solved.solved, solved.reached, strict=True):
        if np.isnan(value):
            continue
        near = value + giving.granule * np.arange(-1, 2)
        near = near[(near >= giving.low) & (near <= giving.high)]
        figures = {moving.paths: np.full(near.shape, moved), giving.paths: near}
        beside = points.measured(s, content, figures, of)
        off = np.abs(beside - solved.target)
        assert reached in beside
        assert abs(reached - solved.target) <= np.nanmin(off) * (1 + 1e-9)


def test_what_is_held_moves_nothing_where_nothing_moves() -> None:
    model = models["llama-3-70b"]
    content = table.written(model)
    found = dimensions.of(content)
    kv, width = found["attention.kv_heads"], found["feedforward.width"]
    solved = held.solve(scenario(model), content, "total_params", kv, [4, 8, 64], width)
    assert solved.solved.tolist() == [28928, 28672, 23808]
    # The cache does not hang on the width of the MLP.
    cached = held.solve(scenario(model), content, "kv_per_sequence", kv, [4, 64], width)
    assert np.isnan(cached.solved).all()


def test_families_as_a_ladder() -> None:
    rungs = {one.id: table.read(one.content)
             for one in ladders.attention(table.written(models["llama-3-70b"]))}  # fmt: skip
    bf16 = formats["bf16"]
    each = {id: model.kv_bytes_per_token(bf16) / 80 for id, model in rungs.items()}
    assert list(each) == ["mha", "gqa", "mqa", "mla", "window", "linear"]
    assert (each["mha"], each["gqa"], each["mqa"], each["mla"]) == (32768, 4096, 512, 1152)
    assert rungs["gqa"].blocks == models["llama-3-70b"].blocks
    assert [block.count for block in rungs["linear"].blocks] == [60, 20]
    assert ladders.attention(table.written(models["falcon-mamba-7b"])) == []


@PRESETS
def test_every_rung_is_a_model_of_as_many_layers(model: Model) -> None:
    for rung in ladders.attention(table.written(model)):
        assert table.read(rung.content).layers == model.layers


def test_what_of_two_models_differs() -> None:
    before = table.written(models["llama-3-8b"])
    after = edited(before, tied=True, **of_block(0, "attention", kv_heads=4, window=4096))
    assert edits.differences(before, after) == [
        ("Tied head", 0, False, True),
        ("KV heads", 1, 8, 4),
        ("Window", 1, None, 4096),
    ]


# What a reader may do: a figure anywhere, blocks moved, kinds picked, in any order.
FIGURE = st.one_of(
    st.integers(-2, 300), st.sampled_from([512, 4096, 10**6, 10**9, 10**15]), st.booleans(),
    st.none(), st.text(max_size=3), st.floats(),
)  # fmt: skip
PLACE = st.integers(-1, 5)
STRUCTURE = st.one_of(
    st.tuples(st.just(edits.copied), PLACE),
    st.tuples(st.just(edits.removed), PLACE),
    st.tuples(st.just(edits.split), PLACE, st.integers(-1, 100)),
    st.tuples(st.just(edits.attention_kind), PLACE, st.sampled_from(["", "x", *ATTENTION])),
    st.tuples(st.just(edits.feedforward_kind), PLACE, st.sampled_from(["", "x", *FEEDFORWARD])),
    st.tuples(st.just(edits.around), PLACE, st.sampled_from(["", *starts.LIMITS])),
)
EDIT = st.one_of(STRUCTURE, st.tuples(st.just("figure"), st.integers(0, 60), FIGURE))


@given(st.sampled_from(sorted(models)), st.lists(EDIT, min_size=1, max_size=8))
@settings(max_examples=60)
def test_any_edits_leave_a_model_or_a_sentence(start: str, asked: list[Any]) -> None:
    any_edits(start, asked)


def any_edits(start: str, asked: list[Any]) -> None:
    content = table.written(models[start])
    waiting: dict[str, Any] = {}
    for what, *given_edit in asked:
        if what == "figure":
            entries = edits.of_whole(content)
            for i in range(len(content["blocks"])):
                entries += [*edits.of_block(content, i), *edits.of_attention(content, i)]
                entries += edits.of_feedforward(content, i)
            place, value = given_edit
            waiting[entries[place % len(entries)].path] = value
            content, reasons = edits.settled(content, waiting)
            waiting = {path: waiting[path] for path in reasons}
            assert all(reasons.values())
            continue
        try:
            content = what(content, *given_edit)
        except LedgerError as error:
            assert str(error)
        waiting = {}
    model = table.read(content)
    s = scenario(model)
    assert float(measures.MEASURES["total_params"].of(s)) > 0
    assert float(measures.largest_batch(s)) >= 0
    for one in dimensions.of(content).values():
        assert isinstance(one, Dimension)
    table.read(json.loads(json.dumps(content)))


def test_too_much_beside_a_layer_is_refused() -> None:
    nested: dict[str, Any] = {"kind": "linear"}
    for _ in range(200):
        nested = {"kind": "linear", "beside": nested}
    whole = {"d_model": 8, "vocabulary": 9, "tied": True,
             "blocks": [{"count": 1, "feedforward": nested}]}  # fmt: skip
    with pytest.raises(TableError, match="too much beside"):
        table.read(whole)


def test_a_map_stays_where_it_is_while_its_model_moves() -> None:
    before = table.written(models["gemma-3-27b"])
    window = dimensions.of(before)["attention.window"]
    shown = dimensions.values(window, before)
    assert 1024 in shown and len(shown) <= 32
    after = edited(before, **of_block(0, "attention", window=shown[3]))
    moved = dimensions.of(after)["attention.window"]
    assert dimensions.values(moved, after, middle=window.value) == shown
