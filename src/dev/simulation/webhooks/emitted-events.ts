/** Reads from the database the events that merchants should receive. */
import { encodeId } from "../../../platform/ids.ts";
import type { EmittedEvent } from "./check-arrivals.ts";

type Row = { id: string; sessionId: string; sequence: number; hash: string; endpoints: string[] };

/** Returns every event of a merchant (a UUID) with the public ids of its endpoints, which subscribe to every type. */
export async function readEmittedEvents(
  query: (sql: string, values: unknown[]) => Promise<Row[]>,
  merchantId: string,
): Promise<EmittedEvent[]> {
  const rows = await query(
    `SELECT o.id, o.session_id AS "sessionId", o.sequence, encode(sha256(o.body), 'hex') AS hash,
       ARRAY(SELECT e.id FROM endpoint e WHERE e.merchant_id = o.merchant_id) AS endpoints
     FROM outbox_event o WHERE o.merchant_id = $1`,
    [merchantId],
  );
  return rows.map((row) => ({
    eventId: encodeId("evt", row.id),
    sessionId: encodeId("ps", row.sessionId),
    sequence: row.sequence,
    bodyHash: row.hash,
    endpoints: row.endpoints.map((id) => encodeId("we", id)),
  }));
}
