/**
 * The wallets that a checkout offers, and the order that a wallet's payment is bound to, which core and vault compute
 * alike.
 */
import type { WalletName } from "./card-token.ts";
import { sha256 } from "./secrets.ts";

/** `merchant_settings.wallets`: the public halves of what the vault decrypts with. The dashboard is its one writer. */
export type MerchantWallets = {
  /** The merchant's country, two letters by ISO 3166. */
  readonly countryCode?: string | undefined;
  readonly apple?:
    | {
        readonly merchantIdentifier: string;
        /** The time at which the first of its certificates ends. */
        readonly endsAt: string;
        /** The end of the certificate by which Apple knows the merchant; absent until there is one. */
        readonly identityEndsAt?: string | undefined;
      }
    | undefined;
  readonly google?:
    | {
        readonly merchantId: string;
        /** The uncompressed point in base64. */
        readonly publicKey: string;
      }
    | undefined;
  /** The checkout origins that serve the domain file of Apple Pay, with the time of the last check that passed. */
  readonly domains?: Readonly<Record<string, string>> | undefined;
};

/** Returns the wallets that a merchant has set up, and whose certificates are valid. */
export function walletsInUse(wallets: MerchantWallets | null | undefined, now: Date): WalletName[] {
  if (wallets?.countryCode === undefined) return [];
  const { apple, google } = wallets;
  const isApple = apple && [apple.endsAt, apple.identityEndsAt ?? apple.endsAt].every((end) => new Date(end) > now);
  return [...(isApple ? ["apple_pay" as const] : []), ...(google ? ["google_pay" as const] : [])];
}

export type WalletOrder = {
  /** The result of `orderHashOf`. */
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

/** The checks of a wallet's token, by the names in which the vault logs and counts them. */
export const walletChecks = [
  "form",
  "version",
  "signers",
  "leaf",
  "intermediate",
  "intermediate_expiry",
  "chain",
  "root",
  "signature",
  "signing_time",
  "application_data",
  "key",
  "tag",
  "content",
  "message_expiry",
  "payment_method",
  "auth_method",
] as const;

export type WalletCheck = (typeof walletChecks)[number];

/** The rules that refuse a token that passed its checks. */
export const walletRefusals = [
  "wallet_amount_mismatch",
  "wallet_not_supported",
  "test_card_required",
  "wallet_token_used",
] as const;
