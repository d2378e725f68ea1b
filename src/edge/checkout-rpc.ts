/** The widget's calls with a session's client secret: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type Browser,
  CancelActionResponseSchema,
  type Checkout,
  CheckoutSchema,
  type CheckoutService,
  GetCheckoutResponseSchema,
  ListStoredCardsResponseSchema,
  OpenActionResponseSchema,
  StartWalletSessionResponseSchema,
  SubmitPaymentResponseSchema,
  UseStoredCardResponseSchema,
} from "../../gen/payments/v1/checkout_pb.ts";
import { PaymentSession_ExpiredBecause, PaymentSession_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { findMerchant, type Merchant } from "../accounts/merchants.ts";
import type { Core, KnownCheckout } from "../core/core.ts";
import { cancelAction, findBankMessage, findOpenAction, openAction } from "../core/customer-actions.ts";
import type { Payer } from "../core/orders/order-winner.ts";
import { loadSession } from "../core/record/load-session.ts";
import { SettingsChanged } from "../core/record/payment-functions.ts";
import { loadCardBrands } from "../core/record/routing-rules.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { isFailover, isProcessing } from "../core/rows/payment.ts";
import { findCheckout, keepKnown, settingsOf, takeKnown } from "../core/sessions.ts";
import type { PaymentMethod } from "../core/stored-cards/stored-rows.ts";
import { listStoredCards, useStoredCard } from "../core/stored-cards/use-stored-card.ts";
import type { Submission } from "../core/submission.ts";
import { resumeSession, submitPayment } from "../core/submit-payment.ts";
import type { Shopper } from "../gateways/connector.ts";
import { clientSecretReadMs } from "../limits.ts";
import type { Database } from "../platform/database.ts";
import { DomainError, unreachable } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { toNextAction } from "./authentication-messages.ts";
import { actionPagesOf } from "./authentication-pages.ts";
import { type Caller, callerKey, type EdgeEnvironment, requestIdKey, sessionFacts, shopperKey } from "./caller.ts";
import { offeredNames, offeredWallets } from "./wallets/offered-wallets.ts";
import type { AppleSessions } from "./wallets/start-wallet-session.ts";

export type CheckoutParts = {
  readonly accounts: Database;
  /** Origin of the public port as browsers see it. */
  readonly apiOrigin: string;
  readonly appleSessions: AppleSessions;
};

/** Serves one session to its customer: reading it until a day after its end, submitting it while it is CREATED. */
export function createCheckoutService(parts: CheckoutParts): ServiceImpl<typeof CheckoutService> {
  const merchantOf = ({ core }: EdgeEnvironment, { merchantId }: Pick<PaymentSession, "merchantId">) =>
    core.hold(`merchant ${merchantId}`, () => findMerchant(parts.accounts, merchantId));
  const read = (context: HandlerContext, caller: CustomerCaller) => openRead(parts.apiOrigin, context, caller);
  const open = async (context: HandlerContext, sessionId: string) => read(context, await ownCaller(context, sessionId));
  return {
    async getCheckout(request, context) {
      const { environment, session, payer, isPlain, wallets, ...settings } = await open(context, request.sessionId);
      if (isPlain) keepKnown(environment.core, { session, ...settings });
      const merchant = await merchantOf(environment, session);
      const checkout = await toCheckout(merchant, environment, session, payer);
      const origin = context.requestHeader.get("origin");
      if (origin && wallets && isPayable(session) && !checkout.outcome)
        checkout.wallets = await offeredWallets(environment, { session, wallets, origin });
      return create(GetCheckoutResponseSchema, { checkout });
    },

    async submitPayment(request, context) {
      const caller = await ownCaller(context, request.sessionId);
      const { environment, network } = caller;
      let opened: Submittable = openKnown(context, caller) ?? (await read(context, caller));
      const submission = {
        vaultToken: new Secret(request.vaultToken),
        signal: context.signal,
        requestId: decodeId("req", context.values.get(requestIdKey)),
        shopper: shopperOf(context, request.browser),
        consent: request.saveCard,
        network,
      };
      const submit = () => {
        const { session, payer, settings } = opened;
        return submitPayment(environment.core, { ...submission, session, payer, settings });
      };
      // The span ends when the customer is answered; the payment may continue.
      const submitted = environment.core.tracing.span(
        "payment.submit",
        {
          of: { session: caller.sessionId },
          kind: "server",
          link: context.requestHeader.get("traceparent"),
          facts: () => sessionFacts(environment, context, caller.sessionId),
        },
        async (span) => {
          const ended = await submit().catch(async (error: unknown) => {
            if (!(error instanceof SettingsChanged)) throw error;
            opened = await read(context, caller);
            return submit();
          });
          span.set({ status: ended.status });
          return ended;
        },
      );
      const [ended, merchant] = await Promise.all([submitted, merchantOf(environment, opened.session)]);
      noteSubmitted(environment, ended);
      const checkout = await toCheckout(merchant, environment, ended, opened.payer);
      return create(SubmitPaymentResponseSchema, { checkout });
    },

    async listStoredCards(request, context) {
      const { environment, session } = await open(context, request.sessionId);
      // A session that no longer takes a card shows none.
      if (!isPayable(session) || session.expiresAt <= environment.core.runtime.now())
        return create(ListStoredCardsResponseSchema, {});
      const { cards, needsSecurityCode, saving } = await listStoredCards(environment.core, session);
      return create(ListStoredCardsResponseSchema, {
        storedCards: cards.map(toStoredCard),
        securityCodeRequired: needsSecurityCode,
        ...(saving && { saving }),
      });
    },

    async useStoredCard(request, context) {
      const { environment, session } = await open(context, request.sessionId);
      const methodId = decodeId("pm", request.paymentMethodId);
      if (methodId === undefined) throw new DomainError("not_found", "There is no stored card with this id.");
      const { token, expiresAt } = await useStoredCard(environment.core, session, methodId);
      return create(UseStoredCardResponseSchema, {
        vaultToken: token.expose(),
        expiresAt: timestampFromDate(expiresAt),
      });
    },

    async startWalletSession({ sessionId, validationUrl }, context) {
      const { environment, session, wallets } = await open(context, sessionId);
      const origin = context.requestHeader.get("origin");
      const names = offeredNames(environment.core, wallets, { isTest: environment.name === "test", origin });
      if (!isPayable(session) || origin === null || !names.includes("apple_pay")) {
        throw new DomainError("wallet_not_enabled", "This page cannot open a sheet of Apple Pay for the session.");
      }
      const merchant = await merchantOf(environment, session);
      const { id, merchantId } = session;
      const asked = { sessionId: id, merchantId, merchantName: merchant?.name ?? "", validationUrl, origin };
      const merchantSession = await parts.appleSessions.start(environment, asked);
      return create(StartWalletSessionResponseSchema, { merchantSession });
    },

    async openAction(request, context) {
      const { environment, session, checkoutOrigins } = await open(context, request.sessionId);
      const { authenticationId, returnTo } = request;
      if (returnTo !== undefined) requireReturnTo(environment, checkoutOrigins, returnTo);
      const ticket = await openAction(environment.core, { ...actionOf(session, authenticationId), returnTo });
      const pages = actionPagesOf(environment, { apiOrigin: parts.apiOrigin, checkoutOrigins, ticket });
      return create(OpenActionResponseSchema, { ticket, ...pages });
    },

    async cancelAction(request, context) {
      const { environment, session } = await open(context, request.sessionId);
      await cancelAction(environment.core, actionOf(session, request.authenticationId));
      await resumeSession(environment.core, session.id);
      const [{ session: cancelled }, merchant] = await Promise.all([
        loadSession(environment.database, session.id),
        merchantOf(environment, session),
      ]);
      return create(CancelActionResponseSchema, { checkout: await toCheckout(merchant, environment, cancelled) });
    },
  };
}

function toStoredCard({ id, brand, last4, expMonth, expYear }: PaymentMethod) {
  return { paymentMethodId: encodeId("pm", id), brand, last4, expMonth, expYear };
}

function isPayable({ status, submittedAt }: PaymentSession): boolean {
  return status === "CREATED" && submittedAt === null;
}

function actionOf({ id: sessionId }: PaymentSession, named: string) {
  const authenticationId = decodeId("atn", named);
  if (authenticationId === undefined) throw new DomainError("no_action", "The session waits for no such action.");
  return { sessionId, authenticationId };
}

/** Throws `origin_not_allowed` if a page is none of the merchant's, and `invalid_parameter` if it is no page at all. */
function requireReturnTo(environment: EdgeEnvironment, checkoutOrigins: readonly string[], returnTo: string): void {
  const page = URL.canParse(returnTo) ? new URL(returnTo) : undefined;
  if (page?.protocol !== "https:" && page?.protocol !== "http:") {
    throw new DomainError("invalid_parameter", "returnTo must be a page.", { field: "returnTo" });
  }
  requireAllowedOrigin(environment, checkoutOrigins, page.origin);
}

/** Returns the customer's browser: as the page describes it, and as the call shows it. */
function shopperOf(context: HandlerContext, browser: Browser | undefined): Shopper | undefined {
  const shopper = context.values.get(shopperKey);
  if (browser === undefined) return shopper;
  const { $typeName: _, ...described } = browser;
  const acceptHeader = context.requestHeader.get("accept")?.slice(0, acceptCharactersMax);
  return { ...shopper, browser: { ...described, acceptHeader } };
}

// Longest accept header that 3-D Secure carries (EMV 3DS 2.2, browserAcceptHeader).
const acceptCharactersMax = 2_048;

/**
 * Throws `invalid_key` for the form of an open session whose publishable key is not the merchant's current one. Every
 * form sends the key; a call without one comes from a program that has the client secret.
 */
function requireKey({ requestHeader }: HandlerContext, publishableKey: string): void {
  const given = requestHeader.get("publishable-key");
  if (given === publishableKey || given === null) return;
  throw new DomainError("invalid_key", staleFormDetail);
}

const staleFormDetail =
  "The form's publishable key is another merchant's, or replaced since. Send the publishableKey of the session's vault object as `Publishable-Key`; after the key was replaced, create a new session.";

/** Gives the calls of customers who wait for an outcome their share of the limits. */
function noteSubmitted({ requestLimits }: EdgeEnvironment, session: PaymentSession): void {
  if (session.submittedAt !== null) requestLimits?.noteSubmitted(session.id, session.merchantId);
}

type CustomerCaller = Extract<Caller, { type: "customer" }>;

function notOpened(): DomainError {
  return new DomainError("invalid_client_secret", "The client secret does not open this session.");
}

/** Returns the caller if the session is its own, and charges its merchant for the call. */
async function ownCaller(context: HandlerContext, sessionId: string): Promise<CustomerCaller> {
  const caller = context.values.get(callerKey);
  if (caller.type !== "customer" || encodeId("ps", caller.sessionId) !== sessionId) throw notOpened();
  await caller.charge();
  return caller;
}

/** Returns the caller's own session, if the calling page may show it. */
async function openRead(apiOrigin: string, context: HandlerContext, { environment, sessionId }: CustomerCaller) {
  const found = await findCheckout(environment.core, sessionId);
  if (!found) throw notOpened();
  const { session, checkoutOrigins, publishableKey, payer, isPlain, wallets } = found;
  noteSubmitted(environment, session);
  const endedAt = session.settledAt?.getTime();
  if (endedAt !== undefined && endedAt + clientSecretReadMs < environment.core.runtime.now().getTime()) {
    throw new DomainError("invalid_client_secret", "The session ended more than a day ago.");
  }
  const origin = context.requestHeader.get("origin");
  // The page of a recovery link is the service's own.
  const origins = session.namedBy !== null && origin === apiOrigin ? [apiOrigin] : checkoutOrigins;
  requirePage(context, environment, { checkoutOrigins: origins, publishableKey, isPayable: isPayable(session) });
  return { environment, session, checkoutOrigins: origins, publishableKey, payer, isPlain, wallets };
}

type Submittable = Pick<Submission, "session" | "payer" | "settings">;

/** Returns the caller's own session as this process knows it, if the calling page may submit it. */
function openKnown(context: HandlerContext, { environment, sessionId }: CustomerCaller): Submittable | undefined {
  const known = takeKnown(environment.core, sessionId);
  try {
    if (known) requirePage(context, environment, { ...known, isPayable: true });
  } catch {
    // The settings may allow it meanwhile.
    return undefined;
  }
  return known && { session: known.session, settings: settingsOf(known) };
}

/** Throws unless the calling page may show the session. */
function requirePage(
  context: HandlerContext,
  environment: EdgeEnvironment,
  found: Omit<KnownCheckout, "session"> & { readonly isPayable: boolean },
): void {
  requireAllowedOrigin(environment, found.checkoutOrigins, context.requestHeader.get("origin"));
  if (found.isPayable && environment.core.vault.carriesMerchantKey) requireKey(context, found.publishableKey);
}

async function toCheckout(
  merchant: Merchant | undefined,
  { core }: EdgeEnvironment,
  session: PaymentSession,
  payer?: Payer,
): Promise<Checkout> {
  const isOpen = session.status === "CREATED" && session.phase !== "PROCESSING";
  const outcome = isOpen && payer ? outcomeOfOther(payer) : await outcomeNow(core, session);
  const leftMs = session.expiresAt.getTime() - core.runtime.now().getTime();
  const isAuthenticated = session.authentications > 0 || session.awaitingSince;
  const [action, bankMessage] = isAuthenticated
    ? await Promise.all([findOpenAction(core, session), findBankMessage(core, session)])
    : [];
  return create(CheckoutSchema, {
    sessionId: encodeId("ps", session.id),
    amountMinor: BigInt(session.amountMinor),
    currency: session.currency,
    merchantName: merchant?.name ?? "",
    status: PaymentSession_Status[session.status],
    processing: isProcessing(session) && !session.heldAt,
    expiresAt: timestampFromDate(session.expiresAt),
    vaultOrigin: core.vault.origin,
    ...(isOpen && { expiresInSeconds: Math.max(0, Math.ceil(leftMs / 1_000)) }),
    ...(isOpen && { cardBrands: await loadCardBrands(core, session) }),
    ...(outcome && { outcome }),
    ...(session.status === "EXPIRED" && { expiredBecause: PaymentSession_ExpiredBecause[expiryOf(session)] }),
    ...(bankMessage && { bankMessage }),
    ...(action && { nextAction: toNextAction(action) }),
  });
}

/** A page whose session has a successor must not open another one, whatever ended the session. */
function expiryOf({ replacedBy, expiredBecause }: PaymentSession) {
  return replacedBy ? "REPLACED" : (expiredBecause ?? "LIFETIME");
}

// These codes would show card testers which of their cards work, so a browser gets the plain refusal instead.
const hiddenFromBrowsers = new Set([
  "fraud_suspected",
  "lost_or_stolen",
  "unclassified",
  "too_many_attempts",
  "blocked",
]);

/** While the merchant brakes, no decline of a card has its reason; an order that another session pays is none of a card. */
function isHidden({ brakes }: PaymentSession, code: string): boolean {
  if (hiddenFromBrowsers.has(code)) return true;
  const isBraked = brakes?.some((brake) => brake !== "NETWORK") ?? false; // rule:braked-reason-hidden
  return isBraked && !code.startsWith("order_");
}

/** Returns the outcome of a session as a browser may see it; undefined before its end. */
export function outcomeOf(session: PaymentSession) {
  switch (session.status) {
    case "CREATED":
      return undefined;
    case "SUCCEEDED":
      return success(session.capturedVia ?? "", session.failover);
    case "DECLINED": {
      const code = session.declineCode ?? "card_declined";
      return decline(isHidden(session, code) ? "card_declined" : code);
    }
    case "DEGRADED":
      return decline("processing_unavailable");
    case "EXPIRED":
      return decline("session_expired");
    default:
      return unreachable(session.status);
  }
}

/** Returns what an open session's customer sees while another session pays the order, or has paid it. */
function outcomeOfOther({ hasSucceeded }: Payer) {
  return decline(hasSucceeded ? "order_already_paid" : "order_being_paid");
}

async function outcomeNow(core: Core, session: PaymentSession) {
  return session.status === "CREATED" && session.heldAt ? heldOutcome(core, session) : outcomeOf(session);
}

/** Returns the outcome of a payment that is captured later: the customer's part ends with the hold, whatever follows. */
async function heldOutcome(core: Core, { id: sessionId }: PaymentSession) {
  const { session, attempts } = await loadSession(core.database, sessionId);
  const held =
    attempts.find(({ id }) => id === session.winnerAttemptId) ??
    attempts.find(({ captureOrderedAt }) => captureOrderedAt !== null);
  return success(held?.gateway ?? "", held !== undefined && isFailover(held));
}

function success(capturedVia: string, failoverUsed: boolean) {
  return { outcome: { case: "success" as const, value: { capturedVia, failoverUsed } } };
}

function decline(declineCode: string) {
  return { outcome: { case: "decline" as const, value: { declineCode } } };
}

/**
 * Throws `origin_not_allowed` for a page that the merchant has not registered. A call without an Origin comes from no
 * browser page, so there is nothing to check. An empty list allows any page in test and none in live.
 */
export function requireAllowedOrigin(
  environment: Pick<EdgeEnvironment, "anyOriginWhenNoneRegistered">,
  registered: readonly string[],
  origin: string | null,
): void {
  if (origin === null || registered.includes(origin)) return;
  if (registered.length === 0 && environment.anyOriginWhenNoneRegistered) return;
  throw new DomainError(
    "origin_not_allowed",
    "This page's origin is not among the merchant's checkout origins; register it on the page Settings of the dashboard, or in the file of `switchyard apply`.",
  );
}
