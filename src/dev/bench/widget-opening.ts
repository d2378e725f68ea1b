/** Measures the time from mount to a visible form, layout shifts and blocking tasks, without a cache. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchFullBrowser } from "../testing/browser.ts";
import type { WidgetHarness } from "./widget-harness.ts";

/** An opening; times count from the call of mount. */
export type Opening = {
  /** The card frame's first contentful paint. */
  readonly visibleMs: number;
  /** Chromium's score, of page and frame together. */
  readonly layoutShift: number;
  /** From a trace: tasks of page and frame with over 50 ms of processor time; other processes' time is excluded. */
  readonly longTasks: number | undefined;
};

/** The machine and the connection of an opening; a trace itself takes time, so it is a separate measurement. */
export type Conditions = "as it is" | "traced" | "slow phone";

// 4 × slower, 1.6 Mb/s down, 150 ms: Lighthouse's slow phone (its "mobile" throttling, applied by DevTools).
const slowCpuRate = 4;
const slowLine = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
// Runs the frame in the page's own process: throttling the page throttles the frame with it.
const oneProcess = ["--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process"];

const watch = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
    if (!entry.hadRecentInput) layoutShift += entry.value;
  })).observe({ type: "layout-shift", buffered: true });
`;

/** Opens the form this many times, each time in a fresh browser profile. */
export async function measureOpenings(
  harness: WidgetHarness,
  { conditions, times, onDone }: { conditions: Conditions; times: number; onDone: () => void },
): Promise<Opening[]> {
  const browser = conditions === "slow phone" ? await launchFullBrowser(oneProcess) : harness.browser;
  const openings: Opening[] = [];
  try {
    for (let turn = 0; turn < times; turn++) {
      openings.push(await measureOpening(harness, browser, conditions));
      onDone();
    }
  } finally {
    if (browser !== harness.browser) await browser.close();
  }
  return openings;
}

async function measureOpening({ shop }: WidgetHarness, browser: Browser, conditions: Conditions): Promise<Opening> {
  const context = await browser.newContext();
  try {
    await context.addInitScript(watch);
    const page = await context.newPage();
    const { url } = await shop.sell();
    await page.goto(`${url}?later`);
    if (conditions === "slow phone") await slowDown(context, page);
    if (conditions === "traced")
      await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
    const mountedAt = await page.evaluate<number>("(widget = start(), performance.timeOrigin + performance.now())");
    await page.evaluate("widget.ready.then(() => new Promise(requestAnimationFrame)).then(() => {})");
    const frame = page.frames().find((one) => one.parentFrame() !== null)!;
    const visibleAt = await frame.evaluate<number>(`new Promise((resolve) => new PerformanceObserver((list) => {
      const [paint] = list.getEntriesByName("first-contentful-paint");
      if (paint) resolve(performance.timeOrigin + paint.startTime);
    }).observe({ type: "paint", buffered: true }))`);
    const trace = conditions === "traced" ? await browser.stopTracing() : undefined;
    const shifts = await Promise.all(page.frames().map((one) => one.evaluate<number>("layoutShift")));
    return {
      visibleMs: visibleAt - mountedAt,
      layoutShift: shifts.reduce((sum, shift) => sum + shift),
      longTasks: trace && countLongTasks(trace),
    };
  } finally {
    await context.close();
  }
}

type TraceEvent = { readonly name: string; readonly tdur?: number };

// Chromium's threshold for a long task.
const longTaskMicroseconds = 50_000;

/** Counts by processor time: on a busy machine every task is long by wall-clock time. */
function countLongTasks(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString("utf8")) as { traceEvents: TraceEvent[] };
  const tasks = traceEvents.filter(({ name, tdur }) => name === "RunTask" && tdur !== undefined);
  if (tasks.length === 0) throw new Error("the trace has no tasks with their processor time");
  return tasks.filter(({ tdur = 0 }) => tdur > longTaskMicroseconds).length;
}

async function slowDown(context: BrowserContext, page: Page): Promise<void> {
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", slowLine);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowCpuRate });
}
