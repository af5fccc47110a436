"""Plans: answers of an independent search, brute force on small spaces, what cannot be asked."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import Chip, Price, Scenario, memory, plan, prefill, serving
from calc.chip import Fabric
from calc.explain import plan as explain_plan
from calc.layout import Layout
from calc.plan import asked, replica
from pages.ui.plan import taken
from presets import chips, formats, models, offers

GOLDEN = tomllib.loads((Path(__file__).parent / "plan_golden.toml").read_text())
BF16 = formats["bf16"]


def golden_chip(id: str) -> Chip:
    """A chip as the independent search was given it."""
    given = dict(GOLDEN["chips"][id])
    links = {"link_one_way", "link_two_way"} & given.keys()
    return Chip(
        id, id, "", given["memory"], given["bandwidth"], given["peaks"],
        fabric=Fabric(**given["fabric"]), slices=tuple(given.get("slices", ())),
        power=given.get("power", math.nan),
        price=Price(given["price"], "") if "price" in given else None,
        **{link: given[link] for link in links},
    )  # fmt: skip


def question(asked: dict[str, Any]) -> tuple[Scenario, plan.Ask, plan.Space]:
    """Scenario, ask and space of a question; weights beside the decoder are left out."""
    model = replace(models[asked["model"]], resident=())
    s = Scenario(
        model, chips["h100-sxm"], 1, BF16, BF16, BF16, 1, 1, usable_memory=0.9,
        fidelity=asked["fidelity"], **asked.get("derated", {}),
    )  # fmt: skip
    kept = tuple(plan.Formats(*(formats[id] for id in triple)) for triple in asked["formats"])
    members = tuple(golden_chip(id) for id in asked["chips"])
    return s, plan.Ask(**asked["ask"]), plan.Space(members, kept)


@pytest.mark.parametrize("asked", GOLDEN["questions"], ids=lambda asked: asked["id"])
def test_the_plans_of_an_independent_search(asked: dict[str, Any]) -> None:
    """The same best and runner-up, costs to the cent, times to half a percent.

    Of equal prefill pools ours is the one with the shorter wait, so a first token may come earlier.
    """
    found = plan.search(*question(asked), refine=False)
    for want, got in ((asked.get("best"), found.best), (asked.get("runner_up"), found.runner_up)):
        if want is None:
            assert got is None
            continue
        assert got is not None
        s = got.scenario
        widths = [s.tensor_parallel, s.attention_dp, s.expert_parallel, s.pipeline]
        assert (s.chip.id, got.arrangement, widths) == (
            want["chip"], want["arrangement"], want["widths"],
        )  # fmt: skip
        assert s.stored.id == want["format"]
        for name in ("replicas", "chips", "batch", "budget", "slots"):
            assert getattr(got, name) == want[name], name
        assert got.usd_per_hour == pytest.approx(want["usd"], abs=0.005)
        assert got.tpot == pytest.approx(want["tpot"], rel=0.005)
        assert got.ttft <= want["ttft"] * 1.005
        if got.prefill is None or asked["model"] != "gemma-3-27b":
            assert got.ttft == pytest.approx(want["ttft"], rel=0.005)
        assert got.split == pytest.approx(want["split"], rel=0.002)
    for id, least in asked.get("least_tpot", {}).items():
        (only,) = (one for one in found.obstacles if one.chip == id)
        assert only.kind == "tpot" and only.tpot == pytest.approx(least, rel=1e-4)


def test_batches_between_those_of_the_grid_are_never_dearer() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    coarse, fine = (plan.search(s, ask, space, refine=refine) for refine in (False, True))
    for id, one in fine.per_chip.items():
        assert one.usd_per_hour <= coarse.per_chip[id].usd_per_hour + 1e-9
    # As many replicas, each no fuller than it has to be.
    assert fine.best and coarse.best and fine.best.tpot < coarse.best.tpot


SMALL = tuple(golden_chip(id) for id in ("h100-sxm", "tpu-v5e", "mi300x"))


@settings(max_examples=12)
@given(
    rate=st.floats(0.5, 60), ttft=st.floats(0.05, 5), tpot=st.floats(0.004, 0.2),
    percentile=st.sampled_from(sorted(plan.PERCENTILES)), spread=st.sampled_from([0.0, 1.0]),
    objective=st.sampled_from(sorted(plan.OBJECTIVES)),
)  # fmt: skip
def test_the_search_finds_what_trying_everything_finds(objective: str, **asked: Any) -> None:
    """Nothing that is left out before it is timed could have been the best."""
    fp8, few = formats["fp8"], (SMALL[0], SMALL[2])
    s = Scenario(models["qwen3-32b"], SMALL[0], 1, BF16, BF16, BF16, 1, 1, fidelity="operators")
    ask = plan.Ask(prompt=2000, output=200, objective=objective, **asked)
    space = plan.Space(
        few, (plan.Formats(fp8, fp8, fp8),), ("chunked",), most=2,
        batches=(1, 4, 32, 300), budgets=(256, 2048), stages=(1, 2),
    )  # fmt: skip
    every = []
    for chip in few:
        here = replace(s, chip=chip, weight_format=fp8, kv_format=fp8, compute_format=fp8)
        for n, pp, batch, budget in product(
            space.counts(chip), (1, 2), space.batches, space.budgets
        ):
            if n % pp:
                continue
            one = plan.steady(here, Layout.of_widths(n // pp, pp=pp), batch, budget, ask)
            within = one.ttft <= ask.ttft and one.tpot <= ask.tpot and one.used <= ask.most_used
            if not (one.holds and within):
                continue
            total = math.ceil(ask.needed / float(one.rate) - 1e-9) * n
            price = chip.price.usd_per_hour if chip.price else math.nan
            aim = {"usd": total * price, "chips": total, "energy": total * chip.power,
                   "fastest": float(one.tpot)}[objective]  # fmt: skip
            if math.isfinite(aim):
                every.append((aim, total, n, float(one.tpot), budget))
    found = plan.search(s, ask, space, refine=False).best
    assert (found is None) == (not every)
    if found:
        aim = {"usd": found.usd_per_hour, "chips": found.chips, "energy": found.watts,
               "fastest": found.tpot}[objective]  # fmt: skip
        best = (aim, found.chips, found.scenario.n_chips, found.tpot, found.budget)
        assert best == pytest.approx(min(every))


def test_all_chips_at_once_are_each_chip_alone() -> None:
    """An array of chips gives what each gives by itself, of which some have links of their own."""
    s = Scenario(models["gpt-oss-120b"], SMALL[0], 1, BF16, BF16, BF16, 1, 1, fidelity="operators")
    ask = plan.Ask(rate=5, prompt=1000, output=100)
    space = plan.Space(SMALL, (plan.Formats(None, BF16, BF16),), most=16)
    together = plan.search(s, ask, space).per_chip
    for chip in SMALL:
        alone = plan.search(s, ask, replace(space, chips=(chip,))).per_chip
        assert alone.keys() == together.keys() & {chip.id}
        for id, one in alone.items():
            assert together[id].tpot == pytest.approx(one.tpot, rel=1e-12)
            assert together[id].scenario == one.scenario


def test_slots_are_for_the_fullest_moment_whatever_the_limits_are_on() -> None:
    assert float(replica.slots(64.0)) == 83


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rate": 0.0}, "The rate must be above 0."),
        ({"ttft": math.nan}, "The limit on time to first token must be above 0."),
        ({"most_used": 1.0}, "The share in use must be between 0 and 1."),
        ({"known": 5000.0}, "Headroom, spread and cached prefix are out of range."),
        ({"percentile": "p42"}, "There is no such percentile or objective."),
    ],
)
def test_what_cannot_be_asked_is_said(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(plan.PlanError, match=said):
        plan.Ask(**{"rate": 1.0, "prompt": 1000, "output": 100, **wrong})


def test_spaces_without_anything_to_try_are_said() -> None:
    _, _, space = question(GOLDEN["questions"][0])
    with pytest.raises(plan.PlanError, match="No chip is chosen"):
        replace(space, chips=())


def test_a_chip_without_what_it_takes_says_why() -> None:
    h100 = golden_chip("h100-sxm")
    unpriced = replace(h100, id="unpriced", price=None)
    small, slow = replace(h100, id="small", memory=1e9), replace(h100, id="slow", bandwidth=1e11)
    unrated = replace(h100, id="unrated", peaks={})
    s = Scenario(models["qwen3-32b"], h100, 1, BF16, BF16, BF16, 1, 1, fidelity="operators")
    ask = plan.Ask(rate=5, prompt=1000, output=100, tpot=0.05)
    space = plan.Space(
        (h100, unpriced, small, slow, unrated), (plan.Formats(None, BF16, BF16),), most=8
    )
    found = plan.search(s, ask, space)
    assert set(found.per_chip) == {"h100-sxm"}
    assert {one.chip: one.kind for one in found.obstacles} == {
        "unpriced": "price", "small": "weights", "slow": "tpot", "unrated": "rate",
    }  # fmt: skip
    reached = {one.chip: one for one in found.obstacles}
    looser: Any = reached["slow"].looser(ask)
    assert looser.keys() == {"tpot"} and looser["tpot"] >= reached["slow"].within
    assert "slow" in plan.search(s, replace(ask, **looser), space).per_chip
    assert not reached["small"].looser(ask)
    cheapest = replace(ask, objective="chips")
    assert "unpriced" in plan.search(s, cheapest, space).per_chip


def test_what_is_compared_is_the_union_of_what_is_named() -> None:
    s = Scenario(models["qwen3-32b"], chips["t4"], 1, BF16, BF16, BF16, 1, 1)
    known = {"chips": chips, "models": models, "formats": formats}

    def space(on: str, fmt: str = "published") -> plan.Space:
        return asked.space({"compared": on, "allowed": fmt}, s, known)

    amd = {one.id for one in space("amd").chips}
    assert amd and {chips[id].vendor for id in amd} == {"AMD"}
    assert {one.id for one in space("amd,sidebar,h200").chips} == amd | {"t4", "h200"}
    assert len(space("all").chips) == len(chips)
    fp8 = plan.Formats(*[formats["fp8"]] * 3)
    assert space("all", "fp8.fp8.fp8").formats == (fp8,)
    published, eight = space("all").formats, space("all", "eight").formats
    assert eight == space("all", "published,fp8.fp8.fp8,int8.int8.int8").formats
    assert eight[:2] == (*published, fp8)


@pytest.mark.parametrize("limits", [{"ttft": 1e-3}, {"ttft": 1e-3, "tpot": 1e-3}])
def test_the_looser_limits_of_a_chip_are_kept(limits: dict[str, Any]) -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    ask = replace(ask, **limits)
    for one in plan.search(s, ask, space, refine=False).obstacles:
        looser: Any = one.looser(ask)
        assert looser.keys() == limits.keys()
        assert one.chip in plan.search(s, replace(ask, **looser), space, refine=False).per_chip


def test_the_curve_passes_through_the_best() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    found = plan.search(s, ask, space, refine=False)
    at = int(np.searchsorted(found.curve.limit, ask.tpot * (1 - 1e-9)))
    assert found.curve.limit[at] == pytest.approx(ask.tpot)
    for index, chip in enumerate(space.chips):
        assert found.curve.least[index, at] == pytest.approx(found.per_chip[chip.id].usd_per_hour)
    assert (found.curve.least[:, 1:] <= found.curve.least[:, :-1]).all()


def test_two_pools_shrink_as_the_limit_grows_and_meet_the_plan_of_the_rows() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    found = plan.search(s, ask, replace(space, arrangements=("disaggregated",)))
    best = found.best
    assert best and best.prefill
    sizes = found.pool_sizes(best.scenario.chip.id)
    assert sizes
    at = int(np.argmin(np.abs(sizes.limit - ask.tpot)))
    here = (sizes.decode[at], sizes.decode_size[at], sizes.prefill[at], sizes.prefill_size[at])
    assert here == (
        best.replicas * best.scenario.n_chips, best.scenario.n_chips,
        best.prefill.replicas * best.prefill.scenario.n_chips, best.prefill.scenario.n_chips,
    )  # fmt: skip
    both = (sizes.decode + sizes.prefill)[np.isfinite(sizes.decode)]
    assert (np.diff(both) <= 0).all()
    one_pool = plan.search(s, ask, replace(space, arrangements=("chunked",)), refine=False)
    assert one_pool.pool_sizes() is None


def test_given_chips_serve_what_a_plan_for_that_rate_takes() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    one_pool = replace(space, arrangements=("chunked", "continuous"))
    found = plan.search(s, ask, one_pool, refine=False)
    best = found.best
    assert best
    served = found.served_by(best.scenario.chip.id, best.chips)
    at = served.at(ask.tpot)
    assert served.rate[at] >= ask.rate * (1 - 1e-9)
    assert (np.diff(served.rate) >= 0).all()
    # A plan for the highest rate needs no more chips, and for more than it more.
    only = replace(one_pool, chips=(best.scenario.chip,))
    for times, more in ((0.999, False), (1.01, True)):
        again = plan.search(
            s, replace(ask, rate=float(served.rate[at]) * times, objective="chips"), only,
            refine=False,
        ).best  # fmt: skip
        assert again and (again.chips > best.chips) == more
    users = served.users(20.0)[at]
    assert users == pytest.approx(served.rate[at] * (served.answering[at] + 20.0))


def test_moves_are_the_searches_that_they_stand_for() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    ground = plan.survey_all(s, ask, space)
    best = plan.search(s, ask, space, ground, refine=False).best
    assert best
    for move in plan.moves(best, s, space, ground):
        for times, found in zip((0.5, 2.0), move.plans, strict=True):
            if move.name == "price":
                assert found and found.usd_per_hour <= best.usd_per_hour * max(times, 1) + 1e-9
                continue
            moved = replace(ask, **{move.name: getattr(ask, move.name) * times})
            again = plan.search(s, moved, space, refine=False).best
            assert (found and found.usd_per_hour) == (again and again.usd_per_hour)


def test_chips_without_measurements_are_told_apart() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    kept = replace(space, chips=(chips["h100-sxm"], chips["rx-7900-xtx"]))
    bare = {chip.id for chip in kept.chips if not chip.engines}
    assert bare == {"rx-7900-xtx"}
    assert plan.search(s, ask, kept, refine=False).uncalibrated == set()
    fine = replace(s, fidelity="calibrated")
    assert plan.search(fine, ask, kept, refine=False).uncalibrated == bare


@pytest.mark.parametrize("asked", (1, 3, 7, 11), ids=str)
def test_explanations_give_what_the_plan_says(asked: int) -> None:
    s, ask, space = question(GOLDEN["questions"][asked])
    spare = replace(ask, spare=True)
    for one in (*plan.search(s, ask, space).rows[:2], *plan.search(s, spare, space).rows[:1]):
        values = {id: entry.build(s).value for id, entry in explain_plan.explanations(one).items()}
        known = {
            "plan_replicas": one.replicas, "plan_usd_per_hour": one.usd_per_hour,
            "plan_usd_per_million": one.usd_per_million_out, "plan_rate": one.rate,
            "plan_slots": one.slots, "plan_tokens_per_joule": one.tokens_per_joule,
            "plan_tpot": one.mean_tpot, "plan_used": one.used,
        }  # fmt: skip
        if one.prefill:
            known["plan_transfer"] = one.prefill.sending
        else:
            known["plan_most"] = plan.most_served(one)
        for id, value in values.items():
            if id in known:
                # The fixed point is that of four rounds.
                near = 5e-3 if id == "plan_tpot" else 1e-6
                assert value == pytest.approx(known[id], rel=near), id
        assert values.keys() - known.keys() <= {"plan_wait"}


def test_a_plan_holds_before_simulated_requests() -> None:
    """Means of one pool and of two of unlike replicas, as the closed form says or better."""
    s, ask, space = question(GOLDEN["questions"][1])
    short = replace(ask, prompt=600, output=60, rate=40.0)
    for arrangement in (("chunked",), ("disaggregated",)):
        best = plan.search(s, short, replace(space, arrangements=arrangement)).best
        assert best
        proof = plan.verify(best, 400)
        assert proof.holds and proof.service.good_share > 0.95
        assert 0.8 * best.tpot < proof.tpot < 1.05 * best.tpot
    # Taken into the sidebar it is the service that was simulated.
    assert best and best.prefill
    values, served = taken.settings(best), best.scenario
    reader = serving.reader(values, served, {"chips": chips})
    pools = serving.setup(values, served, reader).deployments["disaggregated"]
    assert isinstance(pools, serving.Disaggregated)
    assert (pools.prefill, pools.decode) == (best.prefill.replicas, best.replicas)
    one = best.prefill.scenario
    assert (reader or served).n_chips == one.n_chips
    assert pools.bandwidth == one.n_chips * one.scale_out
    times = [prefill.prompt_time(replica, 600, 0).total for replica in (reader or served, one)]
    assert times[0] == pytest.approx(times[1])


@pytest.mark.parametrize("engine", plan.ENGINES)
def test_a_launch_command_says_the_plan(engine: str) -> None:
    s, ask, space = question(next(a for a in GOLDEN["questions"] if a["model"] == "deepseek-v3"))
    fine = replace(s, fidelity="operators")
    best = plan.search(fine, ask, space).best
    assert best and best.scenario.attention_dp == 8
    found = plan.command(best, engine)
    (only,) = found.pools
    assert only.replicas == best.replicas and "DeepSeek-V3" in only.text
    each = math.ceil(best.slots / 8)
    wanted = {
        "vllm": ("--data-parallel-size 8", "--enable-expert-parallel", f"--max-num-seqs {each}"),
        "sglang": ("--tensor-parallel-size 8", "--enable-dp-attention",
                   f"--max-running-requests {8 * each}"),
        "tensorrt-llm": ("tensor_parallel_size: 8", "enable_attention_dp: true",
                         f"max_batch_size: {each}"),
        "llama.cpp": (f"--parallel {best.slots}", f"--ctx-size {5000 * best.slots}"),
    }  # fmt: skip
    for flag in (*wanted[engine], str(best.budget), "5000" if engine != "llama.cpp" else "--model"):
        assert flag in only.text
    assert any("checkpoint that is stored so" in told for told in found.left_out)
    said = any("llama.cpp has no flags for DP, EP." in told for told in found.left_out)
    assert said == (engine == "llama.cpp")


def test_engines_are_those_of_the_chip() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    best = plan.search(s, ask, space).best
    assert best
    servers = ["vllm", "sglang", "tensorrt-llm"]
    found = {
        (id, engine): plan.engines(
            replace(best, scenario=replace(s, chip=chips[id], engine=engine))
        )
        for id, engine in (("h100-sxm", "chip"), ("h100-sxm", "llama.cpp"), ("m4-max", "chip"))
    }
    assert found == {
        ("h100-sxm", "chip"): [*servers, "llama.cpp"],
        ("h100-sxm", "llama.cpp"): ["llama.cpp", *servers],
        ("m4-max", "chip"): ["llama.cpp"],
    }


def test_the_parts_of_a_plan_add_up_to_its_limit_and_its_memory() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    for percentile in ("mean", "p50", "p95"):
        for one in plan.search(s, replace(ask, percentile=percentile), space).rows:
            assert sum(one.answering.values()) == pytest.approx(ask.tpot, rel=1e-6)
            assert sum(one.memory.values()) == pytest.approx(memory.capacity(one.scenario))
            assert min(one.answering.values()) >= 0 and one.memory["kv_cache"] > 0


def test_a_grid_has_the_best_of_each_chip_and_says_why_cells_are_empty() -> None:
    s, ask, space = question(GOLDEN["questions"][1])
    found = plan.search(s, ask, space)
    grid = found.grid(3)
    for chip, row, usd in zip(grid.chips, grid.cells, grid.usd, strict=True):
        best = found.per_chip[space.chips[chip].id]
        assert np.nanmin(usd) == pytest.approx(best.usd_per_hour)
        for size, cell in zip(grid.sizes, row, strict=True):
            if isinstance(cell, str):
                assert cell in {"", *plan.KINDS}
            else:
                assert cell.scenario.n_chips == size


def test_a_plan_against_an_api() -> None:
    """3,000 tokens in and 300 out at $1 and $10 are $0.006: $216 an hour at 10/s."""
    s, ask, space = question(GOLDEN["questions"][1])
    best = plan.search(s, ask, space, refine=False).best
    offer = plan.Offer("llama-3.3-70b", "somebody", 1.0, 10.0, "2026-11-30", "")
    assert best and offer.per_hour(ask) == pytest.approx(216)
    assert plan.cheaper_from(best, offer) == pytest.approx(11.1 / 216 * 10)
    assert plan.most_served(best) == pytest.approx(3 * best.rate / 1.2)
    assert math.isinf(plan.cheaper_from(best, replace(offer, usd_in=0.01, usd_out=0.01)))


def test_prices_of_apis_are_of_known_models() -> None:
    assert {offer.model for offer in offers.values()} <= models.keys()
    assert all(offer.usd_out >= offer.usd_in > 0 for offer in offers.values())
