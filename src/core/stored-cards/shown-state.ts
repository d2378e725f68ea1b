/** The public state of a stored card, and of a payment with one, for the API and the pages. PURE. */
import type { PaymentSession } from "../rows/entities.ts";
import { type Retry, retryOf } from "./renewals/refusals.ts";
import type { PaymentMethod, StoredPayment } from "./stored-rows.ts";

/** Reports whether a card's last month is over. */
export function isExpired({ expMonth, expYear }: Pick<PaymentMethod, "expMonth" | "expYear">, now: Date): boolean {
  return now.getTime() >= Date.UTC(expYear, expMonth);
}

type Ending = Pick<PaymentSession, "status">;

/** Returns the state of storing a payment's card; undefined if the creation did not ask for it. */
export function savedCardOf(
  { status }: Ending,
  { role, saving }: StoredPayment,
): "PENDING" | "SAVED" | "NOT_WANTED" | "FAILED" | undefined {
  if (role === "CUSTOMER" || role === "RENEWAL") return undefined;
  if (saving === "KEPT") return "SAVED";
  if (saving === "NOT_WANTED") return "NOT_WANTED";
  const isOpen = saving == null ? status === "CREATED" : saving === "REQUESTED";
  // A payment that ends without an approval stores nothing, whatever is recorded of it yet.
  return isOpen && (status === "CREATED" || status === "SUCCEEDED") ? "PENDING" : "FAILED";
}

/** Returns what can be done about an unpaid charge of an agreement; undefined of any other payment. */
export function retryOfUnpaid({ status }: Ending, { renewal }: StoredPayment): Retry | undefined {
  return renewal && status !== "CREATED" && status !== "SUCCEEDED" ? retryOf(renewal) : undefined;
}
