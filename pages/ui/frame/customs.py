"""A model or a chip of one's own: pasted, uploaded, or given by its figures.

What is typed is read by callbacks into a short text that is bound to the link. Until it can be read
the scenario keeps what it had, and the typed text stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import streamlit as st

from calc import Model, custom, hf_config, link, purchase
from calc.chip import RATES
from calc.hf_refusals import UnknownFamilyError
from calc.words import marked, say
from pages.ui.frame import language, taking, typed
from pages.ui.frame.link import PRESETS, custom_texts, refusal
from pages.ui.writing import text
from presets import formats

_MODEL_PROBLEM = "_custom_model_problem"
_REFUSED = "_custom_model_refused"
# What most decoders are like.
COMMONEST = "llama"
_CHIP_PROBLEM = "_custom_chip_problem"


def _use_model(content: str) -> None:
    """Make a text the custom model, or say why it cannot be."""
    language.speak()
    try:
        written = custom.compact_model(content)
        _check_room("cfg", written)
    except custom.CustomError as error:
        st.session_state[_MODEL_PROBLEM] = str(error)
        _offer(content, error.__cause__)
        return
    st.session_state[_MODEL_PROBLEM] = ""
    st.session_state["cfg"] = written
    st.session_state["model"] = custom.ID
    taking.suggest("model")


def _check_room(key: str, text: str) -> None:
    """Raise a CustomError where the link has no room for a text beside its others."""
    problem = refusal({key: text})
    if problem:
        raise custom.CustomError(problem)


def use_edited(model: Model) -> None:
    """Make a model that was edited block by block the custom model.

    Raises
    ------
    CustomError
        If it is too long for a link.
    """
    written = custom.of_model(model)
    _check_room("cfg", written)
    # A control that was folded away starts with the value it is given, and would not tell the link.
    if "cfg" not in st.session_state:
        st.query_params["cfg"] = written
    st.session_state["cfg"] = written
    st.session_state[_MODEL_PROBLEM] = ""
    st.session_state["model"] = custom.ID


def _offer(content: str, refused: BaseException | None) -> None:
    """After a refusal: the families like it to read it as, and its totals as far as they show."""
    st.session_state[_REFUSED] = (content, ())
    if not isinstance(refused, UnknownFamilyError):
        return
    st.session_state[_REFUSED] = (content, refused.nearest)
    like = hf_config.read_as(content, COMMONEST)
    if like is not None:
        st.session_state["cfg-billions"] = round(like.total_params / 1e9, 3)
        st.session_state["cfg-elements"] = round(like.kv_bytes_per_token(formats["int8"]))


def _read_as(kind: str) -> None:
    content, _ = st.session_state[_REFUSED]
    language.speak()
    _use_model(hf_config.named_as(content, kind))


def _use_pasted() -> None:
    if st.session_state["cfg-pasted"].strip():
        _use_model(st.session_state["cfg-pasted"])


def _use_uploaded() -> None:
    file = st.session_state["cfg-uploaded"]
    if file is not None:
        _use_model(file.getvalue().decode("utf-8", errors="replace"))


def _use_totals() -> None:
    _use_model(
        custom.pack(
            {
                "model_type": custom.TOTALS,
                "total_params": round(1e9 * st.session_state["cfg-billions"]),
                "kv_elements_per_token": st.session_state["cfg-elements"],
            }
        )
    )


# Of the form's figures beside rates, in SI units.
_SCALES = {"memory": 1e9, "bandwidth": 1e9, "link": 1e9, "price": 1, "capital": 1, "power": 1}


def _use_chip() -> None:
    language.speak()
    given = st.session_state
    peaks = {
        rate: 1e12 * given[f"hw-{rate}"] for rate in RATES if (given.get(f"hw-{rate}") or 0) > 0
    }
    figures = {
        name: scale * given[f"hw-{name}"] for name, scale in _SCALES.items() if given[f"hw-{name}"]
    }
    content = {"name": given["hw-name"], "peaks": peaks, **figures}
    packed = custom.pack(content)
    place = given.get(_PLACE, custom.ID)
    try:
        custom.chip(packed)
        _check_room(_CHIP_KEYS[place], packed)
    except custom.CustomError as error:
        given[_CHIP_PROBLEM] = str(error)
        return
    given[_CHIP_PROBLEM] = ""
    given[_CHIP_KEYS[place]] = packed
    given["chip"] = place
    if peaks and given.get("c") not in peaks:
        # A chip of one's own computes in what its rate was given for.
        given["c"] = next(iter(peaks))


def _problem(key: str, message: str, **values: str) -> None:
    """Why what was typed cannot be used; the message has a field for the `reason`."""
    problem = st.session_state.get(key)
    if problem:
        st.warning(say(message, reason=text.plain(problem), **values))


def _bound(key: str, label: str, shown: bool) -> None:
    """The short text itself; while there is one it is always drawn, to keep it in the link."""
    if not shown:
        return
    typed.box(
        key,
        label,
        custom.LONGEST_LINK_TEXT,
        partial(
            st.text_input,
            help=say("What the link carries. Clear it to drop the custom entry."),
        ),
    )


def model_editor(there: Collection[str]) -> None:
    """Paste or upload a config.json, or give totals; `there` are the keys that the link holds."""
    with st.expander(say("Custom model"), key="custom-model", on_change="rerun") as editor:
        if editor.open:
            _model_fields()
        _bound("cfg", say("Custom model in the link"), bool(editor.open) or "cfg" in there)
        if editor.open:
            _what_was_read()


def _what_was_read() -> None:
    """Size, assumptions and published format of the custom model in use."""
    try:
        model = custom.model(st.session_state.get("cfg") or "")
    except custom.CustomError:
        return
    st.caption(
        say("Read: {model}, {n:,} parameters.", model=text.plain(model.name), n=model.total_params)
    )
    if model.assumptions:
        assumed = say("Assumed: {assumptions}.", assumptions=text.clauses(model.assumptions))
        st.caption(text.plain(assumed))
    if model.checkpoint:
        st.button(
            say("Store weights as published, {format}", format=model.checkpoint.described),
            on_click=lambda: st.session_state.update({"w": "pub"}),
        )


def _model_fields() -> None:
    st.text_area(
        say("Paste a config.json"),
        key="cfg-pasted",
        height=110,
        max_chars=hf_config.LARGEST_TEXT,
        on_change=_use_pasted,
        persist_state="session",
        help=say("As Hugging Face models carry it. Leaving the box reads it."),
    )
    st.button(say("Use this configuration"), on_click=_use_pasted)
    st.file_uploader(say("or upload it"), type="json", key="cfg-uploaded", on_change=_use_uploaded)
    _problem(
        _MODEL_PROBLEM,
        marked("This configuration cannot be used: {reason}. The one before is kept."),
    )
    _offers()
    st.number_input(
        say("or parameters (billions)"),
        0.001,
        1e5,
        30.0,
        key="cfg-billions",
        persist_state="session",
    )
    st.number_input(
        say("KV elements per token"),
        0,
        10**8,
        100_000,
        key="cfg-elements",
        persist_state="session",
        help=say("Over all layers: with an 8-bit cache, its bytes per token."),
    )
    st.button(say("Use these totals"), on_click=_use_totals)


def _offers() -> None:
    """What else a refused configuration may be read as; what was pasted stays where it is."""
    _, nearest = st.session_state.get(_REFUSED, ("", ()))
    if not st.session_state.get(_MODEL_PROBLEM) or not nearest:
        return
    with st.container(horizontal=True):
        for kind in nearest:
            st.button(say("Read it as {kind}", kind=kind), key=f"cfg-as-{kind}",
                      on_click=_read_as, args=(kind,))  # fmt: skip
    st.caption(
        say("The totals below are those of a {kind} of its sizes, where it says them.",
            kind=COMMONEST)
    )  # fmt: skip


# Key, label, largest: an empty one is not known.
_FIGURES = (
    ("hw-memory", marked("Memory (GB)"), 1e5),
    ("hw-bandwidth", marked("Bandwidth (GB/s)"), 1e7),
    ("hw-bf16", "bf16 (TFLOP/s)", 1e6),
    ("hw-fp8", "fp8 (TFLOP/s)", 1e6),
    ("hw-int8", "int8 (TFLOP/s)", 1e6),
    ("hw-fp4", "fp4 (TFLOP/s)", 1e6),
    ("hw-link", marked("Link, one way (GB/s)"), 1e5),
    ("hw-price", marked("USD per hour"), 1e4),
    ("hw-capital", marked("Purchase price (USD)"), 1e7),
    ("hw-power", marked("Power (W)"), 1e5),
)


def chip_editor(there: Collection[str]) -> None:
    """A chip by its figures; `there` are the keys that the link holds."""
    with st.expander(say("Custom chip"), key="custom-chip", on_change="rerun") as editor:
        if editor.open:
            _chip_fields()
        for id, key in _CHIP_KEYS.items():
            _bound(
                key,
                say("{chip} in the link", chip=_place(id)),
                (bool(editor.open) and id == _first()) or key in there,
            )


# Keys of the link that hold chips of one's own, by the ids of these.
_CHIP_KEYS = {text.id: text.key for text in link.TEXTS if text.catalogue == "chips"}
_PLACE = "hw-place"


def _place(id: str) -> str:
    """A place for a chip of one's own, by its number."""
    return say("Own chip {n}", n=list(_CHIP_KEYS).index(id) + 1)


def _first() -> str:
    """The place that the form writes to."""
    return str(st.session_state.get(_PLACE) or custom.ID)


def _chip_fields() -> None:
    st.selectbox(
        say("Place"),
        list(_CHIP_KEYS),
        format_func=_place,
        key=_PLACE,
        persist_state="session",
        help=say("Up to four chips of your own: pages that compare chips compare all of them."),
    )
    with st.form("custom-chip-form", border=False):
        name = st.text_input(
            say("Name"), say("Custom chip"), key="hw-name", max_chars=60, persist_state="session"
        )
        columns = st.columns(2)
        for i, (key, label, largest) in enumerate(_FIGURES):
            columns[i % 2].number_input(
                say(label), 0.0, largest, None, format="%g", key=key, persist_state="session"
            )
        st.caption(say("Rates are dense. An empty cell is not known."))
        st.form_submit_button(say("Use this chip"), on_click=_use_chip)
    if name:
        _problem(
            _CHIP_PROBLEM,
            marked("This chip, {chip}, cannot be used: {reason}. The one before is kept."),
            chip=text.plain(name),
        )
    else:
        _problem(
            _CHIP_PROBLEM, marked("This chip cannot be used: {reason}. The one before is kept.")
        )


WEIGHTS = "pq"


def weights() -> None:
    """The two distributions of the acceptance bench, as the link carries them."""
    typed.box(
        WEIGHTS,
        say("Bench weights"),
        500,
        partial(
            st.text_input,
            placeholder="0.5,0.3,0.2;0.6,0.3,0.1",
            help=say("Of target and draft in the acceptance bench; empty takes its first example."),
        ),
    )


def prices() -> None:
    """A price list of one's own, as the link carries it."""
    key = link.PRICES
    typed.box(
        key,
        say("Price list"),
        purchase.LONGEST,
        partial(
            st.text_area,
            height=96,
            placeholder=say("such as {one}", one="h100-sxm 2.49; b200 own 40000 1000 W"),
            help=say("One chip a line: its id or name, and USD an hour; or own and its purchase "
                     "price in USD. Its power may follow. It goes before printed prices on all "
                     "pages."),
        ),
    )  # fmt: skip
    problem = link.with_custom(PRESETS, custom_texts())[1].get(key)
    if problem:
        st.warning(say("This price list is {reason}: printed prices are used.", reason=problem))


EDITORS: Mapping[str, Callable[[Collection[str]], None]] = {
    "Model": model_editor,
    "Hardware": chip_editor,
}
