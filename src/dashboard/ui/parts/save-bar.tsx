/** The bar at the foot of a page with unsaved changes. */
import type { ReactNode } from "react";

/** Keeps the field that a person types in above the bar, while the bar is there and whatever its height. Returns the end of it. */
function keepClear(bar: HTMLElement): () => void {
  const page = document.documentElement;
  // The bar's distance from the foot of the window, and the same above it.
  const gapsPx = 24;
  const reveal = () => {
    const focused = document.activeElement;
    if (focused?.matches("input, textarea, select") && !bar.contains(focused))
      focused.scrollIntoView({ block: "nearest" });
  };
  const observer = new ResizeObserver(() => {
    page.style.scrollPaddingBlockEnd = `${bar.offsetHeight + gapsPx}px`;
    // The bar appears, or grows, while a person types.
    reveal();
  });
  observer.observe(bar);
  page.addEventListener("input", reveal);
  return () => {
    observer.disconnect();
    page.removeEventListener("input", reveal);
    page.style.scrollPaddingBlockEnd = "";
  };
}

/** The bar: its list of `changes`, what went wrong, and its buttons. */
export function SaveBar(props: { changes: ReactNode; refusal?: ReactNode; children: ReactNode }) {
  return (
    <section className="unsaved" ref={keepClear} aria-label="Unsaved changes">
      <div role="status">
        <strong>Not saved yet</strong>
        <ul className="small" id="unsaved-changes">
          {props.changes}
        </ul>
      </div>
      {props.refusal}
      <div className="row">{props.children}</div>
    </section>
  );
}
