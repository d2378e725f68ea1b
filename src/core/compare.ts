/** The hourly comparison with the gateways: reads what they have on record of each attempt and acts on what differs. */
import { comparisonConcurrency } from "../limits.ts";
import { compareRecords, type TheirRecord, type Verdict } from "./compare-records.ts";
import {
  type ComparedAttempt,
  finishRunIfCounted,
  isUnchanged,
  loadSlice,
  openRunIfDue,
  recordSlice,
  takeSlice,
} from "./comparison-runs.ts";
import type { Core } from "./core.ts";
import { readRecord } from "./gateway-steps.ts";
import { recordStray } from "./stray-holds.ts";
import { openWorkItem, resolveWorkItem } from "./work-items.ts";

/**
 * Compares one slice of the pass that is due; true when there may be another. A slice that `closing` interrupts is
 * compared again once its lease has lapsed, which does no harm.
 */
export async function compareOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  await openRunIfDue(core);
  const slice = await takeSlice(core);
  if (slice !== undefined) {
    const attempts = await loadSlice(core.database, slice);
    const outcomes: Outcome[] = [];
    for (let start = 0; start < attempts.length; start += comparisonConcurrency) {
      if (closing?.aborted) return false;
      const some = attempts.slice(start, start + comparisonConcurrency);
      outcomes.push(...(await Promise.all(some.map((attempt) => compareOrSkip(core, attempt)))));
    }
    const count = (isCounted: (outcome: Outcome) => boolean) => outcomes.filter(isCounted).length;
    await recordSlice(core.database, slice, {
      read: count(({ seen }) => seen === "read"),
      byNotices: count(({ seen }) => seen === "notices"),
      couldNotTell: count(({ seen }) => seen === "nothing"),
      mismatches: count(({ found }) => found === "mismatch"),
      strays: count(({ found }) => found === "stray"),
    });
  }
  await finishRunIfCounted(core.database);
  return slice !== undefined;
}

type Outcome = { readonly seen: "read" | "notices" | "nothing"; readonly found?: Verdict["type"] };

/** One attempt that cannot be compared holds up none of the others; the next pass has it again. */
async function compareOrSkip(core: Core, attempt: ComparedAttempt): Promise<Outcome> {
  return compareAttempt(core, attempt).catch((error: unknown) => {
    core.log.error({ err: error, attemptId: attempt.id }, "an attempt could not be compared");
    return { seen: "nothing" } as const;
  });
}

async function compareAttempt(core: Core, attempt: ComparedAttempt): Promise<Outcome> {
  // Under our reference alone: what there is beside the authorization that we know of is what is looked for.
  const found = await readRecord(core, { ...attempt, gatewayReference: null });
  const isUnfound = found.answer.type === "cannotTell" && found.answer.isUnfound && attempt.gatewayReference !== null;
  // A gateway that finds nothing by our reference (PayPal), or not yet, is asked for the one that we know of. One that
  // failed is asked again an hour later: what we know of is not all that there may be.
  const theirs = isUnfound ? await readRecord(core, attempt) : found;
  const verdict = compareRecords(attempt, theirs);
  if (verdict.type === "cannotTell" || !(await isUnchanged(core.database, attempt))) return { seen: "nothing" };
  // That the one we know of agrees says nothing of another one beside it, which the open row may be about.
  if (verdict.type !== "agree" || !isUnfound) await actOn(core, attempt, verdict, theirs.source);
  return { seen: theirs.source, found: verdict.type };
}

async function actOn(
  core: Core,
  { sessionId, id: attemptId, hasMismatch }: ComparedAttempt,
  verdict: Verdict,
  source: TheirRecord["source"],
): Promise<void> {
  const mismatch = { kind: "RECORD_MISMATCH", sessionId, attemptId } as const;
  if (verdict.type === "mismatch") {
    await openWorkItem(core.database, core, { ...mismatch, detail: verdict.detail });
  } else if (verdict.type === "stray") {
    const stray = { sessionId, attemptId, gatewayReference: verdict.gatewayReference };
    await recordStray(core, stray, source === "read" ? "comparison" : "notice");
  } else if (verdict.type === "agree" && hasMismatch) {
    await resolveWorkItem(core.database, mismatch);
  }
}
