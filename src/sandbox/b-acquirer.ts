/**
 * SANDBOX_B's wire protocol: Adyen-like JSON; captures and cancellations are only "received", notifications report the
 * results, nothing can be read.
 */

import { unreachable } from "../platform/errors.ts";
import { isoCurrencies } from "../platform/money.ts";
import { isObject, parseJsonObject } from "../platform/outbound-http.ts";
import type { Account } from "./accounts.ts";
import { disputeServiceRoutes } from "./adyen-disputes.ts";
import { batchOf, csv, type ReportNames, reportContent, reportOf } from "./adyen-report.ts";
import { newPspReference } from "./b-notifications.ts";
import { type Call, type Json, refusal, type SandboxBParts } from "./b-parts.ts";
import { refunding } from "./b-refunds.ts";
import { reportUnasked } from "./b-unasked.ts";
import { bankPageOf } from "./bank-pages.ts";
import { type Asking, asksExemption, type Challenge, cryptogramIn, proofIn } from "./challenges.ts";
import type { CardResult } from "./issuer.ts";
import { type Authorization, isPart, networkIdOf } from "./ledger.ts";
import { losingCaptures, losingRefunds } from "./losing-answers.ts";
import { networkFields } from "./network-fields.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";
import { storedUseIn } from "./saved-cards.ts";
import { frictionlessOf, type SecureResult, secureResult } from "./secure-results.ts";
import type { StatementLine } from "./statements.ts";

export function sandboxBRoutes(parts: SandboxBParts): readonly Route[] {
  const route = (path: string, operation: string, handle: (call: Call) => Promise<SandboxAnswer>): Route => ({
    method: "POST",
    path: new RegExp(`^/b${path}$`),
    operation,
    handle: (request) => signedIn(parts, request, handle),
  });
  // A customer who has passed is charged without a further request; the completing one only reads the result.
  const results = new WeakMap<Challenge, Promise<CardResult>>();
  parts.challenges.onPassed((challenge) => {
    if (challenge.payment.acquirer === "B") results.set(challenge, holdByItself(parts, challenge));
  });
  parts.ledger.onUnasked((authorization, change) => {
    if (authorization.acquirer === "B") void reportUnasked(parts, authorization, change);
  });
  parts.statements.onBatch((acquirer, account, batch) => {
    if (acquirer === "B")
      void parts.notifications.send(account, reportContent(account, { batch, origin: "/b/reports" }));
  });
  const captureLater = parts.tasks.define<OwedCapture>("b.capture", (owed) => makeCapture(parts, owed));
  const cancelLater = parts.tasks.define<OwedCancel>("b.cancel", (owed) => makeCancel(parts, owed));
  return [
    route("/payments", "b.authorize", (call) => authorize(parts, call)),
    route("/payments/details", "b.complete", (call) => details(parts, call, results)),
    losingCaptures(
      parts,
      route("/payments/(?<id>[^/]+)/captures", "b.capture", (call) => capture(parts, call, captureLater)),
    ),
    losingRefunds(parts, route("/payments/(?<id>[^/]+)/refunds", "b.refund", refunding(parts))),
    route("/payments/(?<id>[^/]+)/cancels", "b.void", (call) => cancel(parts, call, cancelLater)),
    route("/cancels", "b.void", (call) => cancelByReference(call, cancelLater)),
    ...disputeServiceRoutes({ ledger: parts.ledger, acquirer: "B", path: "/b/disputes" }, (operation, handle) =>
      route(`/disputes/${operation}`, `b.${operation}`, async ({ json, account }) => handle(json, account.id)),
    ),
    {
      method: "GET",
      path: /^\/b\/reports\/(?<account>[^/]+)\/(?<name>[^/]+)$/,
      operation: "b.download-report",
      async handle({ headers, parameters }) {
        const account = parts.accounts.openedBy(String(headers["x-api-key"]));
        if (account === undefined || account.id !== parameters.account) return refusal(401, "unauthorized");
        const payouts = parts.statements
          .payouts("B", account.id)
          .filter(({ batch }) => batch === batchOf(parameters.name!));
        if (payouts.length === 0) return refusal(404, "report_not_found");
        return csv(reportOf(account.id, payouts, reportNamesOf));
      },
    },
    route("/test-notification", "b.test-notification", async ({ account }) => {
      if (account.notificationUrl === "") return refusal(422, "notifications_not_configured");
      const pspReference = newPspReference();
      void parts.notifications.send(account, {
        eventCode: "TEST",
        success: true,
        pspReference,
        merchantReference: "test",
      });
      return { status: 201, body: { pspReference, status: "received" } };
    }),
    route("/account", "b.account", async ({ account }) => ({
      status: 200,
      body: {
        merchantAccount: account.id,
        environment: account.environment,
        rawCards: account.rawCards,
        manualCapture: account.manualCapture,
        notificationsConfigured: account.notificationUrl !== "",
        currencies: isoCurrencies,
      },
    })),
  ];
}

/** SANDBOX_B's own ids; a dispute that is charged back again keeps its reference. */
function reportNamesOf({ type, payment, refund, dispute }: StatementLine): ReportNames {
  const modification = refund?.id ?? (type === "capture" ? payment.captureId! : dispute!.replace(/_again$/, ""));
  return { payment: payment.id, modification };
}

async function signedIn(
  parts: SandboxBParts,
  request: SandboxRequest,
  handle: (call: Call) => Promise<SandboxAnswer>,
): Promise<SandboxAnswer> {
  const account = parts.accounts.openedBy(String(request.headers["x-api-key"]));
  if (account === undefined) return refusal(401, "unauthorized");
  const json = parseJsonObject(Buffer.from(request.body));
  if (json === undefined) return refusal(400, "invalid_json");
  if (json.merchantAccount !== account.id) return refusal(403, "merchant_account_not_allowed");
  const key = request.headers["idempotency-key"];
  const answer = await parts.idempotency.once(
    { scope: `${account.id} ${request.path}`, key: key === undefined ? key : String(key), content: request.body },
    () => handle({ request, account, json }),
  );
  return answer === "reused" ? refusal(422, "idempotency_key_reused") : answer;
}

async function authorize(parts: SandboxBParts, { request, account, json }: Call): Promise<SandboxAnswer> {
  const { amount, paymentMethod, additionalData } = json;
  if (!account.rawCards) return refusal(403, "raw_cards_not_allowed");
  if (!isObject(additionalData) || additionalData.manualCapture !== "true") return refusal(422, "manual_capture");
  if (!isObject(amount) || !Number.isSafeInteger(amount.value)) return refusal(422, "amount");
  const number = isObject(paymentMethod) ? String(paymentMethod.number) : "";
  const result = await parts.issuer.authorizeOrAsk(
    {
      acquirer: "B",
      account: account.id,
      reference: String(json.reference),
      orderRef: String(json.merchantOrderReference ?? ""),
      number,
      cryptogram: cryptogramIn(json),
      value: Number(amount.value),
      currency: String(amount.currency),
      proof: proofIn(json),
      isExemptionAsked: asksExemption(json),
      ...storedUseIn(json, number, parts.savedCards),
    },
    askingOf(json),
    (authorization) => void reportAuthorization(parts, account, authorization),
  );
  return result.type === "asked" ? redirectTo(result.challenge, request) : authorizeAnswer(result);
}

function askingOf({ authentication: wish, returnUrl }: Json): Asking | undefined {
  const isAsking = (wish === "as_needed" || wish === "always") && URL.canParse(String(returnUrl));
  return isAsking ? { wish, returnUrl: String(returnUrl) } : undefined;
}

function redirectTo(challenge: Challenge, request: SandboxRequest): SandboxAnswer {
  const { reference, value, currency } = challenge.payment;
  const action = { type: "redirect", method: "GET", url: bankPageOf(request, challenge) };
  const body = { merchantReference: reference, amount: { value, currency }, resultCode: "RedirectShopper", action };
  return { status: 200, body, about: reference };
}

function holdByItself(parts: SandboxBParts, challenge: Challenge): Promise<CardResult> {
  const account = parts.accounts.find(challenge.payment.account);
  return parts.issuer.settle(challenge, (authorization) => void reportAuthorization(parts, account, authorization));
}

/** Answers the result of a challenge by what the customer's return brought. */
async function details(
  parts: SandboxBParts,
  { request, account, json }: Call,
  results: WeakMap<Challenge, Promise<CardResult>>,
): Promise<SandboxAnswer> {
  const result = isObject(json.details) ? String(json.details.redirectResult) : "";
  const challenge = parts.challenges.find(result);
  if (challenge?.payment.acquirer !== "B" || challenge.payment.account !== account.id) {
    return refusal(422, "redirect_result");
  }
  const settled = await (results.get(challenge) ?? parts.issuer.decided(challenge));
  if (settled !== undefined) return authorizeAnswer(settled, secureResult("Y", challenge.id));
  if (challenge.state === "waiting") return redirectTo(challenge, request);
  const { reference, value, currency } = challenge.payment;
  const body = { pspReference: challenge.id, merchantReference: reference, amount: { value, currency } };
  return { status: 200, body: { ...body, resultCode: "Refused", refusalReasonCode: "11" }, about: reference };
}

function reportAuthorization(parts: SandboxBParts, account: Account, authorization: Authorization): Promise<void> {
  return parts.notifications.send(account, {
    eventCode: "AUTHORISATION",
    success: authorization.status === "held",
    pspReference: authorization.id,
    merchantReference: authorization.reference,
    authorization,
    reason: authorization.declineCode,
    facts: networkNames(authorization),
  });
}

function networkNames(authorization: Authorization): { readonly networkTxReference?: string } {
  const id = networkIdOf(authorization);
  return id === undefined ? {} : { networkTxReference: `nti_${id}` };
}

function authorizeAnswer(result: CardResult, challenged?: SecureResult): SandboxAnswer {
  switch (result.type) {
    case "held":
    case "declined": {
      const { id, reference, value, currency } = result.authorization;
      const secure = challenged ?? frictionlessOf(result.authorization);
      const verdict =
        result.type === "held"
          ? { resultCode: "Authorised", ...networkNames(result.authorization) }
          : { resultCode: "Refused", refusalReasonCode: result.code, ...networkFields(result.authorization) };
      const named = { pspReference: id, merchantReference: reference, amount: { value, currency } };
      const body = { ...named, ...verdict, ...(secure && { threeDSecure: secureView(secure) }) };
      return { status: 200, body, about: reference };
    }
    case "failed":
      return refusal(result.status, "internal");
    case "refused":
      return refusal(422, "reference_cancelled");
    case "silent":
      return "hang_up";
    default:
      return unreachable(result);
  }
}

function secureView({ isShifted: liabilityShift, ...result }: SecureResult): object {
  return { ...result, liabilityShift };
}

type OwedCapture = {
  readonly account: Account;
  readonly authorization: Authorization;
  readonly value: number;
  readonly pspReference: string;
};

async function capture(
  parts: SandboxBParts,
  { request, account, json }: Call,
  captureLater: (owed: OwedCapture) => Promise<void>,
): Promise<SandboxAnswer> {
  const authorization = parts.ledger.find("B", account.id, request.parameters.id ?? "");
  if (authorization === undefined) return refusal(422, "payment_not_found");
  const { amount } = json;
  if (!isObject(amount) || amount.currency !== authorization.currency) return refusal(422, "amount");
  const value = Number(amount.value);
  if (!isPart(value, authorization.value)) return refusal(422, "amount");
  if (authorization.capture === "refuse") return refusal(422, "capture_not_allowed");
  const pspReference = newPspReference();
  void captureLater({ account, authorization, value, pspReference });
  const { currency, reference } = authorization;
  const body = { pspReference, paymentPspReference: authorization.id, status: "received", amount: { value, currency } };
  return { status: 201, body: { ...body, reference }, about: reference };
}

async function makeCapture(
  parts: SandboxBParts,
  { account, authorization, value, pspReference }: OwedCapture,
): Promise<void> {
  await parts.issuer.captureDelay(authorization);
  await parts.pauses.gate("b.result", authorization.reference);
  await parts.faults.beforeResult();
  const fails = authorization.capture === "fail_later";
  if (fails) parts.ledger.void(authorization);
  const before = authorization.status;
  const captured = parts.ledger.capture(authorization, value);
  void parts.notifications.send(account, {
    eventCode: "CAPTURE",
    success: captured,
    pspReference,
    merchantReference: authorization.reference,
    authorization,
    value,
    reason: captured ? undefined : fails ? "capture_failed" : `already_${before}`,
  });
}

type OwedCancel = {
  readonly account: Account;
  readonly notification: {
    readonly eventCode: "CANCELLATION" | "TECHNICAL_CANCEL";
    readonly pspReference: string;
    readonly merchantReference: string;
  };
  /** The one payment; without it, every one under the reference by then. */
  readonly authorization?: Authorization;
};

async function cancel(
  parts: SandboxBParts,
  { request, account }: Call,
  cancelLater: (owed: OwedCancel) => Promise<void>,
): Promise<SandboxAnswer> {
  const authorization = parts.ledger.find("B", account.id, request.parameters.id ?? "");
  if (authorization === undefined) return refusal(422, "payment_not_found");
  const { reference } = authorization;
  const pspReference = newPspReference();
  const notification = { eventCode: "CANCELLATION", pspReference, merchantReference: reference } as const;
  void cancelLater({ account, notification, authorization });
  const body = { pspReference, paymentPspReference: authorization.id, reference, status: "received" };
  return { status: 201, body, about: reference };
}

/** Cancels every hold under the reference by then. Unlike SANDBOX_A it does not refuse a later authorize. */
async function cancelByReference(
  { account, json }: Call,
  cancelLater: (owed: OwedCancel) => Promise<void>,
): Promise<SandboxAnswer> {
  const reference = String(json.paymentReference);
  const pspReference = newPspReference();
  const notification = { eventCode: "TECHNICAL_CANCEL", pspReference, merchantReference: reference } as const;
  void cancelLater({ account, notification });
  const body = { pspReference, paymentReference: reference, status: "received" };
  return { status: 201, body, about: reference };
}

async function makeCancel(parts: SandboxBParts, { account, notification, authorization }: OwedCancel): Promise<void> {
  await parts.pauses.gate("b.result", notification.merchantReference);
  await parts.faults.beforeResult();
  const { merchantReference: reference } = notification;
  const named = authorization
    ? [authorization]
    : parts.ledger.findByReference({ acquirer: "B", account: account.id, reference });
  const found = named.filter((one) => one.status !== "declined");
  const captured = found.find((one) => one.status === "captured");
  if (captured === undefined) for (const one of found) parts.ledger.void(one);
  const reason = captured !== undefined ? "already_captured" : found.length === 0 ? "payment_not_found" : undefined;
  void parts.notifications.send(account, {
    ...notification,
    success: reason === undefined,
    authorization: captured ?? found[0],
    reason,
  });
}
