/** Updates before each scrape, each part separately: a part that cannot be read hides no other. */
import type { MetricMaker } from "./metric-maker.ts";

// Longest wait of a scrape for one database: longer than for a connection, so that its error is logged, and below the
// scrape's own 10 s.
const refreshWaitMs = 6_000;

export type Refresh = {
  readonly work: () => Promise<void>;
  /** Removes the figures that the work would have set: an old figure must not look fresh. */
  readonly forget: () => Promise<void> | void;
};

/** Receives each part that could not be read. Must not throw. */
export type RefreshFailed = (of: string, error: unknown) => void;

/** Registers the counter; `of` is the name of a part in the code. */
export function createRefreshes({ counter }: MetricMaker) {
  const refreshes: ((onFailed: RefreshFailed) => Promise<void>)[] = [];
  const failures = counter(
    "metrics_refresh_failures_total",
    "Scrapes that lack figures because these could not be read; the log says why.",
    "of",
  );
  return {
    /** Adds a part to update before each scrape. */
    add(of: string, { work, forget }: Refresh): void {
      failures.inc({ of }, 0);
      let running: Promise<void> | undefined;
      refreshes.push(async (onFailed) => {
        // A running update is awaited again, so that a silent database does not get more and more queries.
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
    /** Resolves when each part is updated or omitted; never rejects because of one. */
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
