/** Reads the forms sent to Stripe's emulator. */
import type { Asking, CardPayment } from "../challenges.ts";
import type { Asked } from "./emulator-objects.ts";

/** Returns an imported authentication: https://docs.stripe.com/payments/payment-intents/three-d-secure-import (2026). */
export function proofOf({ form }: Asked): CardPayment["proof"] {
  const field = (name: string) => form.get(`payment_method_options[card][three_d_secure][${name}]`);
  const [dsTransactionId, cryptogram] = [field("transaction_id"), field("cryptogram")];
  return dsTransactionId && cryptogram ? { dsTransactionId, cryptogram } : undefined;
}

/** Returns the permission to challenge the customer: https://docs.stripe.com/api/payment_intents/confirm (2026). */
export function askingOf({ form }: Asked): Asking | undefined {
  const returnUrl = form.get("return_url") ?? "";
  if (form.get("error_on_requires_action") === "true" || !URL.canParse(returnUrl)) return undefined;
  const isAny = form.get("payment_method_options[card][request_three_d_secure]") === "any";
  return { wish: isAny ? "always" : "as_needed", returnUrl };
}

export function metadataIn(form: URLSearchParams): Record<string, string> {
  const named = [...form].map(([name, value]) => [/^metadata\[(\w+)\]$/.exec(name)?.[1], value]);
  return Object.fromEntries(named.filter(([name]) => name !== undefined));
}

export function seconds(): number {
  return Math.floor(Date.now() / 1_000);
}
