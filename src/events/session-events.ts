/** A session's events and their deliveries. Reads only. */
import type { Queryable, Statement } from "../platform/database.ts";
import { type Delivery, listDeliveries } from "./delivery-log.ts";

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
