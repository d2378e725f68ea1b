/** The sums of one customer's payments, by the customer's address or the merchant's reference. */

import type { Queryable, Statement } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import { takenMinor } from "./analytics/counted-facts.ts";
import { rowsWalked } from "./list-walk.ts";
import { ofCustomer } from "./payment-filter.ts";
import { returnedMinor } from "./payment-list.ts";

/** The sums in one currency, of payments that have SUCCEEDED. */
export type CustomerTotals = {
  readonly currency: string;
  /** All payments, whatever their end. */
  readonly payments: number;
  readonly succeeded: number;
  /** Minor units as digits: a sum may be larger than any amount. */
  readonly capturedMinor: string;
  readonly refundedMinor: string;
};

const totalsOf = (name: string, condition: string): Statement => ({
  name,
  text: `
    SELECT s.currency, count(*)::int AS payments, count(*) FILTER (WHERE s.status = 'SUCCEEDED')::int AS succeeded,
      coalesce(sum(CASE WHEN s.status = 'SUCCEEDED' THEN ${takenMinor} END), 0)::text AS "capturedMinor",
      coalesce(sum(${returnedMinor}), 0)::text AS "refundedMinor"
    FROM (SELECT s.* FROM payment_session s WHERE s.merchant_id = $1 AND ${condition} AND s.amount_minor > 0 ORDER BY s.id DESC LIMIT ${rowsWalked}) s
    GROUP BY s.currency ORDER BY s.currency`,
});
const selectByEmail = totalsOf("select_customer_totals", ofCustomer("$2"));
const selectByRef = totalsOf("select_customer_totals_by_reference", "s.customer_ref = $2");

/** A customer, by one of the two. */
export type NamedCustomer = { readonly email: string } | { readonly customerRef: string };

/** Sums the payments of a customer, in each currency: the newest `rowsWalked`. */
export async function loadCustomerTotals(
  queryable: Queryable,
  merchantId: MerchantId,
  customer: NamedCustomer,
): Promise<CustomerTotals[]> {
  return "email" in customer
    ? queryable.query<CustomerTotals>(selectByEmail, [merchantId, customer.email])
    : queryable.query<CustomerTotals>(selectByRef, [merchantId, customer.customerRef]);
}
