/**
 * The test calls that an Adyen account must pass before it can be routed to. They hold nothing: a zero-amount check of
 * a test card, and its cancellation.
 */
import { randomUUID } from "node:crypto";
import { probe } from "../../card-vault/card-vault.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { GatewayCall, VerifyRow } from "../connector.ts";
import { isUnroutable } from "./answers.ts";
import type { AdyenApi } from "./api.ts";
import { cardFields } from "./card-fields.ts";
import { clear } from "./credentials.ts";
import { probePrefix } from "./probe-reference.ts";
import { checkReports } from "./settlement.ts";

// An account need not accept each, and does not report which it accepts; one of these is nearly always among them.
const probeCurrencies = ["EUR", "USD", "GBP", "AUD", "BRL", "SGD"];

/** Returns every check; if the key does not open the account, the others fail as not checked. */
export async function verifyAccount(api: AdyenApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  if (!api.hasAddress(call)) return withoutAddress();
  const methods = await api.post(call, "/paymentMethods", {});
  const json = methods.type === "answer" && methods.status === 200 ? readJsonObject(methods) : undefined;
  if (!Array.isArray(json?.paymentMethods)) return unchecked(whyUnopened(methods));
  const { environment } = api;
  const reference = `${probePrefix}${randomUUID()}`;
  const card = await probeCard(api, call, reference);
  return [
    {
      ...row("credentials", true, "The key opens the merchant account."),
      account: clear(call.credentials, "merchantAccount"),
    },
    row(
      "environment",
      true,
      `Adyen's ${environment} environment knows the key; the other environment has separate keys.`,
    ),
    row("raw_cards", card.isAccepted, "The account may send card numbers.", card.reason),
    row(
      "manual_capture",
      card.isAccepted && (await isCancelTaken(api, call, reference)),
      "A payment for later capture was accepted, and so was its cancellation.",
      "A payment for later capture could not be made and cancelled; give the API credential the role for payments and their cancellation.",
    ),
    row(
      "currencies",
      json.paymentMethods.some((method) => isObject(method) && method.type === "scheme"),
      "The account accepts cards.",
      "The account accepts no cards; ask Adyen to add them as a payment method.",
    ),
    ...notificationRows(call),
    await checkReports((...asked) => api.downloadReport(...asked), call),
  ];
}

/**
 * Sends a zero-amount check of a test card the way that cards are sent: in live mode it is declined, but only after the
 * account was allowed to send it.
 */
async function probeCard(api: AdyenApi, call: GatewayCall, reference: string) {
  for (const currency of probeCurrencies) {
    const { reply } = await api.postCard({ ...call, idempotencyKey: randomUUID() }, probe, {
      ...cardFields,
      reference,
      amount: { value: 0, currency },
    });
    if (reply.type !== "answer")
      return refused(`A test card could not be sent through the card vault: ${reply.reason}.`);
    const json = readJsonObject(reply);
    if (reply.status === 200 && typeof json?.resultCode === "string") return { isAccepted: true, reason: "" };
    if (!isUnroutable(reply)) return refused(notAllowed);
  }
  return refused(`The account accepts cards in none of ${probeCurrencies.join(", ")}, so no test card could be sent.`);
}

const notAllowed =
  "The account may not send card numbers for later capture; ask Adyen for the API credential's role for raw card data (API PCI Payments role).";

function refused(reason: string) {
  return { isAccepted: false, reason };
}

async function isCancelTaken(api: AdyenApi, call: GatewayCall, reference: string): Promise<boolean> {
  const key = { idempotencyKey: randomUUID() };
  const reply = await api.post({ ...call, ...key }, "/cancels", { paymentReference: reference, reference });
  const json = reply.type === "answer" && reply.status === 201 ? readJsonObject(reply) : undefined;
  return json?.status === "received";
}

/**
 * Returns the notification checks: without working notifications the result of a capture would never be known. The test
 * card's own result is the test notification.
 */
function notificationRows({ credentials }: GatewayCall): VerifyRow[] {
  return [
    row(
      "notification_secret",
      clear(credentials, "hmacKey") !== "",
      "The notification HMAC key is set.",
      "Enter the notification HMAC key.",
    ),
    {
      check: "test_notification",
      state: "pending",
      required: true,
      detail: "Waiting for the notification about the test card.",
    },
  ];
}

function whyUnopened(reply: GatewayReply): string {
  if (reply.type !== "answer") return `Adyen did not answer: ${reply.reason}.`;
  if (reply.status === 401) return "Adyen does not know this key in this environment.";
  if (reply.status === 403) return "The key does not open this merchant account.";
  return `Adyen returned no payment methods (HTTP ${reply.status}).`;
}

const others = ["raw_cards", "manual_capture", "currencies", "notification_secret", "test_notification"] as const;

function unchecked(reason: string): VerifyRow[] {
  return [
    row("credentials", false, reason),
    ...failed(["environment", ...others], "Not checked: the account could not be read."),
  ];
}

function withoutAddress(): VerifyRow[] {
  const detail = "Enter the live URL prefix: without one these are not live credentials.";
  return [
    ...failed(["credentials"], "Not checked: there is no address."),
    ...failed(["environment"], detail),
    ...failed(others, "Not checked: there is no address."),
  ];
}

function failed(checks: readonly VerifyRow["check"][], detail: string): VerifyRow[] {
  return checks.map((check) => row(check, false, detail));
}

function row(check: VerifyRow["check"], passed: boolean, right: string, wrong = right): VerifyRow {
  return { check, state: passed ? "passed" : "failed", required: true, detail: passed ? right : wrong };
}
