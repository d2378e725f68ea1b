/** What a merchant's people should look at now, and how their day goes: each question bounded, whatever the table holds. */
import {
  attentionRows,
  clockSkewMs,
  paidTwiceWindowMs,
  sessionLongestMs,
  successesChecked,
  todayCounted,
  troubleWindowMs,
  unhealthy,
} from "../limits/dashboard.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type ConnectionHealth, loadConnectionHealth } from "./gateway-health.ts";
import { firstIdAt } from "./past-payments.ts";
import { itemColumns, type WorkItem } from "./work-items.ts";

/** Payments that took money for one order reference. */
export type PaidTwice = { readonly orderRef: string; readonly lastAt: Date; readonly lastId: string };

/** A connection that did not process a good part of the last hour's attempts. */
export type UnhealthyConnection = Pick<ConnectionHealth, "connectionId" | "attempts"> & {
  readonly gateway: string;
  readonly failed: number;
};

/** An endpoint that no event goes to any more, against its owner's will. */
export type LostEndpoint = {
  readonly id: string;
  readonly url: string;
  readonly disabledAt: Date;
  readonly disabledBecause: "GONE" | "FAILING";
};

/** What there is to do; each list holds a few rows, and none that needs nobody. */
export type Attention = {
  readonly alarms: readonly WorkItem[];
  readonly paidTwice: readonly PaidTwice[];
  readonly unhealthy: readonly UnhealthyConnection[];
  readonly endpoints: readonly LostEndpoint[];
  /** Payments of the last hour that ended with nobody having taken or declined them. */
  readonly degraded: { readonly count: number; readonly since: Date };
  /** A list has more rows than these. */
  readonly isCut: boolean;
};

const selectAlarms: Statement = {
  name: "select_alarms_of_merchant",
  text: `SELECT DISTINCT ON (session_id) ${itemColumns} FROM work_item
         WHERE merchant_id = $1 AND closed_at IS NULL AND resolved_at IS NULL ORDER BY session_id DESC, id DESC LIMIT $2`,
};

// The successes are walked newest first, and each is asked by the index of order references: a scalar, so that no plan
// reads all successes for it.
const selectPaidTwice: Statement = {
  name: "select_paid_twice",
  text: `
    SELECT s.order_ref AS "orderRef", max(s.settled_at) AS "lastAt", (array_agg(s.id ORDER BY s.id DESC))[1] AS "lastId"
    FROM (SELECT id, order_ref, settled_at FROM payment_session
          WHERE merchant_id = $1 AND status = 'SUCCEEDED' AND id >= $2 ORDER BY id DESC LIMIT $3) s
    WHERE (SELECT true FROM payment_session o
           WHERE o.merchant_id = $1 AND o.order_ref = s.order_ref AND o.id <> s.id AND o.status = 'SUCCEEDED' LIMIT 1)
    GROUP BY s.order_ref ORDER BY 2 DESC LIMIT $4`,
};

const selectEndpoints: Statement = {
  name: "select_lost_endpoints",
  text: `SELECT id, url, disabled_at AS "disabledAt", disabled_because AS "disabledBecause" FROM endpoint
         WHERE merchant_id = $1 AND status = 'DISABLED' AND disabled_because <> 'OWNER'
         ORDER BY disabled_at DESC LIMIT $2`,
};

const selectDegraded: Statement = {
  name: "count_degraded",
  text: `
    SELECT count(*)::int AS count FROM (
      SELECT FROM payment_session
      WHERE merchant_id = $1 AND status = 'DEGRADED' AND id >= $2 AND settled_at >= $3 LIMIT ${successesChecked}) s`,
};

const selectGateways: Statement = {
  name: "select_gateways_of_connections",
  text: "SELECT id, gateway FROM connection WHERE merchant_id = $1 AND id = ANY ($2::uuid[])",
};

/** Everything that needs somebody now. */
export async function loadAttention(
  queryable: Queryable,
  { merchantId, now }: { merchantId: string; now: Date },
): Promise<Attention> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const since = before(troubleWindowMs);
  const firstId = firstIdAt(before(troubleWindowMs + sessionLongestMs));
  const paidSince = firstIdAt(before(paidTwiceWindowMs));
  // One row more than is shown says whether there are more.
  const rows = attentionRows + 1;
  const [alarms, paidTwice, endpoints, [degraded], connections] = await Promise.all([
    queryable.query<WorkItem>(selectAlarms, [merchantId, rows]),
    queryable.query<PaidTwice>(selectPaidTwice, [merchantId, paidSince, successesChecked, rows]),
    queryable.query<LostEndpoint>(selectEndpoints, [merchantId, rows]),
    queryable.query<{ count: number }>(selectDegraded, [merchantId, firstId, since]),
    findUnhealthy(queryable, { merchantId, since }),
  ]);
  return {
    alarms: alarms.slice(0, attentionRows),
    paidTwice: paidTwice.slice(0, attentionRows),
    endpoints: endpoints.slice(0, attentionRows),
    unhealthy: connections,
    degraded: { count: degraded?.count ?? 0, since },
    isCut: [alarms, paidTwice, endpoints].some(({ length }) => length > attentionRows),
  };
}

async function findUnhealthy(
  queryable: Queryable,
  { merchantId, since }: { merchantId: string; since: Date },
): Promise<UnhealthyConnection[]> {
  const asked = await loadConnectionHealth(queryable, { merchantId, since });
  const found = asked
    .map(({ connectionId, attempts, timeouts, errors }) => ({ connectionId, attempts, failed: timeouts + errors }))
    .filter(({ attempts, failed }) => attempts >= unhealthy.attemptsLeast && failed >= attempts * unhealthy.share);
  if (found.length === 0) return [];
  const ids = found.map(({ connectionId }) => connectionId);
  const rows = await queryable.query<{ id: string; gateway: string }>(selectGateways, [merchantId, ids]);
  const gateways = new Map(rows.map(({ id, gateway }) => [id, gateway]));
  return found.map((connection) => ({ ...connection, gateway: gateways.get(connection.connectionId) ?? "" }));
}

/** Payments created since a day began, in one currency. */
export type DayInCurrency = {
  readonly currency: string;
  readonly created: number;
  readonly succeeded: number;
  readonly declined: number;
  readonly degraded: number;
  readonly savedByFailover: number;
  /** A sum may be more than a number holds. */
  readonly volumeMinor: bigint;
};

const selectDay: Statement = {
  name: "select_day",
  text: `
    SELECT currency, count(*)::int AS created,
      (count(*) FILTER (WHERE status = 'SUCCEEDED'))::int AS succeeded,
      (count(*) FILTER (WHERE status = 'DECLINED'))::int AS declined,
      (count(*) FILTER (WHERE status = 'DEGRADED'))::int AS degraded,
      (count(*) FILTER (WHERE status = 'SUCCEEDED' AND failover))::int AS "savedByFailover",
      coalesce(sum(amount_minor) FILTER (WHERE status = 'SUCCEEDED'), 0)::text AS "volumeMinor"
    FROM (SELECT currency, status, failover, amount_minor, created_at FROM payment_session
          WHERE merchant_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $4) s
    WHERE created_at >= $3 GROUP BY currency ORDER BY created DESC, currency`,
};

/** The day's payments by currency; of a day with more than `todayCounted`, the newest. */
export async function loadDay(
  queryable: Queryable,
  { merchantId, dayStart }: { merchantId: string; dayStart: Date },
): Promise<{ currencies: readonly DayInCurrency[]; isNewestOnly: boolean }> {
  const firstId = firstIdAt(new Date(dayStart.getTime() - clockSkewMs));
  const values = [merchantId, firstId, dayStart, todayCounted];
  const rows = await queryable.query<Omit<DayInCurrency, "volumeMinor"> & { volumeMinor: string }>(selectDay, values);
  const currencies = rows.map((row) => ({ ...row, volumeMinor: BigInt(row.volumeMinor) }));
  const counted = currencies.reduce((sum, { created }) => sum + created, 0);
  return { currencies, isNewestOnly: counted >= todayCounted };
}
