/** Whether money, statuses, events and answers of a chaos run agree, once everything has come to rest. PURE. */
import type { AttemptRecord, EventRecord, OrderRecord, Records, SessionRecord, WebhookRecord } from "./records.ts";

/** What can be wrong, with the sentence that the report shows. */
export const violationKinds = {
  not_final: "a session has not come to its end",
  captured_twice: "money was captured more than once",
  captured_without_success: "money was captured, and the session says otherwise",
  success_without_capture: "the session succeeded, and nothing was captured",
  captured_by_another: "another attempt than the winner was captured",
  wrong_amount: "another amount was captured than was ordered",
  hold_left: "a hold was left at an acquirer",
  late_hold: "a hold that came into being after its attempt's horizon is still there",
  unknown_authorization: "an acquirer was asked for something that no attempt stands for",
  after_fraud: "something followed a fraud decline",
  final_events: "a session has not exactly one final event, of its status",
  sequence_gap: "a session's events are not numbered from 1 without gaps",
  webhook_missing: "an event never reached the merchant",
  webhook_changed: "a webhook's bytes are not those of its event",
  webhook_unsigned: "a webhook's signature does not verify",
  webhook_unknown: "a webhook tells of no event",
  key_made_two: "one Idempotency-Key made two sessions",
  created_lost: "a session that was answered is not there",
  submitted_lost: "a submission that was answered is not there",
  told_otherwise: "a customer was told another outcome",
  audit: "the database's own audit finds a broken rule",
  work_item: "the work list has a row that does not belong there, or that nothing has resolved",
} as const;

/** The name of what can be wrong. */
export type ViolationKind = keyof typeof violationKinds;
/** One thing that is wrong, and where. */
export type Violation = { readonly kind: ViolationKind; readonly sessionId: string; readonly detail: string };

type Found = Pick<Violation, "kind" | "detail">;
type Money = Records["authorizations"][number];
type Case = {
  readonly session: SessionRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly money: readonly { readonly attempt: AttemptRecord; readonly authorization: Money }[];
  readonly events: readonly EventRecord[];
};

/** Every disagreement. A session that is no more than created is wrong too: at the end each has ended, if only by expiring. */
export function findViolations(records: Records): Violation[] {
  const attempts = new Map(records.attempts.map((attempt) => [attempt.attemptId, attempt]));
  const money = records.authorizations.flatMap((authorization) => {
    const attempt = attempts.get(authorization.reference);
    return attempt === undefined ? [] : [{ attempt, authorization }];
  });
  const moneyOf = Map.groupBy(money, ({ attempt }) => attempt.sessionId);
  const attemptsOf = Map.groupBy(records.attempts, ({ sessionId }) => sessionId);
  const eventsOf = Map.groupBy(records.events, ({ sessionId }) => sessionId);
  const ofSessions = records.sessions.flatMap((session) => {
    const { sessionId } = session;
    const one: Case = {
      session,
      attempts: attemptsOf.get(sessionId) ?? [],
      money: moneyOf.get(sessionId) ?? [],
      events: eventsOf.get(sessionId) ?? [],
    };
    const found = [...checkEnd(one), ...checkMoney(one), ...checkHolds(one), ...checkEvents(one)];
    return found.map((violation) => ({ ...violation, sessionId }));
  });
  const strangers = records.authorizations.filter(({ reference }) => !attempts.has(reference));
  return [
    ...ofSessions,
    ...strangers.map(({ id, reference }) => violation("unknown_authorization", "", `${id} for ${reference}`)),
    ...checkWebhooks(records.events, records.webhooks),
    ...checkOrders(records.orders, records.sessions),
    ...records.audit.map(({ sessionId, rule }) => violation("audit", sessionId, rule)),
    ...records.workItems
      .filter(({ kind, resolved }) => !resolved || !mayBeOnWorkList.has(kind))
      .map(({ sessionId, kind, detail }) => violation("work_item", sessionId, `${kind}: ${detail}`)),
  ];
}

// What outages bring about and their end resolves; anything else on the work list means that records disagree.
const mayBeOnWorkList = new Set(["VOID_UNANSWERED", "CAPTURE_UNANSWERED", "STRAY_HOLD"]);

function checkEnd({ session, attempts }: Case): Found[] {
  const { status, phase } = session;
  const fraud = attempts.find(({ failureKind }) => failureKind === "FRAUD");
  // A decline may be found out only when another gateway has been asked already.
  const followers = attempts.filter(({ startedAt }) => fraud?.completedAt && startedAt > fraud.completedAt);
  const open = attempts.map((attempt) => `${attempt.gateway} ${attempt.status}`).join(", ");
  return [
    ...found("not_final", status === "CREATED" || phase !== "DONE", `${status}, ${phase}; ${open || "no attempt"}`),
    ...found("after_fraud", followers.length > 0, `${followers.length} attempt(s) after ${fraud?.attemptId}`),
  ];
}

function checkMoney({ session, money }: Case): Found[] {
  const captured = money.filter(({ authorization }) => authorization.status === "captured");
  const names = captured.map(({ authorization, attempt }) => `${authorization.id} of ${attempt.attemptId}`).join(", ");
  const succeeded = session.status === "SUCCEEDED";
  const others = captured.filter(({ attempt }) => attempt.attemptId !== session.winnerAttemptId);
  const wrong = captured.filter(
    ({ attempt, authorization: { capturedValue, currency } }) =>
      capturedValue !== attempt.value || currency !== attempt.currency,
  );
  return [
    ...found("captured_twice", captured.length > 1, names),
    ...found("captured_without_success", captured.length > 0 && !succeeded, `${names}; ${session.status}`),
    ...found("success_without_capture", captured.length === 0 && succeeded, `winner ${session.winnerAttemptId}`),
    ...found("captured_by_another", others.length > 0 && succeeded, `${names}; winner ${session.winnerAttemptId}`),
    ...found("wrong_amount", wrong.length > 0, names),
  ];
}

function checkHolds({ money }: Case): Found[] {
  return money
    .filter(({ authorization }) => authorization.status === "held")
    .map(({ attempt, authorization: { id, openedAt } }) => ({
      // Nobody could know of it: the void had found nothing, and was sent when nothing could come any more.
      kind: attempt.voidKind === "NEVER_EXISTED" && openedAt >= attempt.horizonAt ? "late_hold" : "hold_left",
      detail: `${id} of ${attempt.attemptId} at ${attempt.gateway}, ${attempt.status}, opened ${openedAt}`,
    }));
}

function checkEvents({ session, events }: Case): Found[] {
  const finals = events.filter(({ type }) => /^payment_session\.(?!pending$)/.test(type)).map(({ type }) => type);
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
      ...found("webhook_missing", !accepted, `${type}, ${eventId}: ${copies.length} came`),
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

function checkOrders(orders: readonly OrderRecord[], sessions: readonly SessionRecord[]): Violation[] {
  const byOrder = Map.groupBy(sessions, ({ orderRef }) => orderRef);
  return orders.flatMap(({ orderRef, created, submitted, heard }) => {
    const stored = byOrder.get(orderRef) ?? [];
    const [session] = stored;
    const ids = new Set([...created, ...stored.map(({ sessionId }) => sessionId)]);
    const lost = created.filter((id) => !stored.some(({ sessionId }) => sessionId === id));
    const otherwise = heard.filter((status) => status !== session?.status);
    return [
      ...found("key_made_two", ids.size > 1, [...ids].join(", ")),
      ...found("created_lost", lost.length > 0, lost.join(", ")),
      ...found("submitted_lost", submitted && !session?.submittedAt, `order ${orderRef}`),
      ...found("told_otherwise", otherwise.length > 0, `${otherwise.join(", ")}; ${session?.status}`),
    ].map((one) => ({ ...one, sessionId: session?.sessionId ?? created[0] ?? "" }));
  });
}

function found(kind: ViolationKind, isWrong: boolean, detail: string): Found[] {
  return isWrong ? [{ kind, detail }] : [];
}

function violation(kind: ViolationKind, sessionId: string, detail: string): Violation {
  return { kind, sessionId, detail };
}
