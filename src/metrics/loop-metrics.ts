/** Background loops as metrics: when each last did its turn, and how often one failed. */
import type { LoopWatch } from "../platform/loop.ts";
import type { MetricMaker } from "./metric-maker.ts";

// A turn of theirs lasts as long as the process or a connection, so that its age would say nothing.
const lastingLoops: ReadonlySet<string> = new Set(["outbox-notices", "event-intake"]);

type Watched = { readonly environment: string; readonly loop: string; readonly intervalMs: number; lastAt: number };

/** Registers the metrics; what it returns watches one loop, whose name is the code's own. */
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
  show("loop_interval_seconds", "How often that loop is to have a turn.", ({ intervalMs }) => intervalMs / 1_000);

  return function watchLoop(environment: string, loop: string, intervalMs: number): LoopWatch {
    const one = { environment, loop, intervalMs, lastAt: performance.now() };
    if (!lastingLoops.has(loop)) watched.push(one);
    failures.inc({ environment, loop }, 0);
    return (end) => {
      if (end === "ended") one.lastAt = performance.now();
      else failures.inc({ environment, loop });
    };
  };
}
