"""Launch commands that are pasted, and those that a plan writes read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import Scenario, plan
from calc.plan import pasted
from presets import chips, formats, models

# As engines take them: a shell, lists of arguments of Kubernetes and compose, and YAML.
COMMANDS = {
    "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve Qwen/Qwen3-32B -tp=4 --max_model_len 32K \\\n"
    "  --gpu-memory-utilization 0.92 --kv-cache-dtype fp8 --max-num-seqs 128": {
        "model": "qwen3-32b", "n_chips": 4, "tensor_parallel": 4, "usable_memory": 0.92,
        "kv_format": "fp8", "slots": 128, "weight_format": "pub", "policy": "chunked",
    },
    "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 "
    "--enable-dp-attention --ep 8 --mem-fraction-static 0.85 --chunked-prefill-size 8192 "
    "--max-running-requests 512": {
        "model": "deepseek-v3", "n_chips": 8, "tensor_parallel": 1, "attention_dp": 8,
        "expert_parallel": 8, "usable_memory": 0.85, "budget": 8192, "slots": 512,
    },
    'args: ["--model","openai/gpt-oss-120b","--enable-chunked-prefill",'
    '"--max-num-batched-tokens","4096"]': {
        "model": "gpt-oss-120b", "budget": 4096, "n_chips": 1, "policy": "chunked",
    },
    "args:\n  - --model=Qwen/Qwen3-32B\n  - --tensor-parallel-size=2\n  - --quantization=fp8": {
        "model": "qwen3-32b", "n_chips": 2, "weight_format": "fp8",
    },
    "trtllm-serve openai/gpt-oss-120b --config x.yaml\ntensor_parallel_size: 8\n"
    "enable_attention_dp: true\nmax_batch_size: 64\nmoe_expert_parallel_size: 8": {
        "model": "gpt-oss-120b", "n_chips": 8, "attention_dp": 8, "tensor_parallel": 1,
        "expert_parallel": 8, "slots": 512,
    },
    "./llama-server -m /models/Qwen3-32B-Q4_K_M-00001-of-00002.gguf -np 8 -c 65536 -ub 1024 "
    "-sm row -ts 1,1 -ctk q8_0 -ctv q8_0": {
        "model": "qwen3-32b", "weight_format": "q4-k-m", "n_chips": 2, "tensor_parallel": 2,
        "pipeline": 1, "slots": 8, "budget": 1024, "kv_format": "kv-q8-0", "engine": "llama.cpp",
    },
    "llama-server -hf ggml-org/gpt-oss-120b-GGUF --n-cpu-moe 18 --tensor-split 3,1,0": {
        "model": "gpt-oss-120b", "weight_format": "pub", "host_share": 0.5, "pipeline": 2,
        "n_chips": 2,
    },
}  # fmt: skip


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_sets_the_scenario(text: str) -> None:
    found = pasted.read(text, models)
    assert {name: found.settings[name] for name in COMMANDS[text]} == COMMANDS[text]


def test_formats_of_files_are_known() -> None:
    assert all("weights" in formats[id].uses for id in pasted.GGUF if id != "f16")
    assert all("kv" in formats[id].uses for id in pasted.GGUF_CACHES.values())
    q4, q8 = formats["q4-k-m"], formats["kv-q8-0"]
    s = Scenario(models["qwen3-32b"], chips["m4-max"], 1, q4, q8, formats["fp16"], 1, 1)
    space = plan.Space((s.chip,), (plan.Formats(q4, q8, s.compute_format),), ("chunked",))
    ask = plan.Ask(rate=0.02, prompt=300, output=100, tpot=0.2, ttft=30.0, objective="chips")
    best = plan.search(s, ask, space).best
    assert best
    (launch,) = plan.command(best, "llama.cpp").pools
    found = pasted.read(launch.text, models).settings
    assert (found["model"], found["weight_format"], found["kv_format"]) == (
        "qwen3-32b", "q4-k-m", "kv-q8-0",
    )  # fmt: skip


def test_what_is_left_alone_is_named() -> None:
    found = pasted.read("vllm serve nobody/Model -tp 2 --enforce-eager --seed 3", models)
    assert found.left == ("model", "enforce-eager", "seed")
    assert found.understood == ("tp",)
    with pytest.raises(pasted.PastedError, match="No flag of vLLM"):
        pasted.read("rm -rf somewhere", models)


@pytest.mark.parametrize("engine", plan.ENGINES)
def test_a_plan_s_command_reads_back(engine: str) -> None:
    fp8 = formats["fp8"]
    s = Scenario(models["qwen3-32b"], chips["h200"], 1, fp8, fp8, fp8, 1, 1, usable_memory=0.9)
    space = plan.Space((chips["h200"],), (plan.Formats(None, fp8, fp8),), ("chunked",))
    best = plan.search(s, plan.Ask(rate=20, prompt=3000, output=300, tpot=0.02), space).best
    assert best
    (launch,) = plan.command(best, engine).pools
    found = pasted.read(launch.text, models).settings
    assert found["model"] == "qwen3-32b"
    assert found["slots"] == best.slots
    assert found["n_chips"] == best.scenario.n_chips
    assert found["policy"] == "chunked"


@given(st.text(max_size=300))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        found = pasted.read(f"vllm serve {text}", models)
    except pasted.PastedError:
        return
    assert set(found.understood) <= {flag for flag, _ in pasted._given(f"vllm serve {text}")}
