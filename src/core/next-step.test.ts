import { describe, expect, it } from "vitest";
import type { Attempt, AttemptStatus, PaymentSession, PlannedConnection } from "./entities.ts";
import { nextAfter, nextStep } from "./next-step.ts";
import type { SessionWithTrail } from "./session-trail.ts";

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

/** An attempt in this status; the first is a1, the second a2. */
const tried = (status: AttemptStatus, fields: Fields = {}): Fields => ({
  status,
  ...(finished.has(status) && { completedAt: at(-1) }),
  ...fields,
});

/** A session being processed, 10 s before its deadline unless `session` says otherwise. */
function work(attempts: readonly Fields[], session: Partial<PaymentSession> = {}): SessionWithTrail {
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
const ordered: Fields = { captureStartedAt: at(-5) };
const declined = { status: "DECLINED", declineCode: "insufficient_funds" } as const;
const degraded = { type: "end", status: "DEGRADED", declineCode: "processing_unavailable" };

describe("nextStep()", () => {
  it.each<[string, SessionWithTrail, object]>([
    ["opens the first of the plan", work([]), { type: "open", to: plan[0] }],
    ["ends DEGRADED with an empty plan", work([], { plan: [] }), degraded],
    ["ends DEGRADED when nothing was tried in time", work([], over), degraded],
    [
      "gives up waiting for an attempt that another worker left",
      work([tried("AUTHORIZING")]),
      { type: "giveUpWaiting" },
    ],
    [
      "opens the next gateway where the rule fails over",
      work([tried("DECLINED", failover)]),
      { type: "open", to: plan[1], because: "because" },
    ],
    ["lets an unknown attempt not block the next", work([tried("UNKNOWN", failover)]), { type: "open", to: plan[1] }],
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
      "captures the winner before anything is given back",
      work([tried("VOIDING"), tried("AUTHORIZED", ordered)]),
      { type: "capture", attempt: { id: "a2" } },
    ],
    [
      "waits for the capture's next try",
      work([tried("AUTHORIZED", { ...ordered, nextTryAt: at(4) })]),
      { type: "wait", until: at(4) },
    ],
    [
      "waits no longer than the budget, for then the merchant is told",
      work([tried("AUTHORIZED", { ...ordered, nextTryAt: at(40) })]),
      { type: "wait", until: at(10) },
    ],
    [
      "tells when the budget is over",
      work([tried("AUTHORIZED", { ...ordered, nextTryAt: at(40) })], over),
      { type: "tellPending" },
    ],
    [
      "tells once, and never gives an unanswered capture up",
      work([tried("AUTHORIZED", { ...ordered, nextTryAt: at(40) })], { ...over, pendingToldAt: at(-1) }),
      { type: "wait", until: at(40) },
    ],
    [
      "repeats the capture long after the budget",
      work([tried("AUTHORIZED", { ...ordered, nextTryAt: at(0) })], { ...over, pendingToldAt: at(-1) }),
      { type: "capture" },
    ],
    [
      "gives a former winner back before it goes on",
      work([tried("VOIDING", { ...ordered, ...failover })]),
      { type: "void", attempt: { id: "a1" } },
    ],
    [
      "waits for a former winner, which may still turn out captured",
      work([tried("VOIDING", { ...ordered, ...failover, nextTryAt: at(4) })]),
      { type: "wait", until: at(4) },
    ],
    [
      "tells of a former winner too when the budget is over",
      work([tried("VOIDING", { ...ordered, nextTryAt: at(40) })], over),
      { type: "tellPending" },
    ],
    [
      "goes on after a former winner",
      work([tried("VOIDED", { ...ordered, ...failover })]),
      { type: "open", to: plan[1] },
    ],
    ["ends DEGRADED after a former winner without a next", work([tried("VOIDED", { ...ordered, ...stop })]), degraded],
  ])("%s", (_, trail, step) => {
    expect(nextStep(trail)).toMatchObject(step);
  });

  it("authorizes the attempt that this worker opened, and no other", () => {
    const trail = work([tried("DECLINED", failover), tried("AUTHORIZING")]);
    expect(nextStep(trail, "a2")).toMatchObject({ type: "authorize", attempt: { id: "a2" } });
    expect(nextStep(trail, "a1")).toMatchObject({ type: "giveUpWaiting", attempt: { id: "a2" } });
  });

  it("gives back what is due first once the session has ended, and then waits", () => {
    const ended = { status: "DEGRADED", ...over } as const;
    const later = tried("VOIDING", { nextTryAt: at(30) });
    const due = tried("VOIDING", { nextTryAt: at(-2) });
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
  it("ends after a fraud decline without asking after an earlier hold", () => {
    const fraud = tried("DECLINED", { failureKind: "FRAUD", declineCode: "fraud_suspected", ...stop });
    const step = nextStep(work([tried("UNKNOWN", failover), fraud]));
    expect(step).toEqual({ type: "end", status: "DECLINED", declineCode: "fraud_suspected" });
  });

  it("opens no attempt in the last half second, which the database might refuse", () => {
    const declined = [tried("DECLINED", { declineCode: "card_declined", ...failover })];
    expect(nextStep(work(declined, { submitDeadline: at(0.5) })).type).toBe("end");
    expect(nextStep(work(declined, { submitDeadline: at(0.501) })).type).toBe("open");
  });
});

describe("nextAfter()", () => {
  const rule = { version: 7, failoverOn: ["TIMEOUT"] } as const;
  const timeout = { gateway: "SANDBOX_A", kind: "TIMEOUT" } as const;

  it("names the first connection that no attempt was made at", () => {
    expect(nextAfter(work([tried("AUTHORIZING")]), timeout, rule)).toMatchObject({ action: "failover", to: plan[1] });
  });

  it("stops at the deadline", () => {
    const next = nextAfter(work([tried("AUTHORIZING")], { submitDeadline: readAt }), timeout, rule);
    expect(next).toMatchObject({ action: "stop", because: expect.stringContaining("time") });
  });
});
