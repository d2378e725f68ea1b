/**
 * Sets up a merchant's wallets: keys in the vault, and what checkouts read of them in the merchant's settings. The vault comes first, so
 * that a repeat of a call that broke off completes it.
 */
import { loadSettings } from "../../accounts/merchant-settings.ts";
import {
  type AppleIdentity,
  loadWallets,
  recordWallets,
  sealIdentity,
  type WalletSetUp,
} from "../../accounts/merchant-wallets.ts";
import type { WalletKey, WalletKeyVault } from "../../card-vault/card-vault.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { isCountry } from "../../platform/countries.ts";
import type { Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId } from "../../platform/ids.ts";
import type { KeyRing } from "../../platform/secrets.ts";
import type { MerchantWallets } from "../../platform/wallets.ts";
import { makeIdentityKey, readIdentityCertificate } from "./apple-identity.ts";

export type WalletParts = {
  readonly merchantId: MerchantId;
  /** Undefined with an external vault. */
  readonly keys: WalletKeyVault | undefined;
  readonly sealing: KeyRing;
  readonly now: Date;
};

/** Payment processing keys of Apple and Google's keys are the vault's; identities are ours. */
export type KeyKind = WalletName | "apple_identity";

export function requireKeys({ keys }: Pick<WalletParts, "keys">): WalletKeyVault {
  if (keys === undefined) {
    throw new DomainError("wallet_not_supported", "Wallets need the vault of this installation, not an external one.");
  }
  return keys;
}

export async function setCountry(tx: Tx, { merchantId }: WalletParts, countryCode: string): Promise<void> {
  if (!isCountry(countryCode)) {
    throw new DomainError("invalid_field", "It must be a country of ISO 3166, such as DE.", { field: "countryCode" });
  }
  const { wallets, setUp } = await loadWallets(tx, merchantId);
  await recordWallets(tx, merchantId, { wallets: { ...wallets, countryCode }, setUp });
}

// A merchant has at most two identities: one in use, and one that waits for its certificate.
const staged = ({ certificate }: AppleIdentity) => certificate === undefined;

/** Makes the key of a merchant's identity at Apple, in place of one that still waits for its certificate. */
export async function createIdentity(
  tx: Tx,
  { merchantId, sealing, now }: WalletParts,
  merchantIdentifier: string,
): Promise<string> {
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{1,254}$/.test(merchantIdentifier)) {
    throw new DomainError("invalid_field", "It must be an Apple merchant identifier, such as merchant.com.example.", {
      field: "recipient",
    });
  }
  const { wallets, setUp } = await loadWallets(tx, merchantId);
  const { id, signingRequest, pem } = await makeIdentityKey(merchantIdentifier);
  const sealed = sealIdentity(sealing, merchantId, pem);
  const made = { id, merchantIdentifier, createdAt: now.toISOString(), signingRequest, sealed };
  const used = (setUp.identities ?? []).filter((one) => !staged(one));
  await recordWallets(tx, merchantId, { wallets, setUp: { ...setUp, identities: [made, ...used] } });
  return id;
}

/** Uses an identity from now on, in place of the one before. */
export async function activateIdentity(
  tx: Tx,
  parts: WalletParts,
  { id, certificate }: { readonly id: string; readonly certificate: Uint8Array },
): Promise<void> {
  const { merchantId, sealing, now } = parts;
  const { wallets, setUp } = await loadWallets(tx, merchantId);
  const found = setUp.identities?.find((one) => one.id === id);
  if (found === undefined) throw new DomainError("not_found", "The merchant has no such key.");
  const issued = readIdentityCertificate(certificate, { identity: found, merchantId, sealing, now });
  const identities = [
    { ...found, ...issued },
    ...(setUp.identities ?? []).filter((one) => one.id !== id && staged(one)),
  ];
  await recordSetUp(tx, parts, { wallets, setUp: { ...setUp, identities } });
}

export async function dropIdentity(tx: Tx, parts: WalletParts, id: string): Promise<void> {
  const { wallets, setUp } = await loadWallets(tx, parts.merchantId);
  const identities = (setUp.identities ?? []).filter((one) => one.id !== id);
  await recordSetUp(tx, parts, { wallets, setUp: { ...setUp, identities } });
}

export async function setDomainFile(tx: Tx, { merchantId }: WalletParts, domainFile: string): Promise<void> {
  const { wallets, setUp } = await loadWallets(tx, merchantId);
  const { domainFile: before, ...others } = setUp;
  // Another file has not been checked anywhere.
  const { domains, ...rest } = wallets;
  const kept = before === domainFile ? wallets : rest;
  await recordWallets(tx, merchantId, { wallets: kept, setUp: domainFile === "" ? others : { ...others, domainFile } });
}

/**
 * Notes whether a checkout origin serves the domain file `checked`, and returns whether it has passed: if meanwhile another file was
 * stored, or the origin left out, it has not.
 */
export async function noteDomain(
  tx: Tx,
  { merchantId, now }: WalletParts,
  { origin, passed, checked }: { readonly origin: string; readonly passed: boolean; readonly checked: string },
): Promise<boolean> {
  const { wallets, setUp } = await loadWallets(tx, merchantId);
  const { checkoutOrigins } = await loadSettings(tx, merchantId);
  const holds = passed && setUp.domainFile === checked && checkoutOrigins.includes(origin);
  const { [origin]: _, ...others } = wallets.domains ?? {};
  const domains = holds ? { ...others, [origin]: now.toISOString() } : others;
  await recordWallets(tx, merchantId, { wallets: { ...wallets, domains }, setUp });
  return holds;
}

/** Writes the public halves of the vault's keys, except for `without`, into what checkouts read. */
export async function publishKeys(tx: Tx, parts: WalletParts, keys: readonly WalletKey[], without?: string) {
  const { wallets, setUp } = await loadWallets(tx, parts.merchantId);
  const { apple: _apple, google: _google, ...others } = wallets;
  await recordSetUp(tx, parts, { setUp, wallets: { ...others, ...publicHalves(keys, without) } });
}

/** Reports whether checkouts read the public halves of these keys. */
export function arePublished(
  { apple, google }: MerchantWallets,
  keys: readonly WalletKey[],
  without?: string,
): boolean {
  const active = publicHalves(keys, without);
  // By their values: PostgreSQL orders the members of an object otherwise.
  const valuesOf = (of: typeof active) =>
    [of.apple?.merchantIdentifier, of.apple?.endsAt, of.google?.merchantId, of.google?.publicKey].join("\n");
  return valuesOf({ apple, google }) === valuesOf(active);
}

function publicHalves(
  keys: readonly WalletKey[],
  without: string | undefined,
): Pick<MerchantWallets, "apple" | "google"> {
  const active = (name: WalletName) =>
    keys.find(({ id, wallet, state }) => wallet === name && state === "ACTIVE" && id !== without);
  const [apple, google] = [active("apple_pay"), active("google_pay")];
  return {
    ...(apple?.certificateEndsAt && {
      apple: { merchantIdentifier: apple.recipient, endsAt: apple.certificateEndsAt.toISOString() },
    }),
    ...(google && { google: { merchantId: google.recipient, publicKey: google.publicKey } }),
  };
}

async function recordSetUp(
  tx: Tx,
  { merchantId }: WalletParts,
  { wallets, setUp }: { readonly wallets: MerchantWallets; readonly setUp: WalletSetUp },
): Promise<void> {
  const { apple } = wallets;
  const used = setUp.identities?.find((one) => one.merchantIdentifier === apple?.merchantIdentifier && one.endsAt);
  await recordWallets(tx, merchantId, {
    setUp,
    wallets: apple ? { ...wallets, apple: { ...apple, identityEndsAt: used?.endsAt } } : wallets,
  });
}
