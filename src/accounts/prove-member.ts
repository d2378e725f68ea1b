/** Proves a member's identity by password and code, with the same answer in the same time for every failure. */
import type { Database } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId, type SignInId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { recordMemberAudit } from "./audit-trail.ts";
import type { Hasher } from "./hash-queue.ts";
import { findBrowser } from "./known-browsers.ts";
import { findMemberByEmail, type Member, type MemberProofs, normalizeEmail } from "./members.ts";
import { requireHashingRoom, verifyPassword } from "./passwords.ts";
import {
  countSignInAttempt,
  forgetTries,
  isStep,
  keyedHash,
  returnAttempt,
  type Throttled,
  throttledAccount,
  throttledAddress,
  throttledBrowser,
  throttledProofs,
} from "./sign-in-throttle.ts";
import type { SecondFactor } from "./sign-ins.ts";
import { stepOfCode, type TotpContext, useCode } from "./totp.ts";

export type ProofContext = TotpContext & {
  readonly accounts: Database;
  readonly runtime: Pick<Runtime, "now" | "uuid">;
};

export type Claim = {
  readonly email: string;
  readonly password: Secret;
  /** The code of an authenticator app; empty if there is none yet. */
  readonly code: string;
  readonly address: string;
  /** The browser's mark from an earlier sign-in. */
  readonly browserMark: string | undefined;
  readonly requestId: string;
};

export type Proved = {
  readonly member: Member;
  readonly proofVersion: number;
  /** Set if the proof included a code. */
  readonly secondFactor?: SecondFactor;
};

/** The proved member, or the request for an app's code. */
export type Proof = Proved | "codeNeeded";

/**
 * Throws `invalid_sign_in` for a wrong claim, without saying which part, and `rate_limited` after many failures. The
 * answer that a code is needed requires the right password; until the code arrives, the attempt counts as one of the
 * account's failures. A browser that the member has signed in by before has its own count, so that others'
 * failures do not delay it.
 */
export async function proveMember(context: ProofContext, claim: Claim): Promise<Proof> {
  const email = normalizeEmail(claim.email) ?? "";
  const member = await findMemberByEmail(context.accounts, email);
  const { browserMark } = claim;
  const marked = member && { memberId: member.id, proofVersion: member.proofVersion };
  const browser = marked && findBrowser(context.sealing, context.runtime, browserMark, marked);
  const hasher: Hasher =
    browser === undefined ? { kind: "stranger", name: claim.address } : { kind: "browser", name: browser };
  requireHashingRoom(hasher);
  const address = browser === undefined ? throttledAddress(claim.address) : undefined;
  const throttled = browser === undefined ? throttledAccount(email) : throttledBrowser(browser);
  if (address) await countSignInAttempt(context, address);
  const failures = await countSignInAttempt(context, throttled);
  const verdict = await check(context, claim, { member, hasher });
  if (verdict === "wrong") {
    await noteRefusal(context, { claim, member, action: "SignInRefused" }, { throttled, failures });
    throw refused();
  }
  if (address) await returnAttempt(context, address);
  if (verdict !== "codeNeeded") await forgetTries(context, throttled);
  return verdict;
}

/** Proves a signed-in member again: counted by the sign-in, so that strangers cannot block it. */
export async function proveAgain(
  context: ProofContext,
  signIn: { readonly id: SignInId; readonly member: Pick<Member, "id"> },
  claim: Claim,
): Promise<Proof> {
  const hasher: Hasher = { kind: "member", name: signIn.member.id };
  requireHashingRoom(hasher);
  const throttled = throttledProofs(signIn.id);
  const failures = await countSignInAttempt(context, throttled);
  const member = await findMemberByEmail(context.accounts, claim.email);
  const verdict = await check(context, claim, { member, hasher });
  if (verdict === "wrong") {
    await noteRefusal(context, { claim, member, action: "ProofRefused" }, { throttled, failures });
    throw refused();
  }
  if (verdict !== "codeNeeded") await forgetTries(context, throttled);
  return verdict;
}

async function check(
  context: ProofContext,
  { password, code }: Claim,
  { member, hasher }: { member: MemberProofs | undefined; hasher: Hasher },
): Promise<Proof | "wrong"> {
  const isRight = await verifyPassword(password, member?.passwordHash ?? undefined, hasher);
  if (!isRight || member === undefined) return "wrong";
  if (member.totpSealed !== null) {
    if (code === "") return "codeNeeded";
    const step = stepOfCode(context, { memberId: member.id, sealed: member.totpSealed, code });
    if (step === undefined || !(await useCode(context.accounts, member.id, step))) return "wrong";
  }
  const { id, email, name, proofVersion } = member;
  return { member: { id, email, name }, proofVersion, ...(member.totpSealed !== null && { secondFactor: "CODE" }) };
}

const noteStep = {
  name: "note_throttle_step",
  text: "UPDATE sign_in_failures SET last_at = clock_timestamp() WHERE subject = $1",
};

/**
 * Writes an audit row for each step of the throttle. It also writes for an unknown account, so that the time does not
 * reveal who is a member.
 */
async function noteRefusal(
  { accounts, runtime, sealing }: ProofContext,
  { claim, member, action }: { claim: Claim; member: MemberProofs | undefined; action: string },
  { throttled, failures }: { throttled: Throttled; failures: number },
): Promise<void> {
  if (!isStep(failures, throttled)) return;
  const { address, requestId } = claim;
  await accounts.transaction(async (tx) => {
    await tx.query(noteStep, [keyedHash(sealing, throttled.name)]);
    if (member === undefined) return;
    const about = { memberId: member.id, subject: encodeId("mbr", member.id), after: { failures, address } };
    await recordMemberAudit(tx, runtime, { ...about, actor: "not signed in", action, requestId });
  });
}

function refused(): DomainError {
  return new DomainError("invalid_sign_in", "The address, the password or the code is not right.");
}
