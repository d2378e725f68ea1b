/** Finds the merchants whose orders were paid more than once: by the newest successes, and again while an alert is open. */

import type { OpenMatter } from "../events/alerts.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import { keepsMoney } from "./alerts.ts";

const kind = "PAID_MORE_THAN_ONCE" as const;

// The time is longer than several turns. Each success is looked up in the index of order references. An order that the
// merchant allows twice is not reported.
const newest = "settled_at > (SELECT app.clock()) - interval '5 minutes'";
// The home page shows an order for the same time.
const lasting = "settled_at > (SELECT app.clock()) - interval '72 hours'";
const selectOrders = (name: string, since: string, merchants: string): Statement => ({
  name,
  text: `
    SELECT s.merchant_id AS "merchantId", count(DISTINCT s.order_ref)::int AS orders, max(s.settled_at) AS since
    FROM payment_session s
    WHERE s.${since} ${merchants} AND s.status = 'SUCCEEDED' AND NOT s.allow_repeated_order AND ${keepsMoney("s")}
      AND (SELECT true FROM payment_session o
           WHERE o.merchant_id = s.merchant_id AND o.order_ref = s.order_ref AND o.id <> s.id AND o.status = 'SUCCEEDED'
             AND NOT o.allow_repeated_order AND ${keepsMoney("o")} LIMIT 1)
    GROUP BY s.merchant_id`,
});
const selectNew = selectOrders("select_orders_paid_again", newest, "");
const selectLasting = selectOrders("select_orders_paid_more_than_once", lasting, "AND s.merchant_id = ANY ($1)");

type PaidOrders = { readonly merchantId: MerchantId; readonly orders: number; readonly since: Date };

export async function comparePaidOrders(database: Queryable, open: readonly OpenMatter[]) {
  const known = open.filter((alert) => alert.kind === kind);
  const merchants = known.map(({ merchantId }) => merchantId);
  const paid = await database.query<PaidOrders>(selectNew, []);
  const lasts = known.length > 0 ? await database.query<PaidOrders>(selectLasting, [merchants]) : [];
  return {
    found: paid.map(({ merchantId, orders, since }) => ({
      merchantId,
      kind,
      endpointId: null,
      connectionId: null,
      gateway: null,
      since,
      detail: `${orders === 1 ? "1 order was" : `${orders} orders were`} paid by more than one payment in the last minutes, and none of these was refunded whole. The page Home names them.`,
    })),
    over: known.filter(({ merchantId }) => !lasts.some((each) => each.merchantId === merchantId)),
  };
}
