/** Outcomes that several test cards share. PURE. */
import type { AttemptOutcome, CardOutcome } from "./card-behaviour.ts";

type FailureKind = NonNullable<AttemptOutcome["failureKind"]>;
type Waits = Pick<CardOutcome, "settledAfterS" | "closedAfterS">;

const captured: AttemptOutcome = { status: "CAPTURED" };

/** The amount was held, its capture refused permanently, and the hold voided. */
export const captureRefused = { status: "VOIDED", captureRefused: "capture_not_allowed" } as const;

/** Captured by the first gateway, with no other called; `waits` says what takes time. */
export function approvedByA(waits: Waits = {}): CardOutcome {
  return { status: "SUCCEEDED", attempts: [captured], events: ["payment_session.succeeded"], ...waits };
}

/** SANDBOX_A gave no answer that counts; a hold that it may have is voided once SANDBOX_B has the money. */
export function approvedByBAfter(failureKind: "TIMEOUT" | "GATEWAY_ERROR", waits: Waits = {}): CardOutcome {
  return {
    status: "SUCCEEDED",
    attempts: [{ status: "VOIDED", failureKind }, captured],
    events: ["payment_session.succeeded", "payment_attempt.voided"],
    ...waits,
  };
}

/** Declined by each gateway that was called, for the same reason. */
export function declined(declineCode: string, ...failureKinds: readonly FailureKind[]): CardOutcome {
  return {
    status: "DECLINED",
    declineCode,
    attempts: failureKinds.map((failureKind) => ({ status: "DECLINED", failureKind })),
    events: ["payment_session.declined"],
  };
}

/** Returns the outcome of a payment that no gateway could complete. Any holds are voided after the end. */
export function degraded(attempts: readonly AttemptOutcome[], waits: Waits = {}): CardOutcome {
  return {
    status: "DEGRADED",
    declineCode: "processing_unavailable",
    attempts,
    events: [
      "payment_session.degraded",
      // A hold whose capture was refused is voided before the end.
      ...attempts.flatMap(({ status, captureRefused }) =>
        status === "VOIDED" && captureRefused === undefined ? ["payment_attempt.voided"] : [],
      ),
    ],
    ...waits,
  };
}

export function gatewaysOf({ attempts }: CardOutcome): readonly string[] {
  return attempts.map(({ gateway }, index) => gateway ?? (index === 0 ? "SANDBOX_A" : "SANDBOX_B"));
}
