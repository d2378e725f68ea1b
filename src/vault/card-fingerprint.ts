/** Fingerprints of cards: they tell that two payments of one merchant have the same number, and nothing else. */
import type { CardFingerprint } from "../platform/card-token.ts";
import { hmacSha256 } from "../platform/secrets.ts";
import type { VaultEnvironment } from "./vault-config.ts";

// Of the 32 bytes: no two of a merchant's cards share 16 by chance, and a token stays short.
const fingerprintBytes = 16;

/**
 * Returns the fingerprint of a number for the merchant of this profile: by the current key and, during its rotation, by
 * the other one. PCI DSS 3.5.1.1 permits a hash of a number that is keyed.
 */
export function fingerprintOf(
  { environment, fingerprint: ring, countedCards }: VaultEnvironment,
  { profile, number }: { readonly profile: string; readonly number: string },
): CardFingerprint | undefined {
  if (ring === undefined) return undefined;
  const { [ring.current]: current, ...others } = ring.keys;
  const versions = [current!, ...Object.values(others)].map((key) =>
    hmacSha256(key, `card ${environment} ${profile} ${number}`).subarray(0, fingerprintBytes).toString("hex"),
  );
  return { versions, isCounted: countedCards?.has(number) ?? true };
}
