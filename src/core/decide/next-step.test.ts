import { describe, expect, it } from "vitest";
import {
  type Attempt,
  type AttemptStatus,
  type FailoverSwitch,
  failureKinds,
  type PaymentSession,
  type PlannedConnection,
  type Stop,
} from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import type { FailoverRule, Failure } from "./failover.ts";
import { decideAfterFailure, decideNext, nextStep } from "./next-step.ts";

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
function work(attempts: readonly Fields[], session: Partial<PaymentSession> = {}): Payment {
  const fields = { status: "CREATED", phase: "PROCESSING", ruleVersion: 7, plan, submitDeadline: at(10), ...session };
  return {
    session: fields as PaymentSession,
    attempts: attempts.map((attempt, index) => ({ id: `a${index + 1}`, round: 0, ...attempt }) as Attempt),
    authentications: [],
    refunds: [],
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
  it.each<[string, Payment, object]>([
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

describe("decideNext() of a gateway that asks to try again", () => {
  const rule: FailoverRule = { version: 3, failoverOn: ["HARD_DECLINE"], retriesSameGateway: true };
  const left = { plan: plan.slice(1), withinBudget: true };
  const asked: Failure = { gateway: "SANDBOX_A", kind: "SOFT_DECLINE", again: plan[0] };

  it("repeats the payment there, where the rule says so", () => {
    expect(decideNext(asked, rule, left)).toEqual({
      action: "retry",
      to: plan[0],
      round: 2,
      because: "SANDBOX_A asked to try again, which rule version 3 does once.",
    });
    expect(decideNext(asked, { ...rule, failoverOn: [] }, left).action).toBe("retry");
    expect(decideNext(asked, { ...rule, retriesSameGateway: false }, left).action).toBe("failover");
    expect(decideNext(asked, { version: 3, failoverOn: ["HARD_DECLINE"] }, left).action).toBe("failover");
  });

  it.each<Stop>(["fraud", "scheme_rule", "same_card_fails", "authentication_required", "unclassified"])(
    "ends the payment all the same with the stop %s",
    (stop) => {
      expect(decideNext({ ...asked, stop }, rule, left).action).toBe("stop");
      expect(decideNext({ ...asked, kind: "FRAUD" }, rule, left).action).toBe("stop");
    },
  );

  it("does not repeat it once the time is over", () => {
    expect(decideNext(asked, rule, { ...left, withinBudget: false }).action).toBe("stop");
  });
});

describe("decideNext()", () => {
  const next: PlannedConnection = { priority: 2, gateway: "SANDBOX_B", connectionId: "c2", credentialVersion: 1 };
  const rule: FailoverRule = { version: 3, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
  const left = { plan: [next], withinBudget: true };
  const stops: Stop[] = ["fraud", "scheme_rule", "same_card_fails", "authentication_required", "unclassified"];

  it.each(failureKinds.filter((kind) => kind !== "FRAUD"))("fails over on %s by default", (kind) => {
    expect(decideNext({ gateway: "SANDBOX_A", kind }, rule, left)).toMatchObject({ action: "failover", to: next });
  });

  it("never fails over after a fraud decline, with or without a stop in its row", () => {
    const answers = [undefined, "fraud" as const].map((stop) =>
      decideNext({ gateway: "SANDBOX_A", kind: "FRAUD", stop }, rule, left),
    );
    expect(answers.map(({ action }) => action)).toEqual(["stop", "stop"]);
  });

  it.each(stops)("stops on %s whatever the rule says", (stop) => {
    const answer = decideNext({ gateway: "SANDBOX_A", kind: "HARD_DECLINE", stop }, rule, left);
    expect(answer).toMatchObject({ action: "stop", because: expect.stringContaining("rule version 3") });
  });

  it.each([
    ["HARD_DECLINE", "HARD_DECLINE"],
    ["SOFT_DECLINE", "HARD_DECLINE"],
    ["TIMEOUT", "TIMEOUT"],
    ["GATEWAY_ERROR", "GATEWAY_ERROR"],
  ] as const)("lets %s follow the switch %s alone", (kind, own) => {
    const decided = (failoverOn: FailoverRule["failoverOn"]) =>
      decideNext({ gateway: "SANDBOX_A", kind }, { version: 1, failoverOn }, left).action;
    expect(decided([own])).toBe("failover");
    expect(decided(rule.failoverOn.filter((other) => other !== own))).toBe("stop");
  });

  it("fails over on exactly the kinds that are switched on, and never after fraud, a stop or a missing card", () => {
    const switches: FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];
    const settings = Array.from({ length: 8 }, (_, bits) => switches.filter((_, index) => bits & (1 << index)));
    const moved: string[] = [];
    for (const failoverOn of settings) {
      for (const kind of failureKinds) {
        for (const stop of [undefined, ...stops]) {
          for (const noCard of [undefined, "vault_unavailable", "token_unusable"] as const) {
            const answer = decideNext({ gateway: "SANDBOX_A", kind, stop, noCard }, { version: 12, failoverOn }, left);
            expect(answer.because).toMatch(/rule version 12\b/i);
            if (answer.action === "failover") moved.push(`${kind} ${stop} ${noCard} by ${failoverOn}`);
          }
        }
      }
    }
    const expected = settings.flatMap((failoverOn) =>
      [
        ...(failoverOn.includes("HARD_DECLINE") ? ["HARD_DECLINE", "SOFT_DECLINE"] : []),
        ...failoverOn.filter((kind) => kind !== "HARD_DECLINE"),
      ].map((kind) => `${kind} undefined undefined by ${failoverOn}`),
    );
    expect(moved).toEqual(expected);
  });

  it.each<[NonNullable<Failure["noCard"]>, RegExp]>([
    ["vault_unavailable", /^The card vault could not be used/],
    ["token_unusable", /^The card vault no longer keeps this card/],
  ])("does not name the gateway as the cause of %s", (noCard, because) => {
    const answer = decideNext({ gateway: "SANDBOX_A", kind: "GATEWAY_ERROR", noCard }, rule, left);
    expect(answer).toMatchObject({ action: "stop", because: expect.stringMatching(because) });
    expect(answer.because).not.toContain("SANDBOX_A");
  });

  it("names a refused capture as the failure", () => {
    const refused = { gateway: "SANDBOX_A", kind: "GATEWAY_ERROR", captureRefused: true } as const;
    const { because } = decideNext(refused, rule, left);
    expect(because).toContain("after a permanently refused capture at SANDBOX_A");
  });

  it("stops at the end of the plan and at the end of the time budget, and names which", () => {
    const timeout = { gateway: "SANDBOX_A", kind: "TIMEOUT" } as const;
    expect(decideNext(timeout, rule, { plan: [], withinBudget: true }).because).toContain("no gateway left");
    expect(decideNext(timeout, rule, { plan: [next], withinBudget: false })).toMatchObject({
      action: "stop",
      because: expect.stringContaining("time for this payment ran out"),
    });
  });
});
