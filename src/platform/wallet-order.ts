/** What a payment by a wallet is bound to: the order and its amount. Core and vault compute it alike. */
import { sha256 } from "./secrets.ts";

export type WalletOrder = {
  /** Of `orderHashOf`. */
  readonly hash: string;
  /** In the smallest unit of the currency. */
  readonly amountMinor: number;
  /** ISO 4217, three letters. */
  readonly currency: string;
};

/** Returns the hash of a merchant's order, given by the public id and the order's reference. */
export function orderHashOf(merchantId: string, orderRef: string): string {
  return sha256(`${merchantId}\n${orderRef}`).toString("base64url");
}

/**
 * Returns the bytes that the sheet of Apple Pay is given as `applicationData`, whose hash its token carries. The same order
 * and amount give the same bytes, in every session.
 */
export function bindingOf({ hash, amountMinor, currency }: WalletOrder): Buffer {
  return Buffer.from(`${hash} ${amountMinor} ${currency}`);
}
