/** A sound record of a chaos run, and changes of it. */
import type { Records } from "./records.ts";

/** A sound session that failed over from A to B, was captured there, and whose events were all delivered. */
export function sound() {
  return {
    sessions: [
      {
        sessionId: "ps_1",
        orderRef: "order-1",
        key: "order-1",
        allowsRepeat: false,
        status: "SUCCEEDED",
        phase: "DONE",
        winnerAttemptId: "att_2" as string | undefined,
        submittedAt: "2026-01-01T00:00:00.000Z" as string | undefined,
        settledAt: "2026-01-01T00:00:03.000Z" as string | undefined,
        hasCapture: true,
        isManual: false,
        heldAt: undefined as string | undefined,
        declineCode: undefined as string | undefined,
        expiredBecause: undefined as string | undefined,
        leaseEpoch: 1,
        renewal: undefined as string | undefined,
      },
    ],
    attempts: [attempt("att_1", 1, "VOIDED"), attempt("att_2", 2, "CAPTURED")],
    authentications: [] as { sessionId: string; status: string; deadlineAt: string; endedAt: string | undefined }[],
    clockMovedAt: [] as string[],
    outages: [] as { from: string; to: string }[],
    events: [{ sessionId: "ps_1", eventId: "evt_1", sequence: 1, type: "payment_session.succeeded", body: "aa" }],
    authorizations: [authorization("auth_1", "att_1", "voided"), authorization("auth_2", "att_2", "captured")],
    webhooks: [
      { eventId: "evt_1", body: "aa", signed: true, accepted: false },
      { eventId: "evt_1", body: "aa", signed: true, accepted: true },
    ],
    keptErrors: [] as string[],
    audit: [] as { sessionId: string; rule: string }[],
    workItems: [{ sessionId: "ps_1", kind: "ORPHANED_AUTHORIZATION", detail: "It was voided.", resolved: true }],
    refunds: [] as Refunded[],
    disputed: [] as { attemptId: string; value: number }[],
    orders: [
      {
        orderRef: "order-1",
        key: "order-1",
        created: ["ps_1", "ps_1"],
        submitted: true,
        heard: ["SUCCEEDED"],
        refunded: [] as string[],
        heldVia: undefined as string | undefined,
        captures: [] as number[],
        captured: undefined as number | undefined,
        cancelled: false,
      },
    ],
  };
}

type Refunded = { -readonly [Key in keyof Records["refunds"][number]]: Records["refunds"][number][Key] };

/** Adds a sound refund of 9.00 to the sound session, and returns it here and at the gateway. */
export function refunded({ refunds, authorizations, orders }: Made) {
  const here: Refunded = {
    sessionId: "ps_1",
    refundId: "ref_1",
    attemptId: "att_2",
    status: "SUCCEEDED",
    origin: "MERCHANT",
    failureCode: undefined,
    value: 900,
    sends: 2,
    keys: 1,
  };
  const there: Records["authorizations"][number]["refunds"][number] = {
    id: "re_1",
    reference: "ref_1",
    value: 900,
    openedAt: "2026-01-01T00:00:04.000Z",
    status: "succeeded",
  };
  refunds.push(here);
  authorizations[1]!.refunds.push(there);
  orders[0]!.refunded.push("ref_1", "ref_1");
  return { here, there, refunds: authorizations[1]!.refunds };
}

/** Makes the sound session one that its shop has captured in part, of 9.00. */
export function capturedLater({ sessions, attempts, authorizations, orders, events, webhooks }: Made) {
  Object.assign(sessions[0]!, { isManual: true, heldAt: "2026-01-01T00:00:03.000Z" });
  Object.assign(attempts[1]!, { orderedMinor: 900, orderedValue: 900 });
  authorizations[1]!.capturedValue = 900;
  Object.assign(orders[0]!, { heldVia: "SANDBOX_B", captures: [900, 4900], captured: 900 });
  events[0]!.sequence = 2;
  events.push({ ...events[0]!, eventId: "evt_0", sequence: 1, type: "payment_session.held" });
  webhooks.push({ ...webhooks[1]!, eventId: "evt_0" });
}

/** Makes an attempt's hold one of which a person has captured half. */
export function capturedByHand({ authorizations }: Made, index: 0 | 1) {
  Object.assign(authorizations[index]!, { status: "captured", capturedValue: 2450, hold: "captured_by_hand" });
}

/** Makes the sound session one that its second gateway declined first, and captured when it was retried there. */
export function retried({ sessions: [session], attempts, authorizations }: Made) {
  const declined = { ...attempt("att_2", 2, "DECLINED"), failureKind: "SOFT_DECLINE" };
  attempts.splice(1, 1, declined, { ...attempt("att_3", 3, "CAPTURED"), round: 2 });
  authorizations.splice(
    1,
    1,
    authorization("auth_2", "att_2", "declined"),
    authorization("auth_3", "att_3", "captured"),
  );
  session!.winnerAttemptId = "att_3";
  return { declined };
}

/** Adds a second sound session of the order, which was captured two seconds after the first one. */
export function paidAgain({ sessions, attempts, authorizations, events, webhooks, orders }: Made) {
  const ids = { sessionId: "ps_2", winnerAttemptId: "att_9", settledAt: "2026-01-01T00:00:05.000Z" };
  sessions.push({ ...sessions[0]!, ...ids, key: "order-1-tab-2" });
  attempts.push({ ...attempt("att_9", 2, "CAPTURED"), sessionId: "ps_2" });
  authorizations.push(authorization("auth_9", "att_9", "captured"));
  events.push({ ...events[0]!, sessionId: "ps_2", eventId: "evt_9" });
  webhooks.push({ ...webhooks[1]!, eventId: "evt_9" });
  orders.push({ ...orders[0]!, key: "order-1-tab-2", created: ["ps_2"], refunded: [] });
}

type Refunds = Records["authorizations"][number]["refunds"][number][];
export type Made = ReturnType<typeof sound>;

/** Returns an attempt at SANDBOX_A, or at SANDBOX_B where it is a later one. */
export function attempt(attemptId: string, sequence: number, status: string) {
  return {
    sessionId: "ps_1",
    attemptId,
    sequence,
    round: 0,
    connectionId: sequence === 1 ? "gc_a" : "gc_b",
    gateway: sequence === 1 ? "SANDBOX_A" : "SANDBOX_B",
    status,
    failureKind: undefined as string | undefined,
    stop: undefined as string | undefined,
    voidKind: (status === "VOIDED" ? "VOIDED" : undefined) as string | undefined,
    startedAt: `2026-01-01T00:00:0${sequence}.000Z`,
    completedAt: `2026-01-01T00:00:0${sequence}.500Z`,
    latestExecutionAt: "2026-01-01T00:00:50.000Z",
    value: 4900,
    orderedMinor: (status === "CAPTURED" ? 4900 : undefined) as number | undefined,
    orderedValue: (status === "CAPTURED" ? 4900 : undefined) as number | undefined,
    currency: "EUR",
  };
}

export function authorization(id: string, reference: string, status: "held" | "captured" | "voided" | "declined") {
  const capturedValue = status === "captured" ? 4900 : 0;
  const gateway = reference === "att_1" ? "SANDBOX_A" : "SANDBOX_B";
  const openedAt = "2026-01-01T00:00:01.000Z";
  return {
    id,
    reference,
    gateway,
    status,
    value: 4900,
    capturedValue,
    currency: "EUR",
    openedAt,
    hold: "lasts" as Records["authorizations"][number]["hold"],
    refund: "at_once" as Records["authorizations"][number]["refund"],
    refunds: [] as Refunds,
  };
}
