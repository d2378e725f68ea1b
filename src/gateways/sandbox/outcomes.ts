/** The outcomes that several test cards share. PURE. */
import type { AttemptOutcome, CardOutcome } from "./card-behaviour.ts";

type FailureKind = NonNullable<AttemptOutcome["failureKind"]>;
type Waits = Pick<CardOutcome, "settledAfterS" | "closedAfterS">;

const captured: AttemptOutcome = { status: "CAPTURED" };

/** Captured by the first gateway, and no other asked; `waits` says what takes its time. */
export function approvedByA(waits: Waits = {}): CardOutcome {
  return { status: "SUCCEEDED", attempts: [captured], events: ["payment_session.succeeded"], ...waits };
}

/** SANDBOX_A gave no answer that counts; what it may hold is given back once SANDBOX_B has the money. */
export function approvedByBAfter(failureKind: "TIMEOUT" | "GATEWAY_ERROR", waits: Waits = {}): CardOutcome {
  return {
    status: "SUCCEEDED",
    attempts: [{ status: "VOIDED", failureKind }, captured],
    events: ["payment_session.succeeded", "payment_attempt.voided"],
    ...waits,
  };
}

/** Declined by each of the gateways that were asked, for the same reason. */
export function declined(declineCode: string, ...failureKinds: readonly FailureKind[]): CardOutcome {
  return {
    status: "DECLINED",
    declineCode,
    attempts: failureKinds.map((failureKind) => ({ status: "DECLINED", failureKind })),
    events: ["payment_session.declined"],
  };
}

/** No gateway could be used. What they may hold is given back after the end. */
export function degraded(attempts: readonly AttemptOutcome[], waits: Waits = {}): CardOutcome {
  return {
    status: "DEGRADED",
    declineCode: "processing_unavailable",
    attempts,
    events: [
      "payment_session.degraded",
      // A hold whose capture was refused is given back before the end.
      ...attempts.flatMap(({ status, captureRefused }) =>
        status === "VOIDED" && captureRefused === undefined ? ["payment_attempt.voided"] : [],
      ),
    ],
    ...waits,
  };
}

/** The gateways of an outcome's attempts. */
export function gatewaysOf({ attempts }: CardOutcome): readonly string[] {
  return ["SANDBOX_A", "SANDBOX_B"].slice(0, attempts.length);
}
