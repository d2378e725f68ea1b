/**
 * The test calls that a PayPal account must pass before it can be routed to. They leave behind an order whose
 * authorization is refused or voided, and capture nothing.
 */
import { randomUUID } from "node:crypto";
import { probe } from "../../card-vault/card-vault.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { AttemptAtGateway, CredentialField, GatewayCall, GatewayOutcome, VerifyRow } from "../connector.ts";
import { disputesRow } from "../disputes-row.ts";
import { readAuthorized, readNewOrder } from "./answers.ts";
import { authorizationPath, orderPath, type PayPalApi } from "./api.ts";
import { toMoney } from "./currencies.ts";
import { parseName, readOrder } from "./order.ts";
import { issueOf } from "./refusals.ts";
import { checkStatements } from "./settlement.ts";

/**
 * The fields that PayPal's developer dashboard shows of an app, the same in the sandbox and in live: only PayPal can
 * distinguish them.
 */
export const credentialFields: readonly CredentialField[] = [
  {
    name: "clientId",
    label: "Client ID",
    // Eighty characters today; PayPal promises no length.
    shape: /^[A-Za-z0-9_-]{20,128}$/,
    hint: "PayPal developer dashboard, Apps & Credentials: the app's client ID, from the sandbox for test and from live for live; at least 20 letters, digits, hyphens and underscores.",
  },
  {
    name: "clientSecret",
    label: "Secret",
    shape: /^[A-Za-z0-9_-]{20,128}$/,
    hint: "PayPal developer dashboard, Apps & Credentials: the secret that belongs to the client ID; at least 20 letters, digits, hyphens and underscores.",
  },
];

// The currency that every account can accept.
const probeMoney = { amountMinor: 100, currency: "USD" } as const;

/** Returns every check; if the credentials do not open the account, the others fail as not checked. */
export async function verifyAccount(api: PayPalApi, call: GatewayCall): Promise<readonly VerifyRow[]> {
  const signedIn = await api.signIn(call);
  if (signedIn.type !== "token") return unchecked(signedIn);
  const attempt = { ...probeMoney, attemptReference: `verify_${randomUUID()}` };
  const order = await probeOrder(api, call, attempt);
  const { environment } = api;
  const isRightPlace = order.environment === environment;
  // An account of the other environment, which might charge the card, gets no card.
  const card =
    order.id === undefined || !isRightPlace ? noOrder : await probeCard(api, call, { attempt, orderId: order.id });
  return [
    { ...row("credentials", true, "The credentials open the account."), account: order.merchantId },
    row(
      "environment",
      isRightPlace,
      `The account belongs to PayPal's ${placeOf[environment]}.`,
      `The account does not belong to PayPal's ${placeOf[environment]}, or its environment could not be determined.`,
    ),
    row("raw_cards", card.rawCards === undefined, "The account may send card numbers.", card.rawCards),
    row(
      "manual_capture",
      card.manualCapture === undefined,
      "A payment for later capture can be authorized; the test payment was refused or voided.",
      card.manualCapture,
    ),
    row(
      "currencies",
      order.id !== undefined,
      "An order can be created. PayPal reports with each payment whether the account accepts its currency.",
      `No order could be created (${order.reason}).`,
    ),
    disputesRow(
      await api.get(call, "/v1/customer/disputes?page_size=1"),
      "Turn on Disputes among the features of the app; until then, disputes are seen at PayPal only.",
    ),
    await checkStatements(api, call, new Date()),
  ];
}

const placeOf = { test: "sandbox", live: "live environment" } as const;

/** Creates an order without money and reads it back; its links name its environment. */
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
  if (order.type !== "ready") return { reason: order.type === "declined" ? order.gatewayCode : order.reason };
  const json = jsonOf(await api.get(call, orderPath(order.id)));
  const isRead = readOrder(json, attempt) !== undefined && json?.intent === "AUTHORIZE";
  if (!isRead) return { reason: "it could not be read" };
  return { id: order.id, environment: environmentIn(json), merchantId: merchantIn(json) };
}

/** Reasons why a card may not be sent and may not be held first; undefined if it may. */
type CardProbe = { readonly rawCards?: string | undefined; readonly manualCapture?: string | undefined };

const noOrder: CardProbe = {
  rawCards: "Not checked: there is no order to send a card to.",
  manualCapture: "Not checked: there is no order to send a card to.",
};

/**
 * Sends a test number the way that cards are sent. PayPal's sandbox may approve it, which is voided; live refuses it.
 */
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
  if (reply.type !== "answer") {
    const rawCards = `A test card could not be sent through the card vault: ${reply.reason}.`;
    return { rawCards, manualCapture: uncheckedCapture };
  }
  const refused = readCardRefusal(reply, readAuthorized(reply, attempt, orderId));
  if (refused.type === "probed") return refused.probe;
  const held = refused.gatewayReference;
  const name = parseName(held);
  const voided = "authorization" in name && (await api.post(call, authorizationPath(name.authorization, "void"), {}));
  const isVoided = voided !== false && jsonOf(voided)?.status === "VOIDED";
  return isVoided ? {} : { manualCapture: "A test payment was authorized and could not be voided." };
}

/** The account's rights according to the answer, or the name of a hold to void. */
type CardAnswer =
  | { readonly type: "probed"; readonly probe: CardProbe }
  | { readonly type: "held"; readonly gatewayReference: string };

/**
 * Reads a refusal of the test card: a refusal of the card itself, for any reason, comes from an account that may send
 * cards.
 */
function readCardRefusal(reply: GatewayReply & { type: "answer" }, outcome: GatewayOutcome): CardAnswer {
  const issue = issueOf(reply);
  const probed = (probe: CardProbe): CardAnswer => ({ type: "probed", probe });
  if (reply.status === 403 || (issue !== undefined && notEnabled.test(issue))) {
    const rawCards = `The account may not send card numbers (${issue ?? "HTTP 403"}); ask PayPal for advanced card payments.`;
    return probed({ rawCards, manualCapture: uncheckedCapture });
  }
  if (issue === "AUTH_CAPTURE_NOT_ENABLED") {
    return probed({ manualCapture: "The account may not authorize first; ask PayPal to enable it." });
  }
  if (outcome.type === "held" || (outcome.type === "unknown" && outcome.gatewayReference !== undefined)) {
    return { type: "held", gatewayReference: outcome.gatewayReference! };
  }
  if (issue !== undefined && outcome.type === "notProcessed" && outcome.cause === "credentials_refused") {
    return probed({ manualCapture: `The account accepts no payments (${issue}); resolve this in PayPal's account.` });
  }
  const isRefused = outcome.type === "notProcessed" && outcome.cause === "request_refused" && reply.status !== 404;
  const isUnknownIssue = outcome.type === "unknown" && issue !== undefined;
  if (outcome.type === "declined" || isRefused || isUnknownIssue) return probed({});
  const rawCards = `PayPal did not judge the test card (HTTP ${reply.status}); verify again later.`;
  return probed({ rawCards, manualCapture: uncheckedCapture });
}

const uncheckedCapture = "Not checked: no test card could be authorized.";

// PayPal uses both prefixes: for the calling account and for the payee (orders_v2, paypal-rest-api-specifications,
// 2026).
const notEnabled = /^(PAYEE_)?NOT_ENABLED_/;

/**
 * Returns the environment in PayPal's links, which are full addresses with the sandbox's or live's host:
 * https://developer.paypal.com/api/rest/responses/#hateoas-links (2026).
 */
function environmentIn(json: Readonly<Record<string, unknown>> | undefined): "test" | "live" | undefined {
  const links: readonly unknown[] = Array.isArray(json?.links) ? json.links : [];
  const self = links.find((one) => isObject(one) && one.rel === "self");
  const href = isObject(self) ? String(self.href) : "";
  const host = URL.canParse(href) ? new URL(href).hostname : "";
  if (!/(^|\.)paypal\.com$/.test(host)) return undefined;
  return host.includes(".sandbox.") ? "test" : "live";
}

/** Returns PayPal's own id of the merchant who is paid: the account that created the order. */
function merchantIn(json: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const [unit] = Array.isArray(json?.purchase_units) ? (json.purchase_units as readonly unknown[]) : [];
  const payee = isObject(unit) ? unit.payee : undefined;
  return isObject(payee) && typeof payee.merchant_id === "string" ? payee.merchant_id : undefined;
}

function jsonOf(reply: GatewayReply): Readonly<Record<string, unknown>> | undefined {
  return reply.type === "answer" && reply.status < 300 ? readJsonObject(reply) : undefined;
}

function unchecked(reply: GatewayReply): VerifyRow[] {
  const reason =
    reply.type === "answer"
      ? "PayPal does not know these credentials in this environment."
      : `PayPal did not answer: ${reply.reason}.`;
  const others = ["environment", "raw_cards", "manual_capture", "currencies"] as const;
  return [
    row("credentials", false, reason),
    ...others.map((check) => row(check, false, "Not checked: the account could not be opened.")),
  ];
}

function row(check: VerifyRow["check"], passed: boolean, right: string, wrong = right): VerifyRow {
  return { check, state: passed ? "passed" : "failed", required: true, detail: passed ? right : wrong };
}
