/** Asks the external vault about a token: the id by which its proxy knows the card, and the card summary. */
import { vaultTextCharactersMax } from "../../limits.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { CardSummary } from "../card-vault.ts";
import type { CardParts } from "./proxy-request.ts";
import { earlyRefusalOf } from "./vault-api.ts";

export type StoredCard = {
  readonly methodId: string;
  readonly tokenType: "volatile_payment_method_id" | "payment_method_id";
  readonly parts: CardParts;
  readonly shown: CardSummary | undefined;
};

/** A card, or why there is none. Nothing was sent to a gateway in either case, so every failure is safe. */
export type CardReading =
  | { readonly type: "card"; readonly card: StoredCard }
  | { readonly type: "none"; readonly reply: Extract<GatewayReply, { type: "neverSent" }> };

/**
 * Returns the path at which a token is read; undefined for text that cannot be a token.
 * https://api-reference.hyperswitch.io/v2/payment-methods/payment-method--retrieve-v1 (2026): the id of the path may be
 * the token of a session, and the answer has the permanent id. Raw card data is not requested, and would not be read.
 */
export function cardPathOf(token: string): string | undefined {
  const isToken = /^[\w-]+$/.test(token) && token.length <= vaultTextCharactersMax;
  return isToken ? `/v1/payment-methods/${token}?fetch_raw_detail=false` : undefined;
}

export function readStoredCard(reply: GatewayReply): CardReading {
  if (reply.type === "neverSent" && reply.cause === "stopped") return { type: "none", reply };
  if (reply.type !== "answer") return none("vault_unavailable", `the vault did not describe the card: ${reply.reason}`);
  const json = readJsonObject(reply);
  if (reply.status === 200 && typeof json?.id === "string" && /^[\w-]{1,128}$/.test(json.id)) {
    return { type: "card", card: cardOf(json.id, json) };
  }
  return earlyRefusalOf(reply) === "the_card"
    ? none("token_unusable", "the vault does not know the token, or no longer")
    : none("vault_unavailable", `the vault did not describe the card (HTTP ${reply.status})`);
}

/** Returns the answer that there is no card to send, so that nothing was sent. */
export function none(cause: "token_unusable" | "vault_unavailable", reason: string): CardReading {
  return { type: "none", reply: { type: "neverSent", cause, reason } };
}

/**
 * Returns the path of the session in which the token must have been made.
 * https://api-reference.hyperswitch.io/v2/payment-method-session/payment-method-session--retrieve-v1 (2026)
 */
export function sessionPathOf(vaultSession: string): string {
  return `/v1/payment-method-sessions/${vaultSession}`;
}

/** Returns why the token must not be used in this session, or undefined if the session's own list has it. */
export function refuseForeignToken(reply: GatewayReply, token: string): CardReading | undefined {
  if (reply.type === "neverSent" && reply.cause === "stopped") return { type: "none", reply };
  if (reply.type !== "answer")
    return none("vault_unavailable", `the vault did not describe the session: ${reply.reason}`);
  const refusal = earlyRefusalOf(reply);
  if (refusal === "the_card" || refusal === "the_request") return none("token_unusable", "the vault's session is over");
  const listed = readJsonObject(reply)?.associated_payment_methods;
  if (reply.status !== 200)
    return none("vault_unavailable", `the vault did not describe the session (HTTP ${reply.status})`);
  const isOurs = Array.isArray(listed) && listed.some((method) => tokenOf(method) === token);
  return isOurs ? undefined : none("token_unusable", "the token was made in another session");
}

function tokenOf(method: unknown): unknown {
  const token = isObject(method) ? method.payment_method_token : undefined;
  return isObject(token) ? token.data : undefined;
}

function cardOf(methodId: string, json: Readonly<Record<string, unknown>>): StoredCard {
  const data = isObject(json.payment_method_data) ? json.payment_method_data.card : undefined;
  const card = isObject(data) ? data : {};
  const { is_stored: cvcStored } = isObject(json.card_cvc_token_storage) ? json.card_cvc_token_storage : {};
  return {
    methodId,
    tokenType: json.storage_type === "persistent" ? "payment_method_id" : "volatile_payment_method_id",
    parts: {
      cvc: cvcStored === true,
      holder: typeof card.card_holder_name === "string" && card.card_holder_name !== "",
    },
    shown: shownOf(card),
  };
}

// Hyperswitch's names of the networks (CardNetwork in its OpenAPI), with our own vault's names.
const brands: Readonly<Record<string, string>> = {
  Visa: "visa",
  Mastercard: "mastercard",
  AmericanExpress: "amex",
  Discover: "discover",
  DinersClub: "diners",
  JCB: "jcb",
  UnionPay: "unionpay",
  Maestro: "maestro",
};

function shownOf({ card_network: network, last4_digits: last4 }: Readonly<Record<string, unknown>>) {
  if (typeof last4 !== "string" || !/^[0-9]{4}$/.test(last4)) return undefined;
  const brand = typeof network === "string" && Object.hasOwn(brands, network) ? brands[network] : undefined;
  return { brand: brand ?? "unknown", last4 };
}
