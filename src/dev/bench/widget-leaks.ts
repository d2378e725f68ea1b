/** Measures what a page still holds after a thousand mounts and unmounts of the widget. */
import type { CDPSession } from "playwright-core";
import type { WidgetHarness } from "./widget-harness.ts";

/** Counts of the objects that are left after a garbage collection. */
export type LeftBehind = {
  readonly nodes: number;
  readonly documents: number;
  readonly listeners: number;
  readonly heapKilobytes: number;
};

// The engine's caches fill and settle first.
const warmUpCycles = 20;
// Most customers leave before the form is usable; some stay.
const readyEvery = 10;

/** Mounts and unmounts; every tenth time once the form is usable. */
export async function countLeftBehind({ shop, browser }: WidgetHarness, cycles: number): Promise<LeftBehind> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const { url } = await shop.sell();
    await page.goto(`${url}?later`);
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable");
    const cycle = (times: number) =>
      page.evaluate(`(async () => {
        for (let turn = 0; turn < ${times}; turn++) {
          const widget = start();
          if (turn % ${readyEvery} === 0) await widget.ready;
          else await new Promise((resolve) => setTimeout(resolve, turn % 7));
          widget.unmount();
        }
      })()`);
    await cycle(warmUpCycles);
    const before = await holdings(session);
    await cycle(cycles);
    const after = await holdings(session);
    const more = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
    return {
      nodes: more("Nodes"),
      documents: more("Documents"),
      listeners: more("JSEventListeners"),
      heapKilobytes: Math.round(more("JSHeapUsedSize") / 1_024),
    };
  } finally {
    await context.close();
  }
}

async function holdings(session: CDPSession): Promise<Record<string, number>> {
  // Twice: objects that the first collection releases may have held others.
  for (let turn = 0; turn < 2; turn++) await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}
