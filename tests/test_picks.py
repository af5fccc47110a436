"""What goes with a pick of a model or chip, and with a configuration that is refused."""

from __future__ import annotations

import json

from pages_app import opened

from calc import hf_config


def test_a_picked_model_suggests_its_own_formats_and_what_engines_leave() -> None:
    test = opened()
    test.selectbox(key="model").select("gpt-oss-120b").run()
    assert test.selectbox(key="w").value == "pub"
    assert test.slider(key="u").value == 0.9
    captions = [caption.value for caption in test.caption]
    assert "As published: routed experts mxfp4, the rest bf16" in captions
    assert opened().selectbox(key="w").value == "int8"


def test_a_pick_leaves_what_a_link_holds() -> None:
    test = opened(w="fp8", u="0.8")
    test.selectbox(key="model").select("llama-3-8b").run()
    test.selectbox(key="chip").select("h100-sxm").run()
    assert test.selectbox(key="w").value == "fp8"
    assert test.slider(key="u").value == 0.8


def test_a_refused_configuration_offers_what_it_may_be_read_as() -> None:
    config = {"model_type": "qwen2_new", "hidden_size": 512, "intermediate_size": 1024,
              "num_attention_heads": 8, "num_hidden_layers": 4, "num_key_value_heads": 2,
              "vocab_size": 1000}  # fmt: skip
    test = opened()
    test.session_state["custom-model"] = True
    test.run()
    test.text_area(key="cfg-pasted").set_value(json.dumps(config)).run()
    assert "is not known here; nearest are" in test.warning[0].value
    assert test.text_area(key="cfg-pasted").value == json.dumps(config)
    like = hf_config.parse({**config, "model_type": "llama"})
    assert test.number_input(key="cfg-billions").value == round(like.total_params / 1e9, 3)
    test.button(key="cfg-as-qwen2").click().run()
    assert not test.warning
    assert test.selectbox(key="model").value == "custom"
    read = hf_config.parse({**config, "model_type": "qwen2"})
    assert any(f"{read.total_params:,} parameters" in caption.value for caption in test.caption)
