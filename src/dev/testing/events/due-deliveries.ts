/** Many due deliveries at once, written as rows: for claims, which depend only on numbers and times. */
import { generateSigningSecret, sealSigningSecret } from "../../../events/signing-secrets.ts";
import type { EventsHarness } from "./events-harness.ts";

/** Some merchants with endpoints each, and for every endpoint the same number of due deliveries. */
export type DueDeliveries = {
  readonly merchants: number;
  readonly endpointsEach: number;
  readonly dueEach: number;
  readonly sinceSeconds: number;
  readonly window?: number;
  readonly failuresInRow?: number;
  readonly url?: string;
};

const writeAll = `WITH merchants AS MATERIALIZED (
    SELECT gen_random_uuid() AS merchant_id FROM generate_series(1, $1)
  ), endpoints AS (
    INSERT INTO endpoint (id, merchant_id, url, status, secret_sealed, verified_at, in_flight_max, failures_in_row, failing_since)
    SELECT gen_random_uuid(), merchant_id, $7, 'ENABLED', 'none', app.clock(), $5, $6,
      CASE WHEN $6 > 0 THEN app.clock() END
    FROM merchants CROSS JOIN generate_series(1, $2) RETURNING id, merchant_id
  ), sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
    SELECT gen_random_uuid(), merchant_id, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes'
    FROM merchants CROSS JOIN generate_series(1, $3) RETURNING id, merchant_id
  ), events AS (
    INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
    SELECT id, gen_random_uuid(), 1, 'payment_session.succeeded', merchant_id, '{"data":{}}', app.clock()
    FROM sessions RETURNING id, session_id, merchant_id
  ), deliveries AS (
    INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
    SELECT events.id, endpoints.id, session_id, 1, app.clock() - $4 * interval '1 second' - random() * interval '1 second'
    FROM events JOIN endpoints USING (merchant_id)
  ) SELECT merchant_id AS "merchantId", array_agg(id) AS "endpointIds" FROM endpoints GROUP BY merchant_id`;

const giveSecrets = `UPDATE endpoint SET secret_sealed = given.sealed
  FROM unnest($1::uuid[], $2::text[]) AS given (id, sealed) WHERE endpoint.id = given.id`;

export async function writeDueDeliveries(harness: Pick<EventsHarness, "rows" | "context">, due: DueDeliveries) {
  const { merchants, endpointsEach, dueEach, sinceSeconds, window = 64, failuresInRow = 0 } = due;
  const url = due.url ?? "https://shop.example.com/";
  const values = [merchants, endpointsEach, dueEach, sinceSeconds, window, failuresInRow, url];
  const rows = await harness.rows<{ merchantId: string; endpointIds: string[] }>(writeAll, values);
  const ids = rows.flatMap((row) => row.endpointIds);
  const secret = generateSigningSecret(harness.context.runtime, harness.context.signingSecretPrefix);
  await harness.rows(giveSecrets, [ids, ids.map((id) => sealSigningSecret(harness.context, id, secret))]);
  return rows;
}
