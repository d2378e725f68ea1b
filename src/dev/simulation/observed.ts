/** Reads the current rows of a run's session, without any code of the product. */
import type { QueryResult } from "pg";

export type ObservedAttempt = {
  readonly id: string;
  readonly sequence: number;
  readonly gateway: string;
  readonly status: string;
  readonly failure_kind: string | null;
  readonly next_because: string | null;
  readonly stop: string | null;
  readonly amount_minor: number;
  readonly capture_ordered_at: string | null;
  readonly captured_amount_minor: number | null;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly void_kind: string | null;
  readonly latest_execution_at: string;
  readonly capture_refusal_code: string | null;
  readonly decline_code: string | null;
  readonly connection_id: string;
  readonly round: number;
  readonly looked_up_at: string | null;
};

export type ObservedAuthentication = {
  readonly id: string;
  readonly attempt_id: string | null;
  readonly provider: string | null;
  readonly proof_sealed: string | null;
  readonly connection_id: string;
  readonly flow: string;
  readonly status: string;
  readonly holds_only_when_asked: boolean;
  readonly completions_sent: number;
  readonly cancel_asked_at: string | null;
  readonly completed_at: string | null;
  readonly action_sealed: string | null;
  readonly keep_sealed: string | null;
  readonly returned_sealed: string | null;
};

export type ObservedRefund = {
  readonly id: string;
  readonly status: string;
  readonly origin: string;
  readonly amount_minor: number;
  readonly gateway_reference: string | null;
  readonly failure_code: string | null;
  readonly sends: number;
  readonly keys: number;
  readonly succeeded_at: string | null;
};

/** A dispute with its amounts taken and returned, and its responses. */
export type ObservedDispute = {
  readonly id: string;
  readonly gateway_reference: string;
  readonly stage: string;
  readonly status: string;
  readonly amount_minor: number;
  readonly held_minor: number;
  readonly asked_at: string | null;
  readonly movements: readonly { readonly type: string; readonly amount_minor: number }[];
  readonly responses: readonly {
    readonly id: string;
    readonly type: string;
    readonly status: string;
    readonly sends: number;
  }[];
};

export type ObservedSession = {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly lease_epoch: number;
  readonly lease_until: string | null;
  readonly amount_minor: number;
  readonly winner_attempt_id: string | null;
  readonly captured_via: string | null;
  readonly capture_confirmed: boolean | null;
  readonly failover: boolean;
  readonly decline_code: string | null;
  readonly paying_session_id: string | null;
  readonly brakes: readonly string[] | null;
  readonly expires_at: string;
  readonly expired_because: string | null;
  readonly replaced_by: string | null;
  readonly submit_deadline: string | null;
  readonly submitted_at: string | null;
  readonly browser_sealed: string | null;
  readonly vault_token: string | null;
  readonly manual_capture: boolean;
  readonly held_at: string | null;
  readonly capture_asked_at: string | null;
  readonly wallet_credential: string | null;
  readonly cryptogram_resend: string | null;
};

/** A merchant's view of a session, from a read or from the body of an event. */
export type Shown = {
  readonly status: string;
  readonly processing: boolean;
  readonly failover: boolean;
  readonly capturedVia?: string;
  readonly captureConfirmed?: boolean;
  readonly declineCode?: string;
  readonly attempts: readonly { readonly status: string; readonly gateway: string }[];
};

type ObservedEvent = {
  readonly type: string;
  readonly sequence: number;
  /** Null in those that were read before. */
  readonly shown: Shown & { readonly sequence: number };
};

/** The money of an order as its rows are: `hasItem` if a person is alarmed about the run's session. */
export type Kept = {
  readonly kept: number;
  readonly unalarmed: number;
  readonly owner: string | null;
  readonly hasItem: boolean;
};

export type Observed = {
  readonly session: ObservedSession;
  readonly attempts: readonly ObservedAttempt[];
  readonly authentications: readonly ObservedAuthentication[];
  readonly events: readonly ObservedEvent[];
  readonly refunds: readonly ObservedRefund[];
  /** The references of refunds about which a person is alarmed. */
  readonly alarms: readonly string[];
  /** The time at which a refund is processed next; null if none is. */
  readonly refundDueAt: string | null;
  /** Empty in a run without disputes. */
  readonly disputes: readonly ObservedDispute[];
  /** The lines of all statements, and the payouts; empty in a run without them. */
  readonly lines: readonly {
    readonly line_id: string;
    readonly status: string;
    readonly reason: string | null;
    readonly in_payout: boolean;
    /** The movement of the ledger that it pays. */
    readonly entry: string;
  }[];
  readonly payouts: readonly { readonly remainder_minor: number | null }[];
  /**
   * The times at which an answer to a dispute is processed next, and an account's disputes are read next; null in a run
   * without disputes.
   */
  readonly responseDueAt: string | null;
  readonly feedDueAt: string | null;
  /** The time of the next void of an orphaned authorization; null if there is none. */
  readonly orphanDueAt: string | null;
  /** The time at which a notification of the database, which has one session, is processed next; null if all are. */
  readonly notificationDueAt: string | null;
  /** Null in a run without another session of its order. */
  readonly kept: Kept | null;
};

const sessionColumns: Readonly<Record<keyof ObservedSession, "s">> = {
  id: "s",
  status: "s",
  phase: "s",
  lease_epoch: "s",
  lease_until: "s",
  amount_minor: "s",
  winner_attempt_id: "s",
  captured_via: "s",
  capture_confirmed: "s",
  failover: "s",
  decline_code: "s",
  paying_session_id: "s",
  expires_at: "s",
  expired_because: "s",
  replaced_by: "s",
  submit_deadline: "s",
  submitted_at: "s",
  browser_sealed: "s",
  vault_token: "s",
  manual_capture: "s",
  held_at: "s",
  capture_asked_at: "s",
  brakes: "s",
  wallet_credential: "s",
  cryptogram_resend: "s",
};
const attemptColumns: Readonly<Record<keyof ObservedAttempt, "a">> = {
  id: "a",
  sequence: "a",
  gateway: "a",
  status: "a",
  failure_kind: "a",
  stop: "a",
  amount_minor: "a",
  capture_ordered_at: "a",
  captured_amount_minor: "a",
  started_at: "a",
  completed_at: "a",
  void_kind: "a",
  latest_execution_at: "a",
  capture_refusal_code: "a",
  decline_code: "a",
  connection_id: "a",
  round: "a",
  looked_up_at: "a",
  next_because: "a",
};
const listed = (columns: Readonly<Record<string, string>>) =>
  Object.entries(columns)
    .map(([column, table]) => `${table}.${column}`)
    .join(", ");

/**
 * Counts the sessions of an order whose money is kept or may be: a winner's hold, a capture that may land, and a capture that
 * neither failed nor was refunded whole. A person knows of those that are not `unalarmed`.
 */
const selectKept = (merchant: string, order: string, session: string) => `
    SELECT count(*)::int AS kept, count(*) FILTER (WHERE NOT k.alarmed)::int AS unalarmed,
      (SELECT w.session_id FROM app.order_winner w WHERE w.merchant_id = ${merchant} AND w.order_ref = ${order}) AS owner,
      EXISTS (SELECT FROM work_item w WHERE w.session_id = ${session} AND w.kind = 'PAID_MORE_THAN_ONCE') AS "hasItem"
    FROM (
      SELECT EXISTS (SELECT FROM work_item w WHERE w.session_id = p.id AND w.kind = 'PAID_MORE_THAN_ONCE') AS alarmed
      FROM payment_session p JOIN attempt a ON a.session_id = p.id
      WHERE p.merchant_id = ${merchant} AND p.order_ref = ${order} AND NOT p.allow_repeated_order
        AND (a.status = 'AUTHORIZED' OR a.status = 'VOIDING' AND a.capture_ordered_at IS NOT NULL OR a.status = 'CAPTURED'
          AND a.capture_failed_at IS NULL AND a.captured_amount_minor > (
            SELECT coalesce(sum(r.amount_minor), 0) FROM refund r WHERE r.session_id = p.id AND r.status = 'SUCCEEDED'))) k`;

const selectLines = `
    SELECT json_agg(json_build_object('line_id', l.line_id, 'status', l.status, 'reason', l.reason, 'in_payout', l.payout_id IS NOT NULL,
      'entry', concat_ws(' ', l.session_id, l.entry_type, l.entry_id, l.entry_ordinal)) ORDER BY l.line_id) FROM payout_line l`;
const selectDisputes = `
    SELECT json_agg(json_build_object('id', d.id, 'gateway_reference', d.gateway_reference, 'stage', d.stage, 'status', d.status,
      'amount_minor', d.amount_minor, 'held_minor', d.held_minor, 'asked_at', d.asked_at,
      'movements', coalesce((SELECT json_agg(m ORDER BY m.ordinal) FROM dispute_movement m WHERE m.session_id = d.session_id AND m.dispute_id = d.id), '[]'),
      'responses', coalesce((SELECT json_agg(json_build_object('id', r.id, 'type', r.type, 'status', r.status, 'sends', r.sends) ORDER BY r.created_at, r.id)
        FROM dispute_response r WHERE r.session_id = d.session_id AND r.dispute_id = d.id), '[]')) ORDER BY d.id)
    FROM dispute d WHERE d.session_id = s.id`;
// An account that was never read is due at once.
const selectFeedDueAt = `
    SELECT to_json(least(min(coalesce(f.next_read_at, app.clock())), (SELECT min(l.next_try_at) FROM payout_line l)))
    FROM connection c CROSS JOIN unnest($3::text[]) AS read (kind) LEFT JOIN gateway_feed f ON f.connection_id = c.id AND f.kind = read.kind
    WHERE c.gateway IN ('STRIPE', 'PAYPAL') AND s.status IN ('CREATED', 'SUCCEEDED') AND s.phase <> 'IDLE'`;

/** Returns the statement that reads an order by itself. */
export function keptQuery(merchantId: string, orderRef: string) {
  return { name: "kept_of_order", text: selectKept("$1", "$2", "NULL"), values: [merchantId, orderRef] };
}

/**
 * Returns the statement that reads the session with this id, the bodies of the events after this many, and its order where
 * another session has the same one, and its disputes and statements where feeds are read. The tables have many more columns than are read: to write them as JSON took half of its time.
 */
export function observedQuery(
  sessionId: string,
  { eventsSeen = 0, hasRival, feeds }: { eventsSeen?: number; hasRival: boolean; feeds: readonly string[] },
) {
  const hasDisputes = feeds.length > 0;
  return {
    name: `observe${hasRival ? "_with_order" : ""}${hasDisputes ? "_with_disputes" : ""}`,
    text: `
      SELECT (SELECT to_json(o) FROM (SELECT ${listed(sessionColumns)}) o) AS session,
        coalesce((SELECT json_agg(o) FROM (SELECT ${listed(attemptColumns)} FROM attempt a WHERE a.session_id = s.id ORDER BY a.sequence) o), '[]') AS attempts,
        coalesce((SELECT json_agg(t ORDER BY t.sequence) FROM authentication t WHERE t.session_id = s.id), '[]') AS authentications,
        coalesce((SELECT json_agg(json_build_object('type', e.type, 'sequence', e.sequence,
                    'shown', CASE WHEN e.sequence > $2 THEN convert_from(e.body, 'UTF8')::json -> 'data' END) ORDER BY e.sequence)
                  FROM outbox_event e WHERE e.session_id = s.id), '[]') AS events,
        CASE WHEN s.refunds = 0 THEN '[]' ELSE (SELECT coalesce(json_agg(r ORDER BY r.created_at, r.id), '[]') FROM refund r WHERE r.session_id = s.id) END AS refunds,
        CASE WHEN s.refunds = 0 THEN '[]' ELSE (SELECT coalesce(json_agg(w.rule), '[]') FROM work_item w
          WHERE w.session_id = s.id AND w.kind = 'REFUND_UNANSWERED' AND w.resolved_at IS NULL) END AS alarms,
        CASE WHEN s.refunds > 0 THEN (SELECT to_json(min(r.next_try_at)) FROM refund r WHERE r.session_id = s.id) END AS "refundDueAt",
        (SELECT to_json(min(h.next_retry_at)) FROM orphaned_authorization h WHERE h.session_id = s.id AND h.ended_at IS NULL) AS "orphanDueAt",
        (SELECT to_json(min(n.next_try_at)) FROM gateway_notification n WHERE n.processed_at IS NULL) AS "notificationDueAt",
        ${hasDisputes ? `coalesce((${selectDisputes}), '[]')` : "'[]'::json"} AS disputes,
        ${hasDisputes ? `coalesce((${selectLines}), '[]')` : "'[]'::json"} AS lines,
        ${hasDisputes ? "coalesce((SELECT json_agg(json_build_object('remainder_minor', p.remainder_minor)) FROM payout p), '[]')" : "'[]'::json"} AS payouts,
        ${hasDisputes ? "(SELECT to_json(min(r.next_try_at)) FROM dispute_response r WHERE r.session_id = s.id)" : "NULL"} AS "responseDueAt",
        ${hasDisputes ? `(${selectFeedDueAt})` : "NULL"} AS "feedDueAt",
        ${hasRival ? `(SELECT to_json(o) FROM (${selectKept("s.merchant_id", "s.order_ref", "s.id")}) o)` : "NULL"} AS kept
      FROM payment_session s WHERE s.id = $1`,
    values: hasDisputes ? [sessionId, eventsSeen, feeds] : [sessionId, eventsSeen],
  };
}

export function observedOf({ rows }: QueryResult): Observed {
  return rows[0] as Observed;
}

/** Names the end of a run, given its violation. One without an end and without a violation is left to a person. */
export function describeEnd({ session: { status, phase } }: Observed, violation: string | undefined): string {
  return phase === "DONE" || violation !== undefined ? status : `${status} and left to a person`;
}

export function describeObserved(observed: Observed): string {
  const { session, attempts, authentications, events, refunds, disputes } = observed;
  const steps = attempts.map((attempt) => {
    const ordered = attempt.capture_ordered_at === null ? "" : " capture ordered";
    const asked = authentications.find(({ attempt_id }) => attempt_id === attempt.id);
    const authentication = asked ? ` (${asked.status}${asked.cancel_asked_at === null ? "" : ", cancelled"})` : "";
    const again = ["", " again", " once more"][attempt.round] ?? "";
    return `${attempt.sequence} ${attempt.gateway}${again} ${attempt.status}${ordered}${authentication}`;
  });
  const provided = authentications.find(({ provider }) => provider !== null);
  if (provided) steps.push(`provider ${provided.status}${provided.cancel_asked_at === null ? "" : ", cancelled"}`);
  for (const { status, amount_minor, sends, keys, origin } of refunds)
    steps.push(`refund ${amount_minor} ${origin} ${status} ${sends}/${keys}`);
  for (const { stage, status, held_minor, responses } of disputes) {
    const answers = responses.map(({ type, status, sends }) => ` ${type} ${status} ${sends}`);
    steps.push(`dispute ${stage} ${status} holds ${held_minor}${answers.join()}`);
  }
  const emitted = events.length > 0 ? `; emitted: ${events.map(({ type }) => type).join(", ")}` : "";
  return `= ${session.status} ${session.phase}, epoch ${session.lease_epoch} [${steps.join(", ")}]${emitted}`;
}
