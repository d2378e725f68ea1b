/** The cards of runs under faults whose gateways decline and ask to try again: numbers of Stripe's, which the vault accepts. */
import { type AcquirerName, acquirerNames } from "../../sandbox/ledger.ts";
import type { SandboxControl } from "../testing/sandbox-control.ts";

/** Declined at the first request for an order at each gateway, and approved at the second. */
export const retriedCard = "4000000000009235";
export const declinedAgainCard = "4000000000006975";

// The declines after which a payment may be sent to the same gateway again (docs/declines.md). ADYEN has none: its plan
// continues.
const codes: Readonly<Record<AcquirerName, string>> = {
  A: "processing_error",
  B: "4",
  STRIPE: "processing_error",
  ADYEN: "4",
  PAYPAL: "9100",
};

export async function setRetryCards(acquirers: SandboxControl): Promise<void> {
  for (const acquirer of acquirerNames) {
    const decline = { act: "decline", code: codes[acquirer] } as const;
    await acquirers.setCard(acquirer, retriedCard, { ...decline, once: true });
    await acquirers.setCard(acquirer, declinedAgainCard, decline);
  }
}
