import { describe, expect, it } from "vitest";
import {
  attempt,
  authorization,
  capturedByHand,
  capturedLater,
  type Made,
  paidAgain,
  refunded,
  retried,
  sound,
} from "./check.fixture.ts";
import { findViolations, type ViolationKind, violationKinds } from "./check.ts";
import type { Records } from "./records.ts";

/** Changes that spoil the sound record, and the kinds of violation that each must cause. */
const spoiled: Readonly<Record<ViolationKind, { spoil: (made: Made) => void; also?: readonly ViolationKind[] }>> = {
  not_final: {
    spoil: ({ sessions: [session] }) => {
      session!.phase = "PROCESSING";
    },
  },
  past_bound: {
    spoil: ({ sessions: [session] }) => {
      Object.assign(session!, { hasCapture: false, settledAt: "2026-01-01T00:01:46.000Z" });
    },
  },
  captured_twice: {
    spoil: ({ authorizations }) => {
      authorizations[0] = authorization("auth_1", "att_1", "captured");
    },
    also: ["captured_by_another"],
  },
  captured_without_success: {
    spoil: ({ sessions: [session], events: [event], orders: [order] }) => {
      session!.status = "DECLINED";
      event!.type = "payment_session.declined";
      order!.heard = [];
    },
  },
  success_without_capture: {
    spoil: ({ authorizations }) => {
      authorizations[1] = authorization("auth_2", "att_2", "voided");
    },
  },
  captured_by_another: {
    spoil: ({ sessions: [session] }) => {
      session!.winnerAttemptId = "att_1";
    },
  },
  other_gateway: {
    spoil: ({ authorizations }) => {
      authorizations[0] = { ...authorization("auth_1", "att_1", "voided"), gateway: "ADYEN" };
    },
  },
  wrong_amount: {
    spoil: ({ authorizations: [, captured] }) => {
      captured!.capturedValue = 4901;
    },
  },
  hold_left: {
    spoil: ({ authorizations }) => {
      authorizations[0] = authorization("auth_1", "att_1", "held");
    },
  },
  late_hold: {
    spoil: ({ attempts: [first], authorizations }) => {
      first!.voidKind = "NEVER_EXISTED";
      authorizations[0] = { ...authorization("auth_1", "att_1", "held"), openedAt: "2026-01-01T00:01:00.000Z" };
    },
  },
  unknown_authorization: {
    spoil: ({ authorizations }) => void authorizations.push(authorization("auth_3", "att_3", "declined")),
  },
  after_fraud: {
    spoil: ({ attempts: [first] }) => {
      first!.failureKind = "FRAUD";
    },
  },
  final_events: {
    spoil: ({ events: [event] }) => {
      event!.type = "payment_session.declined";
    },
  },
  sequence_gap: {
    spoil: ({ events: [event] }) => {
      event!.sequence = 2;
    },
  },
  webhook_missing: { spoil: ({ webhooks }) => void webhooks.pop() },
  webhook_changed: {
    spoil: ({ webhooks: [first] }) => {
      first!.body = "bb";
    },
  },
  webhook_unsigned: {
    spoil: ({ webhooks: [first] }) => {
      first!.signed = false;
    },
  },
  webhook_unknown: {
    spoil: ({ webhooks: [first] }) => {
      first!.eventId = "evt_2";
    },
  },
  key_made_two: {
    spoil: ({ sessions, events, webhooks, orders: [order] }) => {
      sessions.push({ ...sessions[0]!, sessionId: "ps_2", status: "EXPIRED", winnerAttemptId: undefined });
      events.push({ ...events[0]!, sessionId: "ps_2", eventId: "evt_2", type: "payment_session.expired" });
      webhooks.push({ ...webhooks[1]!, eventId: "evt_2" });
      order!.created.push("ps_2");
    },
  },
  created_lost: {
    spoil: (made) => {
      for (const rows of [made.sessions, made.attempts, made.authorizations, made.events, made.webhooks]) {
        rows.length = 0;
      }
      Object.assign(made.orders[0]!, { submitted: false, heard: [] });
    },
  },
  submitted_lost: {
    spoil: ({ sessions: [session] }) => {
      session!.submittedAt = undefined;
    },
  },
  audit: { spoil: ({ audit }) => void audit.push({ sessionId: "ps_1", rule: "two_capturable" }) },
  work_item: {
    spoil: ({ workItems: [item] }) => {
      item!.resolved = false;
    },
  },
  captured_unordered: {
    spoil: (made) => {
      capturedLater(made);
      made.orders[0]!.captures = [4900];
    },
  },
  capture_lost: {
    spoil: (made) => {
      capturedLater(made);
      made.orders[0]!.captured = 4900;
    },
  },
  cancel_lost: {
    spoil: (made) => {
      capturedLater(made);
      made.orders[0]!.cancelled = true;
    },
  },
  hold_lost: {
    spoil: ({ orders: [order] }) => {
      order!.heldVia = "SANDBOX_B";
    },
  },
  hold_event: {
    spoil: (made) => {
      capturedLater(made);
      made.events[1]!.type = "payment_session.pending";
    },
  },
  by_hand_unnoticed: { spoil: (made) => capturedByHand(made, 0) },
  refunded_twice: {
    spoil: (made) => {
      const { refunds, there } = refunded(made);
      refunds.push({ ...there, id: "re_2" });
    },
    also: ["refund_differs"],
  },
  refunded_more: {
    spoil: (made) => {
      const { refunds, there } = refunded(made);
      refunds.push({ ...there, id: "re_2", reference: "", value: 4001 });
    },
  },
  refund_lost: { spoil: ({ orders: [order] }) => void order!.refunded.push("ref_2") },
  refund_open: {
    spoil: (made) => {
      refunded(made).here.status = "PENDING";
    },
  },
  refund_differs: {
    spoil: (made) => {
      Object.assign(refunded(made).here, { status: "FAILED", failureCode: "no" });
    },
  },
  retried_twice: {
    spoil: (made) => {
      retried(made);
      made.attempts.push({ ...attempt("att_5", 5, "DECLINED"), round: 0, connectionId: "gc_c" });
      made.attempts.push({ ...attempt("att_6", 6, "DECLINED"), round: 2, connectionId: "gc_c" });
    },
  },
  retried_uncertain: { spoil: (made) => void Object.assign(retried(made).declined, { status: "VOIDED" }) },
  charged_again: {
    spoil: (made) => {
      retried(made);
      made.authorizations[1] = authorization("auth_2", "att_2", "voided");
    },
  },
  order_paid_twice: { spoil: paidAgain },
  renewal_paid_twice: {
    spoil(made) {
      paidAgain(made);
      const [first, second] = made.sessions;
      Object.assign(first!, { renewal: "agreement january" });
      Object.assign(second!, { renewal: "agreement january", orderRef: "order-1-tab-2" });
    },
  },
  dispute_differs: {
    spoil: ({ authorizations: [, captured] }) => {
      const moved = [{ at: "2026-01-01T00:00:05.000Z", report: "CHARGEBACK", dispute: "dispute_1" }] as const;
      Object.assign(captured!, { disputed: { fromMs: 0, made: 1, moved } });
    },
  },
  other_outcome: { spoil: ({ orders: [order] }) => void order!.heard.push("DECLINED") },
};

const kindsOf = (records: Records) => findViolations(records).map(({ kind }) => kind);

describe("findViolations()", () => {
  it("finds nothing wrong with a sound record", () => {
    const made = sound();
    expect(findViolations(made)).toEqual([]);
    refunded(made);
    expect(findViolations(made)).toEqual([]);
    capturedLater(made);
    expect(findViolations(made)).toEqual([]);
    const again = sound();
    retried(again);
    expect(findViolations(again)).toEqual([]);
  });

  it("finds a payment that is captured later over another amount than its shop ordered", () => {
    const made = sound();
    capturedLater(made);
    made.authorizations[1]!.capturedValue = 4900;
    expect(kindsOf(made)).toEqual(["wrong_amount"]);
  });

  it("finds money that both rounds at a gateway have captured, whatever the first attempt's row says", () => {
    const made = sound();
    const { declined } = retried(made);
    made.authorizations[1] = authorization("auth_2", "att_2", "captured");
    expect(kindsOf(made)).toEqual(["captured_twice", "captured_by_another", "charged_again"]);
    declined.stop = "fraud";
    expect(kindsOf(made)).toContain("retried_uncertain");
  });

  it("leaves money that a person captured at a gateway to a person, and only that money", () => {
    const made = sound();
    capturedByHand(made, 0);
    made.sessions[0]!.phase = "PROCESSING";
    expect(kindsOf(made)).toEqual(["not_final", "by_hand_unnoticed"]);
    made.workItems[0] = { sessionId: "ps_1", kind: "RECORD_MISMATCH", detail: "", resolved: false };
    expect(kindsOf(made)).toEqual([]);
    made.authorizations[0]!.capturedValue = 4900;
    made.attempts[0]!.orderedValue = 4900;
    expect(kindsOf(made)).toEqual(["captured_twice", "captured_by_another"]);
  });

  it("leaves a refund to a person whose key Adyen answers with an error for good, if the work queue says so", () => {
    const made = sound();
    const { here, refunds } = refunded(made);
    here.status = "REQUESTED";
    refunds.pop();
    made.keptErrors = ["ref_1"];
    expect(kindsOf(made)).toEqual(["refund_open"]);
    const item = { sessionId: "ps_1", kind: "REFUND_UNANSWERED", detail: "", resolved: false };
    made.workItems.push(item);
    expect(kindsOf(made)).toEqual([]);
    made.keptErrors = [];
    expect(kindsOf(made)).toEqual(["refund_open", "work_item"]);
    made.keptErrors = ["ref_1"];
    refunds.push({
      id: "re_1",
      reference: "ref_1",
      value: 900,
      openedAt: "2026-01-01T00:00:04.000Z",
      status: "succeeded",
    });
    expect(kindsOf(made)).toEqual(["refund_open", "work_item"]);
  });

  it("leaves a refund to a person that neither of two keys could make, if the work queue says so", () => {
    const made = sound();
    const { here, refunds } = refunded(made);
    refunds.pop();
    made.workItems.push({ sessionId: "ps_1", kind: "REFUND_UNANSWERED", detail: "", resolved: false });
    const kindsWith = (keys: number) => kindsOf({ ...made, refunds: [{ ...here, status: "REQUESTED", keys }] });
    expect([kindsWith(2), kindsWith(1)]).toEqual([[], ["refund_open", "work_item"]]);
  });

  it("leaves a refund to a person that the gateway refuses for its card, or because less is left, if the work queue says so", () => {
    const made = sound();
    const { here, refunds } = refunded(made);
    here.status = "REQUESTED";
    const byHand = { ...refunds[0]!, reference: "", value: 4001 };
    refunds[0] = byHand;
    expect(kindsOf(made)).toEqual(["refund_open"]);
    made.workItems.push({ sessionId: "ps_1", kind: "REFUND_UNANSWERED", detail: "", resolved: false });
    expect(kindsOf(made)).toEqual([]);
    refunds[0] = { ...byHand, value: 4000 };
    expect(kindsOf(made)).toEqual(["refund_open", "work_item"]);
    made.authorizations[1]!.refund = "refuse";
    expect(kindsOf(made)).toEqual([]);
  });

  it("leaves a refund and the dispute beside it to a person, if nothing is left of the payment", () => {
    const made = sound();
    const { here, refunds } = refunded(made);
    here.status = "REQUESTED";
    refunds.pop();
    for (const kind of ["REFUND_UNANSWERED", "PAID_BACK_TWICE"])
      made.workItems.push({ sessionId: "ps_1", kind, detail: "", resolved: false });
    expect(kindsOf(made)).toEqual(["refund_open", "work_item", "work_item"]);
    Object.assign(made.authorizations[1]!, { disputed: { moved: [{ report: "CHARGEBACK" }] } });
    made.disputed.push({ attemptId: "att_2", value: 4900 });
    expect(kindsOf(made)).toEqual([]);
  });

  it("leaves a dispute of money that was refunded to a person, and no other", () => {
    const made = sound();
    const item = { sessionId: "ps_1", kind: "PAID_BACK_TWICE", detail: "", resolved: false };
    made.workItems.push(item);
    expect(kindsOf(made)).toEqual(["work_item"]);
    item.resolved = true;
    expect(kindsOf(made)).toEqual([]);
    item.resolved = false;
    refunded(made);
    expect(kindsOf(made)).toEqual([]);
  });

  it("leaves a capture that failed because its hold had ended to a person, if the work queue says so", () => {
    const made = sound();
    made.authorizations[1] = { ...authorization("auth_2", "att_2", "voided"), hold: "ends_early" };
    expect(kindsOf(made)).toEqual(["success_without_capture"]);
    made.workItems[0] = { sessionId: "ps_1", kind: "CAPTURE_FAILED", detail: "", resolved: false };
    expect(kindsOf(made)).toEqual([]);
  });

  it("takes a capture by hand for the order of a payment that is captured later, with a row for a person", () => {
    const made = sound();
    capturedLater(made);
    capturedByHand(made, 1);
    Object.assign(made.attempts[1]!, { orderedMinor: 2450, orderedValue: 2450 });
    Object.assign(made.orders[0]!, { captures: [], captured: undefined });
    expect(kindsOf(made)).toEqual(["by_hand_unnoticed"]);
    made.workItems[0] = { sessionId: "ps_1", kind: "RECORD_MISMATCH", detail: "", resolved: false };
    expect(kindsOf(made)).toEqual([]);
  });

  it("lets an order be paid again that was refunded whole before, or where its shop allows it", () => {
    const made = sound();
    paidAgain(made);
    const { here, there } = refunded(made);
    expect(kindsOf(made)).toEqual(["order_paid_twice"]);
    here.value = 4900;
    Object.assign(there, { value: 4900 });
    expect(kindsOf(made)).toEqual([]);
    Object.assign(there, { openedAt: "2026-01-01T00:00:05.000Z" });
    expect(kindsOf(made)).toEqual(["order_paid_twice"]);
    made.sessions[1]!.allowsRepeat = true;
    expect(kindsOf(made)).toEqual([]);
  });

  it("compares what a bank has taken and returned for disputes with what is recorded", () => {
    const made = sound();
    spoiled.dispute_differs.spoil(made);
    made.disputed.push({ attemptId: "att_2", value: 4900 });
    expect(kindsOf(made)).toEqual([]);
    made.disputed.pop();
    const { disputed }: Records["authorizations"][number] = made.authorizations[1]!;
    const moved = [...disputed!.moved!, { ...disputed!.moved![0]!, report: "CHARGEBACK_REVERSED" as const }];
    Object.assign(made.authorizations[1]!, { disputed: { ...disputed, moved } });
    expect(kindsOf(made)).toEqual([]);
    made.disputed.push({ attemptId: "att_2", value: 4900 });
    expect(kindsOf(made)).toEqual(["dispute_differs"]);
  });

  it("takes a cancellation before the submission for the end of an expired session, and no other expiry", () => {
    const made = sound();
    Object.assign(made, { attempts: [], authorizations: [], webhooks: [], events: [], workItems: [] });
    Object.assign(made.sessions[0]!, {
      status: "EXPIRED",
      winnerAttemptId: undefined,
      submittedAt: undefined,
      hasCapture: false,
    });
    Object.assign(made.orders[0]!, { cancelled: true, heard: ["EXPIRED"], submitted: false });
    const others = kindsOf(made).filter((kind) => kind !== "cancel_lost");
    expect(kindsOf(made)).toContain("cancel_lost");
    made.sessions[0]!.expiredBecause = "CANCELLED";
    expect(kindsOf(made)).toEqual(others);
  });

  it.each(Object.entries(spoiled))("finds %s, and only what belongs to it", (kind, { spoil, also = [] }) => {
    const made = sound();
    spoil(made);
    expect(kindsOf(made).sort()).toEqual([kind, ...also].sort());
  });

  it("counts a session's time from its customer's end, and from where the run moved the clock", () => {
    const made = sound();
    Object.assign(made.sessions[0]!, { hasCapture: false, settledAt: "2026-01-01T00:11:40.000Z" });
    expect(kindsOf(made)).toEqual(["past_bound"]);
    const answered = { sessionId: "ps_1", deadlineAt: "2026-01-01T00:10:00.000Z", endedAt: "2026-01-01T00:10:01.000Z" };
    made.authentications = [{ ...answered, status: "AUTHENTICATED" }];
    expect(kindsOf(made)).toEqual([]);
    made.authentications = [{ ...answered, status: "ABANDONED", endedAt: "2026-01-01T00:11:40.000Z" }];
    expect(kindsOf(made)).toEqual([]);
    made.sessions[0]!.settledAt = "2026-01-01T00:20:00.000Z";
    expect(kindsOf(made)).toEqual(["past_bound"]);
    made.clockMovedAt = ["2026-01-01T00:19:00.000Z"];
    expect(kindsOf(made)).toEqual([]);
    made.clockMovedAt = ["2026-01-01T00:19:00.000Z", "2026-01-01T00:21:00.000Z"];
    made.sessions[0]!.settledAt = "2026-01-01T00:20:50.000Z";
    expect(kindsOf(made)).toEqual(["past_bound"]);
  });

  it("adds the time of more than two take-overs, and no time in which nobody could take over", () => {
    const made = sound();
    const session = made.sessions[0]!;
    Object.assign(session, { hasCapture: false, settledAt: "2026-01-01T00:02:15.000Z" });
    const kindsAfter = (epoch: number) => {
      session.leaseEpoch = epoch;
      return kindsOf(made);
    };
    expect([kindsAfter(3), kindsAfter(4)]).toEqual([["past_bound"], []]);
    session.settledAt = "2026-01-01T00:02:15.001Z";
    expect(kindsAfter(4)).toEqual(["past_bound"]);
    made.outages = [
      { from: "2025-12-31T23:59:00.000Z", to: "2026-01-01T00:00:10.000Z" },
      { from: "2026-01-01T00:01:50.000Z", to: "2026-01-01T00:03:00.000Z" },
    ];
    session.settledAt = "2026-01-01T00:02:15.000Z";
    expect(kindsAfter(1)).toEqual([]);
    made.outages[1]!.from = "2026-01-01T00:01:55.001Z";
    expect(kindsAfter(1)).toEqual(["past_bound"]);
  });

  it("reports a hold that existed before the latest execution time as one that should have been found", () => {
    const made = sound();
    made.attempts[0]!.voidKind = "NEVER_EXISTED";
    made.authorizations[0] = authorization("auth_1", "att_1", "held");
    expect(kindsOf(made)).toEqual(["hold_left"]);
  });

  it("accepts a fraud decline that was found after the next attempt had started", () => {
    const made = sound();
    made.attempts[0]!.failureKind = "FRAUD";
    made.attempts[0]!.completedAt = "2026-01-01T00:00:03.000Z";
    expect(kindsOf(made)).toEqual([]);
  });

  it("accepts no row on the work queue that says that records disagree, resolved or not", () => {
    const made = sound();
    made.workItems[0]!.kind = "RECORD_MISMATCH";
    expect(kindsOf(made)).toEqual(["work_item"]);
  });

  it("leaves a second capture that failed to a person if the first one succeeded", () => {
    const made = sound();
    const detail =
      "The gateway reports capture B as failed, but A of the whole amount as done: it is not charged again.";
    const failed = { sessionId: "ps_1", kind: "CAPTURE_FAILED", detail: "", resolved: false };
    made.workItems.push(failed);
    expect(kindsOf(made)).toEqual(["work_item"]);
    made.workItems.push({ sessionId: "ps_1", kind: "RECORD_MISMATCH", detail, resolved: false });
    expect(kindsOf(made)).toEqual([]);
    made.workItems.push({ ...failed, sessionId: "ps_2" });
    expect(kindsOf(made)).toEqual(["work_item"]);
  });

  it("counts the time of a payment that is captured later until its hold", () => {
    const made = sound();
    capturedLater(made);
    made.sessions[0]!.settledAt = "2026-01-01T09:00:00.000Z";
    expect(kindsOf(made)).toEqual([]);
    made.sessions[0]!.heldAt = "2026-01-01T00:01:46.000Z";
    expect(kindsOf(made)).toEqual(["past_bound"]);
  });

  it("reports two final events of one session, and accepts a pending one", () => {
    const made = sound();
    const [event] = made.events;
    made.events.push({ ...event!, eventId: "evt_2", sequence: 2, type: "payment_session.pending" });
    made.webhooks.push({ ...made.webhooks[1]!, eventId: "evt_2" });
    expect(kindsOf(made)).toEqual([]);
    made.events[1]!.type = "payment_session.succeeded";
    expect(kindsOf(made)).toEqual(["final_events"]);
  });

  it("describes every kind of violation", () => {
    expect(Object.keys(spoiled).sort()).toEqual(Object.keys(violationKinds).sort());
  });
});
