/**
 * The two RPCs of payments.v1.CheckoutService, in the terms of checkout.ts. The only file of the widget that imports
 * Connect and protobuf; it is a separate chunk, loaded after the form has painted.
 */

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type Checkout, CheckoutService, type NextAction_Framing } from "../gen/payments/v1/checkout_pb.ts";
import { type PaymentSession_ExpiredBecause, PaymentSession_Status } from "../gen/payments/v1/payment_session_pb.ts";
import { amountText } from "./amount-text.ts";
import type { ApiAnswer, CheckoutView, Outcome, SessionApi, WidgetError } from "./answers.ts";

const tokenRefused: WidgetError = { code: "token_refused", message: "The card's token cannot be used any more." };
const keyRefused: WidgetError = { code: "invalid_key", message: "The publishable key is not in use any more." };

/** The session, and the proof that this page may pay it. */
export type SessionAccess = {
  readonly apiBase: string;
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { readonly publishableKey: unknown };
  /** The place in which the bank's page would be shown, in the form. */
  readonly place: { readonly clientWidth: number; readonly parentNode?: ParentNode | null };
  /** BCP 47; the format of amounts. */
  readonly locale: string;
  /** Aborts requests in flight when the widget releases the session; the payment itself continues. */
  readonly closed: AbortSignal;
};

// A read answers in milliseconds; this is for a network that swallows packets.
const readTimeoutMs = 10_000;
// The service answers a submit after 20 s at the latest; the rest is the network's time in both directions.
const submitTimeoutMs = 30_000;

// The service's limits never ask for more. A proxy may, and the customer is waiting.
const waitLongestMs = 60_000;

/** Creates a connection to one session's RPCs. Nothing is sent until a method is called. */
export function connectSession(access: SessionAccess): SessionApi {
  const { apiBase, sessionId, clientSecret, vault, place, locale, closed } = access;
  // useHttpGet stays off: it would put the request into a URL, and so into logs.
  let wallets: CheckoutView["wallets"];
  // The wallets are read unparsed: their schema would make this chunk longer for everyone.
  const transport = createConnectTransport({
    baseUrl: apiBase,
    fetch: async (...call) => {
      const answer = await fetch(...call);
      wallets = (await answer.clone().json().catch(Boolean)).checkout?.wallets;
      return answer;
    },
  });
  const client = createClient(CheckoutService, transport);
  // A header takes no other characters; the service refuses a text that is no key.
  const key = String(vault.publishableKey).replace(/[^!-~]/g, "");
  const callOptions = (timeoutMs: number) => ({
    signal: closed,
    timeoutMs,
    headers: { Authorization: `Bearer ${clientSecret}`, "Publishable-Key": key },
  });
  const note = createNote(place, closed);
  const isBlocked = watchPolicy(apiBase, closed);
  const answerOf = async (call: Promise<{ checkout?: Checkout | undefined }>): Promise<ApiAnswer> => {
    const answer = await answerTo(call, (checkout) => {
      note(checkout.bankMessage);
      return { ...viewOf(checkout, locale), wallets };
    });
    return answer.kind === "unreachable" && isBlocked() ? { kind: "refused", error: blockedBy(apiBase) } : answer;
  };
  return {
    getCheckout: () => answerOf(client.getCheckout({ sessionId }, callOptions(readTimeoutMs))),
    submitPayment: (vaultToken, saveCard) =>
      answerOf(
        client.submitPayment(
          { sessionId, vaultToken, saveCard, browser: describeBrowser(place) },
          callOptions(submitTimeoutMs),
        ),
      ),
  };
}

/** Returns a function that reports whether the page's policy has blocked a call of the service. */
function watchPolicy(apiBase: string, signal: AbortSignal): () => boolean {
  let isBlocked = false;
  const hear = ({ blockedURI, disposition, effectiveDirective }: SecurityPolicyViolationEvent) => {
    isBlocked ||= disposition === "enforce" && effectiveDirective === "connect-src" && blockedURI.startsWith(apiBase);
  };
  globalThis.document?.addEventListener("securitypolicyviolation", hear, { signal });
  return () => isBlocked;
}

function blockedBy(apiBase: string): WidgetError {
  const message = `This page's Content-Security-Policy blocks the payment service: add ${apiBase} to its connect-src.`;
  return { code: "blocked_by_policy", message };
}

/** Returns a function that shows the bank's message to the customer below the form, as text. */
function createNote({ parentNode }: SessionAccess["place"], closed: AbortSignal): (message: string) => void {
  if (!parentNode) return () => {};
  const note = document.createElement("p");
  note.className = "notice";
  // The bank's language is unknown.
  note.dir = "auto";
  note.setAttribute("role", "status");
  // The note gets its place before its words: screen readers announce what changes.
  parentNode.append(note);
  closed.addEventListener("abort", () => note.remove());
  return (message) => {
    if (note.textContent !== message) note.textContent = message;
  };
}

/** Describes the browser as 3-D Secure does. A browser with strange values must not lose its payment. */
function describeBrowser({ clientWidth }: SessionAccess["place"]) {
  const { colorDepth = 24, width = 0, height = 0 } = globalThis.screen ?? {};
  const { language } = navigator;
  return {
    colorDepth: within(1, colorDepth, 48),
    screenWidth: within(0, width, 999_999),
    screenHeight: within(0, height, 999_999),
    placeWidth: within(0, clientWidth, 999_999),
    timeZoneOffsetMinutes: within(-840, new Date().getTimezoneOffset(), 840),
    language: /^[a-z]{1,8}(-[a-z\d]{1,8}){0,7}$/i.test(language) ? language : "en",
  };
}

function within(min: number, value: number, max: number): number {
  return Math.min(Math.max(value | 0, min), max);
}

async function answerTo(
  call: Promise<{ checkout?: Checkout | undefined }>,
  show: (checkout: Checkout) => CheckoutView,
): Promise<ApiAnswer> {
  try {
    const { checkout } = await call;
    return checkout ? { kind: "checkout", checkout: show(checkout) } : { kind: "unreachable" };
  } catch (error) {
    const { code, metadata, details } = ConnectError.from(error);
    // A bare 401 or 403 comes from a firewall or a captive portal: it says nothing about a payment that may be
    // processing.
    const isOurs = details.some((detail) => "type" in detail && detail.type === "google.rpc.ErrorInfo");
    const refusal = isOurs && (refusalOf(details) ?? refusals.get(code));
    if (refusal) return { kind: "refused", error: refusal };
    const waitS = Number(metadata.get("retry-after"));
    if (!(waitS > 0)) return { kind: "unreachable" };
    // The service counts a call before it has any effect.
    const isUntouched = isOurs && code === Code.ResourceExhausted;
    return { kind: "later", waitMs: Math.min(waitS * 1_000, waitLongestMs), isUntouched };
  }
}

// The reasons of ErrorInfo with which the service refuses a token and leaves the session open, and a publishable key.
// Matched as text: its schema would be a fifth of this chunk.
const reasons = /TOKEN_(?:NOT_FOUND|EXPIRED|USED)|(INVALID_KEY)/;
function refusalOf(details: ConnectError["details"]): WidgetError | undefined {
  for (const detail of details) {
    const found = "value" in detail && reasons.exec(String.fromCharCode(...(detail.value as Uint8Array)));
    if (found) return found[1] ? keyRefused : tokenRefused;
  }
  return undefined;
}

// Codes with which the service itself refuses. All others are temporary or inconclusive.
const refusals = new Map<Code, WidgetError>([
  [Code.Unauthenticated, { code: "invalid_client_secret", message: "The client secret is not valid any more." }],
  [
    Code.PermissionDenied,
    { code: "origin_not_allowed", message: "This page's origin is not registered for checkout." },
  ],
  [Code.NotFound, { code: "not_found", message: "There is no such session." }],
  [Code.InvalidArgument, { code: "invalid_request", message: "The service does not accept the request." }],
  [Code.FailedPrecondition, { code: "not_submittable", message: "The session does not take this submission." }],
  [Code.AlreadyExists, { code: "not_submittable", message: "The session does not take this submission." }],
  [Code.Aborted, { code: "not_submittable", message: "The session does not take this submission." }],
]);

// The generated enum would make the chunk longer than its two numbers.
const frame = 1 satisfies NextAction_Framing;
const hidden = 3 satisfies NextAction_Framing;
const replaced = 3 satisfies PaymentSession_ExpiredBecause;

function viewOf(checkout: Checkout, locale: string): CheckoutView {
  const { nextAction } = checkout;
  return {
    outcome: outcomeOf(checkout),
    isOrderTaken: checkout.status === PaymentSession_Status.CREATED && declineCodeOf(checkout) === "order_being_paid",
    processing: checkout.processing,
    amount: amountText({ amountMinor: Number(checkout.amountMinor), currency: checkout.currency }, locale),
    merchantName: checkout.merchantName,
    cardBrands: checkout.cardBrands,
    vaultOrigin: checkout.vaultOrigin,
    leftMs: checkout.expiresInSeconds === undefined ? undefined : checkout.expiresInSeconds * 1_000,
    action: nextAction && {
      ...nextAction,
      isHidden: nextAction.framing === hidden,
      isFramed: nextAction.framing === frame,
    },
  };
}

function declineCodeOf({ outcome }: Checkout): string | undefined {
  return outcome?.outcome.case === "decline" ? outcome.outcome.value.declineCode : undefined;
}

function outcomeOf(checkout: Checkout): Outcome | undefined {
  const { status, outcome, expiredBecause } = checkout;
  const said = outcome?.outcome;
  const declineCode = declineCodeOf(checkout);
  // A payment that is held for a later capture has succeeded for the customer, and its session is still CREATED.
  if (said?.case === "success") {
    const { capturedVia, failoverUsed } = said.value;
    return { kind: "succeeded", capturedVia, failoverUsed };
  }
  switch (status) {
    case PaymentSession_Status.SUCCEEDED:
      return { kind: "succeeded", capturedVia: "", failoverUsed: false };
    case PaymentSession_Status.DECLINED:
      return { kind: "declined", declineCode: declineCode ?? "card_declined" };
    case PaymentSession_Status.DEGRADED:
      return { kind: "declined", declineCode: "processing_unavailable" };
    case PaymentSession_Status.EXPIRED:
      return { kind: expiredBecause === replaced ? "replaced" : "expired" };
    case PaymentSession_Status.CREATED:
      // Another session has paid the order: this one will never be paid.
      return declineCode === "order_already_paid" ? { kind: "declined", declineCode } : undefined;
    default:
      // A status of a later version is no end that this version knows: it keeps polling.
      return undefined;
  }
}
