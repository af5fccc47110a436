// What Streamlit's frame leaves to be wished for: a way past the sidebar for keys, a place for them
// when what they pressed is gone, and a drawer on phones that says what it is and closes when it has
// done its work. Constant code.

const query = (selector, within = document) => within.querySelector(selector);
const NARROW = matchMedia("(max-width: 767px)");

// First of all that keys reach: to the answer, and to the other pages.
function skips(data) {
  const nav = document.createElement("nav");
  nav.className = "ledger-skips";
  nav.setAttribute("aria-label", data.skips);
  const ways = [[data.toAnswer, "[data-testid=stMain] h1"], [data.toPages, "[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]"]];
  for (const [label, selector] of ways) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.onclick = () => {
      const goal = query(selector);
      if (!goal) return;
      if (goal.tagName === "H1") goal.tabIndex = -1;
      goal.focus();
      goal.scrollIntoView({ block: "nearest" });
    };
    nav.append(button);
  }
  return nav;
}

// The drawer's handle: an icon alone is no name.
function nameDrawer(label) {
  const handle = query("[data-testid=stExpandSidebarButton]");
  if (handle && handle.dataset.ledger !== label) {
    handle.dataset.ledger = label;
    handle.setAttribute("aria-label", label);
  }
}

// The pages that the navigation has no room for: Streamlit counts them in English. React keeps its
// text nodes, so their words are changed and not the nodes.
function nameMore(message) {
  for (const menu of document.querySelectorAll("[data-testid=stTopNavSection]")) {
    const walker = document.createTreeWalker(menu, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) if (/\d|more/.test(walker.currentNode.nodeValue)) nodes.push(walker.currentNode);
    const number = nodes[0]?.nodeValue.match(/\d+/)?.[0];
    if (!number) continue;
    const words = message.replace("{n}", number);
    if (nodes[0].nodeValue !== words && nodes.map((node) => node.nodeValue).join("") !== words) {
      nodes.forEach((node, i) => { node.nodeValue = i ? "" : words; });
    }
  }
}

// Formulas and files that are larger than their place scroll: keys must reach them.
function reachScrolled() {
  for (const shown of document.querySelectorAll(":is(.katex-display, pre):not([tabindex])")) {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = shown;
    if (scrollWidth > clientWidth || scrollHeight > clientHeight) shown.tabIndex = 0;
  }
}

// Streamlit's place for files has a name, and says that it is nothing.
function nameDropzones() {
  for (const zone of document.querySelectorAll("[data-testid=stFileUploaderDropzone][role=presentation]")) {
    zone.setAttribute("role", "group");
  }
}

function closeDrawer() {
  query("[data-testid=stSidebarCollapseButton] button")?.click();
}

const REACHED = "input, textarea, button:not(:disabled), [role=slider], [tabindex='0']";

// A button that a press removes or switches off takes the focus with it: it goes to what stands in
// its place, else to the answer, as the next Tab should not start at the top of the page.
function keepFocus(app, signal) {
  let held = null;
  document.addEventListener("keydown", () => {
    const element = document.activeElement;
    const keyed = [...(element?.closest("[class*=st-key-]")?.classList ?? [])];
    const name = keyed.find((one) => one.startsWith("st-key-"));
    held = element === document.body ? null : { element, name };
  }, { signal, capture: true });
  document.addEventListener("pointerdown", () => { held = null; }, { signal, capture: true });
  const settle = () => {
    if (!held || document.activeElement !== document.body) return;
    if (held.element.isConnected && !held.element.disabled) return;
    const place = held.name && query(`.${CSS.escape(held.name)}`);
    let next = place && query(REACHED, place);
    if (!next) {
      next = query("[data-testid=stMain] h1");
      if (next) next.tabIndex = -1;
    }
    held = null;
    next?.focus({ preventScroll: true });
  };
  // Streamlit clears away a moment after the run.
  const watch = new MutationObserver(() => setTimeout(settle, 150));
  watch.observe(app, { attributeFilter: ["data-test-script-state"] });
  signal.addEventListener("abort", () => watch.disconnect());
}

// A server that comes back, or another in its place, knows no piece of the page by name, and drops
// what is sent to one. It is asked for all of the page, and once more for what moved meanwhile.
const AGAIN = 1500;

function catchUp(app, tell, signal) {
  const connected = () => app.dataset.testConnectionState === "CONNECTED";
  let before = connected();
  const watch = new MutationObserver(() => {
    const now = connected();
    if (now && !before) {
      tell("at once");
      setTimeout(tell, AGAIN, "meanwhile");
    }
    before = now;
  });
  watch.observe(app, { attributeFilter: ["data-test-connection-state"] });
  signal.addEventListener("abort", () => watch.disconnect());
}

export default function ({ parentElement, data, setTriggerValue }) {
  const gone = new AbortController();
  const app = query("[data-testid=stApp]");
  keepFocus(app, gone.signal);
  catchUp(app, (when) => setTriggerValue("back", when), gone.signal);
  query(".ledger-skips")?.remove();
  app.prepend(skips(data));
  nameDrawer(data.drawer);
  nameMore(data.more);
  const watch = setInterval(() => {
    nameDrawer(data.drawer);
    nameMore(data.more);
    reachScrolled();
    nameDropzones();
  }, 700);
  document.addEventListener("click", ({ target }) => {
    if (NARROW.matches && target.closest("[data-testid=stSidebar] a[data-testid=stSidebarNavLink], [data-testid=stSidebar] [data-testid=stTopNavLink]")) {
      setTimeout(closeDrawer, 50);
    }
  }, { signal: gone.signal, capture: true });
  return () => {
    gone.abort();
    clearInterval(watch);
    if (!parentElement.isConnected) query(".ledger-skips")?.remove();
  };
}
