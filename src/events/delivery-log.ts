/** The delivery log: lists of deliveries, one delivery with its attempts, and the events of a session. Reads only. */
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EndpointKey } from "./endpoints.ts";

/** Every status, as the column spells it. */
export const deliveryStatuses = ["PENDING", "SUCCEEDED", "EXHAUSTED"] as const;
/** PENDING: waits or is in progress. SUCCEEDED: the endpoint accepted it. EXHAUSTED: no more attempts are made. */
type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The reason why a pending delivery waits, as the query below spells it. */
type WaitingFor = "ANSWER" | "VERIFICATION" | "ENDPOINT" | "SCHEDULE" | "PROBE" | "EARLIER_EVENT" | "TURN";

/** The delivery of one event to one endpoint. */
export type Delivery = {
  readonly eventId: string;
  readonly endpointId: string;
  readonly sessionId: string;
  readonly sequence: number;
  readonly type: string;
  readonly status: DeliveryStatus;
  /** Scheduled attempts recorded since the delivery was last made due; a replay does not count. */
  readonly tries: number;
  /** Time of the next attempt; null when there is none or one is in progress. */
  readonly nextAt: Date | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  /** Null when the delivery has ended. */
  readonly waitingFor: WaitingFor | null;
};

/** One recorded delivery attempt, with either a status code or the reason why there was no answer. */
export type DeliveryAttempt = {
  readonly id: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly noAnswer: string | null;
  /** The first KiB of the response body, redacted. */
  readonly answer: string | null;
};

/** A filter by endpoint, session, event and status; undefined for any. */
export type DeliveryFilter = {
  readonly endpointId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly status?: DeliveryStatus | undefined;
};

/** A position in a list of deliveries. */
export type DeliveryPosition = { readonly eventId: string; readonly endpointId: string };

// In the order in which delivery-pool.ts skips a delivery.
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

// $1 merchant, $2 endpoint, $3 statuses, $4 and $5 the position after which it begins, $6 limit, $7 session or event.
const ofSessionOrEvent = (column: "session_id" | "event_id"): Statement => ({
  name: unnamed,
  text: `SELECT ${deliveryColumns} FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id ${deliveryEvent}
         WHERE e.merchant_id = $1 AND d.${column} = $7 AND ($2::uuid IS NULL OR d.endpoint_id = $2)
           AND d.status = ANY ($3::text[]) AND ($4::uuid IS NULL OR (d.event_id, d.endpoint_id) < ($4, $5::uuid))
         ${newestFirst}`,
});
const selectBySession = ofSessionOrEvent("session_id");
const selectByEvent = ofSessionOrEvent("event_id");

// Reads a few rows of each endpoint and status by index, whatever share of the deliveries has that status.
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

/** Returns a page of a merchant's deliveries, newest event first, including those to removed endpoints. */
export async function listDeliveries(
  queryable: Queryable,
  merchantId: string,
  page: { filter: DeliveryFilter; after: DeliveryPosition | undefined; count: number },
): Promise<Delivery[]> {
  const { endpointId, sessionId, eventId, status } = page.filter;
  const statuses = status === undefined ? deliveryStatuses : [status];
  const position = [page.after?.eventId ?? null, page.after?.endpointId ?? null];
  const values = [merchantId, endpointId ?? null, statuses, ...position, page.count];
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
// A schedule has ten attempts; the rest are replays.
const attemptsShown = 100;
const selectAttempts: Statement = {
  name: "select_delivery_attempts",
  text: `SELECT id, started_at AS "startedAt", duration_ms AS "durationMs", status_code AS "statusCode",
           no_answer AS "noAnswer", answer
         FROM delivery_attempt WHERE event_id = $1 AND endpoint_id = $2
         ORDER BY started_at DESC, id DESC LIMIT ${attemptsShown}`,
};

/**
 * Loads a delivery with the exact bytes of its body and its newest hundred attempts, oldest first. Throws `not_found`.
 */
export async function loadDelivery(
  queryable: Queryable,
  key: EndpointKey & { readonly eventId: string },
): Promise<Delivery & { readonly body: Buffer; readonly log: readonly DeliveryAttempt[] }> {
  const values = [key.merchantId, key.endpointId, key.eventId];
  const [delivery] = await queryable.query<Delivery & { body: Buffer }>(selectDelivery, values);
  if (delivery === undefined) throw new DomainError("not_found", "The merchant has no such delivery.");
  const attempts = await queryable.query<DeliveryAttempt>(selectAttempts, [key.eventId, key.endpointId]);
  return { ...delivery, log: attempts.toReversed() };
}

/** An event of a session. */
export type SessionEvent = {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly createdAt: Date;
};

/** A delivery with its endpoint's URL. */
export type SessionDelivery = Delivery & { readonly endpointUrl: string };

const selectEvents: Statement = {
  name: "select_events_of_session",
  text: `SELECT id, type, sequence, created_at AS "createdAt" FROM outbox_event WHERE session_id = $1 ORDER BY sequence`,
};
const selectUrls: Statement = {
  name: "select_endpoint_urls",
  text: "SELECT id, url FROM endpoint WHERE id = ANY ($1::uuid[])",
};
// A session has two or three events, and a merchant a few endpoints.
const deliveriesShown = 100;

/** Loads a session's events, in sequence, and their newest hundred deliveries, newest first. */
export async function loadSessionEvents(
  queryable: Queryable,
  { merchantId, sessionId }: { merchantId: string; sessionId: string },
): Promise<{ events: readonly SessionEvent[]; deliveries: readonly SessionDelivery[] }> {
  const page = { filter: { sessionId }, after: undefined, count: deliveriesShown };
  const [events, deliveries] = await Promise.all([
    queryable.query<SessionEvent>(selectEvents, [sessionId]),
    listDeliveries(queryable, merchantId, page),
  ]);
  const endpointIds = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const rows = await queryable.query<{ id: string; url: string }>(selectUrls, [endpointIds]);
  const urls = new Map(rows.map(({ id, url }) => [id, url]));
  return {
    events,
    deliveries: deliveries.map((delivery) => ({ ...delivery, endpointUrl: urls.get(delivery.endpointId) ?? "" })),
  };
}
