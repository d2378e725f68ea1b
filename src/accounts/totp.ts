/** One-time codes of an authenticator app (RFC 6238), with the settings that every app supports. Each works once. */

import { Secret as OtpSecret, TOTP } from "otpauth";
import type { Queryable, Statement } from "../platform/database.ts";
import type { MemberId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";

export type TotpContext = { readonly sealing: KeyRing; readonly runtime: Pick<Runtime, "now" | "randomBytes"> };

// RFC 4226, section 4: 160 bits are recommended.
const secretBytes = 20;
const periodSeconds = 30;
// The codes before and after the current one are accepted, for clocks that differ and for people who type slowly.
const windowSteps = 1;

export const associatedDataOf = (memberId: MemberId) => `member/${memberId}/totp`;

/** Creates a secret in the app's format, and sealed for storage until a code has confirmed it. */
export function offerTotp(
  { sealing, runtime }: TotpContext,
  { memberId, email, issuer }: { memberId: MemberId; email: string; issuer: string },
): { uri: Secret; text: Secret; sealed: string } {
  const secret = new OtpSecret({ buffer: Uint8Array.from(runtime.randomBytes(secretBytes)).buffer });
  const uri = new TOTP({ issuer, label: email, secret, period: periodSeconds }).toString();
  return {
    uri: new Secret(uri),
    text: new Secret(secret.base32),
    sealed: seal(sealing, associatedDataOf(memberId), secret.base32),
  };
}

/** Returns the time step of a right code; undefined for a wrong one. */
export function stepOfCode(
  { sealing, runtime }: TotpContext,
  { memberId, sealed, code }: { memberId: MemberId; sealed: string; code: string },
): number | undefined {
  const secret = OtpSecret.fromBase32(unseal(sealing, associatedDataOf(memberId), sealed).expose());
  const timestamp = runtime.now().getTime();
  const totp = new TOTP({ secret, period: periodSeconds });
  const delta = totp.validate({ token: code.replace(/\s/g, ""), window: windowSteps, timestamp });
  return delta === null ? undefined : TOTP.counter({ period: periodSeconds, timestamp }) + delta;
}

const useStep: Statement = {
  name: "use_totp_step",
  text: "UPDATE member SET totp_last_step = $2 WHERE id = $1 AND totp_last_step < $2 RETURNING id",
};

/** Consumes a step's code; false if it, or a later one, was used before. */
export async function useCode(queryable: Queryable, memberId: MemberId, step: number): Promise<boolean> {
  return (await queryable.query(useStep, [memberId, step])).length > 0;
}

const keepOffer: Statement = { name: "keep_totp_offer", text: "UPDATE member SET totp_offered = $2 WHERE id = $1" };
const selectOffer: Statement = {
  name: "select_totp_offer",
  text: `SELECT totp_offered AS "sealed" FROM member WHERE id = $1 AND totp_offered IS NOT NULL`,
};
const takeOffer: Statement = {
  name: "take_totp_offer",
  text: `UPDATE member SET totp_sealed = totp_offered, totp_offered = NULL, totp_last_step = $3, proof_version = proof_version + 1
         WHERE id = $1 AND totp_offered = $2 RETURNING proof_version AS "proofVersion"`,
};
const removeSecret: Statement = {
  name: "remove_totp",
  text: "UPDATE member SET totp_sealed = NULL, totp_last_step = NULL, totp_offered = NULL WHERE id = $1",
};

/** Stores an offer until its first code and replaces any earlier one. */
export async function keepTotpOffer(queryable: Queryable, memberId: MemberId, sealed: string): Promise<void> {
  await queryable.query(keepOffer, [memberId, sealed]);
}

/**
 * Requires codes from now on, if this is a code of the offer, and returns the new version of proofs; undefined if it is
 * not, or if there is no offer.
 */
export async function confirmTotp(
  context: TotpContext & { readonly accounts: Queryable },
  { memberId, code }: { memberId: MemberId; code: string },
): Promise<number | undefined> {
  const [offer] = await context.accounts.query<{ sealed: string }>(selectOffer, [memberId]);
  const step = offer && stepOfCode(context, { memberId, sealed: offer.sealed, code });
  if (offer === undefined || step === undefined) return undefined;
  const [confirmed] = await context.accounts.query<{ proofVersion: number }>(takeOffer, [memberId, offer.sealed, step]);
  return confirmed?.proofVersion;
}

export async function removeTotp(queryable: Queryable, memberId: MemberId): Promise<void> {
  await queryable.query(removeSecret, [memberId]);
}
