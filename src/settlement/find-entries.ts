/** Finds the movements of the ledger that the lines of a statement name. */
import type { LineKind, LineNames } from "../gateways/statements.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type ConnectionId, decodeId, type SessionId } from "../platform/ids.ts";
import { type Entry, entryTypeOf, type Named } from "./match-line.ts";

// Every look-up is a scalar or has a limit, so that each line costs a few index entries, however large the tables are.
const findNamed: Statement = {
  name: "find_named_payments",
  text: `
    SELECT q.n, coalesce(a.session_id, r.session_id, d.session_id) AS "sessionId"
    FROM jsonb_to_recordset($2::jsonb) AS q (n int, payment text, attempt uuid, refund text, "ourRefund" uuid, dispute text)
    LEFT JOIN LATERAL (
      (SELECT session_id FROM attempt WHERE connection_id = $1 AND gateway_reference = q.payment LIMIT 1)
      UNION ALL
      (SELECT session_id FROM attempt WHERE id = q.attempt AND connection_id = $1 AND (q.payment IS NULL OR gateway_reference IS NULL) LIMIT 1)
      LIMIT 1) a ON true
    LEFT JOIN LATERAL (
      (SELECT session_id FROM refund WHERE id = q."ourRefund" AND connection_id = $1 LIMIT 1)
      UNION ALL (SELECT session_id FROM refund WHERE connection_id = $1 AND gateway_reference = q.refund LIMIT 1)
      LIMIT 1) r ON a.session_id IS NULL
    LEFT JOIN LATERAL (
      SELECT session_id FROM dispute WHERE connection_id = $1 AND gateway_reference = q.dispute LIMIT 1) d ON a.session_id IS NULL AND r.session_id IS NULL`,
};

const paid = (session: string, type: string, id: string, ordinal: string) => `(
  SELECT true FROM payout_line l WHERE l.status = 'MATCHED' AND l.session_id = ${session} AND l.entry_type = ${type} AND l.entry_id = ${id}
    AND l.entry_ordinal = ${ordinal} LIMIT 1) IS TRUE`;

// A refund of the gateway's own may have failed before it was known here: its line says that it was made.
// Within a session a refund or a dispute without the line's own name is no candidate. A line without a dispute's name may be any one's.
const findEntries: Statement = {
  name: "find_entries_of_lines",
  text: `
    SELECT q.n, q.session AS "sessionId", q.type, e.id, e.ordinal, e.amount_minor::float8 AS "amountMinor", e.currency, e.at, e.paid AS "isPaid"
    FROM jsonb_to_recordset($2::jsonb) AS q (n int, session uuid, type text, payment text, attempt uuid, refund text, "ourRefund" uuid, dispute text)
    CROSS JOIN LATERAL (
      (SELECT a.id, 0 AS ordinal, a.captured_amount_minor AS amount_minor, a.currency, s.settled_at AS at, ${paid("a.session_id", "'CAPTURED'", "a.id", "0")} AS paid
       FROM attempt a JOIN payment_session s ON s.id = a.session_id
       WHERE q.type = 'CAPTURED' AND a.session_id = q.session AND a.captured AND a.connection_id = $1 AND s.settled_at IS NOT NULL
         AND (a.gateway_reference = q.payment OR a.id = q.attempt AND q.payment IS NULL))
      UNION ALL
      (SELECT r.id, 0, r.amount_minor, r.currency, coalesce(CASE q.type WHEN 'REFUNDED' THEN r.succeeded_at ELSE r.completed_at END, r.created_at),
         ${paid("r.session_id", "q.type", "r.id", "0")}
       FROM refund r
       WHERE q.type IN ('REFUNDED','REFUND_FAILED') AND r.session_id = q.session AND r.connection_id = $1
         AND (r.gateway_reference = q.refund OR r.gateway_reference IS NULL AND r.id = q."ourRefund" OR q.refund IS NULL AND r.id = q."ourRefund")
         AND CASE q.type WHEN 'REFUNDED' THEN r.status <> 'FAILED' OR r.succeeded_at IS NOT NULL OR r.origin = 'GATEWAY' ELSE r.status = 'FAILED' END)
      UNION ALL
      (SELECT m.dispute_id, m.ordinal, m.amount_minor, m.currency, m.recorded_at, ${paid("m.session_id", "q.type", "m.dispute_id", "m.ordinal")}
       FROM dispute d JOIN dispute_movement m ON m.session_id = d.session_id AND m.dispute_id = d.id
       WHERE q.type IN ('CHARGEBACK','CHARGEBACK_REVERSED') AND d.session_id = q.session AND d.connection_id = $1 AND m.type = q.type
         AND (q.dispute IS NULL OR d.gateway_reference = q.dispute)
       ORDER BY m.recorded_at, m.ordinal)) e`,
};

/** A line as far as it is looked for. */
export type NamedLine = { readonly kind: LineKind; readonly names: LineNames };

/** Returns what each line names, in the order of the lines. */
export async function findNamedEntries(
  database: Queryable,
  connectionId: ConnectionId,
  lines: readonly NamedLine[],
): Promise<readonly Named[]> {
  const asked = lines.map(({ kind, names }, n) => {
    const { attempt = "", ourRefund = "", ...theirs } = names;
    const ours = { attempt: decodeId("att", attempt) ?? null, ourRefund: decodeId("ref", ourRefund) ?? null };
    return { n, type: entryTypeOf(kind), ...theirs, ...ours };
  });
  const ofPayments = asked.filter(({ type }) => type !== "account" && type !== "unknown");
  const sessions = new Map<number, SessionId>();
  const entries = new Map<number, Entry[]>();
  if (ofPayments.length > 0) {
    type Found = { n: number; sessionId: SessionId | null };
    for (const { n, sessionId } of await database.query<Found>(findNamed, [connectionId, JSON.stringify(ofPayments)])) {
      if (sessionId) sessions.set(n, sessionId);
    }
    const known = ofPayments.flatMap((one) => (sessions.has(one.n) ? [{ ...one, session: sessions.get(one.n) }] : []));
    for (const { n, ...entry } of await database.query<Entry & { n: number }>(findEntries, [
      connectionId,
      JSON.stringify(known),
    ])) {
      entries.set(n, [...(entries.get(n) ?? []), entry]);
    }
  }
  return asked.map(({ n, attempt, ourRefund }) => ({
    sessionId: sessions.get(n),
    hasOurName: attempt !== null || ourRefund !== null,
    entries: entries.get(n) ?? [],
  }));
}
