/** Challenges for passkeys: random, for one purpose of one requester, valid once and for minutes. Stored as a hash. */

import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { SignInId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { type KeyRing, sha256 } from "../platform/secrets.ts";
import { keyedHash } from "./sign-in-throttle.ts";

/**
 * Lifetime of a passkey challenge: enough to find a telephone and its cable
 * (https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range).
 */
export const challengeLifetimeMs = 5 * 60_000;
// Unanswered challenges of one address or one sign-in within that time: an office that begins and gives up.
const challengesMax = 30;

// Twice the length that the specification requires (https://www.w3.org/TR/webauthn-3/#sctn-cryptographic-challenges).
const challengeBytes = 32;

/** The purpose of a challenge; for a signed-in member, with their sign-in. */
export type ChallengePurpose =
  | { readonly purpose: "SIGN_IN"; readonly address: string }
  | { readonly purpose: "REGISTER" | "PROVE"; readonly signInId: SignInId };

export type ChallengeContext = {
  readonly accounts: Queryable;
  readonly runtime: Pick<Runtime, "randomBytes">;
  readonly sealing: KeyRing;
};

const insert: Statement = {
  name: "insert_passkey_challenge",
  text: `INSERT INTO passkey_challenge (hash, purpose, sign_in_id, asker, expires_at)
         SELECT $1, $2, $3, $4, clock_timestamp() + $5 * interval '1 millisecond'
         WHERE (SELECT count(*) FROM passkey_challenge WHERE asker = $4 AND expires_at > clock_timestamp()) < $6
         RETURNING 1`,
};

/** Creates a challenge in base64url. Throws `rate_limited` if the requester has too many unanswered ones. */
export async function offerChallenge(
  { accounts, runtime, sealing }: ChallengeContext,
  about: ChallengePurpose,
): Promise<string> {
  const challenge = Buffer.from(runtime.randomBytes(challengeBytes)).toString("base64url");
  const signInId = about.purpose === "SIGN_IN" ? null : about.signInId;
  const asker = about.purpose === "SIGN_IN" ? `address ${about.address}` : `sign-in ${about.signInId}`;
  const values = [sha256(challenge), about.purpose, signInId, keyedHash(sealing, asker)];
  const kept = await accounts.query(insert, [...values, challengeLifetimeMs, challengesMax]);
  if (kept.length > 0) return challenge;
  throw new DomainError("rate_limited", "Too many passkeys were requested. Wait a few minutes, then try again.", {
    retryAfterMs: challengeLifetimeMs,
  });
}

const take: Statement = {
  name: "take_passkey_challenge",
  text: `DELETE FROM passkey_challenge WHERE hash = $1 AND purpose = $2 AND sign_in_id IS NOT DISTINCT FROM $3::uuid
         AND expires_at > clock_timestamp() RETURNING 1`,
};

/** Consumes a challenge before its answer is trusted; false if it is unknown, used, another's or too old. */
export async function takeChallenge(
  accounts: Queryable,
  challenge: string,
  about: { readonly purpose: ChallengePurpose["purpose"]; readonly signInId?: SignInId },
): Promise<boolean> {
  return (await accounts.query(take, [sha256(challenge), about.purpose, about.signInId ?? null])).length > 0;
}
