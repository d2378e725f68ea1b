/** Endpoint alerts: warn an endpoint's owner before and when it is disabled. */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type AlertId, type EndpointId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { NoAnswer } from "./egress.ts";

export type AlertKind = "FAILING_24_HOURS" | "FAILING_72_HOURS" | "DISABLED_FAILING" | "DISABLED_GONE";

/** There is at most one of each kind in an episode, from a failure to a 2xx answer. */
export type EndpointAlert = {
  readonly id: AlertId;
  readonly merchantId: MerchantId;
  readonly endpointId: EndpointId;
  readonly url: string;
  readonly kind: AlertKind;
  readonly failingSince: Date;
  /** The endpoint's last answer before the alert; null when there was none, for the reason in `noAnswer`. */
  readonly statusCode: number | null;
  readonly noAnswer: NoAnswer | null;
  /** True when the endpoint has accepted a webhook since, or its owner has repaired it. */
  readonly isOver: boolean;
  readonly createdAt: Date;
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: string | null;
};

export type AlertContext = {
  readonly database: Database;
  readonly runtime: Runtime;
  readonly log: Pick<Logger, "warn">;
};

// A turn takes a few milliseconds; the next one follows at once while there are more.
const batchAlerts = 100;

// Only one worker at a time handles an endpoint, so each warning is raised and logged once. Five failures in a row are
// required, because a single one may be from before an outage on our side. If our workers were down on the first day,
// only the later warning is raised.
const raiseWarnings: Statement = {
  name: "raise_endpoint_warnings",
  text: `WITH to_warn AS (
           SELECT e.id, e.merchant_id, e.failing_since, k.kind FROM endpoint e CROSS JOIN LATERAL (
             SELECT CASE WHEN e.failing_since <= (SELECT app.clock()) - interval '72 hours'
                         THEN 'FAILING_72_HOURS' ELSE 'FAILING_24_HOURS' END AS kind) k
           WHERE e.status = 'ENABLED' AND e.failing_since <= (SELECT app.clock()) - interval '24 hours'
             AND e.failures_in_row >= 5
             AND NOT EXISTS (SELECT FROM alert n
                             WHERE n.endpoint_id = e.id AND n.kind = k.kind AND n.since = e.failing_since)
           LIMIT ${batchAlerts} FOR NO KEY UPDATE OF e SKIP LOCKED
         ), numbered AS (SELECT to_warn.*, row_number() OVER () AS number FROM to_warn)
         INSERT INTO alert (id, merchant_id, endpoint_id, kind, since, status_code, no_answer)
         SELECT ($1::uuid[])[f.number], f.merchant_id, f.id, f.kind, f.failing_since, last.status_code, last.no_answer
         FROM numbered f LEFT JOIN LATERAL (
           SELECT a.status_code, a.no_answer FROM delivery_attempt a
           WHERE a.endpoint_id = f.id AND (a.status_code IS NULL OR a.status_code NOT BETWEEN 200 AND 299)
           ORDER BY a.id DESC LIMIT 1) last ON true
         ON CONFLICT DO NOTHING
         RETURNING endpoint_id AS "endpointId", kind, since AS "failingSince"`,
};

/** Raises alerts for the endpoints that have failed for 24 and for 72 hours. Returns true when there may be more. */
export async function raiseWarningsOnce({ database, runtime, log }: AlertContext): Promise<boolean> {
  const ids = Array.from({ length: batchAlerts }, () => runtime.uuid());
  type Raised = Pick<EndpointAlert, "endpointId" | "kind" | "failingSince">;
  const raised = await database.query<Raised>(raiseWarnings, [ids]);
  for (const { endpointId, kind, failingSince } of raised) {
    log.warn({ endpoint: encodeId("we", endpointId), kind, failingSince }, "a webhook endpoint keeps failing");
  }
  return raised.length === batchAlerts;
}

const alertColumns = `n.id, n.merchant_id AS "merchantId", n.endpoint_id AS "endpointId", e.url, n.kind,
  n.since AS "failingSince", n.status_code AS "statusCode", n.no_answer AS "noAnswer",
  e.failing_since IS DISTINCT FROM n.since OR e.status = 'REMOVED' AS "isOver", n.created_at AS "createdAt",
  n.acknowledged_at AS "acknowledgedAt", n.acknowledged_by AS "acknowledgedBy"`;

const selectAlerts: Statement = {
  name: "select_endpoint_alerts",
  text: `SELECT ${alertColumns} FROM alert n JOIN endpoint e ON e.id = n.endpoint_id
         WHERE n.merchant_id = $1 AND ($2 OR n.acknowledged_at IS NULL) AND ($3::uuid IS NULL OR n.id < $3)
         ORDER BY n.id DESC LIMIT $4`,
};

/** Returns a page of a merchant's alerts, newest first: unacknowledged ones, or all. */
export async function listAlerts(
  queryable: Queryable,
  page: { merchantId: MerchantId; includeAcknowledged: boolean; after: string | undefined; count: number },
): Promise<EndpointAlert[]> {
  const { merchantId, includeAcknowledged, after, count } = page;
  return queryable.query<EndpointAlert>(selectAlerts, [merchantId, includeAcknowledged, after ?? null, count]);
}

const acknowledge: Statement = {
  name: "acknowledge_endpoint_alert",
  text: `UPDATE alert n
         SET acknowledged_at = coalesce(n.acknowledged_at, app.clock()),
             acknowledged_by = coalesce(n.acknowledged_by, $3), send_at = NULL
         FROM endpoint e WHERE n.id = $1 AND n.merchant_id = $2 AND e.id = n.endpoint_id
         RETURNING ${alertColumns}`,
};

/**
 * Records the first member to acknowledge an alert; later calls change nothing. An alert that was not mailed before
 * stays unmailed. Throws `not_found`.
 */
export async function acknowledgeAlert(
  queryable: Queryable,
  seen: { id: AlertId; merchantId: MerchantId; by: string },
): Promise<EndpointAlert> {
  const [alert] = await queryable.query<EndpointAlert>(acknowledge, [seen.id, seen.merchantId, seen.by]);
  if (alert === undefined) throw new DomainError("not_found", "There is no such alert.");
  return alert;
}
