"""The Plan page: which hardware, how much of it, at what price."""

from __future__ import annotations

import streamlit as st

import presets
from calc import calibration, pins, plan
from calc.explain.plan import explanations
from calc.plan import pasted
from calc.serving.deployment import MOST_REPLICAS
from calc.words import marked, say
from pages.ui.frame import draw, groups, language, pinned, taking
from pages.ui.frame.page import ROOT, Exhibit, Page, Shown
from pages.ui.plan import figures, store, tables, taken, words
from pages.ui.plan.view import SIMULATED, PlanView
from pages.ui.writing import explained, published, text, written

QUESTION = marked("What serves this traffic, and for what?")


def verdict(view: PlanView) -> str:
    """The answer."""
    if not view.answer:
        return text.plain(view.problem)
    if view.unbought:
        return say("**No plan**: no chip that keeps the limits has a purchase price. The price "
                   "list under Purchase terms takes them.")  # fmt: skip
    return words.verdict(view.found, view.best, view.refuted, view.at_bound)


def head(view: PlanView) -> None:
    """The answer, what to know beside it, and its figures."""
    bound = view.stated.fidelity == "bound"
    noted = [
        *published.longer_context(view.stated.model, round(view.ask.prompt + view.ask.output)),
        *words.noted(view.found, bound=bound),
    ]
    draw.head(verdict(view), [*noted, _usual(view.best)])
    if view.best is not None:
        draw.cards(words.headline(view.best))


def _usual(best: plan.Candidate | None) -> str:
    """How far the steps of the best plan may be off, by the class of its own chip."""
    if best is None:
        return ""
    return written.steps(best.scenario) or text.plain(calibration.no_class(best.scenario))


def instead(view: PlanView) -> None:
    """Why nothing can be looked for."""
    st.markdown(verdict(view))


def price(view: PlanView) -> Shown:
    """What the limit on time per token costs."""
    return Shown(
        figures.curve(view.found, view.best),
        say(
            "USD per hour against the limit on time per token, one line for each of the cheapest "
            "chips; {best}",
            best=verdict(view),
        ),
    )


def each_chip(view: PlanView) -> Shown:
    """What each chip costs."""
    return Shown(
        figures.chips(view.found), say("The best plan of each chip by its price of an hour.")
    )


def charts(view: PlanView) -> None:
    """What the limit costs, and what each chip does; nothing where nothing has a price."""
    if not view.found.curve.cheapest(1):
        return
    with st.grid(2, min_column_width=400):
        price(view).draw("plan-curve")
        each_chip(view).draw("plan-chips")


def plans(view: PlanView) -> None:
    """The best plans, of which one may be chosen; or what keeps each chip from one."""
    if not view.found.rows:
        st.markdown(tables.every_chip(view.found))
        return
    tables.plans(view.found)
    st.caption(
        say(
            "The best of each chip, arrangement and size of a replica, at {rate}/s: the rate and "
            "its headroom. Choosing a row makes it the scenario and the service. Times are closed "
            "forms for independent arrivals.",
            rate=text.significant(view.ask.needed),
        )
    )


def onwards(view: PlanView) -> None:
    """Where the plan that is looked at leads, once the sidebar holds it."""
    one = view.looked_at
    if one is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="plan-onwards"):
        if not taken.held(view.values, one):
            st.button(say("Use the best plan"), key="plan-take", on_click=taken.take,
                      args=(one,))  # fmt: skip
            return
        for page, label in _ONWARDS.items():
            st.page_link(ROOT / "pages" / f"{page}.py", label=say(label), width="content")
        st.button(say("Pin"), icon=":material/keep:", key="plan-pin", on_click=pinned.add,
                  disabled=len(pinned.given()) >= pins.MOST)  # fmt: skip
    if taken.clipped(one):
        st.caption(say("Serving takes at most {n} replicas: fewer than this plan has.",
                       n=text.count(MOST_REPLICAS)))  # fmt: skip


# By the pages that they lead to.
_ONWARDS = {
    "serving": marked("Verify by simulation"),
    "decode": marked("Open on Decode"),
}


def every_chip(view: PlanView) -> None:
    """Each chip's best, or why it has none."""
    if not view.found.rows:
        st.caption(say("No chip has a plan: what keeps each from one stands above."))
        return
    st.markdown(tables.every_chip(view.found))


def by_size(view: PlanView) -> None:
    """The best of each chip by chips of a replica."""
    if not view.found.rows:
        st.caption(say("No chip has a plan: what keeps each from one stands above."))
        return
    sizes(view).draw("plan-sizes")


def sizes(view: PlanView) -> Shown:
    """The map of chips by chips of a replica."""
    return Shown(
        figures.sizes(view.found),
        say("Price of the best plan of each chip by chips of a replica, or why there is none."),
    )


def two_pools(view: PlanView) -> None:
    """How large two pools are."""
    st.markdown(pool_sentence(view))
    if shown := pools(view):
        shown.draw("plan-pools")


def pool_sentence(view: PlanView) -> str:
    """How large two pools are at the limit."""
    if not view.answer:
        return verdict(view)
    if view.pools is None:
        return say("No two pools keep the limit on time to the first token, or none are asked.")
    return words.pools(view.found, view.pools)


def pools(view: PlanView) -> Shown | None:
    """Chips of two pools by the limit on time per token."""
    if not view.answer or view.pools is None:
        return None
    return Shown(figures.pools(view.found, view.pools), pool_sentence(view))


def one_plan(view: PlanView) -> None:
    """The figures of the plan that is looked at."""
    if view.looked_at is None:
        st.caption(say("There is no plan to look into."))
        return
    st.markdown(words.machines(view.looked_at))
    parts(view.looked_at).draw("plan-parts")
    if view.ask.classes:
        st.markdown(tables.classes(view.looked_at))
    st.markdown(tables.chosen(view.looked_at))


def users(view: PlanView) -> None:
    """How many requests and users the chips of the plan serve."""
    st.markdown(users_sentence(view))
    if view.served is None:
        return
    if shown := rates(view):
        shown.draw("plan-users")
    st.markdown(tables.users(view.found, view.served, view.pause))
    st.caption(
        say(
            "Each limit has the layout that serves most with these chips. Users send a request, "
            "wait for its answer and pause; the pause stands under Traffic. Formula F8.19."
        )
    )


def users_sentence(view: PlanView) -> str:
    """What the chips of the plan serve."""
    if view.served is None or view.looked_at is None:
        return verdict(view)
    return words.served(view.found, view.served, view.looked_at, view.pause)


def rates(view: PlanView) -> Shown | None:
    """The highest rate by the limit on time per token."""
    if view.served is None or not (view.served.rate > 0).any():
        return None
    return Shown(figures.served(view.found, view.served), users_sentence(view))


def moved(view: PlanView) -> None:
    """What one limit, the rate or a price does to the best plan."""
    shown = tornado(view)
    if shown is None:
        st.caption(say("No plan has a price that anything could change."))
        return
    shown.draw("plan-moves")
    st.markdown(tables.moves(view.found, view.moves))
    st.caption(
        say("One figure at half and at twice what it is, the others as they are. Batches are those "
            "of the grid; limits of classes move together.")
    )  # fmt: skip


def moves_sentence(view: PlanView) -> str:
    """What changes the price of the best plan."""
    return words.moves(view.found, view.moves) if view.priced else verdict(view)


def tornado(view: PlanView) -> Shown | None:
    """Prices of the best plan as figures move."""
    if not view.priced:
        return None
    return Shown(figures.moves(view.found, view.moves), moves_sentence(view))


def parts(one: plan.Candidate) -> Shown:
    """What a token's time and a replica's memory are made of."""
    return Shown(figures.parts(one), words.parts(one))


def launch(view: PlanView) -> None:
    """The plan as commands, by engine, and a command as a scenario."""
    commands(view.looked_at)
    _paste(view)


def _paste(view: PlanView) -> None:
    """A command that somebody pastes becomes the scenario and the service."""
    given = st.text_area(
        say("Paste a launch command"),
        key="plan-pasted",
        height=110,
        max_chars=pasted.LONGEST,
        persist_state="session",
        help=say("Of vLLM, SGLang, TensorRT-LLM or llama.cpp: a shell's, or the arguments of "
                 "compose and Kubernetes. It stays in this session; the link has what it sets."),
    )  # fmt: skip
    if not given.strip():
        return
    try:
        found = pasted.read(given, view.catalogues["models"])
    except pasted.PastedError as error:
        st.warning(text.plain(str(error)))
        return
    st.markdown(words.pasted(found))
    st.button(say("Use this command"), key="plan-use-pasted", on_click=taking.use,
              args=(found.settings,))  # fmt: skip


def commands(one: plan.Candidate | None) -> None:
    """The plan as commands, by engine."""
    if one is None:
        st.caption(say("There is no plan to start."))
        return
    st.markdown(words.machines(one))
    engines = plan.engines(one)
    names = [plan.ENGINES[engine].name for engine in engines]
    for tab, engine in zip(st.tabs(names), engines, strict=True):
        with tab:
            found = plan.command(one, engine)
            for pool in found.pools:
                st.caption(words.pool(pool))
                st.code(pool.text, language="bash", wrap_lines=True)
            release = say("Flags as in release {version}.", version=found.version)
            draw.notes([release, *map(text.plain, found.left_out)])


def simulated(view: PlanView) -> bool:
    """What simulated requests make of the first plans, one more at each run."""
    rows = [*view.found.rows[:PROVED]]
    if view.looked_at and view.looked_at not in rows:
        rows.append(view.looked_at)
    if not rows:
        st.caption(say("There is no plan to simulate."))
        return False
    left = [one for one in rows if store.proof(one) is None]
    st.table(tables.proofs(rows), hide_index=True)
    st.caption(
        say(
            "Poisson arrivals at {rate}/s, the rate and its headroom; requests go to replicas in "
            "turn. A plan that breaks a limit here is none: the verdict goes to the next.",
            rate=text.significant(view.ask.needed),
        )
    )
    if left:
        with st.spinner(say("Simulating")):
            store.prove(left[0])
    return bool(left)


def formulas(view: PlanView) -> None:
    """How each figure of the plan comes about."""
    one = view.looked_at
    if one is None:
        st.caption(say("There is no plan to explain."))
        return
    entries = explanations(one)
    id = st.selectbox(
        say("Number"),
        list(entries),
        format_func=lambda id: say(entries[id].label),
        key=language.renamed("plan-explained"),
        persist_state="session",
        label_visibility="collapsed",
    )
    st.markdown(words.machines(one))
    st.markdown(say(entries[id].reading))
    explained.shown(entries[id], entries[id].build(one.scenario))


def api(view: PlanView) -> None:
    """What APIs ask for the same tokens."""
    one = view.looked_at
    offers = [offer for offer in presets.offers.values() if offer.model == view.stated.model.id]
    if one is None or not offers:
        st.caption(say("No price of an API is known here for this model."))
        return
    st.markdown(words.machines(one))
    st.markdown(tables.offers(one, offers))
    st.caption(
        say(
            "List prices on demand, nothing cached or in batches, as they were read on the day "
            "that stands there; providers differ in the formats they serve. A plan is paid for "
            "whether requests come or not: it serves up to {most}/s within its limits and "
            "headroom.",
            most=text.significant(plan.most_served(one)),
        )
    )


def chips_sentence(view: PlanView) -> str:
    """The cheapest chips."""
    return words.chips(view.found) if view.best else verdict(view)


def sizes_sentence(view: PlanView) -> str:
    """The best numbers of chips of a replica."""
    return words.sizes(view.found) if view.best else verdict(view)


def parts_sentence(view: PlanView) -> str:
    """What a token's time and a replica's memory are made of."""
    return words.parts(view.best) if view.best else verdict(view)


# Plans that are simulated unasked.
PROVED = 3

PAGE = Page(
    name="plan",
    title=marked("Plan"),
    question=QUESTION,
    view=PlanView.here,
    groups=(groups.CORE, groups.LOSSES, groups.PRICE, groups.TERMS,
            groups.PREFILL, groups.TRAFFIC,
            groups.PLAN),
    unfolded=(groups.TRAFFIC, groups.PLAN),
    unused=("n_chips", "batch", "context", "chunk", "requests", "seed", "arrivals", "burstiness",
            "samples", "turns", "system"),
    ready=lambda view: view.answer is not None,
    otherwise=instead,
    parts={"head": head, "charts": charts, "plans": plans, "onwards": onwards},
    tabs={
        marked("This plan"): one_plan,
        marked("Every chip"): every_chip,
        marked("By size"): by_size,
        marked("Two pools"): two_pools,
        marked("Users"): users,
        marked("Sensitivity"): moved,
        SIMULATED: simulated,
        marked("Launch command"): launch,
        marked("Against an API"): api,
        marked("Formulas"): formulas,
    },
    explained=("step_time", "prefill_time", "kv_per_sequence", "servers_ratio"),
    exhibits=(
        Exhibit("plan", QUESTION, verdict, lambda view: price(view) if view.answer else None),
        Exhibit("plan-chips", marked("What does each chip cost for it?"), chips_sentence,
                lambda view: each_chip(view) if view.best else None),
        Exhibit("plan-sizes", marked("How many chips to a replica?"), sizes_sentence,
                lambda view: sizes(view) if view.best else None),
        Exhibit("plan-parts", marked("What fills a token's time and the memory?"), parts_sentence,
                lambda view: parts(view.best) if view.best else None),
        Exhibit("plan-pools", marked("How large are two pools?"), pool_sentence, pools),
        Exhibit("plan-users", marked("How many users do these chips serve?"), users_sentence,
                rates),
        Exhibit("plan-moves", marked("What would change the price?"), moves_sentence, tornado),
    ),
)  # fmt: skip
