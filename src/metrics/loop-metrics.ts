/** Background loops as metrics: the time of each one's last turn, and the number of failures. */
import type { LoopObserver } from "../platform/loop.ts";
import type { MetricMaker } from "./metric-maker.ts";

// Their turns last as long as the process or a connection, so that the age of the last turn would mean nothing.
const lastingLoops: ReadonlySet<string> = new Set(["event-intake"]);

type Watched = { readonly environment: string; readonly loop: string; readonly intervalMs: number; lastAt: number };

/** Registers the metrics; returns a function that observes one loop, under the name that the code gives it. */
export function createLoopMetrics({ collected, counter }: MetricMaker) {
  const watched: Watched[] = [];
  const failures = counter(
    "loop_failures_total",
    "Turns of a background loop that failed; the log says why.",
    "environment",
    "loop",
  );
  const show = (name: string, help: string, read: (one: Watched) => number) =>
    collected(name, help, ["environment", "loop"], () =>
      watched.map((one) => ({ labels: { environment: one.environment, loop: one.loop }, value: read(one) })),
    );
  show(
    "loop_turn_age_seconds",
    "Time since a background loop of this process last ended a turn without an error.",
    ({ lastAt }) => (performance.now() - lastAt) / 1_000,
  );
  show("loop_interval_seconds", "Interval at which that loop runs.", ({ intervalMs }) => intervalMs / 1_000);

  return function observeLoop(environment: string, loop: string, intervalMs: number): LoopObserver {
    const one = { environment, loop, intervalMs, lastAt: performance.now() };
    if (!lastingLoops.has(loop)) watched.push(one);
    failures.inc({ environment, loop }, 0);
    return (end) => {
      if (end === "ended") one.lastAt = performance.now();
      else failures.inc({ environment, loop });
    };
  };
}
