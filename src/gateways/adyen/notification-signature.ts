/** Signs notification items as Adyen does; SANDBOX_B follows it. Pure. */
import { hmacSha256 } from "../../platform/secrets.ts";

/**
 * The signed fields, in this order
 * (https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures, 2026).
 */
export type SignedFields = {
  readonly pspReference: string;
  readonly originalReference: string;
  readonly merchantAccountCode: string;
  readonly merchantReference: string;
  readonly value: number;
  readonly currency: string;
  readonly eventCode: string;
  readonly success: string;
};

/** Returns Base64 of HMAC-SHA-256 over the signed fields joined by colons, under a key of hexadecimal digits. */
export function signNotification(hmacKeyHex: string, fields: SignedFields): string {
  const { pspReference, originalReference, merchantAccountCode, merchantReference } = fields;
  const { value, currency, eventCode, success } = fields;
  const signed = [
    pspReference,
    originalReference,
    merchantAccountCode,
    merchantReference,
    value,
    currency,
    eventCode,
    success,
  ];
  return hmacSha256(Buffer.from(hmacKeyHex, "hex"), signed.join(":")).toString("base64");
}
