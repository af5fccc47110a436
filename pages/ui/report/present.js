// Keys of the presentation: right and left to go on and back, Escape to leave.

const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", Escape: "close" };

export default function ({ setTriggerValue }) {
  const listen = (event) => {
    const way = KEYS[event.key];
    // Not while somebody types or slides.
    if (!way || event.target.closest("input:not([type=radio]), textarea, select, [role=slider]")) return;
    event.preventDefault();
    event.stopPropagation();
    setTriggerValue("pressed", way);
  };
  // Before the row of slides, which would move its own mark.
  document.addEventListener("keydown", listen, true);
  return () => document.removeEventListener("keydown", listen, true);
}
