/** What became of deliveries: lists of them, and one with each of its tries. Reads only. */
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EndpointKey } from "./endpoints.ts";

/** Every state, in the words of the column. */
export const deliveryStatuses = ["PENDING", "SUCCEEDED", "EXHAUSTED"] as const;
/** It waits or is under way, the endpoint took it, or nobody tries any more. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** What a pending delivery waits for: the words of the query below. */
export type WaitingFor = "ANSWER" | "VERIFICATION" | "ENDPOINT" | "SCHEDULE" | "PROBE" | "EARLIER_EVENT" | "TURN";

/** One event's way to one endpoint. */
export type Delivery = {
  readonly eventId: string;
  readonly endpointId: string;
  readonly sessionId: string;
  readonly sequence: number;
  readonly type: string;
  readonly status: DeliveryStatus;
  /** Tries of the schedule that were recorded since it was last made due; a replay is none. */
  readonly tries: number;
  /** When it is tried next; null when it is not, or is under way now. */
  readonly nextAt: Date | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  /** Null when it has ended. */
  readonly waitingFor: WaitingFor | null;
};

/** One try as it is kept. Either a status code or why there was no answer. */
export type DeliveryTry = {
  readonly id: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly noAnswer: string | null;
  /** The first KiB of the answer's body, redacted. */
  readonly answer: string | null;
};

/** Which deliveries: of one endpoint, one session or one event, in one state; each undefined for any. */
export type DeliveryFilter = {
  readonly endpointId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly status?: DeliveryStatus | undefined;
};

/** A place in a list of deliveries. */
export type DeliveryPlace = { readonly eventId: string; readonly endpointId: string };

// In the order in which claim-deliveries.ts passes a delivery over.
const waitingFor = `CASE WHEN d.status <> 'PENDING' THEN NULL
    WHEN d.lease_token IS NOT NULL AND d.next_at > app.clock() THEN 'ANSWER'
    WHEN e.status = 'PENDING' THEN 'VERIFICATION'
    WHEN e.status <> 'ENABLED' THEN 'ENDPOINT'
    WHEN d.next_at > app.clock() THEN 'SCHEDULE'
    WHEN e.probe_at > app.clock() THEN 'PROBE'
    WHEN d.tries = 0 AND EXISTS (
      SELECT FROM delivery p WHERE p.session_id = d.session_id AND p.endpoint_id = d.endpoint_id
        AND p.sequence < d.sequence AND p.status = 'PENDING' AND p.tries = 0) THEN 'EARLIER_EVENT'
    ELSE 'TURN' END`;
const deliveryColumns = `d.event_id AS "eventId", d.endpoint_id AS "endpointId", d.session_id AS "sessionId", d.sequence,
  o.type, d.status, d.tries, o.created_at AS "createdAt", d.ended_at AS "endedAt",
  CASE WHEN d.lease_token IS NULL OR d.next_at <= app.clock() THEN d.next_at END AS "nextAt",
  ${waitingFor} AS "waitingFor"`;
const deliveryEvent = "JOIN outbox_event o ON o.session_id = d.session_id AND o.id = d.event_id";
const newestFirst = "ORDER BY d.event_id DESC, d.endpoint_id DESC LIMIT $6";

// $1 merchant, $2 endpoint, $3 statuses, $4 and $5 the place after which it begins, $6 how many, $7 session or event.
const ofSessionOrEvent = (column: "session_id" | "event_id"): Statement => ({
  name: unnamed,
  text: `SELECT ${deliveryColumns} FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id ${deliveryEvent}
         WHERE e.merchant_id = $1 AND d.${column} = $7 AND ($2::uuid IS NULL OR d.endpoint_id = $2)
           AND d.status = ANY ($3::text[]) AND ($4::uuid IS NULL OR (d.event_id, d.endpoint_id) < ($4, $5::uuid))
         ${newestFirst}`,
});
const selectBySession = ofSessionOrEvent("session_id");
const selectByEvent = ofSessionOrEvent("event_id");

// A few rows of each endpoint and status by index, whatever share of the deliveries has that status.
const selectByEndpoint: Statement = {
  name: unnamed,
  text: `SELECT ${deliveryColumns}
         FROM endpoint e CROSS JOIN unnest($3::text[]) AS wanted (status) CROSS JOIN LATERAL (
           SELECT d.* FROM delivery d WHERE d.endpoint_id = e.id AND d.status = wanted.status
             AND ($4::uuid IS NULL OR (d.event_id <= $4 AND (d.event_id, d.endpoint_id) < ($4, $5::uuid)))
           ORDER BY d.event_id DESC LIMIT $6
         ) d ${deliveryEvent}
         WHERE e.merchant_id = $1 AND ($2::uuid IS NULL OR e.id = $2) ${newestFirst}`,
};

/** A page of a merchant's deliveries, newest event first; also those to endpoints that were removed. */
export async function listDeliveries(
  queryable: Queryable,
  merchantId: string,
  page: { filter: DeliveryFilter; after: DeliveryPlace | undefined; count: number },
): Promise<Delivery[]> {
  const { endpointId, sessionId, eventId, status } = page.filter;
  const statuses = status === undefined ? deliveryStatuses : [status];
  const place = [page.after?.eventId ?? null, page.after?.endpointId ?? null];
  const values = [merchantId, endpointId ?? null, statuses, ...place, page.count];
  if (eventId !== undefined) {
    const found = await queryable.query<Delivery>(selectByEvent, [...values, eventId]);
    return sessionId === undefined ? found : found.filter((delivery) => delivery.sessionId === sessionId);
  }
  if (sessionId !== undefined) return queryable.query<Delivery>(selectBySession, [...values, sessionId]);
  return queryable.query<Delivery>(selectByEndpoint, values);
}

const selectDelivery: Statement = {
  name: "select_delivery",
  text: `SELECT ${deliveryColumns}, o.body FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id ${deliveryEvent}
         WHERE e.merchant_id = $1 AND d.endpoint_id = $2 AND d.event_id = $3`,
};
// A schedule has ten tries; the rest are replays.
const triesShown = 100;
const selectTries: Statement = {
  name: "select_delivery_tries",
  text: `SELECT id, started_at AS "startedAt", duration_ms AS "durationMs", status_code AS "statusCode",
           no_answer AS "noAnswer", answer
         FROM delivery_attempt WHERE event_id = $1 AND endpoint_id = $2
         ORDER BY started_at DESC, id DESC LIMIT ${triesShown}`,
};

/** A delivery with the exact bytes of its body and its newest hundred tries, oldest first. Throws `not_found`. */
export async function loadDelivery(
  queryable: Queryable,
  key: EndpointKey & { readonly eventId: string },
): Promise<Delivery & { readonly body: Buffer; readonly log: readonly DeliveryTry[] }> {
  const values = [key.merchantId, key.endpointId, key.eventId];
  const [delivery] = await queryable.query<Delivery & { body: Buffer }>(selectDelivery, values);
  if (delivery === undefined) throw new DomainError("not_found", "There is no such delivery.");
  const tries = await queryable.query<DeliveryTry>(selectTries, [key.eventId, key.endpointId]);
  return { ...delivery, log: tries.toReversed() };
}
