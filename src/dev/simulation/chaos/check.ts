/** Checks that money, statuses, events and answers of a chaos run agree, once everything has settled. PURE. */
import { followUpTimeoutMs, leaseMs, timingBounds } from "../../../limits.ts";
import { disputeViolationKinds, findDisputeViolations } from "./check-disputes.ts";
import {
  findHoldViolations,
  type HoldCase,
  hasEndedMeanwhile,
  holdViolationKinds,
  isByHand,
  isLeftToPerson,
} from "./check-holds.ts";
import { findOrderViolations, orderViolationKinds } from "./check-orders.ts";
import { findRefundViolations, refundsLeftToPerson, refundViolationKinds } from "./check-refunds.ts";
import { findRenewalViolations, renewalViolationKinds } from "./check-renewals.ts";
import { findRetryViolations, retryViolationKinds } from "./check-retries.ts";
import type { AuthenticationRecord, EventRecord, Outage, Records, WebhookRecord } from "./records.ts";

export const violationKinds = {
  not_final: "a session has not ended",
  past_bound: "a session ended later than its time and its take-overs explain, and no capture was unanswered",
  captured_twice: "money was captured more than once",
  captured_without_success: "money was captured, but the session has not succeeded",
  success_without_capture: "the session succeeded, but nothing was captured",
  captured_by_another: "an attempt other than the winner was captured",
  other_gateway: "a gateway other than the attempt's has the authorization on record",
  wrong_amount: "the captured amount is not the ordered amount",
  hold_left: "a hold was left at an acquirer",
  late_hold: "a hold that was made after its attempt's latest execution time is still there",
  unknown_authorization: "an acquirer has an authorization that belongs to no attempt",
  after_fraud: "something followed a fraud decline",
  final_events: "a session does not have exactly one final event, or its status is another",
  sequence_gap: "a session's events are not numbered from 1 without gaps",
  webhook_missing: "an event never reached the merchant",
  webhook_changed: "a webhook's bytes are not those of its event",
  webhook_unsigned: "a webhook's signature does not verify",
  webhook_unknown: "a webhook belongs to no event",
  audit: "the database's own audit finds a broken rule",
  ...orderViolationKinds,
  ...holdViolationKinds,
  ...refundViolationKinds,
  ...renewalViolationKinds,
  ...disputeViolationKinds,
  ...retryViolationKinds,
  work_item: "the work queue has a row that does not belong there, or that was never resolved",
} as const;

export type ViolationKind = keyof typeof violationKinds;
export type Violation = { readonly kind: ViolationKind; readonly sessionId: string; readonly detail: string };

type Found = Pick<Violation, "kind" | "detail">;
type Case = HoldCase & {
  readonly authentications: readonly AuthenticationRecord[];
  readonly clockMovedAt: readonly string[];
  readonly outages: readonly Outage[];
};

/**
 * Returns every disagreement. A session that is still only created is a violation too: at the end each has ended, if
 * only by expiring.
 */
export function findViolations(records: Records): Violation[] {
  const attempts = new Map(records.attempts.map((attempt) => [attempt.attemptId, attempt]));
  const money = records.authorizations.flatMap((authorization) => {
    const attempt = attempts.get(authorization.reference);
    return attempt === undefined ? [] : [{ attempt, authorization }];
  });
  const moneyOf = Map.groupBy(money, ({ attempt }) => attempt.sessionId);
  const attemptsOf = Map.groupBy(records.attempts, ({ sessionId }) => sessionId);
  const authenticationsOf = Map.groupBy(records.authentications, ({ sessionId }) => sessionId);
  const eventsOf = Map.groupBy(records.events, ({ sessionId }) => sessionId);
  const workItemsOf = Map.groupBy(records.workItems, ({ sessionId }) => sessionId);
  const orders = new Map(records.orders.map((order) => [order.key, order]));
  const { clockMovedAt, outages } = records;
  const cases = records.sessions.map((session): Case => {
    const { sessionId } = session;
    return {
      session,
      attempts: attemptsOf.get(sessionId) ?? [],
      authentications: authenticationsOf.get(sessionId) ?? [],
      clockMovedAt,
      outages,
      money: moneyOf.get(sessionId) ?? [],
      events: eventsOf.get(sessionId) ?? [],
      order: orders.get(session.key),
      workItems: workItemsOf.get(sessionId) ?? [],
    };
  });
  const ofSessions = cases.flatMap((one) => {
    const ofMoney = [...checkMoney(one), ...checkHolds(one), ...findHoldViolations(one), ...findRetryViolations(one)];
    const found = [...checkEnd(one), ...checkBound(one), ...ofMoney, ...checkEvents(one)];
    return found.map((violation) => ({ ...violation, sessionId: one.session.sessionId }));
  });
  const left = new Set(cases.filter(isLeftToPerson).map(({ session }) => session.sessionId));
  const secondCaptures = new Set(records.workItems.filter(isSecondCapture).map(({ sessionId }) => sessionId));
  const refunded = new Set(cases.filter(isRefunded).map(({ session }) => session.sessionId));
  const unanswered = new Set([...refundsLeftToPerson(records).values()].map(({ sessionId }) => sessionId));
  const strangers = records.authorizations.filter(({ reference }) => !attempts.has(reference));
  return [
    ...ofSessions,
    ...strangers.map(({ id, reference }) => violation("unknown_authorization", "", `${id} for ${reference}`)),
    ...checkWebhooks(records.events, records.webhooks),
    ...findOrderViolations(records.orders, cases),
    ...findRefundViolations(records),
    ...findRenewalViolations(cases),
    ...findDisputeViolations(records),
    ...records.audit.map(({ sessionId, rule }) => violation("audit", sessionId, rule)),
    ...records.workItems
      .filter(
        (item) =>
          !(item.resolved && mayBeInWorkQueue.has(item.kind)) &&
          !isExplained(item, { secondCaptures, refunded: new Set([...refunded, ...unanswered]) }),
      )
      .filter(
        ({ sessionId, kind }) => !left.has(sessionId) && !(kind === "REFUND_UNANSWERED" && unanswered.has(sessionId)),
      )
      .map(({ sessionId, kind, detail }) => violation("work_item", sessionId, `${kind}: ${detail}`)),
  ];
}

// Rows that outages cause and their end resolves; any other row on the work queue means that records disagree.
const mayBeInWorkQueue = new Set([
  ...["VOID_UNANSWERED", "CAPTURE_UNANSWERED", "ACTION_OVERDUE", "ORPHANED_AUTHORIZATION", "REFUND_UNANSWERED"],
  "HOLD_OVERDUE",
  // A list may report a second chargeback before it reports that the first one came back.
  "PAID_BACK_TWICE",
]);

/**
 * Adyen accepts a capture under another key if it keeps an error for the first, and reports one of them as failed. A
 * person sees that, and the records show whether the money was captured once.
 */
function isSecondCapture({ kind, detail }: Records["workItems"][number]): boolean {
  return kind === "RECORD_MISMATCH" && / as failed, but .* of the whole amount as done/.test(detail);
}

function isRefunded({ money }: Case): boolean {
  return money.some(({ authorization }) => authorization.refunds.length > 0);
}

/**
 * The failure of the second capture may be reported before the first one's success: then both rows exist. Money that an acquirer has
 * refunded, or may have, may be disputed, by the test cards of disputes.
 */
function isExplained(
  item: Records["workItems"][number],
  { secondCaptures, refunded }: Readonly<Record<"secondCaptures" | "refunded", ReadonlySet<string>>>,
): boolean {
  if (item.kind === "PAID_BACK_TWICE") return refunded.has(item.sessionId);
  return isSecondCapture(item) || (item.kind === "CAPTURE_FAILED" && secondCaptures.has(item.sessionId));
}

function checkEnd(one: Case): Found[] {
  const { session, attempts } = one;
  const { status, phase } = session;
  const isOpen = (status === "CREATED" || phase !== "DONE") && !isLeftToPerson(one);
  const fraud = attempts.find(({ failureKind }) => failureKind === "FRAUD");
  // A decline may be found only after another gateway was charged.
  const followers = attempts.filter(({ startedAt }) => fraud?.completedAt && startedAt >= fraud.completedAt);
  const open = attempts.map((attempt) => `${attempt.gateway} ${attempt.status}`).join(", ");
  return [
    ...found("not_final", isOpen, `${status}, ${phase}; ${open || "no attempt"}`),
    ...found("after_fraud", followers.length > 0, `${followers.length} attempt(s) after ${fraud?.attemptId}`),
  ];
}

// The time that a payment may take without its customer, and two take-overs, which are a minute: the lease of a dead
// process lapses, and a silent gateway is looked up.
const takeOverMs = leaseMs + followUpTimeoutMs;
const takeOversMin = 2;

/**
 * Time restarts when the customer has answered or could have, and when the run has moved the clock. A payment that is
 * captured later ends for its customer with the hold. More take-overs than two have their own time, and time without a
 * process to take over does not count.
 */
function checkBound({ session, authentications, clockMovedAt, outages }: Case): Found[] {
  const { submittedAt, heldAt, hasCapture, leaseEpoch } = session;
  const endedAt = heldAt ?? session.settledAt;
  if (submittedAt === undefined || endedAt === undefined || (hasCapture && heldAt === undefined)) return [];
  const customer = authentications.map(({ status, deadlineAt, endedAt }) =>
    status === "ABANDONED" || endedAt === undefined ? deadlineAt : endedAt,
  );
  const meanwhile = clockMovedAt.filter((at) => at <= endedAt);
  const from = [submittedAt, ...customer, ...meanwhile].toSorted().at(-1)!;
  const outageMs = outages.map((one) => Date.parse(least(one.to, endedAt)) - Date.parse(greatest(one.from, from)));
  const idleMs = outageMs.reduce((sum, ms) => sum + Math.max(0, ms), 0);
  const tookMs = Date.parse(endedAt) - Date.parse(from);
  const takeOvers = leaseEpoch - 1;
  const boundMs = timingBounds.submissionBudgetMs.default + Math.max(takeOversMin, takeOvers) * takeOverMs;
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  const detail = `ended ${seconds(tookMs)} after ${from}, ${seconds(idleMs)} of it without a worker or PostgreSQL; taken over ${takeOvers} times`;
  return found("past_bound", tookMs - idleMs > boundMs, detail);
}

function least(left: string, right: string): string {
  return left < right ? left : right;
}

function greatest(left: string, right: string): string {
  return left < right ? right : left;
}

function checkMoney({ session, money, workItems }: Case): Found[] {
  const captured = money.filter((one) => one.authorization.status === "captured" && !isByHand(one));
  const names = captured.map(({ authorization, attempt }) => `${authorization.id} of ${attempt.attemptId}`).join(", ");
  const succeeded = session.status === "SUCCEEDED";
  const others = captured.filter(({ attempt }) => attempt.attemptId !== session.winnerAttemptId);
  const elsewhere = money.filter(({ attempt, authorization }) => attempt.gateway !== authorization.gateway);
  const wrong = captured.filter(
    ({ attempt, authorization: { capturedValue, currency } }) =>
      capturedValue !== (session.isManual ? attempt.orderedValue : attempt.value) || currency !== attempt.currency,
  );
  return [
    ...found("captured_twice", captured.length > 1, names),
    ...found("captured_without_success", captured.length > 0 && !succeeded, `${names}; ${session.status}`),
    ...found(
      "success_without_capture",
      succeeded && !captured.length && !money.some(isByHand) && !hasEndedMeanwhile({ money, workItems }),
      `winner ${session.winnerAttemptId}`,
    ),
    ...found("captured_by_another", others.length > 0 && succeeded, `${names}; winner ${session.winnerAttemptId}`),
    ...found(
      "other_gateway",
      elsewhere.length > 0,
      elsewhere.map(({ authorization: { id, gateway } }) => `${id} at ${gateway}`).join(", "),
    ),
    ...found("wrong_amount", wrong.length > 0, names),
  ];
}

function checkHolds({ money }: Case): Found[] {
  return money
    .filter(({ authorization }) => authorization.status === "held")
    .map(({ attempt, authorization: { id, openedAt } }) => ({
      // The service could not know of it: the void found nothing, and was sent after the latest execution time.
      kind: attempt.voidKind === "NEVER_EXISTED" && openedAt >= attempt.latestExecutionAt ? "late_hold" : "hold_left",
      detail: `${id} of ${attempt.attemptId} at ${attempt.gateway}, ${attempt.status}, opened ${openedAt}`,
    }));
}

function checkEvents({ session, events }: Case): Found[] {
  const finals = events
    .filter(({ type }) => /^payment_session\.(?!pending$|held$|capture_due$)/.test(type))
    .map(({ type }) => type);
  const wanted = session.status === "CREATED" ? [] : [`payment_session.${session.status.toLowerCase()}`];
  const numbers = events.map(({ sequence }) => sequence).sort((left, right) => left - right);
  return [
    ...found("final_events", finals.join() !== wanted.join(), `${finals.join(", ") || "none"}; ${session.status}`),
    ...found("sequence_gap", !numbers.every((number, index) => number === index + 1), numbers.join(", ")),
  ];
}

function checkWebhooks(events: readonly EventRecord[], webhooks: readonly WebhookRecord[]): Violation[] {
  const received = Map.groupBy(webhooks, ({ eventId }) => eventId);
  const known = new Set(events.map(({ eventId }) => eventId));
  const ofEvents = events.flatMap(({ sessionId, eventId, type, body }) => {
    const copies = received.get(eventId) ?? [];
    const accepted = copies.some((copy) => copy.accepted);
    return [
      ...found("webhook_missing", !accepted, `${type}, ${eventId}: ${copies.length} arrived`),
      ...found(
        "webhook_changed",
        copies.some((copy) => copy.body !== body),
        eventId,
      ),
      ...found(
        "webhook_unsigned",
        copies.some((copy) => !copy.signed),
        eventId,
      ),
    ].map((one) => ({ ...one, sessionId }));
  });
  const strangers = [...received.keys()].filter((eventId) => !known.has(eventId));
  return [...ofEvents, ...strangers.map((eventId) => violation("webhook_unknown", "", eventId))];
}

function found(kind: ViolationKind, isWrong: boolean, detail: string): Found[] {
  return isWrong ? [{ kind, detail }] : [];
}

function violation(kind: ViolationKind, sessionId: string, detail: string): Violation {
  return { kind, sessionId, detail };
}
