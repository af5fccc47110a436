// Keys and swipes of the presentation, and its full screen. Right and left go on and back, Escape
// leaves.

const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", Escape: "close" };
// A finger's way across that counts as a swipe [px].
const SWIPE = 60;

export default function ({ parentElement, data, setTriggerValue }) {
  const gone = new AbortController();
  const listen = (name, then) => document.addEventListener(name, then, { capture: true, passive: name !== "keydown", signal: gone.signal });
  listen("keydown", (event) => {
    const way = KEYS[event.key];
    // Not while somebody types, slides or picks.
    if (!way || event.target.closest("input:not([type=radio]), textarea, select, [role=slider], [role=listbox]")) return;
    // Before the row of slides, which would move its own mark.
    event.preventDefault();
    event.stopPropagation();
    setTriggerValue("pressed", way);
  });
  let from;
  listen("touchstart", ({ touches }) => { from = touches.length === 1 ? touches[0] : undefined; });
  listen("touchend", ({ changedTouches: [to], target }) => {
    if (!from || target.closest("input, [role=slider], [role=listbox]")) return;
    const [across, down] = [to.clientX - from.clientX, to.clientY - from.clientY];
    from = undefined;
    if (Math.abs(across) < SWIPE || Math.abs(across) < 2 * Math.abs(down)) return;
    setTriggerValue("pressed", across < 0 ? "next" : "back");
  });
  const button = parentElement.querySelector("button");
  button.textContent = data.full;
  button.onclick = () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen());
  return () => gone.abort();
}
