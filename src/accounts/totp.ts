/** One-time codes of an authenticator app (RFC 6238), with the settings that every app knows. Each works once. */
import { Secret as OtpSecret, TOTP } from "otpauth";
import type { Queryable, Statement } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";

/** What codes are checked with. */
export type TotpContext = { readonly sealing: KeyRing; readonly entropy: Pick<Entropy, "now" | "randomBytes"> };

// RFC 4226, section 4: 160 bits are recommended.
const secretBytes = 20;
const periodSeconds = 30;
// A code before and after the current one: for clocks that differ, and for people who type slowly.
const windowSteps = 1;

/** Where a member's secret is sealed for. */
export const placeOf = (memberId: string) => `member/${memberId}/totp`;

/** A new secret as an app reads it, and as it is kept until a code has confirmed it. */
export function offerTotp(
  { sealing, entropy }: TotpContext,
  { memberId, email, issuer }: { memberId: string; email: string; issuer: string },
): { uri: Secret; text: Secret; sealed: string } {
  const secret = new OtpSecret({ buffer: Uint8Array.from(entropy.randomBytes(secretBytes)).buffer });
  const uri = new TOTP({ issuer, label: email, secret, period: periodSeconds }).toString();
  return {
    uri: new Secret(uri),
    text: new Secret(secret.base32),
    sealed: seal(sealing, placeOf(memberId), secret.base32),
  };
}

/** The time step of a right code; undefined for a wrong one. */
export function stepOfCode(
  { sealing, entropy }: TotpContext,
  { memberId, sealed, code }: { memberId: string; sealed: string; code: string },
): number | undefined {
  const secret = OtpSecret.fromBase32(unseal(sealing, placeOf(memberId), sealed).expose());
  const timestamp = entropy.now().getTime();
  const totp = new TOTP({ secret, period: periodSeconds });
  const delta = totp.validate({ token: code.replace(/\s/g, ""), window: windowSteps, timestamp });
  return delta === null ? undefined : TOTP.counter({ period: periodSeconds, timestamp }) + delta;
}

const useStep: Statement = {
  name: "use_totp_step",
  text: "UPDATE member SET totp_last_step = $2 WHERE id = $1 AND totp_last_step < $2 RETURNING id",
};

/** Uses a step's code up; false when it, or a later one, was used before. */
export async function useCode(queryable: Queryable, memberId: string, step: number): Promise<boolean> {
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
         WHERE id = $1 AND totp_offered = $2 RETURNING id`,
};
const removeSecret: Statement = {
  name: "remove_totp",
  text: "UPDATE member SET totp_sealed = NULL, totp_last_step = NULL, totp_offered = NULL WHERE id = $1",
};

/** Keeps an offer until its first code, in place of any earlier one. */
export async function keepTotpOffer(queryable: Queryable, memberId: string, sealed: string): Promise<void> {
  await queryable.query(keepOffer, [memberId, sealed]);
}

/** Asks for codes from now on, if this is a code of the offer; false when it is not, or when there is no offer. */
export async function confirmTotp(
  context: TotpContext & { readonly accounts: Queryable },
  { memberId, code }: { memberId: string; code: string },
): Promise<boolean> {
  const [offer] = await context.accounts.query<{ sealed: string }>(selectOffer, [memberId]);
  const step = offer && stepOfCode(context, { memberId, sealed: offer.sealed, code });
  if (offer === undefined || step === undefined) return false;
  return (await context.accounts.query(takeOffer, [memberId, offer.sealed, step])).length > 0;
}

/** Asks for no codes any more. */
export async function removeTotp(queryable: Queryable, memberId: string): Promise<void> {
  await queryable.query(removeSecret, [memberId]);
}
