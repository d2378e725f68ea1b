import { describe, expect, it } from "vitest";
import type { Attempt, Authentication, PaymentSession, PlannedConnection } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { mayAsk, mayRepeat, stepOfLeftBehind, stepOfWait } from "./after-authentication.ts";

const readAt = new Date("2026-11-23T12:00:00Z");
const at = (seconds: number) => new Date(readAt.getTime() + seconds * 1_000);

const attempt = (fields: Partial<Attempt> = {}) =>
  ({ id: "a1", connectionId: "c1", round: 0, status: "AWAITING_CUSTOMER", nextRetryAt: at(20), ...fields }) as Attempt;
const authentication = (fields: Partial<Authentication> = {}) =>
  ({
    id: "t1",
    attemptId: "a1",
    connectionId: "c1",
    flow: "REDIRECT",
    status: "AWAITING_CUSTOMER",
    deadlineAt: at(300),
    cancelAskedAt: null,
    completedAt: null,
    completionsSent: 0,
    ...fields,
  }) as Authentication;
const loaded = (
  fields: { authentications?: Authentication[]; attempts?: Attempt[]; session?: Partial<PaymentSession> } = {},
): Payment => ({
  session: { unrecordedCheckAt: null, ...fields.session } as PaymentSession,
  attempts: fields.attempts ?? [attempt()],
  authentications: fields.authentications ?? [authentication()],
  refunds: [],
  readAt,
});

describe("stepOfWait()", () => {
  it.each([
    ["waits for the next look", {}, {}, { type: "wait", until: at(20) }],
    ["waits no longer than the deadline", {}, { deadlineAt: at(5) }, { type: "wait", until: at(5) }],
    ["asks the gateway when a look is due", { nextRetryAt: at(0) }, {}, { type: "askOutcome" }],
    ["asks once more at the deadline", { nextRetryAt: at(0) }, { deadlineAt: at(-1) }, { type: "askOutcome" }],
    ["gives up after the deadline", {}, { deadlineAt: at(0) }, { type: "giveUp", as: "ABANDONED" }],
    ["gives up before it asks", { nextRetryAt: at(0) }, { cancelAskedAt: at(-1) }, { type: "giveUp", as: "CANCELLED" }],
  ] as const)("%s", (_, fields, asked, step) => {
    const one = attempt(fields);
    const found = stepOfWait(loaded({ attempts: [one], authentications: [authentication(asked)] }), one);
    expect(found).toMatchObject(step);
  });

  it("gives up while the session is in doubt, whatever has come", () => {
    const doubtful = loaded({ session: { unrecordedCheckAt: at(60) }, authentications: [authentication()] });
    expect(stepOfWait(doubtful, attempt({ nextRetryAt: at(0) }))).toMatchObject({ type: "giveUp", as: "ABANDONED" });
  });
});

describe("stepOfLeftBehind()", () => {
  const completing = (completionsSent: number) =>
    loaded({ authentications: [authentication({ status: "CONFIRMING", completionsSent })] });

  it("completes once more, and not a third time", () => {
    expect(stepOfLeftBehind(completing(1), attempt())).toMatchObject({ type: "completeAgain" });
    expect(stepOfLeftBehind(completing(2), attempt())).toBeUndefined();
  });

  it("leaves an ordinary attempt alone, and every attempt of a session in doubt", () => {
    expect(stepOfLeftBehind(loaded({ authentications: [] }), attempt())).toBeUndefined();
    const doubtful = { ...completing(1), session: { unrecordedCheckAt: at(0) } as PaymentSession };
    expect(stepOfLeftBehind(doubtful, attempt())).toBeUndefined();
  });
});

describe("a gateway", () => {
  it("asks once, and a session twice at most", () => {
    const following = (...authentications: Authentication[]) => loaded({ authentications });
    expect(mayAsk(following(), attempt())).toBe(true);
    expect(mayAsk(following(authentication()), attempt())).toBe(false);
    expect(mayAsk(following(authentication()), attempt({ connectionId: "c2" }))).toBe(true);
    const twice = following(authentication(), authentication({ connectionId: "c2" }));
    expect(mayAsk(twice, attempt({ connectionId: "c3" }))).toBe(false);
  });

  it("asks no customer who was asked before, where the rule forbids a second challenge", () => {
    const step = {
      priority: 2,
      gateway: "B",
      connectionId: "c2",
      credentialVersion: 1,
      onlyFirstChallenge: true,
    } as const;
    const session = { plan: [step] as PlannedConnection[] } as PaymentSession;
    const second = attempt({ connectionId: "c2" });
    expect(mayAsk({ session, authentications: [] }, second)).toBe(true);
    expect(mayAsk({ session, authentications: [authentication()] }, second)).toBe(false);
    expect(mayAsk({ session, authentications: [authentication({ flow: "FRICTIONLESS" })] }, second)).toBe(true);
  });

  it("may ask although it has authenticated without the customer, and so has another", () => {
    const frictionless = [authentication({ flow: "FRICTIONLESS" }), authentication({ flow: "FRICTIONLESS" })];
    expect(mayAsk(loaded({ authentications: frictionless }), attempt())).toBe(true);
  });

  it("gets the payment once more only if it has not asked, and no other has", () => {
    expect(mayRepeat(loaded({ authentications: [] }), attempt())).toBe(true);
    expect(mayRepeat(loaded(), attempt())).toBe(false);
    const repeated = loaded({ authentications: [], attempts: [attempt(), attempt({ id: "a2", round: 1 })] });
    expect(mayRepeat(repeated, attempt({ connectionId: "c2" }))).toBe(false);
  });
});
