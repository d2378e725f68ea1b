/** Signs in the browser of a call, for every rpc that ends with a sign-in. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Hasher } from "../accounts/hash-queue.ts";
import { markBrowser } from "../accounts/known-browsers.ts";
import { findMemberByEmail, type Member } from "../accounts/members.ts";
import { listPasskeys } from "../accounts/passkeys.ts";
import { findPasswordProblem, hashPassword } from "../accounts/passwords.ts";
import type { Claim, ProofContext, Proved } from "../accounts/prove-member.ts";
import { endSignInByToken, findSignIn, noteProof, type SecondFactor, startSignIn } from "../accounts/sign-ins.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MemberId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { type DashboardParts, isSecondFactorRequired } from "./dashboard-parts.ts";
import { memberMessage } from "./member-messages.ts";
import { memberActor, rpcContextOf } from "./rpc-context.ts";
import { browserCookie, readBrowserCookie, readSignInCookie, signInCookie } from "./sign-in-cookie.ts";

export type SignInParts = DashboardParts & {
  readonly signIns: NonNullable<DashboardParts["signIns"]>;
  /** Checks proofs; failures are counted even if the call fails. */
  readonly proving: ProofContext;
};

/**
 * Signs in the browser of a call and returns its member; the cookie is sent with the answer once the transaction is
 * durable. The browser's earlier sign-in ends. Throws `invalid_sign_in` if the password has changed since the proof.
 */
export async function enter(tx: Tx, parts: SignInParts, context: HandlerContext, proved: Proved) {
  const { member, proofVersion, secondFactor } = proved;
  const userAgent = context.requestHeader.get("user-agent") ?? "";
  const address = addressOf(parts, context);
  const browser = { memberId: member.id, proofVersion, secondFactor, userAgent, address };
  const token = await startSignIn(tx, parts.runtime, browser);
  if (token === undefined)
    throw new DomainError("invalid_sign_in", "The password was just changed. Sign in with the new one.");
  // Locked after the member's row, in the order of every change that locks both.
  const earlier = readSignInCookie(parts.brand, context.requestHeader.get("cookie"));
  if (earlier !== undefined) await endSignInByToken(tx, earlier);
  const signIn = await findSignIn(tx, token.expose());
  if (signIn === undefined) throw new Error("a sign-in is over before it began");
  tx.afterCommit(() => context.responseHeader.append("set-cookie", signInCookie(parts.brand, token)));
  makeBrowserKnown(tx, parts, context, { memberId: member.id, proofVersion });
  return memberMessage(signIn);
}

/**
 * Reports whether a proved password is not enough: the member has a passkey and no app, where a second factor is
 * required. Otherwise the password alone would be enough.
 */
export async function needsPasskey(parts: SignInParts, { member }: Proved): Promise<boolean> {
  if (!isSecondFactorRequired(parts)) return false;
  const proofs = await findMemberByEmail(parts.accounts, member.email);
  if (proofs === undefined || proofs.totpSealed !== null) return false;
  return (await listPasskeys(parts.accounts, member.id)).length > 0;
}

/** Throws if a proved password is not enough. */
export async function requirePasskeyIfAny(parts: SignInParts, proved: Proved): Promise<void> {
  if (!(await needsPasskey(parts, proved))) return;
  throw new DomainError("invalid_sign_in", "Use your passkey: this dashboard requires a second factor.");
}

/** Marks the browser of a call as one that the member uses, once the transaction is durable. */
export function makeBrowserKnown(
  tx: Tx,
  parts: SignInParts,
  context: HandlerContext,
  marked: { readonly memberId: MemberId; readonly proofVersion: number },
): void {
  const mark = markBrowser(parts.signIns.sealing, parts.runtime, marked, browserMarkOf(parts, context));
  tx.afterCommit(() => context.responseHeader.append("set-cookie", browserCookie(parts.brand, mark)));
}

export function browserMarkOf({ brand }: SignInParts, { requestHeader }: HandlerContext): string | undefined {
  return readBrowserCookie(brand, requestHeader.get("cookie"));
}

/** Writes the audit row of a member who has just signed in, with the address and browser. */
export async function auditEntry(tx: Tx, parts: SignInParts, context: HandlerContext, member: Member): Promise<void> {
  const change = { actor: memberActor(member), after: { address: addressOf(parts, context) } };
  await rpcContextOf(context).auditMember(tx, member, change);
}

/** Makes the sign-in of a call fresh and replaces its browser's token; `also` runs in the same transaction. */
export async function keepProof(
  parts: SignInParts,
  context: HandlerContext,
  secondFactor: SecondFactor | undefined,
  also: (tx: Tx) => Promise<void> = async () => {},
): Promise<void> {
  const rpcContext = rpcContextOf(context);
  const { id, member } = rpcContext.signIn;
  await rpcContext.changeAccounts(async (tx) => {
    await also(tx);
    const token = await noteProof(tx, parts.runtime, id, secondFactor);
    if (token === undefined) throw new DomainError("sign_in_required", "Your sign-in has ended. Sign in again.");
    await rpcContext.auditMember(tx, member);
    tx.afterCommit(() => context.responseHeader.append("set-cookie", signInCookie(parts.brand, token)));
  });
}

/** Returns the identity that a caller claims, with the address and request of the call. */
export function claimOf(
  parts: SignInParts,
  context: HandlerContext,
  { email, password, code = "" }: { email: string; password: string; code?: string | undefined },
): Claim {
  const { requestId } = rpcContextOf(context);
  const [address, browserMark] = [addressOf(parts, context), browserMarkOf(parts, context)];
  return { email, password: new Secret(password), code, address, browserMark, requestId };
}

export function addressOf(parts: SignInParts, context: HandlerContext): string {
  return parts.signIns.addressOf(context.values);
}

/** Returns the hash of a new password. Throws `invalid_field` with the rule that it breaks. */
export async function hashAccepted(
  text: string,
  { owner, field, hasher }: { owner: Pick<Member, "email" | "name">; field: string; hasher: Hasher },
): Promise<string> {
  const password = new Secret(text);
  const problem = await findPasswordProblem(password, owner);
  if (problem !== undefined) {
    const problems = [{ param: field, pointer: `/${field}`, code: "invalid_field", detail: problem }] as const;
    throw new DomainError("invalid_field", `\`${field}\` ${problem}.`, { field, problems });
  }
  return hashPassword(password, hasher);
}
