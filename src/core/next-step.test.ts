import { describe, expect, it } from "vitest";
import type { Attempt, AttemptStatus, PaymentSession, PlannedConnection } from "./entities.ts";
import { decideAfterFailure, nextStep } from "./next-step.ts";
import type { SessionWithAttempts } from "./session-with-attempts.ts";

const readAt = new Date("2026-01-02T03:04:00.000Z");
const at = (seconds: number) => new Date(readAt.getTime() + seconds * 1000);

const plan: PlannedConnection[] = ["SANDBOX_A", "SANDBOX_B"].map((gateway, index) => ({
  priority: index + 1,
  gateway,
  connectionId: `c${index + 1}`,
  credentialVersion: 1,
}));

type Fields = Partial<Attempt>;

const finished = new Set<AttemptStatus>(["CAPTURED", "DECLINED", "FAILED", "VOIDED"]);

/** Returns an attempt in this status; the first is a1, the second a2. */
const tried = (status: AttemptStatus, fields: Fields = {}): Fields => ({
  status,
  ...(finished.has(status) && { completedAt: at(-1) }),
  ...fields,
});

/** Returns a session in processing, 10 s before its deadline unless `session` says otherwise. */
function work(attempts: readonly Fields[], session: Partial<PaymentSession> = {}): SessionWithAttempts {
  const fields = { status: "CREATED", phase: "PROCESSING", ruleVersion: 7, plan, submitDeadline: at(10), ...session };
  return {
    session: fields as PaymentSession,
    attempts: attempts.map((attempt, index) => ({ id: `a${index + 1}`, ...attempt }) as Attempt),
    readAt,
  };
}

const over = { submitDeadline: at(-1) };
const failover: Fields = { nextAction: "failover", nextBecause: "because" };
const stop: Fields = { nextAction: "stop", nextBecause: "because" };
const ordered: Fields = { captureOrderedAt: at(-5) };
const declined = { status: "DECLINED", declineCode: "insufficient_funds" } as const;
const degraded = { type: "end", status: "DEGRADED", declineCode: "processing_unavailable" };

describe("nextStep()", () => {
  it.each<[string, SessionWithAttempts, object]>([
    ["opens the first of the plan", work([]), { type: "open", to: plan[0] }],
    ["ends DEGRADED with an empty plan", work([], { plan: [] }), degraded],
    ["ends DEGRADED when nothing was tried in time", work([], over), degraded],
    ["gives up waiting for an attempt that another worker left", work([tried("AUTHORIZING")]), { type: "markUnknown" }],
    [
      "opens the next gateway where the rule fails over",
      work([tried("DECLINED", failover)]),
      { type: "open", to: plan[1], because: "because" },
    ],
    ["is not blocked by an unknown attempt", work([tried("UNKNOWN", failover)]), { type: "open", to: plan[1] }],
    ["opens nothing after a stop", work([tried("DECLINED", { ...declined, ...stop })]), { type: "end", ...declined }],
    [
      "opens nothing after the deadline",
      work([tried("DECLINED", { ...declined, ...failover })], over),
      { type: "end", ...declined },
    ],
    [
      "opens nothing beyond the plan",
      work([tried("FAILED", failover), tried("DECLINED", { ...declined, ...failover })]),
      { type: "end", ...declined },
    ],
    [
      "names a decline without a code",
      work([tried("DECLINED", stop)]),
      { type: "end", status: "DECLINED", declineCode: "card_declined" },
    ],
    ["ends DEGRADED when the last gateway gave no answer", work([tried("FAILED", stop)]), degraded],
    [
      "looks every unknown attempt up before the end",
      work([tried("UNKNOWN", failover), tried("DECLINED", stop)]),
      { type: "lookUp", attempt: { id: "a1" } },
    ],
    ["looks up once", work([tried("UNKNOWN", { ...stop, lookedUpAt: at(-1) })]), degraded],
    ["orders the winner's capture", work([tried("AUTHORIZED")]), { type: "orderCapture", attempt: { id: "a1" } }],
    ["captures the winner", work([tried("AUTHORIZED", ordered)]), { type: "capture", attempt: { id: "a1" } }],
    [
      "captures the winner before any void",
      work([tried("VOIDING"), tried("AUTHORIZED", ordered)]),
      { type: "capture", attempt: { id: "a2" } },
    ],
    [
      "waits for the capture's next repeat",
      work([tried("AUTHORIZED", { ...ordered, nextRetryAt: at(4) })]),
      { type: "wait", until: at(4) },
    ],
    [
      "waits no longer than the budget, at whose end the pending event is emitted",
      work([tried("AUTHORIZED", { ...ordered, nextRetryAt: at(40) })]),
      { type: "wait", until: at(10) },
    ],
    [
      "emits the pending event when the budget is over",
      work([tried("AUTHORIZED", { ...ordered, nextRetryAt: at(40) })], over),
      { type: "emitPending" },
    ],
    [
      "emits the pending event once, and never gives an unanswered capture up",
      work([tried("AUTHORIZED", { ...ordered, nextRetryAt: at(40) })], { ...over, pendingEventAt: at(-1) }),
      { type: "wait", until: at(40) },
    ],
    [
      "repeats the capture long after the budget",
      work([tried("AUTHORIZED", { ...ordered, nextRetryAt: at(0) })], { ...over, pendingEventAt: at(-1) }),
      { type: "capture" },
    ],
    [
      "voids a former winner before it goes on",
      work([tried("VOIDING", { ...ordered, ...failover })]),
      { type: "void", attempt: { id: "a1" } },
    ],
    [
      "waits for a former winner, which may still turn out to be captured",
      work([tried("VOIDING", { ...ordered, ...failover, nextRetryAt: at(4) })]),
      { type: "wait", until: at(4) },
    ],
    [
      "emits the pending event for a former winner too when the budget is over",
      work([tried("VOIDING", { ...ordered, nextRetryAt: at(40) })], over),
      { type: "emitPending" },
    ],
    [
      "goes on after a former winner",
      work([tried("VOIDED", { ...ordered, ...failover })]),
      { type: "open", to: plan[1] },
    ],
    [
      "ends DEGRADED after a former winner without a next step",
      work([tried("VOIDED", { ...ordered, ...stop })]),
      degraded,
    ],
  ])("%s", (_, loaded, step) => {
    expect(nextStep(loaded)).toMatchObject(step);
  });

  it("authorizes the attempt that this worker opened, and no other", () => {
    const loaded = work([tried("DECLINED", failover), tried("AUTHORIZING")]);
    expect(nextStep(loaded, "a2")).toMatchObject({ type: "authorize", attempt: { id: "a2" } });
    expect(nextStep(loaded, "a1")).toMatchObject({ type: "markUnknown", attempt: { id: "a2" } });
  });

  it("voids the attempt that is due first once the session has ended, and then waits", () => {
    const ended = { status: "DEGRADED", ...over } as const;
    const later = tried("VOIDING", { nextRetryAt: at(30) });
    const due = tried("VOIDING", { nextRetryAt: at(-2) });
    expect(nextStep(work([later, due], ended))).toMatchObject({ type: "void", attempt: { id: "a2" } });
    expect(nextStep(work([later], ended))).toEqual({ type: "wait", until: at(30) });
    expect(nextStep(work([tried("VOIDING")], ended))).toMatchObject({ type: "void" });
  });

  it.each(["SUCCEEDED", "DECLINED", "DEGRADED"] as const)(
    "closes a session that ended %s with final attempts",
    (status) => {
      expect(nextStep(work([tried("VOIDED"), tried("DECLINED")], { status }))).toEqual({ type: "close" });
    },
  );
});

describe("nextStep() at the edges", () => {
  it("ends after a fraud decline without looking up an earlier hold", () => {
    const fraud = tried("DECLINED", { failureKind: "FRAUD", declineCode: "fraud_suspected", ...stop });
    const step = nextStep(work([tried("UNKNOWN", failover), fraud]));
    expect(step).toEqual({ type: "end", status: "DECLINED", declineCode: "fraud_suspected" });
  });

  it("opens no attempt in the last half second, because the database might refuse it", () => {
    const declined = [tried("DECLINED", { declineCode: "card_declined", ...failover })];
    expect(nextStep(work(declined, { submitDeadline: at(0.5) })).type).toBe("end");
    expect(nextStep(work(declined, { submitDeadline: at(0.501) })).type).toBe("open");
  });
});

describe("decideAfterFailure()", () => {
  const rule = { version: 7, failoverOn: ["TIMEOUT"] } as const;
  const timeout = { gateway: "SANDBOX_A", kind: "TIMEOUT" } as const;

  it("names the first connection at which no attempt was made", () => {
    expect(decideAfterFailure(work([tried("AUTHORIZING")]), timeout, rule)).toMatchObject({
      action: "failover",
      to: plan[1],
    });
  });

  it("stops at the deadline", () => {
    const next = decideAfterFailure(work([tried("AUTHORIZING")], { submitDeadline: readAt }), timeout, rule);
    expect(next).toMatchObject({ action: "stop", because: expect.stringContaining("time") });
  });
});
