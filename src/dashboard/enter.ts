/** Signing the browser of a call in, for every rpc that ends so. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Hasher } from "../accounts/hash-queue.ts";
import type { Member } from "../accounts/members.ts";
import { findPasswordProblem, hashPassword } from "../accounts/passwords.ts";
import type { Claim, ProofContext, Proved } from "../accounts/prove-member.ts";
import { endSignInByToken, findSignIn, noteProof, startSignIn } from "../accounts/sign-ins.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { Secret } from "../platform/secrets.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { memberMessage } from "./member-messages.ts";
import { readSignInCookie, signInCookie } from "./sign-in-cookie.ts";
import { memberActor, visitOf } from "./visit.ts";

/** What the rpcs of members need beside the others' parts. */
export type SignInParts = DashboardParts & { readonly signIns: NonNullable<DashboardParts["signIns"]> };

/**
 * Signs the browser of a call in, and tells who it is then; the cookie goes with the answer once the transaction is durable.
 * The browser's earlier sign-in ends. Throws `invalid_sign_in` when the password has changed since the proof.
 */
export async function enter(tx: Tx, parts: SignInParts, context: HandlerContext, { member, proofVersion }: Proved) {
  const earlier = readSignInCookie(parts.brand, context.requestHeader.get("cookie"));
  if (earlier !== undefined) await endSignInByToken(tx, earlier);
  const userAgent = context.requestHeader.get("user-agent") ?? "";
  const browser = { memberId: member.id, proofVersion, userAgent, address: addressOf(parts, context) };
  const token = await startSignIn(tx, parts.entropy, browser);
  if (token === undefined) throw new DomainError("invalid_sign_in", "The password was changed at this moment.");
  const signIn = await findSignIn(tx, token.expose());
  if (signIn === undefined) throw new Error("a sign-in is over before it began");
  tx.afterCommit(() => context.responseHeader.append("set-cookie", signInCookie(parts.brand, token)));
  return memberMessage(signIn);
}

/** The row of somebody who has just come in, with where from. */
export async function auditEntry(tx: Tx, parts: SignInParts, context: HandlerContext, member: Member): Promise<void> {
  const change = { actor: memberActor(member), after: { address: addressOf(parts, context) } };
  await visitOf(context).auditMember(tx, member, change);
}

/** Makes the sign-in of a call fresh, and gives its browser another token for it; `also` is done with it or not at all. */
export async function keepProof(
  parts: SignInParts,
  context: HandlerContext,
  also: (tx: Tx) => Promise<void> = async () => {},
): Promise<void> {
  const visit = visitOf(context);
  const { id, member } = visit.signIn;
  await parts.accounts.transaction(async (tx) => {
    await also(tx);
    const token = await noteProof(tx, parts.entropy, id);
    if (token === undefined) throw new DomainError("sign_in_required", "This sign-in was ended meanwhile.");
    await visit.auditMember(tx, member);
    tx.afterCommit(() => context.responseHeader.append("set-cookie", signInCookie(parts.brand, token)));
  });
}

/** What somebody says who wants to be a member, with the address and the request that it came by. */
export function claimOf(
  parts: SignInParts,
  context: HandlerContext,
  { email, password, code = "" }: { email: string; password: string; code?: string | undefined },
): Claim {
  const { requestId } = visitOf(context);
  return { email, password: new Secret(password), code, address: addressOf(parts, context), requestId };
}

/** What proofs are checked with. */
export function proofContextOf({ accounts, entropy, signIns }: SignInParts): ProofContext {
  return { accounts, entropy, sealing: signIns.sealing };
}

/** The address behind a call. */
export function addressOf(parts: SignInParts, context: HandlerContext): string {
  return parts.signIns.addressOf(context.values);
}

/** A new password as it is kept. Throws `invalid_field` with its rule when it is none. */
export async function hashAccepted(
  text: string,
  { email, field, hasher }: { email: string; field: string; hasher: Hasher },
): Promise<string> {
  const password = new Secret(text);
  const problem = findPasswordProblem(password, email);
  if (problem !== undefined) {
    const problems = [{ param: field, pointer: `/${field}`, code: "invalid_field", detail: problem }] as const;
    throw new DomainError("invalid_field", `\`${field}\` ${problem}.`, { field, problems });
  }
  return hashPassword(password, hasher);
}
