/** One decline of Stripe's, judged by everything that it says: the code, Radar's verdict on the charge, the network's advice. */
import { classifyDecline, type Declined } from "../declines.ts";
import { isObject } from "../gateway-http.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { declines } from "./declines.ts";

/** A JSON object of Stripe's. */
export type Json = Readonly<Record<string, unknown>>;

/** The reason that an error names; Stripe's code where there is no finer one. */
export function codeOf(error: Json): string {
  const code = error.decline_code ?? error.code ?? error.type;
  return typeof code === "string" ? code : "";
}

/** A charge that says how it ended, Radar's verdict included. */
export type JudgedCharge = Json & { readonly outcome: Json & { readonly type: string } };

/** Whether a charge is there in full and says how it ended. One without its outcome tells no more than none. */
export function isJudged(charge: unknown): charge is JudgedCharge {
  return isObject(charge) && isObject(charge.outcome) && typeof charge.outcome.type === "string";
}

/** Whether a charge says that it went through, or may yet, or is another payment's: then no word of a decline beside it counts. */
export function contradictsDecline(intent: Json, charge: unknown): boolean {
  if (!isObject(charge)) return false;
  const isAnothers = typeof charge.payment_intent === "string" && charge.payment_intent !== intent.id;
  const wentThrough = charge.paid === true || charge.captured === true || charge.status !== "failed";
  return isAnothers || wentThrough || (isJudged(charge) && charge.outcome.type === "authorized");
}

/**
 * What a decline means. A block of Radar's is fraud under whatever code it hides. Without the charge and its outcome nobody
 * can tell, so a code that would let the plan go on stops it.
 */
export function judgeDecline(error: Json, charge: unknown): Declined {
  const declined = classifyDecline(declines, codeOf(error));
  if (!isJudged(charge)) {
    return declined.stop === "none" ? { ...declined, stop: "unclassified", declineCode: "unclassified" } : declined;
  }
  const { outcome } = charge;
  if (outcome.type === "blocked") {
    return { ...classifyDecline(declines, "blocked"), gatewayCode: declined.gatewayCode };
  }
  // Since 2024 Stripe tells the network's words on the error and on the charge: https://docs.stripe.com/declines/network-codes (2026).
  return [error, outcome].reduce<Declined>(
    (judged, source) => withStripeAdvice(withNetworkAdvice(judged, adviceOf(source, charge)), source.advice_code),
    declined,
  );
}

function adviceOf(source: Json, charge: Json) {
  const details = isObject(charge.payment_method_details) ? charge.payment_method_details : {};
  const card = isObject(details.card) ? details.card : {};
  return {
    network: typeof card.network === "string" ? card.network : undefined,
    responseCode: source.network_decline_code,
    adviceCode: source.network_advice_code,
  };
}

/** Stripe's own summary of the network's advice. */
function withStripeAdvice(declined: Declined, advice: unknown): Declined {
  if (declined.stop !== "none") return declined;
  if (advice === "do_not_try_again") return { ...declined, stop: "scheme_rule" };
  if (advice === "confirm_card_data") return { ...declined, stop: "same_card_fails" };
  return declined;
}
