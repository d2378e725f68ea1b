/**
 * The test calls that a Stripe account must pass before it can be routed to. They leave a cancelled payment intent
 * behind, and capture nothing.
 */
import { randomUUID } from "node:crypto";
import { probe } from "../../card-vault/card-vault.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { CredentialField, GatewayCall, VerifyRow } from "../connector.ts";
import { disputesRow } from "../disputes-row.ts";
import { errorOf } from "./answers.ts";
import { intentPath, type StripeApi } from "./api.ts";
import { codeOf, type Json } from "./judge-decline.ts";
import { checkStatements } from "./settlement.ts";

type Environment = "test" | "live";

// Shorter than any key that Stripe has issued; a shorter one was cut off when it was copied.
const shortestKey = 10;

/** The one credential: a secret or restricted key of this environment. */
export function secretKeyField(environment: Environment): CredentialField {
  const other = environment === "test" ? "live" : "test";
  return {
    name: "secretKey",
    label: "Secret key",
    // The prefixes: https://docs.stripe.com/keys (2026). Lengths differ by age, so only their order of size is checked.
    shape: new RegExp(`^(sk|rk)_${environment}_[A-Za-z0-9]{${shortestKey},250}$`),
    hint: `Stripe dashboard, Developers, API keys: a secret or restricted key that begins with sk_${environment}_ or rk_${environment}_, with at least ${shortestKey} letters and digits after it.`,
    mistakes: [
      {
        shape: new RegExp(`^(sk|rk)_${other}_`),
        detail: `This is a ${other} key. Enter a key of ${environment} mode.`,
      },
      { shape: /^pk_/, detail: "This is a publishable key, which cannot make payments." },
    ],
  };
}

// Above Stripe's minimum charge in any currency, and never charged.
const probeAmount = 1_000_000;
// Every account except those in Brazil and India accepts the first: https://docs.stripe.com/currencies (2026).
const probeCurrencies = ["usd", "brl", "inr"];

/**
 * Returns every check; if the key does not open the account, the others fail as not checked. A restricted key may not read
 * the account itself (https://github.com/stripe/stripe-node/issues/2246, 2025), so its mode is that of a payment.
 */
export async function verifyAccount(api: StripeApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  const created = await createProbe(api, call);
  const unopened = whyUnopened(created);
  if (unopened !== undefined) return unchecked(unopened);
  const intent = intentOf(created);
  const [account, isCancelled, unreadable, rawCards, disputes, settlement] = await Promise.all([
    api.get(call, "/v1/account"),
    isCancelTaken(api, call, intent),
    whyChargesUnreadable(api, call, intent),
    probeRawCards(api, call),
    api.get(call, "/v1/disputes", { limit: "1" }),
    checkStatements((...asked) => api.get(...asked), call),
  ]);
  const { environment } = api;
  return [
    {
      ...row("credentials", unreadable === undefined, "The key opens the account.", unreadable),
      account: accountIn(account),
    },
    row(
      "environment",
      intent?.livemode === (environment === "live"),
      `The key belongs to ${environment} mode.`,
      `The key does not belong to ${environment} mode, or its mode could not be determined.`,
    ),
    row("raw_cards", rawCards === undefined, "The account may send card numbers.", rawCards),
    row(
      "manual_capture",
      isCancelled,
      "A payment for later capture can be prepared and cancelled.",
      "A payment for later capture could not be prepared and cancelled; a restricted key needs write access to payment intents.",
    ),
    row(
      "currencies",
      intent !== undefined,
      "The account accepts payments.",
      `No payment could be prepared (${codeIn(created)}); complete the account in Stripe's dashboard.`,
    ),
    disputesRow(
      disputes,
      "Give the restricted key read access to disputes; until then, disputes are seen at Stripe only.",
    ),
    settlement,
  ];
}

function accountIn(reply: GatewayReply): string | undefined {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  return json?.object === "account" && typeof json.id === "string" ? json.id : undefined;
}

/** Prepares a payment, in the first currency that the account accepts. */
async function createProbe(api: StripeApi, call: GatewayCall): Promise<GatewayReply> {
  let reply: GatewayReply | undefined;
  for (const currency of probeCurrencies) {
    reply = await api.post(call, "/v1/payment_intents", {
      key: `verify_${randomUUID()}`,
      form: {
        amount: String(probeAmount),
        currency,
        capture_method: "manual",
        "payment_method_types[0]": "card",
        confirmation_method: "manual",
        description: "Check of the connection; cancelled at once",
      },
    });
    if (errorIn(reply)?.param !== "currency") break;
  }
  return reply!;
}

async function isCancelTaken(api: StripeApi, call: GatewayCall, intent: Json | undefined): Promise<boolean> {
  if (typeof intent?.id !== "string" || intent.capture_method !== "manual") return false;
  const cancel = { key: `verify_${randomUUID()}`, form: {} };
  return intentOf(await api.post(call, intentPath(intent.id, "cancel"), cancel))?.status === "canceled";
}

/**
 * Returns why a payment's charge, by which a decline is judged, cannot be read; undefined if it can. The payment is
 * read as in a real one, and since it has no charge yet, a charge that does not exist is requested.
 */
async function whyChargesUnreadable(
  api: StripeApi,
  call: GatewayCall,
  intent: Json | undefined,
): Promise<string | undefined> {
  const replies = await Promise.all([
    ...(typeof intent?.id === "string" ? [api.get(call, intentPath(intent.id), { "expand[0]": "latest_charge" })] : []),
    api.get(call, "/v1/charges/ch_switchyardverify"),
  ]);
  const failed = replies.find((reply) => reply.type !== "answer" || ![200, 404].includes(reply.status));
  if (failed === undefined) return undefined;
  if (failed.type !== "answer") return `Stripe did not answer: ${failed.reason}.`;
  return failed.status === 403
    ? "The key may not read charges, which show why a payment was declined; a restricted key needs read access to charges."
    : `Stripe returned no charges (HTTP ${failed.status}); verify again later.`;
}

/**
 * Sends a test number the way that cards are sent. Returns why it may not be sent, or undefined if it may. In live mode
 * the number is declined, but only after the account was allowed to send it.
 */
async function probeRawCards(api: StripeApi, call: GatewayCall): Promise<string | undefined> {
  const { reply } = await api.postCard(call, probe, {
    key: `verify_${randomUUID()}`,
    form: {
      type: "card",
      "card[number]": "{{card.number}}",
      "card[exp_month]": "{{card.expMonth}}",
      "card[exp_year]": "{{card.expYear}}",
      "card[cvc]": "{{card.cvc}}",
    },
  });
  if (reply.type !== "answer") return `A test card could not be sent through the card vault: ${reply.reason}.`;
  const json = readJsonObject(reply);
  const isTaken = reply.status === 200 && json?.object === "payment_method";
  const isJudged = reply.status === 402 && errorOf(json)?.type === "card_error";
  if (isTaken || isJudged) return undefined;
  return reply.status === 403
    ? "The key may not send cards; a restricted key needs write access to payment methods."
    : "The account may not send card numbers; ask Stripe for access to raw card data APIs.";
}

function intentOf(reply: GatewayReply): Json | undefined {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  return isObject(json) && json.object === "payment_intent" ? json : undefined;
}

/** Returns why the key itself cannot be used; undefined if Stripe knows it and lets it prepare payments. */
function whyUnopened(created: GatewayReply): string | undefined {
  if (created.type !== "answer") return `Stripe did not answer: ${created.reason}.`;
  if (created.status === 401) return "Stripe does not know this key.";
  if (created.status === 403)
    return "The key may not prepare payments; a restricted key needs write access to payment intents.";
  return errorIn(created) === undefined && intentOf(created) === undefined
    ? `Stripe's answer could not be understood (HTTP ${created.status}); verify again later.`
    : undefined;
}

function errorIn(reply: GatewayReply): Json | undefined {
  return reply.type === "answer" ? errorOf(readJsonObject(reply)) : undefined;
}

function codeIn(reply: GatewayReply): string {
  const code = codeOf(errorIn(reply) ?? {});
  return code === "" && reply.type === "answer" ? `HTTP ${reply.status}` : code;
}

function unchecked(reason: string): VerifyRow[] {
  const others = ["environment", "raw_cards", "manual_capture", "currencies"] as const;
  return [
    row("credentials", false, reason),
    ...others.map((check) => row(check, false, "Not checked: the account could not be opened.")),
  ];
}

function row(check: VerifyRow["check"], passed: boolean, right: string, wrong = right): VerifyRow {
  return { check, state: passed ? "passed" : "failed", required: true, detail: passed ? right : wrong };
}
