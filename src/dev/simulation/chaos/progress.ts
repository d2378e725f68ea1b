/** Shows the progress of a chaos run: a bar on a terminal, a line every ten seconds elsewhere. */
import { SingleBar } from "cli-progress";
import type { Moment } from "./chaos-run.ts";

const lineEveryMs = 10_000;

/** `show` accepts every update and chooses which to print; `end` restores the terminal. */
export function createProgress(): { show: (moment: Moment) => void; end: () => void } {
  let phase: Moment["phase"] | undefined;
  const bar = new SingleBar({
    format: "{phase} [{bar}] {value}/{total} s | {words}",
    barsize: 20,
    noTTYOutput: true,
    notTTYSchedule: lineEveryMs,
    stream: process.stdout,
    hideCursor: true,
  });
  return {
    show(moment) {
      const values = { phase: moment.phase, words: wordsOf(moment) };
      if (moment.phase !== phase) {
        if (phase !== undefined) bar.stop();
        bar.start(Math.round(moment.totalS), 0, values);
        phase = moment.phase;
      }
      bar.update(Math.round(moment.elapsedS), values);
    },
    end: () => bar.stop(),
  };
}

function wordsOf({ orders, open, violations, tally }: Moment): string {
  const counted = [
    `${orders} sessions`,
    `${open ?? "?"} open`,
    `${tally.sum("kill ")} kills`,
    `${tally.sum("stop ")} stops`,
    `${tally.sum("restart ")} restarts`,
  ];
  return [...counted, ...(violations === undefined ? [] : [`${violations} not settled yet`])].join(", ");
}
