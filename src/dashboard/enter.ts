/** Signing the browser of a call in, for every rpc that ends so. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Member } from "../accounts/members.ts";
import { findPasswordProblem, hashPassword } from "../accounts/passwords.ts";
import { findSignIn, startSignIn } from "../accounts/sign-ins.ts";
import { DomainError } from "../platform/errors.ts";
import { Secret } from "../platform/secrets.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { memberMessage } from "./member-messages.ts";
import { signInCookie } from "./sign-in-cookie.ts";

/** What the rpcs of members need beside the others' parts. */
export type SignInParts = DashboardParts & { readonly signIns: NonNullable<DashboardParts["signIns"]> };

/** Signs the browser of a call in, and tells who it is then. */
export async function enter(parts: SignInParts, context: HandlerContext, member: Member) {
  const userAgent = context.requestHeader.get("user-agent") ?? "";
  const browser = { memberId: member.id, userAgent, address: addressOf(parts, context) };
  const { token } = await startSignIn(parts.accounts, parts.entropy, browser);
  context.responseHeader.append("set-cookie", signInCookie(parts.brand, token));
  const signIn = await findSignIn(parts.accounts, token.expose());
  if (signIn === undefined) throw new Error("a sign-in is over before it began");
  return memberMessage(signIn);
}

/** The address behind a call. */
export function addressOf(parts: SignInParts, context: HandlerContext): string {
  return parts.signIns.addressOf(context.values);
}

/** A new password as it is kept. Throws `invalid_field` with its rule when it is none. */
export async function hashAccepted(text: string, email: string, field: string): Promise<string> {
  const password = new Secret(text);
  const problem = findPasswordProblem(password, email);
  if (problem !== undefined) {
    const problems = [{ param: field, pointer: `/${field}`, code: "invalid_field", detail: problem }] as const;
    throw new DomainError("invalid_field", `\`${field}\` ${problem}.`, { field, problems });
  }
  return hashPassword(password);
}
