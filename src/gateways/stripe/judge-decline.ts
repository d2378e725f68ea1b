/**
 * Judges one decline of Stripe's by everything that it says: the code, Radar's verdict on the charge, the network's
 * advice.
 */

import { isObject } from "../../platform/outbound-http.ts";
import { classifyDecline, type Declined, notAtOnce } from "../declines.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { declines } from "./declines.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Returns the reason that an error names; Stripe's code if there is no finer one. */
export function codeOf(error: Json): string {
  const code = error.decline_code ?? error.code ?? error.type;
  return typeof code === "string" ? code : "";
}

/** A charge that includes its outcome and Radar's verdict. */
export type JudgedCharge = Json & { readonly outcome: Json & { readonly type: string } };

/** Reports whether a charge is complete and includes its outcome. One without an outcome says no more than none. */
export function isJudged(charge: unknown): charge is JudgedCharge {
  return isObject(charge) && isObject(charge.outcome) && typeof charge.outcome.type === "string";
}

/**
 * Reports whether a charge succeeded, may yet succeed, or belongs to another payment: then a decline beside it does not
 * count.
 */
export function contradictsDecline(intent: Json, charge: unknown): boolean {
  if (!isObject(charge)) return false;
  const isAnothers = typeof charge.payment_intent === "string" && charge.payment_intent !== intent.id;
  const wentThrough = charge.paid === true || charge.captured === true || charge.status !== "failed";
  return isAnothers || wentThrough || (isJudged(charge) && charge.outcome.type === "authorized");
}

/**
 * Returns the meaning of a decline. A block of Stripe's is fraud under any code, unless its reason has its own row.
 * Without the charge and its outcome that cannot be decided, so a code that would let the plan continue stops it.
 */
export function judgeDecline(error: Json, charge: unknown): Declined {
  const declined = classifyDecline(declines, codeOf(error));
  if (!isJudged(charge)) {
    return declined.stop === "none" ? { ...declined, stop: "unclassified", declineCode: "unclassified" } : declined;
  }
  const { outcome } = charge;
  const begun = outcome.type === "blocked" ? judgeBlock(outcome.reason, declined) : declined;
  // Since 2024 Stripe gives the network's codes on the error and on the charge:
  // https://docs.stripe.com/declines/network-codes (2026).
  return [error, outcome].reduce<Declined>(
    (judged, source) => withStripeAdvice(withNetworkAdvice(judged, adviceOf(source, charge)), source.advice_code),
    begun,
  );
}

/** Judges a block by its reason and by the code that came with it; the stricter judgement counts. */
function judgeBlock(reason: unknown, declined: Declined): Declined {
  const row = `blocked.${reason}`;
  const block = classifyDecline(declines, Object.hasOwn(declines, row) ? row : "blocked");
  const isCodeStricter = declined.kind === "FRAUD" || (block.stop === "none" && declined.stop !== "none");
  return block.kind !== "FRAUD" && isCodeStricter ? declined : { ...block, gatewayCode: declined.gatewayCode };
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

/** Applies Stripe's own summary of the network's advice. */
function withStripeAdvice(declined: Declined, advice: unknown): Declined {
  if (declined.stop !== "none") return declined;
  if (advice === "do_not_try_again") return { ...declined, stop: "scheme_rule" };
  if (advice === "confirm_card_data") return { ...declined, stop: "same_card_fails" };
  // https://docs.stripe.com/declines/card#retrying-issuer-declines (2026).
  if (advice === "try_again_later") return notAtOnce(declined);
  return declined;
}
