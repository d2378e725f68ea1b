/** Formats the verdict of a scale run as a table. PURE. */
import type { ScaleVerdict } from "./scale-run.ts";

// Enough to see a common cause.
const shownMax = 10;

export function writeScaleReport(verdict: ScaleVerdict): string {
  const { options, repeated, violations, latencyMs, kept } = verdict;
  const { deadPercent, workers, killEverySeconds, natsServers } = options;
  const rows = [
    ["events", `${verdict.events}, two for each session`],
    ["endpoints", `${verdict.endpoints}, ${deadPercent} % of them dead`],
    ["workers, nats-servers", `${workers}, ${natsServers}`],
    ["SIGKILL", killEverySeconds === undefined ? "none" : `${verdict.kills}, one every ${killEverySeconds} s`],
    ["for healthy endpoints", `${verdict.wanted} webhooks`],
    ["received", String(verdict.received)],
    ["lost", String(verdict.lost)],
    [
      "received again",
      `${repeated.byKill} because the worker was killed, ${repeated.byLateAnswer} because the answer was too late`,
    ],
    ...kept.map(({ manner, deliveries, attempts }) => [
      `kept, ${manner}`,
      `${deliveries} webhooks after ${attempts} attempts`,
    ]),
    ["duration", `${verdict.tookSeconds.toFixed(0)} s, ${verdict.deliveriesPerSecond.toFixed(0)} webhooks/s`],
    ["commit to arrival", `p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms; workers are always busy`],
    ["violations", String(violations.length)],
  ] as const;
  const width = Math.max(...rows.map(([label]) => label!.length));
  const table = rows.map(([label, value]) => `  ${label!.padEnd(width)}  ${value}`);
  const shown = violations.slice(0, shownMax).map((violation) => `  ${violation}`);
  const rest = violations.length > shownMax ? [`  and ${violations.length - shownMax} more`] : [];
  return [...table, "", ...(violations.length === 0 ? ["Nothing is wrong."] : [...shown, ...rest])].join("\n");
}
