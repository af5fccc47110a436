// Keys of the presentation: right and left to go on and back, Escape to leave.

const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", Escape: "close" };

export default function ({ setTriggerValue }) {
  const listen = (event) => {
    const way = KEYS[event.key];
    // Not while somebody types, or moves within a control that has arrows of its own.
    if (!way || event.target.closest("input, textarea, select, [role=radiogroup], [role=slider]")) return;
    event.preventDefault();
    setTriggerValue("pressed", way);
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
}
