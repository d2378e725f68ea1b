/** The test calls that an Adyen account must pass before it can be routed to. They hold nothing: a check of a test card, over no money, and its cancellation. */
import { randomUUID } from "node:crypto";
import { probe } from "../card-forwarder.ts";
import type { GatewayCall, VerifyRow } from "../connector.ts";
import { type GatewayReply, isObject, readJsonObject } from "../gateway-http.ts";
import { isUnroutable } from "./answers.ts";
import type { AdyenApi } from "./api.ts";
import { cardFields } from "./card-fields.ts";
import { clear } from "./credentials.ts";
import { probePrefix } from "./probe-reference.ts";

// An account need not take each, and does not say which it takes; one of these is nearly always among them.
const probeCurrencies = ["EUR", "USD", "GBP", "AUD", "BRL", "SGD"];

/** Every check; where the key does not open the account, the others fail as not tried. */
export async function verifyAccount(api: AdyenApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  if (!api.hasAddress(call)) return withoutAddress();
  const methods = await api.post(call, "/paymentMethods", {});
  const json = methods.type === "answer" && methods.status === 200 ? readJsonObject(methods) : undefined;
  if (!Array.isArray(json?.paymentMethods)) return untried(whyUnopened(methods));
  const { environment } = api;
  const reference = `${probePrefix}${randomUUID()}`;
  const card = await probeCard(api, call, reference);
  return [
    row("credentials", true, "The key opens the merchant account."),
    row("environment", true, `Adyen's ${environment} environment knows the key; the other one has keys of its own.`),
    row("raw_cards", card.isTaken, "The account may send card numbers.", card.because),
    row(
      "manual_capture",
      card.isTaken && (await isCancelTaken(api, call, reference)),
      "A payment to be captured later was taken, and its cancellation too.",
      "A payment to be captured later could not be made and cancelled; the API credential needs the role for payments and their cancellation.",
    ),
    row(
      "currencies",
      json.paymentMethods.some((method) => isObject(method) && method.type === "scheme"),
      "The account takes cards.",
      "The account takes no cards; ask Adyen to add them as a payment method.",
    ),
    ...notificationRows(call),
  ];
}

/** Sends a test number on the way that cards take, over nothing: in live mode it is declined, but only after the account was allowed to send it. */
async function probeCard(api: AdyenApi, call: GatewayCall, reference: string) {
  for (const currency of probeCurrencies) {
    const { reply } = await api.postCard({ ...call, idempotencyKey: randomUUID() }, probe, {
      ...cardFields,
      reference,
      amount: { value: 0, currency },
    });
    if (reply.type !== "answer")
      return refused(`A test card could not be sent by way of the card vault: ${reply.reason}.`);
    const json = readJsonObject(reply);
    if (reply.status === 200 && typeof json?.resultCode === "string") return { isTaken: true, because: "" };
    if (!isUnroutable(reply)) return refused(notAllowed);
  }
  return refused(
    `The account takes cards in none of ${probeCurrencies.join(", ")}, so that no test card could be sent.`,
  );
}

const notAllowed =
  "The account may not send card numbers to be captured later; ask Adyen for the API credential's role for raw card data (API PCI Payments role).";

function refused(because: string) {
  return { isTaken: false, because };
}

async function isCancelTaken(api: AdyenApi, call: GatewayCall, reference: string): Promise<boolean> {
  const key = { idempotencyKey: randomUUID() };
  const reply = await api.post({ ...call, ...key }, "/cancels", { paymentReference: reference, reference });
  const json = reply.type === "answer" && reply.status === 201 ? readJsonObject(reply) : undefined;
  return json?.status === "received";
}

/** Without a working way for notifications nothing would ever be known of a capture. The test card's own result is the test notice. */
function notificationRows({ credentials }: GatewayCall): VerifyRow[] {
  return [
    row(
      "notification_secret",
      clear(credentials, "hmacKey") !== "",
      "The notification HMAC key is set.",
      "Enter the notification HMAC key.",
    ),
    {
      check: "test_notice",
      state: "pending",
      required: true,
      detail: "The notification about the test card is awaited.",
    },
  ];
}

function whyUnopened(reply: GatewayReply): string {
  if (reply.type !== "answer") return `Adyen gave no answer: ${reply.reason}.`;
  if (reply.status === 401) return "Adyen does not know this key in this environment.";
  if (reply.status === 403) return "The key does not open this merchant account.";
  return `Adyen gave no payment methods (HTTP ${reply.status}).`;
}

const others = ["raw_cards", "manual_capture", "currencies", "notification_secret", "test_notice"] as const;

function untried(because: string): VerifyRow[] {
  return [
    row("credentials", false, because),
    ...failed(["environment", ...others], "Not checked: the account could not be read."),
  ];
}

function withoutAddress(): VerifyRow[] {
  const detail = "A live account has a live URL prefix; without one these are no live credentials.";
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
