/** Reads what gateways keep: by gateway and the currency of its payouts, of the payments of whole months. */
import type { Queryable, Statement } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";

export type GatewayCost = {
  readonly gateway: string;
  readonly currency: string;
  /** Captures that a statement has, and what they came to. */
  readonly payments: number;
  readonly grossMinor: number;
  readonly feeMinor: number;
  readonly disputeFeeMinor: number;
  /** An account's fees are never spread over payments. */
  readonly accountFeeMinor: number;
};

const selectCosts: Statement = {
  name: "select_costs_by_gateway",
  text: `
    SELECT gateway, settlement_currency AS currency,
      coalesce(sum(lines) FILTER (WHERE type = 'CAPTURED'), 0)::int AS payments,
      coalesce(sum(settled_gross_minor) FILTER (WHERE type = 'CAPTURED'), 0)::float8 AS "grossMinor",
      coalesce(sum(fee_minor) FILTER (WHERE type IN ('CAPTURED','REFUNDED','REFUND_FAILED')), 0)::float8 AS "feeMinor",
      coalesce(sum(fee_minor) FILTER (WHERE type IN ('CHARGEBACK','CHARGEBACK_REVERSED')), 0)::float8 AS "disputeFeeMinor",
      coalesce(sum(fee_minor) FILTER (WHERE type = 'ACCOUNT'), 0)::float8 AS "accountFeeMinor"
    FROM analytics_cost
    WHERE merchant_id = $1 AND month >= date_trunc('month', $2::date) AND month <= $3::date AND ($4::text IS NULL OR gateway = $4)
    GROUP BY gateway, settlement_currency ORDER BY gateway, settlement_currency`,
};

export async function readCosts(
  database: Queryable,
  wanted: {
    readonly merchantId: MerchantId;
    readonly firstDay: string;
    readonly lastDay: string;
    readonly gateway: string | undefined;
  },
): Promise<readonly GatewayCost[]> {
  const { merchantId, firstDay, lastDay, gateway = null } = wanted;
  return database.query(selectCosts, [merchantId, firstDay, lastDay, gateway]);
}
