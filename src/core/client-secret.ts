/**
 * The widget's credential for one session. It is derived from the session id, so it is not stored and a repeated
 * request gets the same one.
 */
import { decodeId, encodeId, type SessionId } from "../platform/ids.ts";
import { equalInConstantTime, hmacSha256, Secret } from "../platform/secrets.ts";

/**
 * HMAC keys by version. `letter`, `t` or `l`, opens the version tag and names the environment that the edge has to ask.
 */
export type ClientSecretKeys = {
  readonly letter: "t" | "l";
  readonly current: number;
  readonly keys: ReadonlyMap<number, Uint8Array>;
};

const pattern = /^(ps_[0-9a-z]{26})_secret_([tl])([1-9][0-9]{0,8})_([0-9A-Za-z_-]{43})$/;

/** Derives the client secret: `ps_…_secret_t1_` and the HMAC-SHA-256 of the session id under that key version. */
export function deriveClientSecret(keys: ClientSecretKeys, sessionId: SessionId, version: number): Secret {
  const publicId = encodeId("ps", sessionId);
  const key = keys.keys.get(version);
  if (key === undefined) throw new Error(`client-secret key version ${version} is not configured`);
  return new Secret(`${publicId}_secret_${keys.letter}${version}_${hmacSha256(key, publicId).toString("base64url")}`);
}

/**
 * Returns the letter of the environment that a client secret claims, or undefined when it is not a client secret. It
 * verifies nothing.
 */
export function letterOf(clientSecret: string): "t" | "l" | undefined {
  return pattern.exec(clientSecret)?.[2] as "t" | "l" | undefined;
}

/** Returns the id of the session that a client secret opens, or undefined when we did not derive it. */
export function verifyClientSecret(keys: ClientSecretKeys, clientSecret: string): SessionId | undefined {
  const match = pattern.exec(clientSecret);
  const sessionId = decodeId("ps", match?.[1] ?? "");
  const version = Number(match?.[3]);
  if (sessionId === undefined || match?.[2] !== keys.letter || !keys.keys.has(version)) return undefined;
  const expected = Buffer.from(deriveClientSecret(keys, sessionId, version).expose());
  return equalInConstantTime(expected, Buffer.from(clientSecret)) ? sessionId : undefined;
}
