/**
 * Alerts for a merchant's people. Every query is bounded, however large the tables are.
 */

import { causeOf, itemColumns, type WorkItemCause } from "../core/record/work-items.ts";
import type { MatterKind } from "../events/alerts.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { ConnectionId, EndpointId, MerchantId, SessionId } from "../platform/ids.ts";
import { sessionLongestMs } from "./gateway-health.ts";
import { firstIdAt } from "./past-payments.ts";
import { isLikeCardNumber } from "./shown-order-ref.ts";

const hour = 60 * 60_000;

// Period of the home page's recent failures.
const troubleWindowMs = hour;
// Time for which two successes for one order reference are shown: a long weekend.
const paidTwiceWindowMs = 72 * hour;
// Time within which a worker has looked for other payments of an order: a few of its turns.
const lookedUpWithinMs = hour / 4;
// Newest successes that are checked for a second one.
const successesChecked = 10_000;
// Newest payments whose order references are checked for card numbers: 20 ms of reading, and one in this many is
// enough.
const orderRefsChecked = 10_000;
// Time for which a card number in an order reference is reported: until it is fixed, and over a long weekend.
const cardNumberWindowMs = 72 * hour;
// Payments whose alarms are grouped by their causes. An outage may open thousands.
const alarmsGrouped = 10_000;
// Open alerts about connections: a few of each.
const connectionAlertsMax = 100;
// Lines of one kind on the home page; the list shows more.
const alertRows = 10;

/** Several payments that took money for one order reference. */
type PaidTwice = { readonly orderRef: string; readonly lastAt: Date; readonly lastId: SessionId };

/** An open alert about a gateway, a verification, holds, or an endpoint that fails and is not disabled yet. */
type OpenAlert = {
  readonly kind:
    | Exclude<MatterKind, "PAID_MORE_THAN_ONCE" | "CARD_TESTING" | "DISPUTE_OPENED" | "DISPUTE_DUE">
    | "FAILING_24_HOURS"
    | "FAILING_72_HOURS";
  /** Null for an endpoint that fails. */
  readonly detail: string | null;
  readonly since: Date;
  readonly gateway: string | null;
  readonly connectionId: ConnectionId | null;
  readonly endpointId: EndpointId | null;
  readonly url: string | null;
};

/** An endpoint that receives no more events, against its owner's will. */
type LostEndpoint = {
  readonly id: EndpointId;
  readonly url: string;
  readonly disabledAt: Date;
  readonly disabledReason: "GONE" | "FAILING";
};

/** Payments whose order reference looks like a card number. */
type CardNumbersGiven = { readonly count: number; readonly lastAt: Date; readonly lastId: SessionId };

/** The alerts of a merchant. Each list holds a few rows, all of which need a person. */
export type Alerts = {
  /** An alarm for each cause, which several payments may share. */
  readonly alarms: readonly WorkItemCause[];
  readonly paidTwice: readonly PaidTwice[];
  readonly open: readonly OpenAlert[];
  readonly endpoints: readonly LostEndpoint[];
  /** Payments of the last hour that ended without being captured or declined; `since` is the first end, null of none. */
  readonly degraded: { readonly count: number; readonly since: Date | null };
  /** Undefined when none of the newest payments has one. */
  readonly cardNumbers: CardNumbersGiven | undefined;
  /** True when a list has more rows than these. */
  readonly isCut: boolean;
};

const selectAlarms: Statement = {
  name: "select_alarms_of_merchant",
  text: `
    SELECT ${itemColumns("g")}, count FROM (
      SELECT w.*, (count(*) OVER cause)::int AS count, row_number() OVER (cause ORDER BY id DESC) AS nth
      FROM (SELECT DISTINCT ON (session_id) * FROM work_item
            WHERE merchant_id = $1 AND closed_at IS NULL AND resolved_at IS NULL
            ORDER BY session_id DESC, id DESC LIMIT ${alarmsGrouped}) w
      WINDOW cause AS (PARTITION BY ${causeOf("w")})) g
    WHERE nth = 1 ORDER BY id DESC LIMIT $2`,
};

/**
 * SQL: true unless the refunds of a success add up to the captured amount. Most payments have none. A set-up captures
 * nothing.
 */
export const keepsMoney = (session: string) => `${session}.amount_minor > 0 AND (${session}.refunds = 0
  OR (SELECT sum(a.captured_amount_minor) FROM attempt a WHERE a.session_id = ${session}.id AND a.status = 'CAPTURED')
     > coalesce((SELECT sum(r.amount_minor) FROM refund r WHERE r.session_id = ${session}.id AND r.status <> 'FAILED'), 0))`;

// Walks successes newest first and compares them with each other. A worker has compared all but the last minutes' with those of
// all months, which takes a look-up in every partition, and has opened the alert. The look-up is a scalar, so no plan reads all
// successes for it.
const selectPaidTwice: Statement = {
  name: "select_paid_twice",
  text: `
    SELECT s.order_ref AS "orderRef", max(s.settled_at) AS "lastAt", (array_agg(s.id ORDER BY s.id DESC))[1] AS "lastId"
    FROM (SELECT *, count(*) OVER (PARTITION BY order_ref) AS among FROM (
            SELECT id, order_ref, settled_at FROM payment_session
            WHERE merchant_id = $1 AND status = 'SUCCEEDED' AND id >= $2 AND ${keepsMoney("payment_session")}
            ORDER BY id DESC LIMIT $3) r) s
    WHERE s.among > 1 OR (s.settled_at >= $5
        OR EXISTS (SELECT FROM alert WHERE merchant_id = $1 AND kind = 'PAID_MORE_THAN_ONCE' AND over_at IS NULL))
      AND (SELECT true FROM payment_session o
           WHERE o.merchant_id = $1 AND o.order_ref = s.order_ref AND o.id <> s.id AND o.status = 'SUCCEEDED'
             AND ${keepsMoney("o")} LIMIT 1)
    GROUP BY s.order_ref ORDER BY 2 DESC LIMIT $4`,
};

// Reads by the merchant's index from the newest id down. The pattern passes possible card numbers; isLikeCardNumber
// decides.
const selectLikeCards: Statement = {
  name: "select_order_refs_like_cards",
  text: `
    SELECT id, order_ref AS "orderRef", created_at AS "createdAt"
    FROM (SELECT id, order_ref, created_at FROM payment_session
          WHERE merchant_id = $1 AND id >= $2 ORDER BY id DESC LIMIT $3) s
    WHERE order_ref ~ '^\\s*[0-9]([ -]?[0-9]){11,18}\\s*$' ORDER BY id DESC`,
};

const selectEndpoints: Statement = {
  name: "select_lost_endpoints",
  text: `SELECT id, url, disabled_at AS "disabledAt", disabled_reason AS "disabledReason" FROM endpoint
         WHERE merchant_id = $1 AND status = 'DISABLED' AND disabled_reason <> 'OWNER'
         ORDER BY disabled_at DESC LIMIT $2`,
};

const selectDegraded: Statement = {
  name: "count_degraded",
  text: `
    SELECT count(*)::int AS count, min(settled_at) AS since FROM (
      SELECT settled_at FROM payment_session
      WHERE merchant_id = $1 AND status = 'DEGRADED' AND amount_minor > 0 AND id >= $2 AND settled_at >= $3 LIMIT ${successesChecked}) s`,
};

// An endpoint that fails has only its newest alert, and none once it is disabled, which has a separate alert. The
// orders that were paid more than once, braking, and the disputes that need a response have separate lines.
const selectOpenAlerts: Statement = {
  name: "select_open_alerts",
  text: `SELECT n.kind, n.detail, n.since, n.gateway, n.connection_id AS "connectionId", n.endpoint_id AS "endpointId", e.url
         FROM alert n LEFT JOIN endpoint e ON e.id = n.endpoint_id
         WHERE n.merchant_id = $1 AND n.over_at IS NULL AND n.kind NOT IN ('PAID_MORE_THAN_ONCE','CARD_TESTING','DISPUTE_OPENED','DISPUTE_DUE') AND (n.detail IS NOT NULL
           OR n.kind NOT LIKE 'DISABLED%' AND e.status IN ('ENABLED', 'PAUSED') AND e.failing_since = n.since
             AND NOT EXISTS (SELECT FROM alert later
                             WHERE later.endpoint_id = n.endpoint_id AND later.since = n.since AND later.id > n.id))
         ORDER BY n.id DESC LIMIT $2`,
};

type ConnectionAlert = { readonly connectionId: ConnectionId; readonly detail: string; readonly since: Date };

const selectConnectionAlerts: Statement = {
  name: "select_connection_alerts",
  text: `SELECT connection_id AS "connectionId", detail, since FROM alert
         WHERE merchant_id = $1 AND over_at IS NULL AND connection_id IS NOT NULL AND detail IS NOT NULL
         ORDER BY id DESC LIMIT $2`,
};

/** Loads the open alerts about a merchant's connections, newest first. */
export async function loadConnectionAlerts(queryable: Queryable, merchantId: MerchantId): Promise<ConnectionAlert[]> {
  return queryable.query<ConnectionAlert>(selectConnectionAlerts, [merchantId, connectionAlertsMax]);
}

/** Steps of setting an environment up, in the order in which a merchant takes them. */
export type SetUp = {
  readonly hasVerifiedGateway: boolean;
  readonly hasRoutableRule: boolean;
  readonly hasCheckoutOrigin: boolean;
  readonly hasVerifiedEndpoint: boolean;
};

const selectSetUp: Statement = {
  name: "select_set_up",
  text: `
    SELECT
      EXISTS (SELECT FROM connection WHERE merchant_id = $1 AND credential_version IS NOT NULL) AS "hasVerifiedGateway",
      EXISTS (SELECT FROM connection WHERE merchant_id = $1 AND credential_version IS NOT NULL AND id = ANY (
        SELECT unnest(connection_ids) FROM (
          SELECT connection_ids FROM routing_rule WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1) r)
      ) OR NOT EXISTS (SELECT FROM routing_rule WHERE merchant_id = $1)
        AND EXISTS (SELECT FROM connection WHERE merchant_id = $1 AND credential_version IS NOT NULL AND NOT paused)
        AS "hasRoutableRule",
      EXISTS (SELECT FROM merchant_settings WHERE merchant_id = $1 AND cardinality(checkout_origins) > 0)
        AS "hasCheckoutOrigin",
      EXISTS (SELECT FROM endpoint WHERE merchant_id = $1 AND verified_at IS NOT NULL AND status <> 'REMOVED')
        AS "hasVerifiedEndpoint"`,
};

export async function loadSetUp(queryable: Queryable, merchantId: MerchantId): Promise<SetUp> {
  const [row] = await queryable.query<SetUp>(selectSetUp, [merchantId]);
  return row!;
}

export async function loadAlerts(
  queryable: Queryable,
  { merchantId, now }: { merchantId: MerchantId; now: Date },
): Promise<Alerts> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const firstId = firstIdAt(before(troubleWindowMs + sessionLongestMs));
  const paidSince = firstIdAt(before(paidTwiceWindowMs));
  // An extra row reveals whether there are more than are shown.
  const rows = alertRows + 1;
  const [alarms, paidTwice, endpoints, [degraded], cardNumbers, open] = await Promise.all([
    queryable.query<WorkItemCause>(selectAlarms, [merchantId, rows]),
    queryable.query<PaidTwice>(selectPaidTwice, [
      merchantId,
      paidSince,
      successesChecked,
      rows,
      before(lookedUpWithinMs),
    ]),
    queryable.query<LostEndpoint>(selectEndpoints, [merchantId, rows]),
    queryable.query<Alerts["degraded"]>(selectDegraded, [merchantId, firstId, before(troubleWindowMs)]),
    findCardNumbers(queryable, { merchantId, since: before(cardNumberWindowMs) }),
    queryable.query<OpenAlert>(selectOpenAlerts, [merchantId, rows]),
  ]);
  return {
    alarms: alarms.slice(0, alertRows),
    paidTwice: paidTwice.slice(0, alertRows),
    endpoints: endpoints.slice(0, alertRows),
    open: open.slice(0, alertRows),
    degraded: degraded!,
    cardNumbers,
    isCut: [alarms, paidTwice, endpoints, open].some(({ length }) => length > alertRows),
  };
}

async function findCardNumbers(
  queryable: Queryable,
  { merchantId, since }: { merchantId: MerchantId; since: Date },
): Promise<CardNumbersGiven | undefined> {
  const values = [merchantId, firstIdAt(since), orderRefsChecked];
  const rows = await queryable.query<{ id: SessionId; orderRef: string; createdAt: Date }>(selectLikeCards, values);
  const found = rows.filter(({ orderRef }) => isLikeCardNumber(orderRef));
  return found[0] && { count: found.length, lastAt: found[0].createdAt, lastId: found[0].id };
}
