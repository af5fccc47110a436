"""A field is defined once: what is derived from its line, and what a forgotten half of it says."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from said import ROOT

from calc import Scenario, ScenarioError, fields
from calc.fields import Quantity, optional
from calc.plan.asked import FIELDS as PLANNED
from calc.scenario import SCHEMA
from calc.serving.asked import FIELDS as ASKED
from calc.serving.prefill_pool import FIELDS as POOL
from pages.ui.frame import groups
from pages.ui.frame.presentation import FIELDS, SAMPLING

# What an absent key of a link means, in the unit of links, for ever: add, never change.
MEANINGS: dict[str, tuple[str, float | str]] = {
    "model": ("model", "llama-3-70b"), "chip": ("chip", "tpu-v5e"), "n": ("n_chips", 16),
    "u": ("usable_memory", 1.0), "w": ("weight_format", "int8"), "kv": ("kv_format", "int8"),
    "c": ("compute_format", "bf16"), "b": ("batch", 32), "s": ("context", 8192),
    "a": ("acceptance", 0.8), "k": ("n_draft", 4), "d": ("draft", "ratio"),
    "r": ("cost_ratio", 0.05), "t": ("temperature", 1.0), "tk": ("top_k", 0),
    "tp": ("top_p", 1.0), "f": ("fidelity", "bound"), "sk": ("routing_skew", 0.0),
    "ty": ("tensor_parallel", 0), "dp": ("attention_dp", 1), "ep": ("expert_parallel", 1),
    "pp": ("pipeline", 1), "mb": ("micro_batches", 0), "ks": ("kv_sharding", "replicated"),
    "ac": ("attention_format", "compute"), "ov": ("overlap", 1.0), "lo": ("link_overlap", 0.0),
    "eb": ("bandwidth_efficiency", 1.0), "ec": ("compute_efficiency", 1.0),
    "hop": ("hop_latency", 1.0), "net": ("scale_out", 50), "li": ("load_imbalance", 1.0),
    "os": ("step_overhead", 0), "ol": ("layer_overhead", 0), "p": ("prompt", 8192),
    "g": ("output", 512), "mfu": ("mfu", 0.4), "ch": ("chunk", 512), "tt": ("tpot_target", 50),
    "px": ("prefix_hit", 0), "bl": ("kv_block", 16), "usd": ("price", 0.0), "pw": ("power", 0.0),
    "rt": ("runtime_memory", 0.0), "eng": ("engine", "chip"), "el": ("link_efficiency", 1.0),
    "kt": ("kernel_time", 0.0), "ar": ("reduce_latency", 0.0),
    "hs": ("host_share", 0.0), "hc": ("host_compute", "host"),
    "hb": ("host_bandwidth", 90), "hf": ("host_rate", 2.0), "rx": ("redundant_experts", 0),
    "cn": ("own_rows", 0), "cx": ("own_error", 0.0), "ce": ("own_bandwidth", 1.0),
    "ck": ("own_kernel_time", 0.0), "buy": ("terms", "demand"), "dis": ("discount", 0.0),
    "cap": ("capital", 0.0), "hn": ("surroundings", 0.0), "yr": ("years", 4.0),
    "ut": ("in_use", 1.0), "kwh": ("energy_price", 0.1), "pue": ("pue", 1.0),
    "arr": ("arrivals", "poisson"), "qps": ("rate", 0.8),
    "req": ("requests", 400), "len": ("lengths", "lognormal"), "cv": ("spread", 1.0),
    "burst": ("burstiness", 2.0), "sys": ("system", 0), "turns": ("turns", 1),
    "think": ("think", 30.0), "cl": ("clients", 0), "ct": ("pause", 0.0),
    "bon": ("samples", 1), "seed": ("seed", 0), "pol": ("policy", "continuous"),
    "rep": ("replicas", 2), "npre": ("prefill_replicas", 1), "slots": ("slots", 32),
    "win": ("window", 100), "bud": ("budget", 512), "bof": ("budget_of", "replica"),
    "pr": ("reading", "alone"), "kvm": ("memory", "paged"),
    "res": ("reserved", 32768), "out": ("relief", "recompute"), "host": ("host", 25),
    "hm": ("host_memory", 64), "pfx": ("prefix", "none"), "aff": ("affinity", "on"),
    "way": ("routing", "in-turn"), "str": ("streaming", "on"), "tl": ("ttft_limit", 5.0),
    "cls": ("classes", ""), "pk": ("peak", 2.0), "day": ("period", 86400),
    "sc": ("scaling", "fixed"), "smin": ("scale_least", 1), "star": ("scale_target", 16),
    "cold": ("cold_start", 120), "hold": ("hold", 300),
    "ssd": ("disk", 5), "sm": ("disk_memory", 1000), "spec": ("speculation", "off"),
    "lora": ("adapters", 0), "ls": ("adapter_size", 100), "mtb": ("failures", 0.0),
    "down": ("down", 300), "lost": ("after_failure", "retried"),
    "pin": ("input_price", 1.0), "pcd": ("cache_discount", 0.75), "pcs": ("cache_storage", 1.0),
    "pch": ("prefill_chip", "same"), "pn": ("prefill_chips", 0),
    "pty": ("prefill_tensor_parallel", 0), "pdp": ("prefill_attention_dp", 0),
    "pep": ("prefill_expert_parallel", 0), "ppp": ("prefill_pipeline", 0),
    "obj": ("objective", "usd"),
    "pc": ("percentile", "mean"), "hr": ("headroom", 0.2), "um": ("most_used", 0.9),
    "most": ("most_chips", 64), "how": ("arrangement", "any"), "spare": ("spare", "off"),
    "fmt": ("allowed", "published"), "on": ("compared", "all"),
    "no": ("left_out", "none"), "lang": ("language", "en"),
    "view": ("view", "explore"), "slide": ("slide", "decode"),
    "mk": ("rows_class", "all"), "me": ("rows_engine", "all"), "mc": ("rows_chip", "all"),
    "mm": ("rows_model", "all"),
    "mp": ("rows_phase", "all"), "my": ("rows_year", "all"),
}  # fmt: skip


def test_an_absent_key_keeps_its_meaning() -> None:
    found = [(field.key, (field.name, field.default)) for field in FIELDS]
    assert found == list(MEANINGS.items())


def test_no_two_fields_share_a_key_or_a_name() -> None:
    assert len({field.key for field in FIELDS}) == len(FIELDS)
    assert len({field.name for field in FIELDS}) == len(FIELDS)


def test_a_notebook_starts_with_the_defaults_of_links() -> None:
    given = inspect.signature(Scenario).parameters
    required = [name for name, one in given.items() if one.default is one.empty]
    assert required == ["model", "chip", "n_chips", "weight_format", "kv_format",
                        "compute_format", "batch", "context"]  # fmt: skip
    for field in SCHEMA:
        if field.name not in required:
            assert field.plain(given[field.name].default) == field.absent
    assert given["hop_latency"].default == 1e-6
    assert given["scale_out"].default == 50e9
    assert given["tpot_target"].default == 0.05
    assert given["draft"].default is given["attention_format"].default is None


def test_every_number_s_default_and_ends_are_in_its_range() -> None:
    for field in FIELDS:
        if isinstance(field, Quantity):
            for value in (field.default, field.low, field.high):
                assert field.problem(value) is None, field.name
                assert field.fault(field.resolve(value, {})) is None, field.name


@pytest.mark.parametrize("name", ["batch", "usable_memory", "step_overhead", "runtime_memory"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1, "32", None])
def test_a_scenario_refuses_what_is_no_such_number(name: str, value: object) -> None:
    [field] = (field for field in SCHEMA if field.name == name)
    assert field.fault(value)
    with pytest.raises(ScenarioError, match=rf"^{name} is (not a|outside)"):
        build(**{name: value})


def build(**changed: object) -> Scenario:
    given: dict[str, object] = {
        one.name: None for one in dataclasses.fields(Scenario) if one.default is dataclasses.MISSING
    }
    return Scenario(**{**given, "n_chips": 1, "batch": 1, "context": 1, **changed})  # type: ignore[arg-type]


def test_help_tells_every_field_its_range_and_its_si_unit() -> None:
    told = inspect.getdoc(Scenario) or ""
    assert all(f"{field.name} : " in told for field in SCHEMA)
    assert "hop_latency : float, 0 to 5e-05 [s]\n    Hop latency. Time for a message" in told
    assert "context : int, 1 to 16,777,216 [tokens]" in told
    assert told.index("Parameters") < told.index("runtime_memory :") < told.index("Raises")
    assert "scale_out : float, 1e+09 to 4.096e+12 [byte/s]" in told
    assert "kv_sharding : 'replicated' or 'batch' or 'sequence'" in told
    assert "draft : Model or None" in told


def reads(owners: Iterable[str], folder: Path) -> Iterator[str]:
    """Attributes that the code of a folder, or of one file, reads of what goes by these names."""
    for file in folder.rglob("*.py") if folder.is_dir() else [folder]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in owners:
                yield node.attr


def unread(names: Iterable[str], owners: Iterable[str], folder: Path) -> list[str]:
    """What to do about the fields that nothing reads."""
    known = set(reads(owners, folder))
    return [
        f"The field {name} is read by no formula under {folder.relative_to(ROOT)}/: read it where "
        "it changes a number, or make it a field of pages.ui.frame.presentation"
        for name in names
        if name not in known
    ]


OF_SCENARIO = ("s", "scenario", "self.s", "self.scenario")
# A number that a table may say is read where the scenario settles it.
SETTLED = tuple(f"{one}.constants" for one in OF_SCENARIO)


def test_every_field_is_read_by_a_formula() -> None:
    of_itself = set(reads(("self",), ROOT / "calc" / "scenario.py"))
    names = [field.name for field in SCHEMA if field.name not in of_itself]
    assert not unread(names, (*OF_SCENARIO, *SETTLED), ROOT / "calc")
    told = unread(["batch", *(field.name for field in SAMPLING)], OF_SCENARIO, ROOT / "calc")
    assert [one.split(" is ")[0] for one in told] == [
        "The field temperature", "The field top_k", "The field top_p",
    ]  # fmt: skip


def test_every_field_of_a_service_is_read() -> None:
    file = ROOT / "calc" / "serving" / "asked.py"
    pool = file.with_name("prefill_pool.py")
    assert not unread([field.name for field in POOL], ["pool"], pool)
    assert not unread([one.name for one in ASKED if one not in POOL], ["asked"], file)
    plans = ROOT / "calc" / "plan" / "asked.py"
    assert not unread([field.name for field in PLANNED], ["wanted"], plans)
    assert unread(["colour"], ["asked"], file)


def test_a_field_without_a_place_in_the_sidebar_is_refused() -> None:
    places = groups.GROUPS | groups.FOLDED
    names = sorted({name for rows in places.values() for row in rows for name in row})
    groups.check(places, names)
    with pytest.raises(LookupError, match="colour stands in 0 rows of the sidebar: give it a pl"):
        groups.check(places, [*names, "colour"])
    with pytest.raises(LookupError, match="batch stands in 2 rows"):
        groups.check({**places, "More": (("batch",),)}, names)
    with pytest.raises(LookupError, match="a row for batch, which is no field: define it in"):
        groups.check(places, [name for name in names if name != "batch"])


def test_a_setting_that_no_link_can_write_is_refused() -> None:
    @dataclass(frozen=True)
    class Colours:
        hue: float = optional(Quantity("hue", "Hue", "°", 10, 0, 360, ""))
        alpha: float = 1.0

    with pytest.raises(TypeError, match=r"Colours\.alpha does not say how links write it: define"):
        fields.schema(Colours)
