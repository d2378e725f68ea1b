/** Captures that have been ordered: the flow sends them and settles the session when they are acknowledged. */
import type { CaptureAnswer, Refused } from "../gateways/connector.ts";
import type { Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { recordCaptured, recordCaptureRefused, recordRepeat } from "./attempts.ts";
import type { Attempt } from "./entities.ts";
import { commitAndReload, lockAndDecide, type Reloaded, repeatAt, type Work } from "./flow-steps.ts";
import * as gateway from "./gateway-calls.ts";
import { actOnReports, captureReportsOf, sendForCaptureReports } from "./late-captures.ts";
import { lockSession, renewLease } from "./lease.ts";
import { settleSession } from "./settle.ts";

/**
 * Sends the ordered capture and settles the session when it is acknowledged. Without an acknowledgement the capture is
 * repeated for as long as it takes.
 */
export async function captureWinner(work: Work, attempt: Attempt): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const answer = await gateway.capture(core, loaded, attempt);
  return commitAndReload(core, lease, async (tx) => {
    await recordCapture(tx, work, attempt, answer);
    return undefined;
  });
}

async function recordCapture(tx: Tx, work: Work, attempt: Attempt, answer: CaptureAnswer): Promise<void> {
  const { core, lease, loaded } = work;
  switch (answer.type) {
    case "done":
    case "accepted": {
      renewLease(tx, lease);
      // The gateway's notification may arrive before its answer.
      const sent = sendForCaptureReports(tx, attempt);
      if (answer.type === "accepted" && (await captureReportsOf(sent)).voided) {
        return abandonCapture(tx, work, attempt, gateway.holdVoided);
      }
      recordCaptured(tx, attempt);
      const captureConfirmed = answer.type === "done" || (await captureReportsOf(sent)).captured;
      await settleSession(tx, core, loaded.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed });
      const reports = await captureReportsOf(sent);
      return actOnReports(tx, core, { session: loaded.session, attemptId: attempt.id, reports });
    }
    case "refused":
      return answer.definitive ? abandonCapture(tx, work, attempt, answer) : repeatCapture(tx, work, attempt);
    case "unknown":
      return repeatCapture(tx, work, attempt); // rule:capture-never-given-up rule:success-is-captured
    default:
      return unreachable(answer);
  }
}

async function abandonCapture(tx: Tx, work: Work, attempt: Attempt, { gatewayCode }: Refused): Promise<void> {
  const next = await lockAndDecide(tx, work, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
  recordCaptureRefused(tx, attempt, gatewayCode, next);
}

async function repeatCapture(tx: Tx, { lease }: Work, attempt: Attempt): Promise<void> {
  const { now } = await lockSession(tx, lease);
  recordRepeat(tx, attempt, repeatAt(now, attempt.retries));
}
