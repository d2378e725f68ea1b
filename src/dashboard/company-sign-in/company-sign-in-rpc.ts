/** Begins sign-ins at companies' identity providers, and keeps members' linked accounts: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { ListIdentityProvidersResponseSchema, type SignInService } from "../../../gen/dashboard/v1/sign_in_pb.ts";
import { countWaysIn, listIdentities, unlinkIdentity } from "../../accounts/identities.ts";
import { hasDomain, type IdentityProvider, serves } from "../../accounts/identity-providers-file.ts";
import { findInvitation } from "../../accounts/invitations.ts";
import { lockPasskeys } from "../../accounts/passkeys.ts";
import { endSignInsOfIdentity, findSignIn } from "../../accounts/sign-ins.ts";
import { DomainError } from "../../platform/errors.ts";
import { Secret } from "../../platform/secrets.ts";
import type { SignInParts } from "../enter.ts";
import { rpcContextOf } from "../rpc-context.ts";
import { readSignInCookie } from "../sign-in-cookie.ts";
import { type Flow, flowCookie } from "./flow-cookie.ts";

type Rpcs = Pick<
  ServiceImpl<typeof SignInService>,
  | "listIdentityProviders"
  | "beginCompanySignIn"
  | "beginCompanyLink"
  | "beginCompanyProof"
  | "listIdentities"
  | "removeIdentity"
>;

export function companySignInRpcs(parts: SignInParts): Rpcs {
  return { ...beginningRpcs(parts), ...linkRpcs(parts) };
}

function beginningRpcs(
  parts: SignInParts,
): Pick<Rpcs, "listIdentityProviders" | "beginCompanySignIn" | "beginCompanyLink" | "beginCompanyProof"> {
  const { accounts, brand, signIns } = parts;
  const providers = signIns.identityProviders;
  return {
    async listIdentityProviders({ invitationToken }) {
      const invitation =
        invitationToken === "" ? undefined : await findInvitation(accounts, new Secret(invitationToken));
      const offered = providers.all.filter(
        (provider) =>
          invitationToken === "" ||
          (invitation && serves(provider, invitation.merchantId) && hasDomain(provider, invitation.email)),
      );
      return create(ListIdentityProvidersResponseSchema, { providers: offered.map(toMessage) });
    },

    async beginCompanySignIn({ providerId, invitationToken, next }, context) {
      // The callback cannot end the browser's sign-in by its cookie, which is not sent from another site.
      const token = readSignInCookie(brand, context.requestHeader.get("cookie"));
      const signIn = token === undefined ? undefined : await findSignIn(accounts, token);
      return begin(parts, context, providerId, {
        purpose: invitationToken === "" ? "SIGN_IN" : "ACCEPT",
        next,
        ...(invitationToken !== "" && { invitationToken }),
        ...(signIn && { signIn: { id: signIn.id, memberId: signIn.member.id } }),
      });
    },

    async beginCompanyLink({ providerId }, context) {
      const { id, member } = rpcContextOf(context).signIn;
      const signIn = { id, memberId: member.id };
      return begin(parts, context, providerId, { purpose: "LINK", next: "/account", signIn });
    },

    async beginCompanyProof({ next }, context) {
      const { id, member, providerId } = rpcContextOf(context).signIn;
      if (providerId === null)
        throw new DomainError("state_conflict", "This sign-in began without a provider. Confirm it by your password.");
      return begin(parts, context, providerId, { purpose: "PROVE", next, signIn: { id, memberId: member.id } });
    },
  };
}

function linkRpcs({ accounts, signIns }: SignInParts): Pick<Rpcs, "listIdentities" | "removeIdentity"> {
  const providers = signIns.identityProviders;
  return {
    async listIdentities(_, context) {
      const linked = await listIdentities(accounts, rpcContextOf(context).signIn.member.id);
      const linkable = providers.all.filter(({ issuer }) => !linked.some((identity) => identity.issuer === issuer));
      return {
        identities: linked.map(({ issuer, email, createdAt }) => ({
          issuer,
          providerName: providers.all.find((provider) => provider.issuer === issuer)?.name ?? issuer,
          email: email ?? "",
          createdAt: timestampFromDate(createdAt),
        })),
        linkable: linkable.map(toMessage),
      };
    },

    async removeIdentity({ issuer }, context) {
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        await lockPasskeys(tx, member.id);
        const removed = await unlinkIdentity(tx, member.id, issuer);
        if (removed === undefined) throw new DomainError("not_found", "No account at this provider is linked.");
        if ((await countWaysIn(tx, member.id)) === 0)
          throw new DomainError("state_conflict", "This is your only way to sign in. Add a passkey first.");
        await endSignInsOfIdentity(tx, removed);
        await rpcContext.auditMember(tx, member, { before: { issuer } });
      });
      return {};
    },
  };
}

/** Returns the provider's page, and gives the browser the cookie that only its callback can use. */
async function begin(
  parts: SignInParts,
  context: HandlerContext,
  providerId: string,
  about: Pick<Flow, "purpose" | "next" | "invitationToken" | "signIn">,
) {
  const { brand, runtime, signIns } = parts;
  rpcContextOf(context).leaveNoRow();
  const provider = signIns.identityProviders.find(providerId);
  if (provider === undefined) throw new DomainError("not_found", "There is no such identity provider.");
  const random = () => Buffer.from(runtime.randomBytes(32)).toString("base64url");
  const secrets = { state: random(), nonce: random(), verifier: random() };
  const flow: Flow = { ...about, ...secrets, providerId, next: ownPath(about.next) };
  const authorizationUrl = await signIns.identityProviders
    .authorizationUrl(provider, flow, callbackOf(parts, provider))
    .catch((cause: unknown) => {
      const detail = `${provider.name} does not answer. Try again later, or sign in otherwise.`;
      throw new DomainError("unavailable", detail, { cause });
    });
  context.responseHeader.append("set-cookie", flowCookie(brand, signIns.sealing, flow, runtime.now()));
  return { authorizationUrl };
}

function callbackOf({ dashboardOrigin }: SignInParts, { id }: IdentityProvider): string {
  return `${dashboardOrigin}/company-sign-in/${id}/callback`;
}

/** Returns a path of this origin; the start page for anything else. */
function ownPath(next: string): string {
  const base = "https://own.invalid";
  if (!next.startsWith("/") || !URL.canParse(next, base)) return "/";
  const { origin, pathname, search } = new URL(next, base);
  return origin === base ? pathname + search : "/";
}

function toMessage({ id, name }: IdentityProvider) {
  return { providerId: id, name };
}
