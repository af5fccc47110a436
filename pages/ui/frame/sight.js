// Tells whether what stands behind it is in sight, or nearly so, and asks for it to be drawn again
// when everybody has rested. Meanwhile it is of an earlier scenario: paper leaves it out. Constant
// code.

// It is drawn this far before somebody gets there.
const NEARLY = "200px";
// A moment for whoever scrolls past, and a rest that nobody who moves a control takes [ms].
const MOMENT = 100;
const REST = 3000;

const app = () => document.querySelector("[data-testid=stApp]");
const idle = () => app().dataset.testScriptState === "notRunning";

// A run that drew it ends once after; any other is one more.
function note(mark, runs) {
  mark.runs = runs;
  const stale = runs > 1;
  mark.closest("[class*=st-key-below]")?.classList.toggle("ledger-stale", stale);
  clearTimeout(mark.rest);
  if (stale) mark.rest = setTimeout(() => mark.isConnected && mark.tell("late"), REST);
}

// Who is quicker than this script has moved a control before anything was counted: once, when it
// has come.
let counting = false;

function missed() {
  if (counting) return 0;
  counting = true;
  const [opened] = performance.getEntriesByType("navigation");
  return opened?.name === location.href ? 0 : 1;
}

function watch(mark) {
  const sights = new IntersectionObserver(([sight]) => {
    clearTimeout(mark.later);
    mark.later = setTimeout(() => {
      if (sight.isIntersecting === mark.near) return;
      mark.near = sight.isIntersecting;
      mark.tell(mark.near ? "near" : "far");
    }, MOMENT);
  }, { root: mark.closest("[data-testid=stMain]"), rootMargin: `1000000px 0px ${NEARLY} 0px` });
  sights.observe(mark);
  const runs = new MutationObserver(() => idle() && note(mark, mark.runs + 1));
  runs.observe(app(), { attributeFilter: ["data-test-script-state"] });
  return () => {
    sights.disconnect();
    runs.disconnect();
    clearTimeout(mark.later);
    clearTimeout(mark.rest);
  };
}

export default function ({ parentElement, data, setTriggerValue }) {
  const mark = parentElement.querySelector(".ledger-fold");
  mark.tell = (what) => setTriggerValue("told", what);
  mark.near = data.near;
  note(mark, (idle() ? 1 : 0) + missed());
  mark.gone ??= watch(mark);
  return () => {
    // Streamlit also calls this when newer data arrives.
    if (!parentElement.isConnected) mark.gone();
  };
}
