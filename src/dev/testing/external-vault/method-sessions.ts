/** The emulator's sessions: opened by a server, confirmed by the script in a page, read by a server. */
import type { VaultEmulatorOptions } from "./orders.ts";
import type { MethodSession, PaymentMethod, StoredCards } from "./stored-cards.ts";
import { type Json, refusal, type VaultAnswer } from "./vault-answer.ts";

/** POST /v1/payment-method-sessions. */
export function openSession(cards: StoredCards, account: VaultEmulatorOptions, body: Json): VaultAnswer {
  const { storage_type: storageType, expires_in: expiresIn = 900, customer_id: customerId = null } = body;
  if (storageType !== "volatile" && storageType !== "persistent") {
    return refusal(400, "IR_06", "Json deserialize error: missing field `storage_type`");
  }
  const expiresInS = Number.isInteger(expiresIn) ? Number(expiresIn) : 0;
  if (expiresInS < 1) return refusal(400, "IR_06", "Json deserialize error: expires_in");
  if (storageType === "persistent" && typeof customerId !== "string") {
    return refusal(400, "IR_04", "Missing required param: customer_id");
  }
  const session = cards.open({
    storageType,
    expiresInS,
    customerId: typeof customerId === "string" ? customerId : null,
  });
  return { status: 200, body: { ...describe(session), sdk_authorization: authorizationOf(session, account) } };
}

function describe(session: MethodSession): Json {
  const { id, expiresAt, clientSecret, storageType, customerId } = session;
  return {
    id,
    expires_at: expiresAt.toISOString(),
    client_secret: clientSecret,
    storage_type: storageType,
    customer_id: customerId,
  };
}

/** base64 of `key=value` pairs (https://github.com/juspay/hyperswitch, SdkAuthorization::encode, 2026). */
function authorizationOf({ id, clientSecret }: MethodSession, account: VaultEmulatorOptions): string {
  const pairs = [
    `profile_id=${account.profileId}`,
    `publishable_key=${account.publishableKey}`,
    `client_secret=${clientSecret}`,
    `payment_method_session_id=${id}`,
  ];
  return Buffer.from(pairs.join(",")).toString("base64");
}

/** POST /v1/payment-method-sessions/{id}/confirm, by the grant alone. */
export function confirmSession(
  cards: StoredCards,
  call: { id: string; authorization: string; body: Json },
): VaultAnswer {
  const claims = Buffer.from(call.authorization, "base64").toString("utf8").split(",");
  const [, clientSecret = ""] = claims.find((claim) => claim.startsWith("client_secret="))?.split("=") ?? [];
  const session = cards.findSession(call.id, clientSecret);
  if (session === undefined) return refusal(401, "IR_01", "The session could not be authorized");
  if (session.expiresAt.getTime() <= Date.now()) return refusal(400, "IR_24", "The session has expired");
  const { card_cvc: cvc, ...card } = (call.body.payment_method_data as { card?: Json } | undefined)?.card ?? {};
  const { card_number: number, card_exp_month: month, card_exp_year: year, card_holder_name: holder } = card;
  const isWhole = /^\d{12,19}$/.test(String(number)) && /^\d{2}$/.test(String(month)) && /^\d{4}$/.test(String(year));
  if (!isWhole || !/^\d{3,4}$/.test(String(cvc))) return refusal(400, "IR_06", "Json deserialize error: card");
  const stored = {
    card_number: String(number),
    card_exp_month: String(month),
    card_exp_year: String(year),
    card_holder_name: typeof holder === "string" && holder !== "" ? holder : null,
    card_network: networkOf(String(number)),
  };
  const method = cards.confirm(session, stored, String(cvc));
  return {
    status: 200,
    body: { ...describe(session), ...associated([method]), payment_method_data: { card: shown(method) } },
  };
}

/** GET /v1/payment-method-sessions/{id}. */
export function readSession(cards: StoredCards, id: string): VaultAnswer {
  const found = cards.readSession(id);
  if (found === undefined) return refusal(404, "HE_02", "Payment method session does not exist in our records");
  if (found.session.expiresAt.getTime() <= Date.now()) return refusal(400, "IR_24", "The session has expired");
  return { status: 200, body: { ...describe(found.session), ...associated(found.methods) } };
}

function associated(methods: readonly PaymentMethod[]): Json {
  return {
    associated_payment_methods: methods.map(({ token }) => ({
      payment_method_token: { type: "payment_method_session_token", data: token },
      payment_method_type: "card",
    })),
  };
}

/** GET /v1/payment-methods/{id}. Never returns raw card data here. */
export function readMethod(cards: StoredCards, idOrToken: string): VaultAnswer {
  const method = cards.find(idOrToken);
  if (method === undefined) return refusal(404, "HE_02", "Payment method does not exist in our records");
  return {
    status: 200,
    body: {
      id: method.id,
      merchant_id: "merchant_1",
      customer_id: method.session.customerId,
      payment_method_type: "card",
      storage_type: method.session.storageType,
      payment_method_data: { card: shown(method) },
      card_cvc_token_storage: { is_stored: method.cvc !== undefined },
    },
  };
}

function shown({ card }: PaymentMethod): Json {
  return {
    saved_to_locker: true,
    last4_digits: card.card_number.slice(-4),
    card_isin: card.card_number.slice(0, 6),
    expiry_month: card.card_exp_month,
    expiry_year: card.card_exp_year,
    card_holder_name: card.card_holder_name,
    card_network: card.card_network,
  };
}

function networkOf(number: string): string {
  return number.startsWith("4") ? "Visa" : "Mastercard";
}
