/**
 * Reads notification items as Adyen sends them, and SANDBOX_B like it: every item's signature is checked before anything
 * else in it is trusted.
 */
import { isObject, parseJsonObject } from "../../platform/outbound-http.ts";
import { equalInConstantTime } from "../../platform/secrets.ts";
import type { RawNotification } from "../connector.ts";
import type { Json } from "./judge-decline.ts";
import { type SignedFields, signNotification } from "./notification-signature.ts";

// JSON notifications hold one item, those of other formats up to six: https://docs.adyen.com/development-resources/webhooks (2026).
const itemsMax = 6;

/** Returns the items of a request body, or why it is refused: nothing in it counts unless every item is signed. */
export function readSignedItems(
  hmacKey: string,
  { body }: RawNotification,
  environment: "test" | "live",
): { readonly fields: SignedFields; readonly item: Json }[] | { readonly type: "refused"; readonly reason: string } {
  const refused = (reason: string) => ({ type: "refused" as const, reason });
  if (!/^[0-9A-Fa-f]{64}$/.test(hmacKey)) return refused("this connection has no notification HMAC key");
  const json = parseJsonObject(body);
  const wrapped = json?.notificationItems;
  if (!Array.isArray(wrapped) || wrapped.length === 0 || wrapped.length > itemsMax)
    return refused("not a notification");
  if (String(json?.live) !== String(environment === "live")) return refused("a notification of the other environment");
  const items: { readonly fields: SignedFields; readonly item: Json }[] = [];
  for (const wrapper of wrapped) {
    const item = isObject(wrapper) ? wrapper.NotificationRequestItem : undefined;
    const fields = isObject(item) ? signedFieldsOf(item) : undefined;
    if (!isObject(item) || fields === undefined) return refused("an item lacks a signed field");
    const given = additionalDataOf(item).hmacSignature;
    const isSigned =
      typeof given === "string" &&
      equalInConstantTime(Buffer.from(given), Buffer.from(signNotification(hmacKey, fields)));
    if (!isSigned) return refused("an item is not signed with this connection's key");
    items.push({ fields, item });
  }
  return items;
}

export function additionalDataOf({ additionalData }: Json): Json {
  return isObject(additionalData) ? additionalData : {};
}

/**
 * Returns the signed fields of an item. An absent or null field is signed as if it were empty:
 * https://github.com/Adyen/adyen-node-api-library, hmacValidator (2026). Reports and other items about no payment come
 * without a merchant's reference.
 */
function signedFieldsOf(item: Json): SignedFields | undefined {
  const { pspReference, merchantAccountCode, amount, eventCode, success } = item;
  const [originalReference, merchantReference] = [item.originalReference ?? "", item.merchantReference ?? ""];
  if (!isObject(amount)) return undefined;
  const { value, currency } = amount;
  if (typeof value !== "number" || typeof currency !== "string") return undefined;
  if (typeof pspReference !== "string" || typeof originalReference !== "string") return undefined;
  if (typeof merchantAccountCode !== "string" || typeof merchantReference !== "string") return undefined;
  if (typeof eventCode !== "string" || typeof success !== "string") return undefined;
  return {
    pspReference,
    originalReference,
    merchantAccountCode,
    merchantReference,
    value,
    currency,
    eventCode,
    success,
  };
}
