"""What readers are told, in their language; without a translator, in English."""

from __future__ import annotations

import contextvars
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from babel.messages.pofile import read_po
from scenarios import scenario

from calc import explain, link, words
from calc.fields import Quantity
from calc.hf_config import ConfigError, parse
from calc.scenario import SCHEMA
from pages.ui.frame import language

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
CHINESE = re.compile("[\u4e00-\u9fff]")

# Written the same in every language.
INTERNATIONAL = {
    "", "s", "ms", "µs", "W", "GB", "GB/s", "USD", "USD/kWh",
    "FLOP", "FLOP/s", "TFLOP/s", "FLOP/USD",
    "token/s",
    "token/J", "×",
}  # fmt: skip


def in_chinese(told: Callable[[], T]) -> T:
    """What is told to a Chinese reader; others hear nothing of it."""

    def run() -> T:
        words.speak(language.catalogue("zh").gettext)
        return told()

    return contextvars.copy_context().run(run)


def test_without_a_translator_all_is_english() -> None:
    assert words.say("not a number") == "not a number"
    assert words.say("outside {low:,} to {high:,}", low=1, high=16384) == "outside 1 to 16,384"


def test_a_translation_is_filled_in_and_stays_where_it_was_asked_for() -> None:
    told = in_chinese(lambda: words.say("outside {low:,} to {high:,}", low=1, high=16384))
    assert told == "超出 1 至 16,384 的范围"
    assert words.say("not a number") == "not a number"


def test_a_link_s_problem_is_one_chinese_sentence() -> None:
    def sentence() -> str:
        nothing: dict[str, dict[str, object]] = {"models": {}, "chips": {}, "formats": {}}
        [problem] = link.parse({"b": ["many"]}, nothing)[1]
        return problem.sentence

    assert in_chinese(sentence) == "链接中的“批大小”（b）不是数字；改用：32。"


def test_labels_and_errors_are_chinese() -> None:
    label = explain.EXPLANATIONS["max_batch"].label
    assert label == "Largest batch"
    assert in_chinese(lambda: words.say(label)) == "最大批大小"
    assert in_chinese(lambda: words.inside("KV cache")) == "KV 缓存"
    with pytest.raises(ConfigError, match="model_type：缺失，无从得知是哪种解码器。"):
        in_chinese(lambda: parse({}))


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_every_explanation_is_chinese_throughout(fidelity: str) -> None:
    s = scenario("deepseek-v3", fidelity=fidelity, attention_dp=2, expert_parallel=4, overlap=0.5)

    def told() -> tuple[set[str], set[str]]:
        entries = list(explain.EXPLANATIONS.values())
        symbols = [symbol for entry in entries for symbol in entry.build(s).symbols()]
        texts = {
            words.say(text)
            for entry in entries
            for text in (entry.label, entry.title, entry.reading)
        }
        texts |= {words.say(symbol.meaning) for symbol in symbols}
        return texts, {entry.unit for entry in entries} | {symbol.unit for symbol in symbols}

    texts, units = in_chinese(told)
    assert {text for text in texts if not CHINESE.search(text)} <= {"MFU", "MBU", "Token/s"}
    units |= {field.unit for field in SCHEMA if isinstance(field, Quantity)}
    assert units <= {*words.UNITS, *INTERNATIONAL}


def test_translations_keep_the_fields_of_their_messages() -> None:
    def fields(message: str) -> list[tuple[str, str | None]]:
        parsed = string.Formatter().parse(message)
        return sorted((name, form) for _, name, form, _ in parsed if name is not None)

    with (ROOT / "locales" / "zh" / "LC_MESSAGES" / "messages.po").open("rb") as file:
        for message in read_po(file, locale="zh"):
            if message.string and message.id:
                assert fields(str(message.string)) == fields(str(message.id)), message.id
