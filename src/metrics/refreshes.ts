/** What is brought up to date before each scrape, each part for itself: what cannot be read hides nothing else. */
import { refreshWaitMs } from "../limits/metrics.ts";
import type { MetricMaker } from "./metric-maker.ts";

/** One part of what is shown. */
export type Refresh = {
  /** Reads the figures and sets them. */
  readonly work: () => Promise<void>;
  /** Leaves out what the work would have set: an old figure must not look fresh. */
  readonly forget: () => Promise<void> | void;
};

/** Told of each part that could not be read. Must not throw. */
export type RefreshFailed = (of: string, error: unknown) => void;

/** Registers the counter; `of` is the code's own name of a part. */
export function createRefreshes({ counter }: MetricMaker) {
  const refreshes: ((onFailed: RefreshFailed) => Promise<void>)[] = [];
  const failures = counter(
    "metrics_refresh_failures_total",
    "Scrapes from which figures are missing because they could not be read; the log says why.",
    "of",
  );
  return {
    /** Has it done before each scrape. */
    add(of: string, { work, forget }: Refresh): void {
      failures.inc({ of }, 0);
      let running: Promise<void> | undefined;
      refreshes.push(async (onFailed) => {
        // One that still waits is waited for again: a silent database is not asked by more and more.
        running ??= work().finally(() => {
          running = undefined;
        });
        try {
          await inTime(running);
        } catch (error) {
          failures.inc({ of });
          onFailed(of, error);
          await forget();
        }
      });
    },
    /** Resolves when each part is up to date or left out; never rejects because of one. */
    run: async (onFailed: RefreshFailed) => void (await Promise.all(refreshes.map((refresh) => refresh(onFailed)))),
  };
}

async function inTime(work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${refreshWaitMs} ms`)), refreshWaitMs);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
