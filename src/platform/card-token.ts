/**
 * Card tokens: random, with sealed facts by which a holder of their key proves without the vault that a token was made
 * for a session. The page that passes a token on cannot read them.
 */
import { randomBytes } from "node:crypto";
import { type KeyRing, seal, unseal } from "./secrets.ts";
import type { EnvironmentName } from "./signed-claims.ts";

export type CardTokenPlace = { readonly environment: EnvironmentName; readonly sessionId: string };

/**
 * A number under a key that only the vault has: equal for two payments of one merchant with the same number. By each
 * version of the key, hexadecimal.
 */
export type CardFingerprint = {
  readonly versions: readonly string[];
  /** False for a test card that can be used without end. */
  readonly isCounted: boolean;
};

/** The content of a token: the end of its card, the beginning of its number, by which payments are routed, and its fingerprint. */
export type CardTokenFacts = {
  readonly expiresAt: Date;
  readonly brand: string;
  readonly firstDigits: string;
  readonly fingerprint?: CardFingerprint | undefined;
  /** True of a stored card whose security code has to be typed first: the token does not prove that it can be used. */
  readonly needsCode?: boolean | undefined;
  /** The wallet that gave the card, if one did. */
  readonly wallet?: TokenWallet | undefined;
};

export type WalletName = "apple_pay" | "google_pay";

/**
 * The kind of a wallet's credential: `PAN` is a card without a security code, `NETWORK_TOKEN` a device's number with a
 * cryptogram that a network accepts once.
 */
export type WalletCredential = "PAN" | "NETWORK_TOKEN";

export type TokenWallet = { readonly name: WalletName; readonly credential: WalletCredential };

/** A wallet's part of a request. Its name is unknown until the vault has answered. */
export type WalletOfRequest = { readonly credential: WalletCredential; readonly name?: WalletName | undefined };

/** Reports whether the vault sends a device's number with its cryptogram, not a card. */
export function isNetworkToken({ wallet }: { readonly wallet?: WalletOfRequest | undefined }): boolean {
  return wallet?.credential === "NETWORK_TOKEN";
}

const cardPrefix = "tok_";
const walletPrefixes: Readonly<Record<WalletCredential, string>> = { PAN: "wpn_", NETWORK_TOKEN: "wnt_" };

/**
 * Returns the kind of a wallet's token, by its prefix; undefined for a card's token. The vault does not know a token
 * with another prefix.
 */
export function credentialOf(token: string): WalletCredential | undefined {
  if (token.startsWith(walletPrefixes.PAN)) return "PAN";
  return token.startsWith(walletPrefixes.NETWORK_TOKEN) ? "NETWORK_TOKEN" : undefined;
}

function prefixOf(credential: WalletCredential | undefined): string {
  return credential === undefined ? cardPrefix : walletPrefixes[credential];
}

// 192 random bits cannot be guessed, also by who has the key of the facts.
const randomTokenBytes = 24;

/** Returns a new token; without a ring it says nothing, and only the vault knows it. */
export function makeCardToken(ring: KeyRing | undefined, place: CardTokenPlace, facts: CardTokenFacts): string {
  const random = randomBytes(randomTokenBytes).toString("base64url");
  const prefix = prefixOf(facts.wallet?.credential);
  if (ring === undefined) return prefix + random;
  const { versions = [], isCounted } = facts.fingerprint ?? {};
  const fingerprint = versions.map((version) => Buffer.from(version, "hex").toString("base64url")).join(",");
  const known = [random, facts.expiresAt.getTime(), facts.brand, facts.firstDigits];
  const last = facts.needsCode ? "code" : facts.wallet?.name;
  const ofCard = fingerprint !== "" || last !== undefined ? [fingerprint, Number(isCounted ?? true)] : [];
  const text = [...known, ...ofCard, ...(last === undefined ? [] : [last])].join(" ");
  const sealed = seal(ring, associatedDataOf(place, prefix), text);
  // The key's id is left out: a ring has at most two keys, and no part of a token is clear text.
  return prefix + sealed.slice(sealed.indexOf(".") + 1);
}

/** Returns the facts of a token that was made for this place with a key of the ring, whether or not it has expired. */
export function readCardToken(ring: KeyRing, place: CardTokenPlace, token: string): CardTokenFacts | undefined {
  const credential = credentialOf(token);
  const prefix = prefixOf(credential);
  const sealed = token.slice(prefix.length);
  // The same bytes have other encodings, which the vault does not know.
  if (token !== prefix + Buffer.from(sealed, "base64url").toString("base64url")) return undefined;
  for (const kid of Object.keys(ring.keys)) {
    try {
      const text = unseal(ring, associatedDataOf(place, prefix), `${kid}.${sealed}`).expose();
      const [, expiresAt, brand = "", firstDigits = "", fingerprint, isCounted, last] = text.split(" ");
      const versions = fingerprint
        ? fingerprint.split(",").map((one) => Buffer.from(one, "base64url").toString("hex"))
        : undefined;
      return {
        expiresAt: new Date(Number(expiresAt)),
        brand,
        firstDigits,
        ...(versions && { fingerprint: { versions, isCounted: isCounted === "1" } }),
        ...(credential === undefined
          ? last !== undefined && { needsCode: true }
          : { wallet: { name: last as WalletName, credential } }),
      };
    } catch {
      // The token has another key or place, or was changed.
    }
  }
  return undefined;
}

function associatedDataOf({ environment, sessionId }: CardTokenPlace, prefix: string): string {
  const kind = prefix === cardPrefix ? "" : ` ${prefix}`;
  return `card token ${environment} ${sessionId}${kind}`;
}
