/** The test calls that a PayPal account must pass before it can be routed to. They leave an order behind whose authorization is refused or voided, and take nothing. */
import { randomUUID } from "node:crypto";
import { probe } from "../card-forwarder.ts";
import type { AttemptAtGateway, CredentialField, GatewayCall, VerifyRow } from "../connector.ts";
import { type GatewayReply, isObject, readJsonObject } from "../gateway-http.ts";
import { readAuthorized, readNewOrder } from "./answers.ts";
import { authorizationPath, orderPath, type PayPalApi } from "./api.ts";
import { toMoney } from "./currencies.ts";
import { parseName, readOrder } from "./order.ts";
import { issueOf } from "./refusals.ts";

/** What PayPal's developer dashboard shows of an app, in the sandbox and in live alike: only PayPal can tell them apart. */
export const credentialFields: readonly CredentialField[] = [
  {
    name: "clientId",
    label: "Client ID",
    // Eighty characters today; PayPal promises no length.
    shape: /^[A-Za-z0-9_-]{20,128}$/,
    hint: "PayPal developer dashboard, Apps & Credentials: the app's client ID, of the sandbox in test and of live in live; at least 20 letters, digits, hyphens and underscores.",
  },
  {
    name: "clientSecret",
    label: "Secret",
    shape: /^[A-Za-z0-9_-]{20,128}$/,
    hint: "PayPal developer dashboard, Apps & Credentials: the secret that belongs to the client ID; at least 20 letters, digits, hyphens and underscores.",
  },
];

// In the currency that every account can take payments in.
const probeMoney = { amountMinor: 100, currency: "USD" } as const;

/** Every check; where the credentials do not open the account, the others fail as not tried. */
export async function verifyAccount(api: PayPalApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  const signedIn = await api.signIn(call);
  if (signedIn.type !== "token") return untried(signedIn);
  const attempt = { ...probeMoney, attemptReference: `verify_${randomUUID()}` };
  const order = await probeOrder(api, call, attempt);
  const { environment } = api;
  const isRightPlace = order.environment === environment;
  // No card goes to an account of the other environment, where somebody might have to pay for it.
  const card =
    order.id === undefined || !isRightPlace ? noOrder : await probeCard(api, call, { attempt, orderId: order.id });
  return [
    row("credentials", true, "The credentials open the account."),
    row(
      "environment",
      isRightPlace,
      `The account is of PayPal's ${placeOf[environment]}.`,
      `The account is not of PayPal's ${placeOf[environment]}, or that could not be told.`,
    ),
    row("raw_cards", card.rawCards === undefined, "The account may send card numbers.", card.rawCards),
    row(
      "manual_capture",
      card.manualCapture === undefined,
      "A payment to be captured later can be authorized, and was refused or voided.",
      card.manualCapture,
    ),
    row(
      "currencies",
      order.id !== undefined,
      "An order can be created; whether the account takes a currency, PayPal says with each payment.",
      `No order could be created (${order.because}).`,
    ),
  ];
}

const placeOf = { test: "sandbox", live: "live environment" } as const;

/** Creates an order without money and reads it back; its links name the environment that it is in. */
async function probeOrder(api: PayPalApi, call: GatewayCall, attempt: AttemptAtGateway) {
  const created = await api.post(call, "/v2/checkout/orders", {
    key: attempt.attemptReference,
    body: {
      intent: "AUTHORIZE",
      purchase_units: [
        {
          reference_id: attempt.attemptReference,
          invoice_id: attempt.attemptReference,
          description: "Check of the connection; never captured",
          amount: toMoney(attempt),
        },
      ],
    },
  });
  const order = readNewOrder(created, attempt);
  if (order.type !== "ready") return { because: order.type === "declined" ? order.gatewayCode : order.reason };
  const json = jsonOf(await api.get(call, orderPath(order.id)));
  const isRead = readOrder(json, attempt) !== undefined && json?.intent === "AUTHORIZE";
  return isRead ? { id: order.id, environment: environmentIn(json) } : { because: "it could not be read" };
}

/** Why a card may not be sent and why it may not be held first; undefined where it may. */
type CardProbe = { readonly rawCards?: string | undefined; readonly manualCapture?: string | undefined };

const noOrder: CardProbe = {
  rawCards: "Not checked: there is no order that a card could be sent to.",
  manualCapture: "Not checked: there is no order that a card could be sent to.",
};

/** Sends a test number on the way that cards take. PayPal's sandbox may approve it, which is voided; live refuses it. */
async function probeCard(
  api: PayPalApi,
  call: GatewayCall,
  { attempt, orderId }: { attempt: AttemptAtGateway; orderId: string },
): Promise<CardProbe> {
  const { reply } = await api.postCard(call, probe, {
    orderId,
    key: `${attempt.attemptReference}_card`,
    body: {
      payment_source: {
        card: {
          number: "{{card.number}}",
          expiry: "{{card.expYear}}-{{card.expMonth}}",
          security_code: "{{card.cvc}}",
        },
      },
    },
  });
  const untriedCapture = "Not checked: no test card could be authorized.";
  if (reply.type !== "answer") {
    const rawCards = `A test card could not be sent by way of the card vault: ${reply.reason}.`;
    return { rawCards, manualCapture: untriedCapture };
  }
  if (issueOf(reply) === "AUTH_CAPTURE_NOT_ENABLED") {
    return { rawCards: undefined, manualCapture: "The account may not authorize first; ask PayPal to enable it." };
  }
  const outcome = readAuthorized(reply, attempt, orderId);
  if (outcome.type === "declined") return {};
  const held = outcome.type === "held" || outcome.type === "unknown" ? outcome.gatewayReference : undefined;
  if (held === undefined) {
    const rawCards = `The account may not send card numbers (HTTP ${reply.status}); ask PayPal for advanced card payments.`;
    return { rawCards, manualCapture: untriedCapture };
  }
  const name = parseName(held);
  const voided = "authorization" in name && (await api.post(call, authorizationPath(name.authorization, "void"), {}));
  const isVoided = voided !== false && jsonOf(voided)?.status === "VOIDED";
  return isVoided ? {} : { manualCapture: "A test payment was authorized and could not be voided." };
}

/** PayPal's links are full addresses, of the sandbox's host or of live's: https://developer.paypal.com/api/rest/responses/#hateoas-links (2026). */
function environmentIn(json: Readonly<Record<string, unknown>> | undefined): "test" | "live" | undefined {
  const links: readonly unknown[] = Array.isArray(json?.links) ? json.links : [];
  const self = links.find((one) => isObject(one) && one.rel === "self");
  const href = isObject(self) ? String(self.href) : "";
  const host = URL.canParse(href) ? new URL(href).hostname : "";
  if (!/(^|\.)paypal\.com$/.test(host)) return undefined;
  return host.includes(".sandbox.") ? "test" : "live";
}

function jsonOf(reply: GatewayReply): Readonly<Record<string, unknown>> | undefined {
  return reply.type === "answer" && reply.status < 300 ? readJsonObject(reply) : undefined;
}

function untried(reply: GatewayReply): VerifyRow[] {
  const because =
    reply.type === "answer"
      ? "PayPal does not know these credentials in this environment."
      : `PayPal gave no answer: ${reply.reason}.`;
  const others = ["environment", "raw_cards", "manual_capture", "currencies"] as const;
  return [
    row("credentials", false, because),
    ...others.map((check) => row(check, false, "Not checked: the account could not be opened.")),
  ];
}

function row(check: VerifyRow["check"], passed: boolean, right: string, wrong = right): VerifyRow {
  return { check, state: passed ? "passed" : "failed", required: true, detail: passed ? right : wrong };
}
