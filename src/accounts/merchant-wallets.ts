/** What a merchant's checkouts offer of Apple Pay and Google Pay in one environment, and the rest of their set-up. */

import type { WalletName } from "../platform/card-token.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import { type KeyRing, type Secret, seal, unseal } from "../platform/secrets.ts";

/** `merchant_settings.wallets`: the public halves of what the vault decrypts with. The dashboard is its one writer. */
export type MerchantWallets = {
  /** ISO 3166, two letters: where the merchant is. */
  readonly countryCode?: string | undefined;
  readonly apple?:
    | {
        readonly merchantIdentifier: string;
        /** When the first of its certificates ends. */
        readonly endsAt: string;
        /** When the certificate ends by which Apple knows the merchant; absent until there is one. */
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

/** The key with which Apple knows the merchant (TLS client, RSA 2048). */
export type AppleIdentity = {
  readonly id: string;
  readonly merchantIdentifier: string;
  readonly createdAt: string;
  /** In PEM. */
  readonly signingRequest: string;
  readonly sealed: string;
  /** Absent until Apple has issued it. In PEM. */
  readonly certificate?: string | undefined;
  readonly endsAt?: string | undefined;
};

/** `merchant_settings.wallet_set_up`, which no checkout reads. */
export type WalletSetUp = {
  readonly domainFile?: string | undefined;
  /** The one in use, which has a certificate, and the one that waits for its. */
  readonly identities?: readonly AppleIdentity[] | undefined;
};

type WalletRow = { readonly wallets: MerchantWallets | null; readonly setUp: WalletSetUp | null };

const selectWallets: Statement = {
  name: "select_merchant_wallets",
  text: `SELECT wallets, wallet_set_up AS "setUp" FROM merchant_settings WHERE merchant_id = $1`,
};
const updateWallets: Statement = {
  name: "update_merchant_wallets",
  text: "UPDATE merchant_settings SET wallets = $2, wallet_set_up = $3 WHERE merchant_id = $1",
};

/** Returns what a merchant has set up; empty for a merchant that is not in this cell. */
export async function loadWallets(
  database: Queryable,
  merchantId: MerchantId,
): Promise<{ readonly wallets: MerchantWallets; readonly setUp: WalletSetUp }> {
  const [row] = await database.query<WalletRow>(selectWallets, [merchantId]);
  return { wallets: row?.wallets ?? {}, setUp: row?.setUp ?? {} };
}

/** Replaces what a merchant has set up, under the lock of its configuration. */
export async function recordWallets(
  tx: Tx,
  merchantId: MerchantId,
  { wallets, setUp }: { readonly wallets: MerchantWallets; readonly setUp: WalletSetUp },
): Promise<void> {
  const values = [wallets, setUp].map((value) => (JSON.stringify(value) === "{}" ? null : JSON.stringify(value)));
  await tx.query(updateWallets, [merchantId, ...values]);
}

/** Returns the wallets that a merchant has set up, and whose certificates are valid. */
export function walletsInUse(wallets: MerchantWallets | null | undefined, now: Date): WalletName[] {
  if (wallets?.countryCode === undefined) return [];
  const { apple, google } = wallets;
  const isApple = apple && [apple.endsAt, apple.identityEndsAt ?? apple.endsAt].every((end) => new Date(end) > now);
  return [...(isApple ? ["apple_pay" as const] : []), ...(google ? ["google_pay" as const] : [])];
}

export function sealIdentity(ring: KeyRing, merchantId: MerchantId, pem: string): string {
  return seal(ring, identityPlaceOf(merchantId), pem);
}

export function unsealIdentity(ring: KeyRing, merchantId: MerchantId, { sealed }: AppleIdentity): Secret {
  return unseal(ring, identityPlaceOf(merchantId), sealed);
}

/** Returns the associated data of a sealed identity. */
export function identityPlaceOf(merchantId: string): string {
  return `merchant_settings.wallet_set_up/${merchantId}`;
}

const lockSealed: Statement = {
  name: "lock_sealed_wallet_identities",
  text: `SELECT merchant_id AS "merchantId", wallets, wallet_set_up AS "setUp" FROM merchant_settings
    WHERE wallet_set_up @? '$.identities[*]' ORDER BY merchant_id FOR UPDATE`,
};

/** Seals merchants' identities at Apple again with the ring's current key, and returns their number. */
export async function resealIdentities(tx: Tx, ring: KeyRing): Promise<number> {
  const isOld = ({ sealed }: AppleIdentity) => !sealed.startsWith(`${ring.current}.`);
  let resealed = 0;
  for (const { merchantId, wallets, setUp } of await tx.query<WalletRow & { merchantId: MerchantId }>(lockSealed, [])) {
    const identities = setUp?.identities ?? [];
    if (!identities.some(isOld)) continue;
    resealed += identities.filter(isOld).length;
    const anew = identities.map((one) => ({
      ...one,
      sealed: sealIdentity(ring, merchantId, unsealIdentity(ring, merchantId, one).expose()),
    }));
    await recordWallets(tx, merchantId, { wallets: wallets ?? {}, setUp: { ...setUp, identities: anew } });
  }
  return resealed;
}
