/** Stores merchants' set-up of Apple Pay and Google Pay in one environment. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import { type KeyRing, type Secret, seal, unseal } from "../platform/secrets.ts";
import type { MerchantWallets } from "../platform/wallets.ts";

/** The key with which Apple knows the merchant (TLS client, RSA 2048). */
export type AppleIdentity = {
  readonly id: string;
  readonly merchantIdentifier: string;
  readonly createdAt: string;
  /** The request in PEM. */
  readonly signingRequest: string;
  readonly sealed: string;
  /** Absent until Apple has issued it. In PEM. */
  readonly certificate?: string | undefined;
  readonly endsAt?: string | undefined;
};

/** `merchant_settings.wallet_set_up`, which no checkout reads. */
export type WalletSetUp = {
  readonly domainFile?: string | undefined;
  /** The identity in use, which has a certificate, and the one that waits for its certificate. */
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

/** Returns a merchant's wallet settings; empty for a merchant that is not in this cell. */
export async function loadWallets(
  database: Queryable,
  merchantId: MerchantId,
): Promise<{ readonly wallets: MerchantWallets; readonly setUp: WalletSetUp }> {
  const [row] = await database.query<WalletRow>(selectWallets, [merchantId]);
  return { wallets: row?.wallets ?? {}, setUp: row?.setUp ?? {} };
}

/** Replaces a merchant's wallet settings, under the lock of its configuration. */
export async function recordWallets(
  tx: Tx,
  merchantId: MerchantId,
  { wallets, setUp }: { readonly wallets: MerchantWallets; readonly setUp: WalletSetUp },
): Promise<void> {
  const values = [wallets, setUp].map((value) => (JSON.stringify(value) === "{}" ? null : JSON.stringify(value)));
  await tx.query(updateWallets, [merchantId, ...values]);
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
