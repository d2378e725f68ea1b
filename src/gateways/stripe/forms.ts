/** The forms that are sent to Stripe. */
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import { capturedAmountOf, toGatewayAmount } from "../amounts.ts";
import type { AuthenticationProof, AuthenticationWish, CartesBancaires } from "../authentication.ts";
import type { AttemptAtGateway, AuthorizeRequest, Hold } from "../connector.ts";
import type { Form } from "./api.ts";
import { currencies } from "./currencies.ts";

export function creationKey({ attemptReference }: AttemptAtGateway): string {
  return `${attemptReference}_new`;
}

/**
 * Returns the creation that is sent. Its content is only the attempt itself, so that it can be repeated, byte for byte,
 * at any time: for a day, its key and its bytes are the name of the intent. With manual confirmation nothing is held
 * before a request of ours, also after the customer has authenticated, and only a secret key can confirm:
 * https://docs.stripe.com/api/payment_intents/confirm (2026).
 */
export function creationForm(attempt: AttemptAtGateway): Form {
  return { ...firstForm(attempt), confirmation_method: "manual" };
}

/**
 * Returns every creation that a version of this service has sent, the newest first. Stripe refuses a known key with
 * other bytes, so an intent whose name is lost is found by the bytes that its key belongs to.
 */
export function everyCreationForm(attempt: AttemptAtGateway): readonly Form[] {
  return [creationForm(attempt), firstForm(attempt)];
}

/** The creation of attempts that were made before there was customer authentication. */
function firstForm(attempt: AttemptAtGateway): Form {
  const amount = toGatewayAmount(currencies, attempt);
  if (amount.type === "impossible") throw new Error("an attempt is opened only for an amount that can be paid");
  return {
    amount: String(amount.value),
    currency: attempt.currency.toLowerCase(),
    capture_method: "manual",
    "payment_method_types[0]": "card",
    "metadata[attempt_id]": attempt.attemptReference,
  };
}

/**
 * Returns the fields of a confirmation that say whether the customer can be challenged. Without a customer, Stripe
 * declines a payment that needs one: https://docs.stripe.com/api/payment_intents/confirm (2026). `any` requests
 * authentication where Stripe would have decided against it:
 * https://docs.stripe.com/payments/3d-secure/authentication-flow (2026).
 */
export function askingForm(authentication: AuthenticationWish | undefined, proof?: AuthenticationProof): Form {
  if (proof !== undefined) return { error_on_requires_action: "true", ...importForm(proof) };
  if (authentication === undefined) return { error_on_requires_action: "true" };
  const { wish, returnUrl } = authentication;
  return {
    return_url: returnUrl,
    "payment_method_options[card][request_three_d_secure]": wish === "always" ? "any" : undefined,
  };
}

/**
 * Returns the fields that import another server's authentication:
 * https://docs.stripe.com/payments/payment-intents/three-d-secure-import (2026).
 */
function importForm(proof: AuthenticationProof): Form {
  const name = (field: string) => `payment_method_options[card][three_d_secure][${field}]`;
  return {
    [name("version")]: proof.version,
    [name("cryptogram")]: proof.cryptogram,
    [name("transaction_id")]: proof.dsTransactionId,
    [name("electronic_commerce_indicator")]: proof.eci,
    [name("ares_trans_status")]: proof.directoryStatus,
    [name("requestor_challenge_indicator")]: proof.challengeIndicator,
    ...cartesBancairesForm(proof.cartesBancaires, name("network_options][cartes_bancaires")),
  };
}

/** Returns the fields of Cartes Bancaires, which need the network's name. */
function cartesBancairesForm(data: CartesBancaires | undefined, name: string): Form {
  if (data === undefined) return {};
  return {
    "payment_method_options[card][network]": "cartes_bancaires",
    [`${name}[cb_avalgo]`]: data.algorithm,
    ...(data.exemption && { [`${name}[cb_exemption]`]: data.exemption }),
    ...(data.score && { [`${name}[cb_score]`]: data.score }),
  };
}

/** Returns the fields for people who look at a payment that was never captured; Radar weighs the address. */
export function cardForm({ attemptReference, sessionId, orderRef, customerEmail }: AuthorizeRequest): Form {
  return {
    type: "card",
    "card[number]": "{{card.number}}",
    "card[exp_month]": "{{card.expMonth}}",
    "card[exp_year]": "{{card.expYear}}",
    "card[cvc]": "{{card.cvc}}",
    "billing_details[name]": "{{card.holder}}",
    "billing_details[email]": customerEmail === undefined ? undefined : plainAddress(customerEmail),
    "metadata[attempt_id]": attemptReference,
    "metadata[session_id]": sessionId,
    "metadata[order_ref]": withoutPlaceholders(orderRef),
  };
}

/** Returns only a plain address, because Stripe refuses the whole request for one that it finds malformed. */
function plainAddress(email: string): string | undefined {
  return /^[\w.+-]+@([a-z0-9-]+\.)+[a-z]{2,}$/i.test(email) ? email : undefined;
}

/**
 * Returns the fields of a capture: the amount if it is a part of the hold, of which Stripe releases the rest, and those
 * for answering disputes and for the customer's statement.
 */
export function captureForm(hold: Hold): Form {
  const { sessionId, orderRef, statementDescriptor, captureMinor } = hold;
  const part = captureMinor === undefined ? undefined : toGatewayAmount(currencies, capturedAmountOf(hold));
  if (part?.type === "impossible") throw new Error("a capture is ordered only for an amount that can be paid");
  return {
    amount_to_capture: part && String(part.value),
    "metadata[session_id]": sessionId,
    "metadata[order_ref]": orderRef,
    statement_descriptor_suffix: statementDescriptor === undefined ? undefined : plainDescriptor(statementDescriptor),
  };
}

/**
 * Returns at most 22 characters with a letter among them, and none of < > \ ' " *:
 * https://docs.stripe.com/get-started/account/statement-descriptors (2026).
 */
function plainDescriptor(descriptor: string): string | undefined {
  const plain = descriptor
    .replace(/[<>\\'"*]|[^\x20-\x7e]/g, "")
    .slice(0, 22)
    .trim();
  return /[a-z]/i.test(plain) ? plain : undefined;
}
