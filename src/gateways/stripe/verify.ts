/** The test calls that a Stripe account must pass before it can be routed to. They leave a cancelled payment intent behind, and take nothing. */
import { randomUUID } from "node:crypto";
import { probe } from "../card-forwarder.ts";
import type { CredentialField, GatewayCall, VerifyRow } from "../connector.ts";
import { type GatewayReply, isObject, readJsonObject } from "../gateway-http.ts";
import { errorOf } from "./answers.ts";
import { intentPath, type StripeApi } from "./api.ts";
import type { Json } from "./judge-decline.ts";

type Environment = "test" | "live";

// Shorter than any key that Stripe has given out; what is shorter was cut off when it was copied.
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
        detail: `This is a ${other} key, which does not belong in ${environment}.`,
      },
      { shape: /^pk_/, detail: "This is a publishable key, which cannot take payments." },
    ],
  };
}

// Above the least that Stripe charges in any currency, and never charged.
const probeAmount = 1_000_000;

/** Every check; where the key does not open the account, the others fail as not tried. */
export async function verifyAccount(api: StripeApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  const account = await api.get(call, "/v1/account");
  const json = account.type === "answer" && account.status === 200 ? readJsonObject(account) : undefined;
  if (json?.object !== "account") return untried(account);
  const [intent, rawCards] = await Promise.all([probeIntent(api, call, json), probeRawCards(api, call)]);
  const environment = api.environment;
  const isChargeable = environment === "test" || json.charges_enabled === true;
  return [
    row("credentials", true, "The key opens the account."),
    row(
      "environment",
      intent.livemode === (environment === "live"),
      `The key belongs to ${environment} mode.`,
      `The key does not belong to ${environment} mode, or its mode could not be told.`,
    ),
    row("raw_cards", rawCards === undefined, "The account may send card numbers.", rawCards),
    row(
      "manual_capture",
      intent.isCancelled,
      "A payment to be captured later can be prepared and cancelled.",
      "A payment to be captured later could not be prepared and cancelled; a restricted key needs write access to payment intents.",
    ),
    row(
      "currencies",
      isChargeable,
      "The account takes payments.",
      "The account takes no payments yet; complete it in Stripe's dashboard.",
    ),
  ];
}

/** Prepares a payment in the account's own currency and cancels it. */
async function probeIntent(api: StripeApi, call: GatewayCall, account: Json) {
  const currency = typeof account.default_currency === "string" ? account.default_currency : "usd";
  const created = intentOf(
    await api.post(call, "/v1/payment_intents", {
      key: `verify_${randomUUID()}`,
      form: {
        amount: String(probeAmount),
        currency,
        capture_method: "manual",
        "payment_method_types[0]": "card",
        description: "Check of the connection; cancelled at once",
      },
    }),
  );
  if (typeof created?.id !== "string") return { livemode: undefined, isCancelled: false };
  const cancelled = intentOf(
    await api.post(call, intentPath(created.id, "cancel"), { key: `verify_${randomUUID()}`, form: {} }),
  );
  const isManual = created.capture_method === "manual";
  return { livemode: created.livemode, isCancelled: isManual && cancelled?.status === "canceled" };
}

/**
 * Sends a test number on the way that cards take; why it may not be sent, or undefined when it may. In live mode the number
 * is declined, but only after the account was allowed to send it.
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
  if (reply.type !== "answer") return `A test card could not be sent by way of the card vault: ${reply.reason}.`;
  const json = readJsonObject(reply);
  const isTaken = reply.status === 200 && json?.object === "payment_method";
  const isJudged = reply.status === 402 && errorOf(json)?.type === "card_error";
  if (isTaken || isJudged) return undefined;
  return "The account may not send card numbers; ask Stripe for access to raw card data APIs.";
}

function intentOf(reply: GatewayReply): Json | undefined {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  return isObject(json) && json.object === "payment_intent" ? json : undefined;
}

function untried(account: GatewayReply): VerifyRow[] {
  const because =
    account.type !== "answer"
      ? `Stripe gave no answer: ${account.reason}.`
      : account.status === 401
        ? "Stripe does not know this key."
        : `Stripe gave no account (HTTP ${account.status}).`;
  const others = ["environment", "raw_cards", "manual_capture", "currencies"] as const;
  return [
    row("credentials", false, because),
    ...others.map((check) => row(check, false, "Not checked: the account could not be read.")),
  ];
}

function row(check: VerifyRow["check"], passed: boolean, right: string, wrong = right): VerifyRow {
  return { check, state: passed ? "passed" : "failed", required: true, detail: passed ? right : wrong };
}
