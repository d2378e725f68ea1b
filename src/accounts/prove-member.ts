/** Proves by password and code who a member is: the same answer, in the same time, for everything that is not right. */
import type { Database } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { Secret } from "../platform/secrets.ts";
import { findMemberByEmail, type Member, type MemberProofs, normalizeEmail } from "./members.ts";
import { verifyPassword } from "./passwords.ts";
import { countTry, forgiveAddress, forgiveTry } from "./sign-in-throttle.ts";
import { stepOfCode, type TotpContext, useCode } from "./totp.ts";

/** What proofs are checked with. */
export type ProofContext = TotpContext & { readonly accounts: Database };

/** What somebody says who wants to be a member. */
export type Claim = {
  readonly email: string;
  readonly password: Secret;
  /** Of an authenticator app; empty when there is none yet. */
  readonly code: string;
  readonly address: string;
};

/** Who it is, or that an app's code is needed too. */
export type Proof = { readonly member: Member } | "code_needed";

/**
 * Throws `invalid_sign_in` for what is wrong, without saying which part, and `rate_limited` after many failures.
 * That a code is needed is told only with the right password; until the code came, the try counts as one of the account's failures.
 */
export async function proveMember(context: ProofContext, claim: Claim): Promise<Proof> {
  const { accounts } = context;
  const email = normalizeEmail(claim.email) ?? "";
  const attempt = { email, address: claim.address };
  await countTry(accounts, attempt);
  const member = await findMemberByEmail(accounts, email);
  const isRight = await verifyPassword(claim.password, member?.passwordHash);
  if (!isRight || member === undefined) throw refused();
  if (member.totpSealed !== null) {
    if (claim.code === "") {
      await forgiveAddress(accounts, claim.address);
      return "code_needed";
    }
    await requireCode(context, member, claim.code);
  }
  await forgiveTry(accounts, attempt);
  const { id, name } = member;
  return { member: { id, email, name } };
}

async function requireCode(context: ProofContext, member: MemberProofs, code: string): Promise<void> {
  const step = stepOfCode(context, { memberId: member.id, sealed: member.totpSealed!, code });
  if (step === undefined || !(await useCode(context.accounts, member.id, step))) throw refused();
}

function refused(): DomainError {
  return new DomainError("invalid_sign_in", "The address, the password or the code is not right.");
}
