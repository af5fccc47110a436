"""Links as people, mail programs and strangers leave them: valid ones with damage, by a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from calc import link
from calc.fields import Choice, Option, Rows, Several
from pages.ui.frame.link import PRESETS
from pages.ui.frame.presentation import BY_KEY, FIELDS

ODD = (
    "", " ", "0", "-1", "nan", "inf", "-inf", "1e400", "1e-400", "2.5", "0x10", "1_000", "１６",
    "1,000", "true", "null", "<b>x</b>", "custom", "../../etc/passwd", "%00", "\u202e", "9" * 40,
)  # fmt: skip
# Whole models and chips that somebody wrote down, at the limits of what they may say.
MODELS: tuple[dict[str, object], ...] = (
    {"model_type": "totals", "total_params": 3e10, "kv_elements_per_token": 0},
    {"model_type": "totals", "total_params": 1e6, "kv_elements_per_token": 1e8},
    {"model_type": "totals", "total_params": 1e14, "kv_elements_per_token": 1},
    {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
     "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
     "vocab_size": 128256},
)  # fmt: skip
CHIPS: tuple[dict[str, object], ...] = (
    {"name": "x", "memory": 1e11, "bandwidth": 1e12, "peaks": {}},
    {"name": "y", "memory": 1e8, "bandwidth": 1e17, "peaks": {"bf16": 1e11}},
    {"name": "z", "memory": 1e14, "bandwidth": 1e10, "peaks": {"fp8": 1e18}, "link": 1e8},
)


def links(number: int, seed: int = 14) -> Iterator[dict[str, str]]:
    """So many links, the same for a seed."""
    chance = random.Random(seed)
    for _ in range(number):
        yield _damaged(_valid(chance), chance)


def _valid(chance: random.Random) -> dict[str, str]:
    query = {}
    for field in chance.sample(FIELDS, chance.randint(1, 8)):
        if isinstance(field, (Choice, Several)):
            query[field.key] = chance.choice(list(field.ids(PRESETS)))
        elif isinstance(field, Option):
            query[field.key] = chance.choice(list(field.options))
        elif isinstance(field, Rows):
            query[field.key] = "chat_0.7_2000_300*batch_0.3"
        else:
            # As often small as large.
            share = chance.random() ** 3
            value = chance.choice([field.low, field.high, field.low + share * field.high])
            query[field.key] = f"{min(value, field.high):.0f}" if field.whole else f"{value:.3g}"
    if chance.random() < 0.25:
        query |= {"model": "custom", "cfg": json.dumps(_shaken(chance.choice(MODELS), chance))}
    if chance.random() < 0.25:
        query |= {"chip": "custom", "hw": json.dumps(_shaken(chance.choice(CHIPS), chance))}
    return query


def _shaken(content: dict[str, object], chance: random.Random) -> dict[str, object]:
    """One value of three replaced, or left."""
    if chance.random() < 0.6:
        return content
    odd: object = chance.choice(
        [0, -1, None, "x", 1e30, 1.5, [], {}, True, float("nan"), float("inf")]
    )
    return {**content, chance.choice(list(content)): odd}


def _damaged(query: dict[str, str], chance: random.Random) -> dict[str, str]:
    keys = list(query)
    for _ in range(chance.randint(0, 2)):
        key = chance.choice(keys)
        text = query[key]
        at = chance.randrange(len(text) + 1)
        query[key] = chance.choice(
            [
                chance.choice(ODD),
                text[:at] + text[at + 1 :],
                text[:at] + chance.choice('0-.e {"<é') + text[at:],
                query[chance.choice(keys)],
            ]
        )
    return query


def unsaid(query: dict[str, str]) -> list[str]:
    """Keys of a link whose value is not the one used, though no notice says so."""
    read, problems = link.parse({key: [text] for key, text in query.items()}, PRESETS, FIELDS)
    said = {problem.key for problem in problems}
    texts = {one.key: one.name for one in link.TEXTS}
    found = []
    for key, given in query.items():
        if key in said or (key not in BY_KEY and key not in texts):
            continue
        if key in texts:
            same = read[texts[key]] == given
        elif isinstance(BY_KEY[key], (Choice, Option, Rows, Several)):
            same = link.dump_value(BY_KEY[key], read[BY_KEY[key].name]) == given
        else:
            value = read[BY_KEY[key].name]
            # A number that nobody states is left empty.
            same = not given if value is None else float(given) == float(value)
        if not same:
            found.append(key)
    return found
