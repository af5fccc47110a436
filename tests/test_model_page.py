"""The Model page: controls that edit, what they cost beside the origin, and what waits."""

from __future__ import annotations

import json

import pytest
from pages_app import asked, metrics, notes, opened, words
from streamlit.testing.v1 import AppTest

from calc import Model, custom
from calc.attention import SlidingWindow
from calc.design import table
from pages.ui.model import editing
from presets import formats, models


def figure(test: AppTest, path: str, value: int | None) -> AppTest:
    """Type a figure into its control."""
    test.number_input(key=editing.key(path)).set_value(value).run()
    assert not test.exception
    return test


def model_of(test: AppTest) -> Model:
    """The model that the link carries."""
    assert test.selectbox(key="model").value == custom.ID
    return custom.model(test.session_state["cfg"])


def test_an_edit_is_the_scenario_s_model_at_once() -> None:
    test = figure(opened("model"), "blocks[0].attention.kv_heads", 4)
    assert model_of(test).blocks[0].attention.split.cache_heads == 4
    assert model_of(test).origin == "llama-3-70b"
    assert "Edited: KV heads 8 → 4." in words(test)
    assert "step time −20\u00a0%, cache per sequence −50\u00a0%" in words(test)
    assert "| KV cache per token | 80.0 KiB | 160 KiB | −50\u00a0% |" in words(test)
    # Every other page follows, and the link alone gives the same.
    assert metrics(test.switch_page("pages/decode.py").run())["Largest batch"] == "299"
    again = opened("model", model="custom", cfg=test.session_state["cfg"])
    assert "Against Llama 3 70B" in words(again)
    assert metrics(again)["Largest batch"] == "299"


def test_llama_3_8b_becomes_70b_by_its_controls() -> None:
    test = opened("model", model="llama-3-8b")
    for path, value in (
        ("d_model", 8192),
        ("blocks[0].count", 80),
        ("blocks[0].attention.heads", 64),
        ("blocks[0].feedforward.width", 28672),
    ):
        figure(test, path, value)
    assert "**70,553,706,496** parameters" in words(test)
    s = asked(model="custom", cfg=test.session_state["cfg"])
    assert s.model.blocks == models["llama-3-70b"].blocks


def test_what_does_not_go_together_waits_beside_its_field() -> None:
    kv, heads = (f"blocks[0].attention.{name}" for name in ("kv_heads", "heads"))
    test = figure(opened("model"), kv, 5)
    assert r"KV heads 5 waits\: 5 KV heads do not divide 64 query heads." in words(test)
    assert "cfg" not in test.query_params
    # What was typed stays, and is taken as soon as it fits.
    assert test.number_input(key=editing.key(kv)).value == 5
    figure(test, heads, 40)
    assert "waits" not in words(test)
    assert model_of(test).blocks[0].attention.split.cache_heads == 5
    # Another model has nothing that waits.
    figure(test, kv, 7)
    test.selectbox(key="model").set_value("mixtral-8x7b").run()
    assert "waits" not in words(test)
    assert test.number_input(key=editing.key(kv)).value == 8


def test_blocks_are_split_copied_and_removed() -> None:
    test = opened("model")
    test.session_state["model-split"] = True
    test.run()
    test.button(key="model-split-now").click().run()
    assert [block.count for block in model_of(test).blocks] == [67, 13]
    limit = editing.key("around-0")
    test.selectbox(key=limit).set_value("window").run()
    assert float(model_of(test).kv_bytes(8192, formats["int8"])) == (13 * 8192 + 67 * 4096) * 2048
    test.button(key="model-copy").click().run()
    assert [block.count for block in model_of(test).blocks] == [67, 67, 13]
    assert test.session_state["model-block"] == 1
    test.button(key="model-remove").click().run()
    assert len(model_of(test).blocks) == 2
    assert not test.exception


def test_a_kind_of_attention_is_picked() -> None:
    test = opened("model")
    test.selectbox(key=editing.key("attention_kind-0")).set_value("latent").run()
    figure(test, "blocks[0].count", 61)
    figure(test, "blocks[0].attention.heads", 128)
    assert model_of(test).kv_bytes_per_token(formats["bf16"]) == 70_272
    test.selectbox(key=editing.key("attention_kind-0")).set_value("").run()
    assert metrics(test)["Per token"] == "0 B"
    test.selectbox(key=editing.key("feedforward_kind-0")).set_value("").run()
    assert "The blocks stay as they are" in test.warning[0].value


def test_the_origin_is_named_pinned_and_returned_to() -> None:
    test = figure(opened("model", model="llama-3-8b"), "d_model", 8192)
    test.text_input(key=editing.key("name")).set_value("Wider").run()
    assert model_of(test).name == "Wider"
    test.button(key="model-pin").click().run()
    pinned = json.loads(test.session_state["pins"])
    assert pinned == [["Llama 3 8B", "model=llama-3-8b"]]
    test.button(key="model-back").click().run()
    assert test.selectbox(key="model").value == "llama-3-8b"
    assert "Against" not in words(test)


def test_a_pasted_configuration_is_an_origin_too() -> None:
    config = json.dumps({
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "vocab_size": 32000,
        "num_attention_heads": 32, "intermediate_size": 8192,
    })  # fmt: skip
    text = custom.compact_model(config)
    test = figure(opened("model", model="custom", cfg=text), "blocks[0].count", 20)
    assert custom.model(model_of(test).origin) == custom.model(config)
    assert "Edited: layers 16 → 20." in words(test)
    test.button(key="model-back").click().run()
    assert test.session_state["cfg"] == text


def test_totals_can_be_edited() -> None:
    totals = '{"model_type":"totals","total_params":30e9,"kv_elements_per_token":1e5}'
    test = opened("model", model="custom", cfg=totals)
    figure(test, "blocks[0].feedforward.total", 15 * 10**9)
    assert model_of(test).total_params == 15 * 10**9
    assert "parameters −50\u00a0%" in words(test)
    test.session_state["model-tabs"] = "Take it along"
    assert "no file can describe it" in notes(test.run())


TABS = ("Hold and move", "Families", "Map", "Take it along")


@pytest.mark.parametrize(
    "query",
    [{"model": "mixtral-8x7b", "f": "operators"}, {"model": "falcon-mamba-7b", "chip": "t4"}],
    ids=str,
)  # fmt: skip
def test_every_tab_opens(query: dict[str, str]) -> None:
    test = opened("model", **query)
    for tab in TABS:
        test.session_state["model-tabs"] = tab
        test.run()
        assert not test.exception, tab


def test_a_cell_of_the_map_becomes_the_model() -> None:
    def take() -> None:
        from calc.design import dimensions, table  # noqa: PLC0415
        from pages.ui.model import editing, varying  # noqa: PLC0415

        found = dimensions.of(table.written(editing.current()))
        window, kv = found["attention.window"], found["attention.kv_heads"]
        varying.take_cell(window, [1024, 4096], kv, [1, 2, 4], 3.0)

    test = AppTest.from_function(take).run()
    assert not test.exception
    layer = custom.model(test.session_state["cfg"]).blocks[0].attention
    assert isinstance(layer, SlidingWindow)
    assert (layer.window, layer.inner.split.cache_heads) == (4096, 2)


def test_files_to_take_along_say_the_model() -> None:
    test = opened("model", model="gemma-3-27b")
    test.session_state["model-tabs"] = "Take it along"
    config, preset, script = (code.value for code in test.run().code)
    assert json.loads(config)["layer_types"][:6] == ["sliding_attention"] * 5 + ["full_attention"]
    assert "[[gemma-3-27b.blocks]]" in preset
    assert script.startswith("from calc.attention import GroupedQuery, SlidingWindow")


def test_no_family_is_said_for_a_model_of_its_own() -> None:
    content = table.written(models["llama-3-70b"])
    content["blocks"].append({"count": 1, "feedforward": {"kind": "linear"}})
    text = custom.of_model(table.read(content, name="Mine"))
    test = opened("model", model="custom", cfg=text)
    test.session_state["model-tabs"] = "Take it along"
    assert "No family known here can express this model" in notes(test.run())


def test_a_bound_has_no_difference() -> None:
    test = figure(opened("model", chip="t4", n="8"), "blocks[0].attention.kv_heads", 4)
    said = words(test)
    assert "Against Llama 3 70B: parameters −1.0\u00a0%, cache per sequence −50\u00a0%" in said
    assert "step time −" not in said
    step = next(line for line in said.splitlines() if line.startswith("| Step time |"))
    assert step.count("≥") == 2 and step.endswith("|  |")
