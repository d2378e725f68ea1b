/** Maps the card networks' reason codes to cardholders' claims. PURE. */

/** The closed list of claims that merchants see. */
export type DisputeReason =
  | "fraudulent"
  | "not_received"
  | "not_as_described"
  | "credit_not_processed"
  | "duplicate"
  | "wrong_amount"
  | "cancelled"
  | "processing_error"
  | "other";

const visa = "https://docs.stripe.com/disputes/categories (2026)";
const mastercard = "https://docs.antom.com/ac/dispute/mastercard.md (2026)";
const mastercardClaims = "https://documentation.lemonway.com/v8.2/reference/chargeback-codes (2026)";

const row = (reason: DisputeReason, source: string) => ({ reason, source });

// Mastercard's 4853 covers several claims. Codes of the networks differ in their form, so none means two things.
const reasons: Readonly<Record<string, { readonly reason: DisputeReason; readonly source: string }>> = {
  "10.1": row("fraudulent", visa),
  "10.2": row("fraudulent", visa),
  "10.3": row("fraudulent", visa),
  "10.4": row("fraudulent", visa),
  "10.5": row("fraudulent", visa),
  "11.1": row("processing_error", visa),
  "11.2": row("processing_error", visa),
  "11.3": row("processing_error", visa),
  "12.1": row("processing_error", visa),
  "12.2": row("processing_error", visa),
  "12.3": row("processing_error", visa),
  "12.4": row("processing_error", visa),
  "12.5": row("wrong_amount", visa),
  "12.6.1": row("duplicate", visa),
  "12.6.2": row("duplicate", visa),
  "12.7": row("processing_error", visa),
  "13.1": row("not_received", visa),
  "13.2": row("cancelled", visa),
  "13.3": row("not_as_described", visa),
  "13.4": row("not_as_described", visa),
  "13.5": row("not_as_described", visa),
  "13.6": row("credit_not_processed", visa),
  "13.7": row("credit_not_processed", visa),
  "13.9": row("not_received", visa),
  "4834": row("processing_error", mastercardClaims),
  "4837": row("fraudulent", mastercard),
  "4840": row("fraudulent", mastercard),
  "4849": row("fraudulent", mastercard),
  "4853": row("other", mastercardClaims),
  "4855": row("not_received", mastercardClaims),
  "4863": row("fraudulent", mastercard),
  "4870": row("fraudulent", mastercard),
  "4871": row("fraudulent", mastercard),
};

/** Returns the claim of a network's code; `other` for one that is not known. */
export function disputeReasonOf(networkReasonCode: string | undefined): DisputeReason {
  if (networkReasonCode === undefined || !Object.hasOwn(reasons, networkReasonCode)) return "other";
  return reasons[networkReasonCode]!.reason;
}
