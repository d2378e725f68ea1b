/** Stripe's objects as its emulator stores them, and as Stripe writes them (API version 2023-08-16). */
import { randomUUID } from "node:crypto";
import type { Account } from "../accounts.ts";
import type { Challenge } from "../challenges.ts";
import { type Authorization, networkIdOf, type Refund, refundedValue } from "../ledger.ts";
import type { SandboxAnswer, SandboxRequest } from "../routes.ts";
import { frictionlessOf, secureResult } from "../secure-results.ts";
import { chargeOutcome } from "./emulator-cards.ts";

export type Asked = { readonly request: SandboxRequest; readonly account: Account; readonly form: URLSearchParams };

export type Answered = Exclude<SandboxAnswer, string>;

/** A card that was sent for a single use, or that a customer keeps; test numbers only. */
export type PaymentMethod = {
  readonly id: string;
  readonly account: string;
  readonly livemode: boolean;
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly name: string | null;
  readonly email: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The customer that it belongs to, by which it can be charged again. */
  customer?: string | undefined;
};

/** A payment intent. The ledger records what it holds or has captured. */
export type Intent = {
  readonly id: string;
  readonly account: string;
  readonly livemode: boolean;
  readonly value: number;
  readonly currency: string;
  readonly created: number;
  /** True if every attempt at a payment needs a confirmation: `confirmation_method=manual`. */
  readonly isManual: boolean;
  readonly customer?: string | undefined;
  /** A setup intent's usage, which tells who may charge the card later. */
  readonly usage?: string;
  metadata: Readonly<Record<string, string>>;
  /** Set during the bank's challenge and from then on, with the page that it shows. */
  asked?: { readonly challenge: Challenge; readonly page: string };
  paymentMethod?: PaymentMethod;
  /** The network on which the customer chose to pay. */
  network?: string | undefined;
  chargeId?: string;
  authorization?: Authorization;
  isCancelled: boolean;
};

type Fields = Readonly<Record<string, unknown>>;

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

/** Returns the status of an intent: https://docs.stripe.com/payments/paymentintents/lifecycle (2026). */
export function statusOf({ authorization, asked, isCancelled }: Intent): string {
  if (isCancelled || authorization?.status === "voided") return "canceled";
  if (authorization?.status === "held") return "requires_capture";
  if (authorization?.status === "captured") return "succeeded";
  if (authorization === undefined && asked?.challenge.state === "waiting") return "requires_action";
  if (authorization === undefined && asked?.challenge.state === "passed") return "requires_confirmation";
  return "requires_payment_method";
}

function isUnauthenticated({ authorization, asked }: Intent): boolean {
  return authorization === undefined && /^(failed|cancelled)$/.test(asked?.challenge.state ?? "");
}

/** Returns a payment intent; the charge is an id, or the whole object if that was requested. */
export function intentView(intent: Intent, { expandsCharge = false, seenAs = intent.authorization } = {}): Fields {
  const { authorization, chargeId = null, metadata } = intent;
  const value = seenAs?.value ?? intent.value;
  const declined = authorization?.declineCode === undefined ? null : cardError(intent, authorization);
  const error = isUnauthenticated(intent) ? authenticationFailure : declined;
  const isAsking = statusOf(intent) === "requires_action";
  return {
    id: intent.id,
    object: "payment_intent",
    amount: value,
    amount_capturable: authorization?.status === "held" ? value : 0,
    amount_received: authorization?.capturedValue ?? 0,
    canceled_at: statusOf(intent) === "canceled" ? intent.created : null,
    capture_method: "manual",
    confirmation_method: intent.isManual ? "manual" : "automatic",
    created: intent.created,
    currency: (seenAs?.currency ?? intent.currency).toLowerCase(),
    customer: intent.customer ?? null,
    last_payment_error: error,
    latest_charge: expandsCharge && chargeId !== null ? chargeView(intent, chargeId) : chargeId,
    livemode: intent.livemode,
    // A test card can make the answer name another payment.
    metadata: seenAs === authorization ? metadata : { ...metadata, attempt_id: seenAs?.reference },
    next_action: isAsking && intent.asked ? redirectTo(intent.asked) : null,
    payment_method: intent.paymentMethod?.id ?? null,
    payment_method_types: ["card"],
    status: statusOf(intent),
  };
}

// https://docs.stripe.com/error-codes#payment-intent-authentication-failure (2026).
export const authenticationFailure: Fields = {
  code: "payment_intent_authentication_failure",
  message: "The provided PaymentMethod has failed authentication.",
  type: "invalid_request_error",
};

export function redirectTo({ challenge, page }: NonNullable<Intent["asked"]>): Fields {
  return { type: "redirect_to_url", redirect_to_url: { return_url: challenge.returnUrl, url: page } };
}

// https://docs.stripe.com/api/charges/object (2026), `three_d_secure.result`.
const secureResults = { Y: "authenticated", A: "attempt_acknowledged", U: "processing_error", N: "failed" } as const;

/** Returns the result of an authentication as a charge shows it; without its cryptogram, which Stripe keeps. */
function threeDSecureView({ asked, authorization }: Intent): Fields | null {
  const result = asked
    ? secureResult("Y", asked.challenge.id)
    : authorization === undefined
      ? undefined
      : frictionlessOf(authorization);
  if (result === undefined) return null;
  const { transStatus, eci, dsTransactionId, version } = result;
  return {
    authentication_flow: asked ? "challenge" : "frictionless",
    electronic_commerce_indicator: eci,
    result: secureResults[transStatus],
    result_reason: null,
    transaction_id: dsTransactionId,
    version,
  };
}

function chargeView(intent: Intent, id: string): Fields {
  const { authorization, paymentMethod } = intent;
  const isDeclined = authorization?.declineCode !== undefined;
  const outcome = chargeOutcome(paymentMethod?.number ?? "", isDeclined);
  return {
    id,
    object: "charge",
    amount: intent.value,
    amount_captured: authorization?.capturedValue ?? 0,
    amount_refunded: authorization === undefined ? 0 : releasedValue(authorization) + refundedValue(authorization),
    billing_details: billingView(paymentMethod),
    captured: authorization?.status === "captured",
    created: intent.created,
    currency: intent.currency.toLowerCase(),
    disputed: false,
    failure_code: isDeclined ? "card_declined" : null,
    livemode: intent.livemode,
    metadata: intent.metadata,
    outcome: {
      network_status: {
        authorized: "approved_by_network",
        issuer_declined: "declined_by_network",
        blocked: "not_sent_to_network",
      }[outcome.type],
      reason: outcome.reason ?? null,
      type: outcome.type,
      ...networkFields(authorization),
    },
    paid: !isDeclined,
    payment_intent: intent.id,
    payment_method: paymentMethod?.id ?? null,
    payment_method_details: paymentMethod && {
      card: {
        ...cardView(paymentMethod),
        ...holdView(authorization),
        network: intent.network ?? brandOf(paymentMethod.number),
        three_d_secure: threeDSecureView(intent),
      },
      type: "card",
    },
    refunded: authorization?.status === "captured" && refundedValue(authorization) === authorization.capturedValue,
    status: isDeclined ? "failed" : "succeeded",
  };
}

/**
 * Returns a refund: https://docs.stripe.com/api/refunds/object (2026). One made by hand carries no metadata, as one from
 * Stripe's dashboard.
 */
export function refundView(intent: Intent, { id, reference, value, openedAt, status }: Refund): Fields {
  return {
    id,
    object: "refund",
    amount: value,
    charge: intent.chargeId ?? null,
    created: Math.floor(Date.parse(openedAt) / 1_000),
    currency: intent.currency.toLowerCase(),
    metadata: reference === "" ? {} : { refund_id: reference },
    payment_intent: intent.id,
    reason: null,
    receipt_number: null,
    status,
    ...(status === "failed" && { failure_reason: "expired_or_canceled_card" }),
  };
}

/** Returns the rest of a hold of which a part was captured. */
export function releasedValue({ status, value, capturedValue }: Authorization): number {
  return status === "captured" ? value - capturedValue : 0;
}

/** Returns a payment method; of its number only the last four digits are ever written. */
export function paymentMethodView(method: PaymentMethod, created: number): Fields {
  return {
    id: method.id,
    object: "payment_method",
    billing_details: billingView(method),
    card: { ...cardView(method), funding: "credit", networks: { available: networksOf(method), preferred: null } },
    created,
    customer: method.customer ?? null,
    livemode: method.livemode,
    metadata: method.metadata,
    type: "card",
  };
}

/** Returns when a hold ends, and the network's name for it: https://docs.stripe.com/api/charges/object (2026). */
function holdView(authorization: Authorization | undefined): Fields {
  if (authorization === undefined || authorization.declineCode !== undefined) return {};
  const { holdEndsAt, status } = authorization;
  return {
    network_transaction_id: networkIdOf(authorization) ?? null,
    ...(status === "held" && holdEndsAt && { capture_before: Math.ceil(Date.parse(holdEndsAt) / 1_000) }),
  };
}

/** Returns the error of a decline: finer reasons accompany the code `card_declined`, some are the code. */
export function cardError({ chargeId }: Intent, authorization: Authorization): Fields {
  const { declineCode = "" } = authorization;
  const isCode = /^(expired_card|incorrect_cvc|processing_error|authentication_required)$/.test(declineCode);
  return {
    type: "card_error",
    code: isCode ? declineCode : "card_declined",
    decline_code: declineCode,
    charge: chargeId,
    message: "Your card was declined.",
    ...networkFields(authorization),
  };
}

/** Returns the network's codes: https://docs.stripe.com/declines/network-codes (2026). */
function networkFields(authorization: Authorization | undefined): Fields {
  const { networkCode, adviceCode } = authorization ?? {};
  return {
    ...(networkCode !== undefined && { network_decline_code: networkCode }),
    ...(adviceCode !== undefined && { network_advice_code: adviceCode }),
  };
}

export function refusal(
  status: number,
  code: string | undefined,
  details: Fields = {},
): Exclude<SandboxAnswer, string> {
  const type = status >= 500 ? "api_error" : "invalid_request_error";
  return {
    status,
    body: { error: { type, message: "The emulator refuses this.", ...(code && { code }), ...details } },
  };
}

function billingView(method: PaymentMethod | undefined): Fields {
  return { address: null, email: method?.email ?? null, name: method?.name ?? null, phone: null };
}

function cardView({ number, expMonth, expYear }: PaymentMethod): Fields {
  return { brand: brandOf(number), exp_month: expMonth, exp_year: expYear, last4: number.slice(-4) };
}

// The co-badged test cards: https://docs.stripe.com/testing#co-badged-cards (2026).
const coBadgedCards = ["4000002500001001", "5555552500001001"];

/** Returns the networks of a card: https://docs.stripe.com/api/payment_methods/object (2026), `card.networks`. */
export function networksOf({ number }: PaymentMethod): readonly string[] {
  return coBadgedCards.includes(number) ? ["cartes_bancaires", brandOf(number)] : [brandOf(number)];
}

function brandOf(number: string): string {
  return number.startsWith("4") ? "visa" : number.startsWith("3") ? "amex" : "mastercard";
}
