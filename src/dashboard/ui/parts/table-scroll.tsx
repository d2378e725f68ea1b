/** A table that scrolls by itself if it is wider than the screen, by keyboard too. */
import type { ReactNode } from "react";

/** A named region, so that a screen reader says what scrolls; its name differs from that of the section around it. */
export function TableScroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer (WCAG 2.1.1).
    <section className="table-scroll" aria-label={`${label} table`} tabIndex={0}>
      {children}
    </section>
  );
}
