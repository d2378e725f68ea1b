/** Members whose company signs in by its identity provider alone, and the owners who may still enter otherwise. */
import { listOwnersBeside } from "../../accounts/identities.ts";
import { findExclusive } from "../../accounts/identity-providers-file.ts";
import { countOwned, findMemberByEmail, type Member } from "../../accounts/members.ts";
import { DomainError } from "../../platform/errors.ts";
import type { SignInParts } from "../enter.ts";

/**
 * Throws if the address belongs to a company that signs in by its provider alone. Returns true for a break-glass owner,
 * whose sign-in has to be mailed to the owners. Call it after a proof: before one, the answer would reveal these
 * owners.
 */
export async function requireOwnWay({ accounts, signIns }: SignInParts, email: string): Promise<boolean> {
  const provider = findExclusive(signIns.identityProviders.all, email);
  if (provider === undefined) return false;
  const member = await findMemberByEmail(accounts, email);
  if (member?.isBreakGlass && (await countOwned(accounts, member.id)) > 0) return true;
  throw new DomainError("invalid_sign_in", `Use "Continue with ${provider.name}": your company signs in by it alone.`);
}

/** Mails every owner of the member's merchants that a break-glass sign-in has taken place. */
export async function mailBreakGlass({ accounts, mailer, runtime }: SignInParts, member: Member): Promise<void> {
  if (mailer === undefined) return;
  const text = [
    `${member.email} has signed in to the payment dashboard without the identity provider of your company, as a break-glass owner.`,
    "",
    "If this was not arranged, end the sign-in: reset the password, and ask the operator to end the exception.",
    "",
  ].join("\n");
  for (const to of await listOwnersBeside(accounts, member.id)) {
    await mailer.send({ to, subject: "A sign-in without your identity provider", text, id: `brk_${runtime.uuid()}` });
  }
}
