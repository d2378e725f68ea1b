/** What an endpoint's owner is told before and when it is disabled. Notices of a disabling are written by record-delivery.ts. */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { NoAnswer } from "./egress.ts";

/** What a notice says of its endpoint. */
export type NoticeKind = "FAILING_24_HOURS" | "FAILING_72_HOURS" | "DISABLED_FAILING" | "DISABLED_GONE";

/** One thing that an owner is told. There is one for each kind in an episode, which begins with a failure and ends with a 2xx answer. */
export type EndpointNotice = {
  readonly id: string;
  readonly merchantId: string;
  readonly endpointId: string;
  /** As it is now. */
  readonly url: string;
  readonly kind: NoticeKind;
  readonly failingSince: Date;
  /** What the endpoint answered last before the notice, or why there was no answer. */
  readonly statusCode: number | null;
  readonly noAnswer: NoAnswer | null;
  /** The endpoint has taken a webhook since, or its owner has put it in order. */
  readonly isOver: boolean;
  readonly createdAt: Date;
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: string | null;
};

/** What raising notices works with. */
export type NoticeContext = {
  readonly database: Database;
  readonly entropy: Entropy;
  readonly log: Pick<Logger, "warn">;
};

// A turn of a few milliseconds; the next one follows at once while there are more.
const batchNotices = 100;

// One worker at a time has an endpoint, so each warning is raised and logged once. Five failures in a row, or it could be
// one from before an outage of our own. Whoever was down himself on the first day gets the later warning alone.
const raiseWarnings: Statement = {
  name: "raise_endpoint_warnings",
  text: `WITH failing AS (
           SELECT e.id, e.merchant_id, e.failing_since, k.kind FROM endpoint e CROSS JOIN LATERAL (
             SELECT CASE WHEN e.failing_since <= (SELECT app.clock()) - interval '72 hours'
                         THEN 'FAILING_72_HOURS' ELSE 'FAILING_24_HOURS' END AS kind) k
           WHERE e.status = 'ENABLED' AND e.failing_since <= (SELECT app.clock()) - interval '24 hours'
             AND e.failures_in_row >= 5
             AND NOT EXISTS (SELECT FROM endpoint_notice n
                             WHERE n.endpoint_id = e.id AND n.kind = k.kind AND n.failing_since = e.failing_since)
           LIMIT ${batchNotices} FOR NO KEY UPDATE OF e SKIP LOCKED
         ), numbered AS (SELECT failing.*, row_number() OVER () AS number FROM failing)
         INSERT INTO endpoint_notice (id, merchant_id, endpoint_id, kind, failing_since, status_code, no_answer)
         SELECT ($1::uuid[])[f.number], f.merchant_id, f.id, f.kind, f.failing_since, last.status_code, last.no_answer
         FROM numbered f LEFT JOIN LATERAL (
           SELECT a.status_code, a.no_answer FROM delivery_attempt a
           WHERE a.endpoint_id = f.id AND (a.status_code IS NULL OR a.status_code NOT BETWEEN 200 AND 299)
           ORDER BY a.id DESC LIMIT 1) last ON true
         ON CONFLICT DO NOTHING
         RETURNING endpoint_id AS "endpointId", kind, failing_since AS "failingSince"`,
};

/** Warns of the endpoints that have failed for 24 and for 72 hours; true when there may be more. */
export async function raiseWarningsOnce({ database, entropy, log }: NoticeContext): Promise<boolean> {
  const ids = Array.from({ length: batchNotices }, () => entropy.uuid());
  type Raised = Pick<EndpointNotice, "endpointId" | "kind" | "failingSince">;
  const raised = await database.query<Raised>(raiseWarnings, [ids]);
  for (const { endpointId, kind, failingSince } of raised) {
    log.warn({ endpoint: encodeId("we", endpointId), kind, failingSince }, "a webhook endpoint keeps failing");
  }
  return raised.length === batchNotices;
}

const noticeColumns = `n.id, n.merchant_id AS "merchantId", n.endpoint_id AS "endpointId", e.url, n.kind,
  n.failing_since AS "failingSince", n.status_code AS "statusCode", n.no_answer AS "noAnswer",
  e.failing_since IS DISTINCT FROM n.failing_since OR e.status = 'REMOVED' AS "isOver", n.created_at AS "createdAt",
  n.acknowledged_at AS "acknowledgedAt", n.acknowledged_by AS "acknowledgedBy"`;

const selectNotices: Statement = {
  name: "select_endpoint_notices",
  text: `SELECT ${noticeColumns} FROM endpoint_notice n JOIN endpoint e ON e.id = n.endpoint_id
         WHERE n.merchant_id = $1 AND ($2 OR n.acknowledged_at IS NULL) AND ($3::uuid IS NULL OR n.id < $3)
         ORDER BY n.id DESC LIMIT $4`,
};

/** A page of a merchant's notices, newest first: those that nobody has acknowledged, or all. */
export async function listNotices(
  queryable: Queryable,
  page: { merchantId: string; includeAcknowledged: boolean; after: string | undefined; count: number },
): Promise<EndpointNotice[]> {
  const { merchantId, includeAcknowledged, after, count } = page;
  return queryable.query<EndpointNotice>(selectNotices, [merchantId, includeAcknowledged, after ?? null, count]);
}

const acknowledge: Statement = {
  name: "acknowledge_endpoint_notice",
  text: `UPDATE endpoint_notice n
         SET acknowledged_at = coalesce(n.acknowledged_at, app.clock()),
             acknowledged_by = coalesce(n.acknowledged_by, $3), mail_at = NULL
         FROM endpoint e WHERE n.id = $1 AND n.merchant_id = $2 AND e.id = n.endpoint_id
         RETURNING ${noticeColumns}`,
};

/** Notes who has seen a notice, the first one for good; what is not mailed by then stays unmailed. Throws `not_found`. */
export async function acknowledgeNotice(
  queryable: Queryable,
  seen: { id: string; merchantId: string; by: string },
): Promise<EndpointNotice> {
  const [notice] = await queryable.query<EndpointNotice>(acknowledge, [seen.id, seen.merchantId, seen.by]);
  if (notice === undefined) throw new DomainError("not_found", "There is no such notice.");
  return notice;
}
