/** The secret part of a link's address. It derives from the link's id and version, and is stored nowhere. */
import { decodeId, encodeId, type RecoveryLinkId } from "../../../platform/ids.ts";
import { deriveKey, equalInConstantTime, hmacSha256, Secret } from "../../../platform/secrets.ts";
import type { ClientSecretKeys } from "../../client-secret.ts";

/** The link that an address opens, and the version that the link had then. */
export type LinkNamed = { readonly linkId: RecoveryLinkId; readonly version: number };

const pattern = /^(rl_[0-9a-z]{26})_([tl])([1-9][0-9]{0,8})_([1-9][0-9]{0,8})_([0-9A-Za-z_-]{43})$/;

/** Returns `rl_…_t1_1_` and an HMAC-SHA-256: environment and version of the key, version of the link. */
export function deriveLinkToken({ letter, current, keys }: ClientSecretKeys, named: LinkNamed): Secret {
  const key = keys.get(current);
  if (key === undefined) throw new Error(`client-secret key version ${current} is not configured`);
  const name = `${encodeId("rl", named.linkId)}_${letter}${current}_${named.version}`;
  return new Secret(`${name}_${macOf(key, name)}`);
}

/** Returns the letter of the environment that a token claims; undefined for another text. It verifies nothing. */
export function letterOfLink(token: string): "t" | "l" | undefined {
  return pattern.exec(token)?.[2] as "t" | "l" | undefined;
}

/** Returns the link that a token opens; undefined if it was not derived with a key of these. */
export function verifyLinkToken({ letter, keys }: ClientSecretKeys, token: string): LinkNamed | undefined {
  const [, publicId = "", claimed, keyVersion, version, mac = ""] = pattern.exec(token) ?? [];
  const linkId = decodeId("rl", publicId);
  const key = keys.get(Number(keyVersion));
  if (linkId === undefined || key === undefined || claimed !== letter) return undefined;
  const expected = Buffer.from(macOf(key, token.slice(0, -mac.length - 1)));
  return equalInConstantTime(expected, Buffer.from(mac)) ? { linkId, version: Number(version) } : undefined;
}

function macOf(key: Uint8Array, name: string): string {
  return hmacSha256(deriveKey(key, "recovery links"), name).toString("base64url");
}
