/**
 * The two RPCs of payments.v1.CheckoutService, in the words of checkout.ts. The only file of the widget that knows
 * Connect and protobuf; it is a chunk of its own, loaded after the form has painted.
 */

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type Checkout, CheckoutService } from "../gen/payments/v1/checkout_pb.ts";
import { PaymentSession_Status } from "../gen/payments/v1/payment_session_pb.ts";
import { amountText } from "./amount-text.ts";
import type { ApiAnswer, CheckoutView, Outcome, SessionApi, WidgetError } from "./answers.ts";
import { declines } from "./locales/en-declines.ts";

export { ExpiryWatch } from "./expiry-watch.ts";
/** The English texts that are wanted only once the service has answered. */
export const englishDeclines: Readonly<Record<string, string>> = declines;

/** The session, and what proves that this page may pay it. */
export type SessionAccess = {
  readonly apiBase: string;
  readonly sessionId: string;
  readonly clientSecret: string;
  /** BCP 47; how amounts are written. */
  readonly locale: string;
  /** Aborts what is on its way when the widget lets go of the session; the payment itself runs on. */
  readonly closed: AbortSignal;
};

// A read answers in milliseconds; this is for a network that swallows packets.
const readTimeoutMs = 10_000;
// The service answers a submit after 20 s at the latest; the rest is the way there and back.
const submitTimeoutMs = 30_000;

// No limit of the service asks for more; a box on the way may, and the customer is there now.
const waitLongestMs = 60_000;

/** A connection to one session's RPCs. Nothing is sent until a method is called. */
export function connectSession({ apiBase, sessionId, clientSecret, locale, closed }: SessionAccess): SessionApi {
  // useHttpGet stays off: it would put the request into a URL, and so into logs.
  const client = createClient(CheckoutService, createConnectTransport({ baseUrl: apiBase, useHttpGet: false }));
  const callOptions = (timeoutMs: number) => ({
    signal: closed,
    timeoutMs,
    headers: { Authorization: `Bearer ${clientSecret}` },
  });
  return {
    getCheckout: () => answerOf(client.getCheckout({ sessionId }, callOptions(readTimeoutMs)), locale),
    submitPayment: (vaultToken) =>
      answerOf(client.submitPayment({ sessionId, vaultToken }, callOptions(submitTimeoutMs)), locale),
  };
}

async function answerOf(call: Promise<{ checkout?: Checkout | undefined }>, locale: string): Promise<ApiAnswer> {
  try {
    const { checkout } = await call;
    return checkout ? { kind: "checkout", checkout: viewOf(checkout, locale) } : { kind: "unreachable" };
  } catch (error) {
    const { code, metadata, details } = ConnectError.from(error);
    // A bare 401 or 403 is a firewall's or a hotel's: it says nothing of a payment that may be under way.
    const isOurs = details.some((detail) => "type" in detail && detail.type === "google.rpc.ErrorInfo");
    const refusal = isOurs && refusals.get(code);
    if (refusal) return { kind: "refused", error: refusal };
    const waitS = Number(metadata.get("retry-after"));
    return waitS > 0 ? { kind: "later", waitMs: Math.min(waitS * 1_000, waitLongestMs) } : { kind: "unreachable" };
  }
}

// Codes with which the service itself says no. All others pass, or say nothing.
const refusals = new Map<Code, WidgetError>([
  [Code.Unauthenticated, { code: "invalid_client_secret", message: "The client secret is not valid any more." }],
  [Code.PermissionDenied, { code: "origin_not_allowed", message: "This page's origin is not registered." }],
  [Code.NotFound, { code: "not_found", message: "There is no such session." }],
  [Code.InvalidArgument, { code: "invalid_request", message: "The service does not accept the request." }],
  [Code.FailedPrecondition, { code: "not_submittable", message: "The session does not take this submission." }],
  [Code.AlreadyExists, { code: "not_submittable", message: "The session does not take this submission." }],
  [Code.Aborted, { code: "not_submittable", message: "The session does not take this submission." }],
]);

function viewOf(checkout: Checkout, locale: string): CheckoutView {
  return {
    outcome: outcomeOf(checkout),
    processing: checkout.processing,
    amount: amountText({ amountMinor: Number(checkout.amountMinor), currency: checkout.currency }, locale),
    merchantName: checkout.merchantName,
    cardBrands: checkout.cardBrands,
    vaultOrigin: checkout.vaultOrigin,
    leftMs: checkout.expiresInSeconds === undefined ? undefined : checkout.expiresInSeconds * 1_000,
  };
}

function outcomeOf({ status, outcome }: Checkout): Outcome | undefined {
  const said = outcome?.outcome;
  switch (status) {
    case PaymentSession_Status.SUCCEEDED: {
      const { capturedVia = "", failoverUsed = false } = said?.case === "success" ? said.value : {};
      return { kind: "succeeded", capturedVia, failoverUsed };
    }
    case PaymentSession_Status.DECLINED:
      return { kind: "declined", declineCode: said?.case === "decline" ? said.value.declineCode : "card_declined" };
    case PaymentSession_Status.DEGRADED:
      return { kind: "declined", declineCode: "processing_unavailable" };
    case PaymentSession_Status.EXPIRED:
      return { kind: "expired" };
    default:
      // A status of a later version is not an end that this version knows: it goes on asking.
      return undefined;
  }
}
