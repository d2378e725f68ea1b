/** The delivery log: lists of deliveries, one delivery with its attempts, and the events of a session. Reads only. */

import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EndpointId, EventId, MerchantId, SessionId } from "../platform/ids.ts";
import type { EndpointKey } from "./endpoints.ts";
import { testEventType } from "./outbox.ts";

export const deliveryStatuses = ["PENDING", "SUCCEEDED", "EXHAUSTED"] as const;
/** PENDING: waits or is in progress. SUCCEEDED: the endpoint accepted it. EXHAUSTED: no more attempts are made. */
type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The reason why a pending delivery waits, as the query below spells it. */
type WaitingFor = "ANSWER" | "VERIFICATION" | "ENDPOINT" | "SCHEDULE" | "PROBE" | "EARLIER_EVENT" | "TURN";

export type Delivery = {
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  /** Null for a test event. */
  readonly sessionId: SessionId | null;
  readonly orderRef: string | null;
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
  /** The answer to the newest attempt; both null before the first one. */
  readonly statusCode: number | null;
  readonly noAnswer: string | null;
};

/** A recorded delivery attempt, with either a status code or the reason why there was no answer. */
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
  readonly endpointId?: EndpointId | undefined;
  readonly sessionId?: SessionId | undefined;
  readonly eventId?: EventId | undefined;
  readonly status?: DeliveryStatus | undefined;
};

export type DeliveryPosition = { readonly eventId: EventId; readonly endpointId: EndpointId };

// The reasons are in the order in which delivery-pool.ts skips a delivery.
const waitingFor = `CASE WHEN d.status <> 'PENDING' THEN NULL
    WHEN d.lease_token IS NOT NULL AND d.next_at > app.clock() THEN 'ANSWER'
    WHEN e.status = 'PENDING' THEN 'VERIFICATION'
    WHEN e.status <> 'ENABLED' THEN 'ENDPOINT'
    WHEN d.next_at > app.clock() THEN 'SCHEDULE'
    WHEN e.probe_at > app.clock() THEN 'PROBE'
    WHEN d.tries = 0 AND (EXISTS (
      SELECT FROM delivery p WHERE p.session_id = d.session_id AND p.endpoint_id = d.endpoint_id
        AND p.sequence < d.sequence AND p.status = 'PENDING' AND p.tries = 0) OR EXISTS (
      SELECT FROM event_todo t WHERE t.session_id = d.session_id AND t.sequence < d.sequence AND NOT t.fanned_out))
      THEN 'EARLIER_EVENT'
    ELSE 'TURN' END`;
const deliveryColumns = `d.event_id AS "eventId", d.endpoint_id AS "endpointId", d.session_id AS "sessionId", d.sequence,
  o.type, d.status, d.tries, o.created_at AS "createdAt", d.ended_at AS "endedAt",
  CASE WHEN d.lease_token IS NULL OR d.next_at <= app.clock() THEN d.next_at END AS "nextAt",
  ${waitingFor} AS "waitingFor"`;
const deliveryEvent = "JOIN outbox_event o ON o.session_id = d.session_id AND o.id = d.event_id";
const newestFirst = "ORDER BY d.event_id DESC, d.endpoint_id DESC LIMIT $6";

// Reads what only the rows of the page need: each is a lookup by a primary key.
const withAnswers = (deliveries: string) => `
  SELECT p.*, a.status_code AS "statusCode", a.no_answer AS "noAnswer",
    (SELECT order_ref FROM payment_session WHERE id = p."sessionId") AS "orderRef"
  FROM (${deliveries}) p LEFT JOIN LATERAL (
    SELECT status_code, no_answer FROM delivery_attempt
    WHERE event_id = p."eventId" AND endpoint_id = p."endpointId" ORDER BY started_at DESC, id DESC LIMIT 1) a ON true
  ORDER BY p."eventId" DESC, p."endpointId" DESC`;

// $1 merchant, $2 endpoint, $3 statuses, $4 and $5 the position after which it begins, $6 limit, $7 session or event.
const ofSessionOrEvent = (column: "session_id" | "event_id"): Statement => ({
  name: unnamed,
  text: withAnswers(`
    SELECT ${deliveryColumns} FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id ${deliveryEvent}
    WHERE e.merchant_id = $1 AND d.${column} = $7 AND ($2::uuid IS NULL OR d.endpoint_id = $2)
      AND d.status = ANY ($3::text[]) AND ($4::uuid IS NULL OR (d.event_id, d.endpoint_id) < ($4, $5::uuid))
    ${newestFirst}`),
});
const selectBySession = ofSessionOrEvent("session_id");
const selectByEvent = ofSessionOrEvent("event_id");

// Reads a few rows of each endpoint and status by index, whatever share of the deliveries has that status.
const selectByEndpoint: Statement = {
  name: unnamed,
  text: withAnswers(`
    SELECT ${deliveryColumns}
    FROM endpoint e CROSS JOIN unnest($3::text[]) AS wanted (status) CROSS JOIN LATERAL (
      SELECT d.* FROM delivery d WHERE d.endpoint_id = e.id AND d.status = wanted.status
        AND ($4::uuid IS NULL OR (d.event_id <= $4 AND (d.event_id, d.endpoint_id) < ($4, $5::uuid)))
      ORDER BY d.event_id DESC LIMIT $6
    ) d ${deliveryEvent}
    WHERE e.merchant_id = $1 AND ($2::uuid IS NULL OR e.id = $2) ${newestFirst}`),
};

// A test event in the shape of a delivery that has ended: it is posted once.
const testStatus = "CASE WHEN a.status_code BETWEEN 200 AND 299 THEN 'SUCCEEDED' ELSE 'EXHAUSTED' END";
const testColumns = `a.event_id AS "eventId", a.endpoint_id AS "endpointId", NULL AS "sessionId", NULL AS "orderRef",
  0 AS sequence, '${testEventType}' AS type, ${testStatus} AS status, 1 AS tries, NULL AS "nextAt",
  a.started_at AS "createdAt", a.started_at + a.duration_ms * interval '1 millisecond' AS "endedAt",
  NULL AS "waitingFor", a.status_code AS "statusCode", a.no_answer AS "noAnswer"`;

// Reads by the index of test events, newest first for each endpoint.
const selectTests: Statement = {
  name: unnamed,
  text: `SELECT ${testColumns}
         FROM endpoint e CROSS JOIN LATERAL (
           SELECT a.* FROM delivery_attempt a WHERE a.endpoint_id = e.id AND a.is_test
             AND ($4::uuid IS NULL OR (a.event_id <= $4 AND (a.event_id, a.endpoint_id) < ($4, $5::uuid)))
             AND ($7::uuid IS NULL OR a.event_id = $7) AND ${testStatus} = ANY ($3::text[])
           ORDER BY a.event_id DESC LIMIT $6
         ) a
         WHERE e.merchant_id = $1 AND ($2::uuid IS NULL OR e.id = $2)
         ORDER BY a.event_id DESC, a.endpoint_id DESC LIMIT $6`,
};

/** Returns a page of a merchant's deliveries, newest event first, including those to removed endpoints. */
export async function listDeliveries(
  queryable: Queryable,
  merchantId: MerchantId,
  page: { filter: DeliveryFilter; after: DeliveryPosition | undefined; count: number },
): Promise<Delivery[]> {
  const { endpointId, sessionId, eventId, status } = page.filter;
  const statuses = status === undefined ? deliveryStatuses : [status];
  const position = [page.after?.eventId ?? null, page.after?.endpointId ?? null];
  const values = [merchantId, endpointId ?? null, statuses, ...position, page.count];
  if (sessionId !== undefined) {
    if (eventId === undefined) return queryable.query<Delivery>(selectBySession, [...values, sessionId]);
    const found = await queryable.query<Delivery>(selectByEvent, [...values, eventId]);
    return found.filter((delivery) => delivery.sessionId === sessionId);
  }
  const [found, tests] = await Promise.all([
    eventId === undefined
      ? queryable.query<Delivery>(selectByEndpoint, values)
      : queryable.query<Delivery>(selectByEvent, [...values, eventId]),
    queryable.query<Delivery>(selectTests, [...values, eventId ?? null]),
  ]);
  const placeOf = ({ eventId: event, endpointId: endpoint }: Delivery) => event + endpoint;
  return [...found, ...tests].toSorted((left, right) => (placeOf(left) < placeOf(right) ? 1 : -1)).slice(0, page.count);
}

const selectDelivery: Statement = {
  name: "select_delivery",
  text: withAnswers(`
    SELECT ${deliveryColumns}, o.body FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id ${deliveryEvent}
    WHERE e.merchant_id = $1 AND d.endpoint_id = $2 AND d.event_id = $3`),
};
const selectTest: Statement = {
  name: "select_test_event",
  text: `SELECT ${testColumns} FROM delivery_attempt a JOIN endpoint e ON e.id = a.endpoint_id
         WHERE e.merchant_id = $1 AND a.endpoint_id = $2 AND a.event_id = $3 AND a.is_test`,
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

type DeliveryKey = EndpointKey & { readonly eventId: EventId };

export type LoggedDelivery = Delivery & { readonly log: readonly DeliveryAttempt[] };

/** Loads a delivery with the bytes of its body and its newest hundred attempts. Throws `not_found`. */
export async function loadDelivery(
  queryable: Queryable,
  key: DeliveryKey,
): Promise<LoggedDelivery & { readonly body: Buffer }> {
  const values = [key.merchantId, key.endpointId, key.eventId];
  const [delivery] = await queryable.query<Delivery & { body: Buffer }>(selectDelivery, values);
  if (delivery === undefined) throw new DomainError("not_found", "The merchant has no such delivery.");
  return { ...delivery, log: await loadLog(queryable, key) };
}

/** Loads a test event, whose body is not kept, in the shape of a delivery. Undefined if the id is none of a test. */
export async function findTestEvent(queryable: Queryable, key: DeliveryKey): Promise<LoggedDelivery | undefined> {
  const [test] = await queryable.query<Delivery>(selectTest, [key.merchantId, key.endpointId, key.eventId]);
  return test && { ...test, log: await loadLog(queryable, key) };
}

async function loadLog(queryable: Queryable, key: DeliveryKey): Promise<DeliveryAttempt[]> {
  const attempts = await queryable.query<DeliveryAttempt>(selectAttempts, [key.eventId, key.endpointId]);
  return attempts.toReversed();
}

export type SessionEvent = {
  readonly id: EventId;
  readonly type: string;
  readonly sequence: number;
  readonly createdAt: Date;
};

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
  { merchantId, sessionId }: { merchantId: MerchantId; sessionId: SessionId },
): Promise<{ events: readonly SessionEvent[]; deliveries: readonly SessionDelivery[] }> {
  const page = { filter: { sessionId }, after: undefined, count: deliveriesShown };
  const [events, deliveries] = await Promise.all([
    queryable.query<SessionEvent>(selectEvents, [sessionId]),
    listDeliveries(queryable, merchantId, page),
  ]);
  const endpointIds = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const rows = await queryable.query<{ id: EndpointId; url: string }>(selectUrls, [endpointIds]);
  const urls = new Map(rows.map(({ id, url }) => [id, url]));
  return {
    events,
    deliveries: deliveries.map((delivery) => ({ ...delivery, endpointUrl: urls.get(delivery.endpointId) ?? "" })),
  };
}
