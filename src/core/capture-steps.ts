/** What the flow does with a capture that has been ordered: sends it, and settles on its acknowledgement. */
import type { CaptureAnswer } from "../gateways/connector.ts";
import type { Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { recordCaptured, recordCaptureRefused, recordRepeat } from "./attempts.ts";
import type { Attempt } from "./entities.ts";
import { decide, type Reached, reach, repeatAt, type Work } from "./flow-steps.ts";
import * as gateway from "./gateway-steps.ts";
import { captureReportsOf, sendForCaptureReports, tellCaptureFailed } from "./late-captures.ts";
import { holdSession, lockSession } from "./lease.ts";
import { settleSession } from "./settle.ts";

/** Sends the ordered capture and settles on its acknowledgement; without one it is repeated, for as long as it takes. */
export async function captureWinner(work: Work, attempt: Attempt): Promise<Reached> {
  const { core, lease, trail } = work;
  const answer = await gateway.capture(core, trail.session, attempt);
  return reach(core, lease, async (tx) => {
    await recordCapture(tx, work, attempt, answer);
    return undefined;
  });
}

async function recordCapture(tx: Tx, work: Work, attempt: Attempt, answer: CaptureAnswer): Promise<void> {
  const { core, lease, trail } = work;
  switch (answer.type) {
    case "done":
    case "accepted": {
      holdSession(tx, lease);
      // The notice may be faster than the answer.
      const reports = sendForCaptureReports(tx, attempt);
      recordCaptured(tx, attempt);
      const captureConfirmed = answer.type === "done" || (await captureReportsOf(reports)).captured;
      await settleSession(tx, core, trail.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed });
      if ((await captureReportsOf(reports)).failed) await tellCaptureFailed(tx, core, trail.session, attempt.id);
      return;
    }
    case "refused": {
      if (!answer.definitive) return repeatCapture(tx, work, attempt);
      const next = await decide(tx, work, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
      return recordCaptureRefused(tx, attempt, answer.gatewayCode, next);
    }
    case "unknown":
      return repeatCapture(tx, work, attempt);
    default:
      return unreachable(answer);
  }
}

async function repeatCapture(tx: Tx, { lease }: Work, attempt: Attempt): Promise<void> {
  const { now } = await lockSession(tx, lease);
  recordRepeat(tx, attempt, repeatAt(now, attempt.tries));
}
