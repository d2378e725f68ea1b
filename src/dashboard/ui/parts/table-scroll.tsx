/** A table that scrolls by itself if it is wider than the screen: by keyboard too, and with a shadow over a cut edge. */
import { type ReactNode, useCallback, useState } from "react";

// Browsers round scroll positions to fractions of a pixel.
const tolerancePx = 1;

/** Returns the edges behind which more columns lie, and whether the region scrolls in any direction. */
function measure(region: HTMLElement) {
  const { scrollLeft, clientWidth, scrollWidth, clientHeight, scrollHeight } = region;
  const start = scrollLeft > tolerancePx ? "start" : "";
  const end = scrollLeft + clientWidth < scrollWidth - tolerancePx ? "end" : "";
  return {
    more: `${start} ${end}`.trim(),
    scrolls: scrollWidth > clientWidth + tolerancePx || scrollHeight > clientHeight + tolerancePx,
  };
}

/**
 * A named region, so that a screen reader says what scrolls; its name differs from that of the section around it. It is
 * a stop of the Tab key only while it scrolls.
 */
export function TableScroll({ label, children }: { label: string; children: ReactNode }) {
  const [{ more, scrolls }, setEdges] = useState({ more: "", scrolls: false });
  const watch = useCallback((region: HTMLElement) => {
    const update = () =>
      setEdges((before) => {
        const now = measure(region);
        return now.more === before.more && now.scrolls === before.scrolls ? before : now;
      });
    const observer = new ResizeObserver(update);
    for (const element of [region, ...region.children]) observer.observe(element);
    region.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      region.removeEventListener("scroll", update);
    };
  }, []);
  return (
    <div className="table-frame" data-more={more}>
      {/* Content that scrolls must be reachable without a pointer (WCAG 2.1.1). */}
      <section className="table-scroll" aria-label={`${label} table`} ref={watch} {...(scrolls && { tabIndex: 0 })}>
        {children}
      </section>
    </div>
  );
}
