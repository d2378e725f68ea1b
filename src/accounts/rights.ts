/** Rights of restricted keys and internal services. Each method of `payments.v1` names the rights that allow it. */
import { DomainError } from "../platform/errors.ts";

export const rights = [
  "sessions.create",
  "sessions.read",
  "payments.capture",
  "refunds.create",
  "disputes.respond",
  "cards.read",
  "cards.delete",
  "agreements.read",
  "agreements.cancel",
  "agreements.charge",
  "ledger.read",
  "events.read",
] as const;
export type Right = (typeof rights)[number];

/** Rights of internal services alone, for the dashboard's methods. */
export const configurationRights = ["configuration.read", "configuration.apply"] as const;

/** The right to charge a stored card, or to change what is charged, without the customer's security code. */
export const chargesStoredCards: Right = "agreements.charge";

/** The rights of a caller; null means all of them, which a merchant's secret key has. */
export type HeldRights = readonly string[] | null;

/** Throws `right_not_granted`, which names these rights and the field that needs one, unless the caller has one of them. */
export function requireAnyRight(needed: readonly string[], held: HeldRights, field?: string): void {
  if (held === null || needed.some((right) => held.includes(right))) return;
  const missing = needed.length === 0 ? "all rights" : `the right ${needed.join(" or ")}`;
  const call = field === undefined ? "This call" : `This call with this \`${field}\``;
  const message = `${call} needs ${missing}, and your key or service does not have it.`;
  throw new DomainError("right_not_granted", message, field === undefined ? {} : { field });
}
