// A box to search a catalogue in: words in any order, found in names and other spellings.

// "deepseek r1", "DeepSeek-R1" and "R1 deepseek" are the same words.
function words(text) {
  return text.toLowerCase().normalize("NFKD").replace(/([a-z])(?=\d)|(\d)(?=[a-z])/g, "$1$2 ").split(/[^\p{L}\p{N}.]+/u).filter(Boolean);
}

function squeezed(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}.]+/gu, "");
}

// Each word of what is typed begins a word of the item, or stands in it with all gaps closed.
function rank(item, typed) {
  let rank = 0;
  for (const word of typed) {
    if (item.words.includes(word)) rank += 3;
    else if (item.words.some((one) => one.startsWith(word))) rank += 2;
    else if (item.whole.includes(word)) rank += 1;
    else return 0;
  }
  return rank + (item.named ? 0.5 : 0);
}

function found(host) {
  const typed = words(host.input.value);
  if (!host.typing || !typed.length) return host.items;
  const best = host.items.map((item) => [rank(item, typed), item]).filter(([rank]) => rank > 0);
  const top = Math.max(0, ...best.map(([rank]) => rank));
  // Within a family the catalogue's order stays; what matches whole words goes first.
  return [...best.filter(([rank]) => rank === top), ...best.filter(([rank]) => rank < top)].map(([, item]) => item);
}

function open(host) {
  const { list, input } = host;
  const shown = found(host);
  const rows = [];
  let family;
  for (const item of shown) {
    if (item.family !== family) {
      family = item.family;
      const head = document.createElement("li");
      head.role = "presentation";
      head.className = "ledger-family";
      head.textContent = family;
      rows.push(head);
    }
    rows.push(item.row);
    item.row.setAttribute("aria-selected", String(item.id === host.value));
  }
  if (!shown.length) {
    const none = document.createElement("li");
    none.role = "presentation";
    none.className = "ledger-family";
    none.textContent = host.none;
    rows.push(none);
  }
  list.replaceChildren(...rows);
  const { left, bottom, top, width } = input.getBoundingClientRect();
  const below = innerHeight - bottom > Math.min(320, top);
  Object.assign(list.style, {
    left: `${left}px`, minWidth: `${width}px`, maxHeight: `${Math.min(360, (below ? innerHeight - bottom : top) - 12)}px`,
    top: below ? `${bottom + 2}px` : "", bottom: below ? "" : `${innerHeight - top + 2}px`,
  });
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  host.shown = shown;
  mark(host, host.typing ? 0 : Math.max(0, shown.findIndex((item) => item.id === host.value)));
}

function mark(host, at) {
  host.shown[host.at]?.row.classList.remove("ledger-marked");
  host.at = at;
  const row = host.shown[at]?.row;
  row?.classList.add("ledger-marked");
  row?.scrollIntoView({ block: "nearest" });
  if (row) host.input.setAttribute("aria-activedescendant", row.id);
  else host.input.removeAttribute("aria-activedescendant");
}

function close(host) {
  host.list.hidden = true;
  host.typing = false;
  host.input.setAttribute("aria-expanded", "false");
  host.input.removeAttribute("aria-activedescendant");
  host.input.value = host.items.find((item) => item.id === host.value)?.name ?? "";
}

function pick(host, item) {
  if (item && item.id !== host.value) {
    host.value = item.id;
    host.tell("picked", item.id);
  }
  close(host);
}

function listen(host) {
  const { input, list } = host;
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => list.hidden && open(host));
  input.addEventListener("input", () => {
    host.typing = true;
    open(host);
  });
  input.addEventListener("blur", () => close(host));
  input.addEventListener("keydown", (event) => {
    const last = (host.shown?.length ?? 0) - 1;
    if (event.key === "Escape" && !list.hidden) close(host);
    else if (event.key === "Enter" && !list.hidden) pick(host, host.shown[host.at]);
    else if (event.key === "ArrowDown") list.hidden ? open(host) : mark(host, Math.min(host.at + 1, last));
    else if (event.key === "ArrowUp" && !list.hidden) mark(host, Math.max(host.at - 1, 0));
    else return;
    event.preventDefault();
  });
  // Before the box loses the focus.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", ({ target }) => {
    const item = host.shown.find(({ row }) => row === target.closest("[role=option]"));
    if (item) pick(host, item);
  });
  const away = (event) => !list.hidden && !list.contains(event.target) && close(host);
  addEventListener("scroll", away, true);
  return () => removeEventListener("scroll", away, true);
}

function fill(host, data) {
  const text = data.items + JSON.stringify(data.extra);
  if (host.text === text) return;
  host.text = text;
  host.items = [...data.extra, ...JSON.parse(data.items)].map(([family, id, name, beside, also], i) => {
    const row = document.createElement("li");
    row.role = "option";
    row.id = `${data.key}-${i}`;
    const aside = document.createElement("small");
    aside.textContent = beside;
    row.append(name, aside);
    const all = `${name} ${id} ${also}`;
    return { family, id, name, row, words: words(all), whole: `${squeezed(name)} ${squeezed(all)}`, named: words(name).length < 4 };
  });
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.querySelector(".ledger-picker");
  host.input = host.querySelector("input");
  host.list = host.querySelector("ul");
  host.tell = setTriggerValue;
  host.none = data.none;
  host.value = data.value;
  host.list.id = `${data.key}-list`;
  host.input.setAttribute("aria-controls", host.list.id);
  host.input.setAttribute("aria-label", data.label);
  host.querySelector("span").textContent = data.label;
  host.querySelector("label").title = data.help;
  fill(host, data);
  host.gone ??= listen(host);
  if (host.list.hidden) close(host);
  return () => {
    if (parentElement.isConnected) return;
    host.gone();
    host.gone = undefined;
  };
}
