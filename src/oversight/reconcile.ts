/** The hourly reconciliation with the gateways: reads their record of each attempt and acts on differences. */

import type { Core } from "../core/core.ts";
import { reconcileRecords, type TheirRecord, type Verdict } from "../core/decide/reconcile-records.ts";
import { CircuitBreaker } from "../core/execute/circuit-breaker.ts";
import { readRecord, unbound } from "../core/execute/gateway-calls.ts";
import { wakeSession } from "../core/record/lease.ts";
import { openWorkItem, resolveWorkItem } from "../core/record/work-items.ts";
import { reconciliationConcurrency } from "../limits.ts";
import { confirmCaptures } from "./confirm-captures.ts";
import { recordOrphan } from "./orphaned-authorizations.ts";
import {
  finishRunIfCounted,
  isUnchanged,
  loadSlice,
  openRunIfDue,
  type ReconciledAttempt,
  recordSlice,
  takeSlice,
} from "./reconciliation-runs.ts";

/**
 * Reconciles one slice of the pass that is due. Returns true when there may be another. A slice that `closing`
 * interrupts is reconciled again once its lease has lapsed, which is harmless. `readings` knows the connections that do not
 * answer: their attempts are left to the next pass, so that a silent gateway does not delay this one by ten seconds for
 * every five attempts.
 */
export async function reconcileOnce(
  core: Core,
  closing?: AbortSignal,
  readings = new CircuitBreaker(),
): Promise<boolean> {
  if (await openRunIfDue(core)) await confirmCaptures(core, closing, readings);
  const slice = await takeSlice(core);
  if (slice !== undefined) {
    const attempts = await loadSlice(core.database, slice);
    const outcomes: Outcome[] = [];
    for (let start = 0; start < attempts.length; start += reconciliationConcurrency) {
      if (closing?.aborted) return false;
      const some = attempts.slice(start, start + reconciliationConcurrency);
      outcomes.push(...(await Promise.all(some.map((attempt) => reconcileOrSkip(core, attempt, readings)))));
    }
    const count = (isCounted: (outcome: Outcome) => boolean) => outcomes.filter(isCounted).length;
    await recordSlice(core.database, slice, {
      read: count(({ seen }) => seen === "read"),
      byNotifications: count(({ seen }) => seen === "notifications"),
      inconclusive: count(({ seen }) => seen === "nothing"),
      mismatches: count(({ found }) => found === "mismatch"),
      orphans: count(({ found }) => found === "orphan"),
    });
  }
  await finishRunIfCounted(core.database);
  return slice !== undefined;
}

type Outcome = { readonly seen: "read" | "notifications" | "nothing"; readonly found?: Verdict["type"] };

/** Reconciles one attempt. An attempt that fails does not block the others; the next pass contains it again. */
async function reconcileOrSkip(core: Core, attempt: ReconciledAttempt, readings: CircuitBreaker): Promise<Outcome> {
  if (readings.isFailing(attempt.connectionId, core.runtime.now())) return { seen: "nothing" };
  return reconcileAttempt(core, attempt, readings).catch((error: unknown) => {
    core.log.error({ err: error, attemptId: attempt.id }, "an attempt could not be reconciled");
    return { seen: "nothing" } as const;
  });
}

async function reconcileAttempt(core: Core, attempt: ReconciledAttempt, readings: CircuitBreaker): Promise<Outcome> {
  // Reads by our reference alone, to find what exists besides the known authorization.
  const found = await readRecord(core, { ...attempt, gatewayReference: null });
  recordReading(core, attempt, found, readings);
  const isUnfound = found.answer.type === "inconclusive" && found.answer.isUnfound && attempt.gatewayReference !== null;
  // If a gateway finds nothing by our reference (PayPal), or not yet, the known authorization is read. A gateway that
  // failed is read again an hour later: there may be more authorizations than the known one.
  const theirs = isUnfound ? await readRecord(core, attempt) : found;
  const verdict = reconcileRecords(attempt, theirs);
  if (verdict.type === "inconclusive" || !(await isUnchanged(core.database, attempt))) return { seen: "nothing" };
  // Agreement of the one we know of says nothing about another one besides it, which the open row may be about. Nor
  // does one notification that agrees: those that differ are still there.
  const settles = theirs.source === "read" && !isUnfound;
  if (verdict.type !== "agree" || settles) await actOn(core, attempt, verdict, theirs.source);
  return { seen: theirs.source, found: verdict.type };
}

/** Records whether the gateway answered. Notifications that prove nothing, and attempts without credentials, call no gateway. */
function recordReading(core: Core, attempt: ReconciledAttempt, found: TheirRecord, readings: CircuitBreaker): void {
  const { answer, source } = found;
  if (source !== "read" || (answer.type === "inconclusive" && answer.reason === unbound)) return;
  const isSilent = answer.type === "inconclusive" && !answer.isUnfound;
  readings.record(attempt.connectionId, isSilent ? "failed" : "answered", core.runtime.now());
}

async function actOn(
  core: Core,
  { sessionId, id: attemptId, hasMismatch }: ReconciledAttempt,
  verdict: Verdict,
  source: TheirRecord["source"],
): Promise<void> {
  const mismatch = { kind: "RECORD_MISMATCH", sessionId, attemptId } as const;
  if (verdict.type === "mismatch") {
    await openWorkItem(core.database, core, { ...mismatch, detail: verdict.detail });
  } else if (verdict.type === "orphan") {
    const orphan = { sessionId, attemptId, gatewayReference: verdict.gatewayReference };
    await recordOrphan(core, orphan, source === "read" ? "reconciliation" : "notification");
  } else if (verdict.type === "lookAtHold") {
    await wakeSession(core.database, sessionId);
  } else if (verdict.type === "agree" && hasMismatch) {
    await resolveWorkItem(core.database, mismatch);
  }
}
