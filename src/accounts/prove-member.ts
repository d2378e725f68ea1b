/** Proves by password and code who a member is: the same answer, in the same time, for everything that is not right. */
import type { Database } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { recordMemberAudit } from "./audit-trail.ts";
import type { Hasher } from "./hash-queue.ts";
import { findMemberByEmail, type Member, type MemberProofs, normalizeEmail } from "./members.ts";
import { requireHashingRoom, verifyPassword } from "./passwords.ts";
import {
  countTry,
  forgetTries,
  isStep,
  keyedHash,
  type Throttled,
  takeTryBack,
  throttledAccount,
  throttledAddress,
  throttledProofs,
} from "./sign-in-throttle.ts";
import { stepOfCode, type TotpContext, useCode } from "./totp.ts";

/** What proofs are checked with. */
export type ProofContext = TotpContext & { readonly accounts: Database; readonly entropy: Pick<Entropy, "uuid"> };

/** What somebody says who wants to be a member. */
export type Claim = {
  readonly email: string;
  readonly password: Secret;
  /** Of an authenticator app; empty when there is none yet. */
  readonly code: string;
  readonly address: string;
  readonly requestId: string;
};

/** Who it is, as they were when it was checked. */
export type Proved = { readonly member: Member; readonly proofVersion: number };

/** Who it is, or that an app's code is needed too. */
export type Proof = Proved | "code_needed";

/**
 * Throws `invalid_sign_in` for what is wrong, without saying which part, and `rate_limited` after many failures.
 * That a code is needed is told only with the right password; until the code came, the try counts as one of the account's failures.
 */
export async function proveMember(context: ProofContext, claim: Claim): Promise<Proof> {
  requireHashingRoom("stranger");
  const email = normalizeEmail(claim.email) ?? "";
  const [address, account] = [throttledAddress(claim.address), throttledAccount(email)];
  await countTry(context, address);
  const failures = await countTry(context, account);
  const member = await findMemberByEmail(context.accounts, email);
  const verdict = await check(context, claim, { member, hasher: "stranger" });
  if (verdict === "wrong") {
    const refusal = { claim, member, action: "SignInRefused" };
    await noteRefusal(context, refusal, { throttled: account, failures });
    throw refused();
  }
  await takeTryBack(context, address);
  if (verdict !== "code_needed") await forgetTries(context, account);
  return verdict;
}

/** The same of somebody who is signed in: counted by the sign-in, so that no stranger keeps them from it. */
export async function proveAgain(context: ProofContext, signInId: string, claim: Claim): Promise<Proof> {
  requireHashingRoom("member");
  const throttled = throttledProofs(signInId);
  const failures = await countTry(context, throttled);
  const member = await findMemberByEmail(context.accounts, claim.email);
  const verdict = await check(context, claim, { member, hasher: "member" });
  if (verdict === "wrong") {
    await noteRefusal(context, { claim, member, action: "ProofRefused" }, { throttled, failures });
    throw refused();
  }
  if (verdict !== "code_needed") await forgetTries(context, throttled);
  return verdict;
}

async function check(
  context: ProofContext,
  { password, code }: Claim,
  { member, hasher }: { member: MemberProofs | undefined; hasher: Hasher },
): Promise<Proof | "wrong"> {
  const isRight = await verifyPassword(password, member?.passwordHash, hasher);
  if (!isRight || member === undefined) return "wrong";
  if (member.totpSealed !== null) {
    if (code === "") return "code_needed";
    const step = stepOfCode(context, { memberId: member.id, sealed: member.totpSealed, code });
    if (step === undefined || !(await useCode(context.accounts, member.id, step))) return "wrong";
  }
  const { id, email, name, proofVersion } = member;
  return { member: { id, email, name }, proofVersion };
}

const noteStep = {
  name: "note_throttle_step",
  text: "UPDATE sign_in_failures SET last_at = clock_timestamp() WHERE subject = $1",
};

/** A row for each step of the throttle. Of an unknown account it writes too, so that its time tells not who is a member. */
async function noteRefusal(
  { accounts, entropy, sealing }: ProofContext,
  { claim, member, action }: { claim: Claim; member: MemberProofs | undefined; action: string },
  { throttled, failures }: { throttled: Throttled; failures: number },
): Promise<void> {
  if (!isStep(failures, throttled)) return;
  const { address, requestId } = claim;
  await accounts.transaction(async (tx) => {
    await tx.query(noteStep, [keyedHash(sealing, throttled.name)]);
    if (member === undefined) return;
    const about = { memberId: member.id, subject: encodeId("mbr", member.id), after: { failures, address } };
    await recordMemberAudit(tx, entropy, { ...about, actor: "somebody not signed in", action, requestId });
  });
}

function refused(): DomainError {
  return new DomainError("invalid_sign_in", "The address, the password or the code is not right.");
}
