/** Decides whether an identity provider's answer signs a person in, links or proves a sign-in, or makes a member. */
import { recordAudit, recordMemberAudit } from "../../accounts/audit-trail.ts";
import {
  findByIdentity,
  type GrantedRoles,
  grantByProvider,
  type Identity,
  linkIdentity,
  listGranted,
  withdrawByProvider,
} from "../../accounts/identities.ts";
import { hasDomain, type IdentityProvider, serves } from "../../accounts/identity-providers-file.ts";
import { acceptInvitation, findInvitation, revokeInvitationsOf } from "../../accounts/invitations.ts";
import {
  grantRoles,
  insertMember,
  listTeam,
  liveRoles,
  lockTeam,
  type Member,
  memberRoles,
  normalizeEmail,
} from "../../accounts/members.ts";
import type { Proved } from "../../accounts/prove-member.ts";
import { endSignIn, lockSignInById, noteProof, type SecondFactor, startSignIn } from "../../accounts/sign-ins.ts";
import type { Tx } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { ServedParts } from "../dashboard-parts.ts";
import { memberActor } from "../rpc-context.ts";
import type { Flow } from "./flow-cookie.ts";
import type { Claims } from "./identity-providers.ts";
import { CompanyRefusal } from "./refusal.ts";

// Longest time between the proof at the provider and its arrival here.
const proofAgeMs = 60_000;

export type Arrival = {
  readonly provider: IdentityProvider;
  readonly flow: Flow;
  readonly claims: Claims;
  readonly userAgent: string;
  readonly address: string;
  readonly requestId: string;
};

type Parts = Pick<ServedParts, "accounts" | "runtime">;

/** Returns the browser's new token; undefined if it keeps the one it has. Throws `CompanyRefusal`. */
export function admit(parts: Parts, arrival: Arrival): Promise<Secret | undefined> {
  switch (arrival.flow.purpose) {
    case "SIGN_IN":
      return signIn(parts, arrival);
    case "ACCEPT":
      return accept(parts, arrival);
    case "LINK":
      return link(parts, arrival);
    case "PROVE":
      return prove(parts, arrival);
    default:
      return unreachable(arrival.flow.purpose);
  }
}

function identityOf({ provider, claims }: Arrival): Identity {
  return { issuer: provider.issuer, subject: claims.sub };
}

/** Returns the address that the provider vouches for: verified, and of one of its own domains. */
function verifiedEmail({ provider, claims }: Arrival): string | undefined {
  const email = typeof claims.email === "string" ? normalizeEmail(claims.email) : undefined;
  const counts = email !== undefined && claims.email_verified === true && hasDomain(provider, email);
  return counts ? email : undefined;
}

async function signIn(parts: Parts, arrival: Arrival): Promise<Secret> {
  const { provider } = arrival;
  const wanted = wantedRoles(arrival);
  const known = await findByIdentity(parts.accounts, identityOf(arrival));
  const email = verifiedEmail(arrival);
  if (known === undefined && (email === undefined || wanted === undefined || wanted.length === 0))
    throw new CompanyRefusal("unknown_account");
  return parts.accounts.transaction(async (tx) => {
    const memberId = known?.member.id;
    const held = memberId === undefined ? [] : await listGranted(tx, memberId, provider.id);
    const teams = new Set([...held, ...(wanted ?? [])].map(({ merchantId }) => merchantId));
    for (const merchantId of [...teams].sort()) await lockTeam(tx, merchantId);
    const proved = known ?? (await makeMember(parts, tx, arrival, email!));
    if (wanted !== undefined) await writeRoles(parts, tx, arrival, proved.member, wanted);
    return begin(parts, tx, arrival, proved);
  });
}

/** Adds a member without a password. An address that has a member is refused: it never finds one. */
async function makeMember({ runtime }: Parts, tx: Tx, arrival: Arrival, email: string): Promise<Proved> {
  const { name } = arrival.claims;
  const text =
    typeof name === "string"
      ? name
          .replace(/[\p{C}]/gu, "")
          .trim()
          .slice(0, 100)
      : "";
  const member: Member = { id: runtime.uuid(), email, name: text || email.slice(0, 100) };
  if (!(await insertMember(tx, member, null))) throw new CompanyRefusal("address_taken");
  if (!(await linkIdentity(tx, identityOf(arrival), { memberId: member.id, email })))
    throw new CompanyRefusal("linked_elsewhere");
  return { member, proofVersion: 0 };
}

/** Returns the roles that the provider's rules give, the highest of each merchant; undefined if it has no rules. */
function wantedRoles({ provider, claims }: Arrival): GrantedRoles[] | undefined {
  if (provider.roles === undefined) return undefined;
  const granted = new Map<MerchantId, GrantedRoles>();
  for (const { claim, value, merchants, role, liveRole } of provider.roles) {
    if (!valuesOf(claims[claim]).includes(value)) continue;
    for (const merchantId of merchants) {
      const before = granted.get(merchantId);
      granted.set(merchantId, {
        merchantId,
        role: memberRoles[Math.max(memberRoles.indexOf(role), before ? memberRoles.indexOf(before.role) : 0)]!,
        liveRole: liveRoles[Math.max(liveRoles.indexOf(liveRole), before ? liveRoles.indexOf(before.liveRole) : 0)]!,
      });
    }
  }
  return [...granted.values()];
}

function valuesOf(claim: unknown): readonly unknown[] {
  return Array.isArray(claim) ? claim : [claim];
}

/** Writes the roles that the provider gives; memberships of another source do not change. */
async function writeRoles(
  { runtime }: Parts,
  tx: Tx,
  { provider, requestId }: Arrival,
  member: Member,
  wanted: readonly GrantedRoles[],
): Promise<void> {
  const held = await listGranted(tx, member.id, provider.id);
  const audit = (merchantId: MerchantId, change: { before?: object; after?: object }) =>
    recordAudit(tx, runtime.uuid(), {
      merchantId,
      actor: `${provider.name} (${provider.id})`,
      action: "SetRolesByCompany",
      subject: encodeId("mbr", member.id),
      requestId,
      ...change,
    });
  for (const { merchantId, role, liveRole } of held) {
    const next = wanted.find((each) => each.merchantId === merchantId);
    if (role === "OWNER" && next?.role !== "OWNER") await revokeInvitationsOf(tx, merchantId, memberActor(member));
    if (next !== undefined) continue;
    await withdrawByProvider(tx, member.id, merchantId, provider.id);
    await audit(merchantId, { before: { email: member.email, role, liveRole } });
  }
  for (const granted of wanted) {
    const before = held.find(({ merchantId }) => merchantId === granted.merchantId);
    if (before?.role === granted.role && before.liveRole === granted.liveRole) continue;
    if (!(await grantByProvider(tx, member.id, granted, provider.id))) continue;
    const { role, liveRole } = granted;
    const was = before && { role: before.role, liveRole: before.liveRole };
    await audit(granted.merchantId, { ...(was && { before: was }), after: { email: member.email, role, liveRole } });
  }
}

async function accept(parts: Parts, arrival: Arrival): Promise<Secret> {
  const { accounts, runtime } = parts;
  const { provider, flow, requestId } = arrival;
  const token = new Secret(flow.invitationToken ?? "");
  const invitation = await findInvitation(accounts, token);
  if (invitation === undefined || !serves(provider, invitation.merchantId)) throw new CompanyRefusal("invitation_gone");
  const { merchantId, email } = invitation;
  if (verifiedEmail(arrival) !== email) throw new CompanyRefusal("other_address");
  const known = await findByIdentity(accounts, identityOf(arrival));
  if (known !== undefined && known.member.email !== email) throw new CompanyRefusal("other_address");
  return accounts.transaction(async (tx) => {
    await lockTeam(tx, merchantId);
    const accepted = await acceptInvitation(tx, token);
    if (accepted === undefined) throw new CompanyRefusal("invitation_gone");
    const proved = known ?? (await makeMember(parts, tx, arrival, email));
    const { member } = proved;
    if ((await listTeam(tx, merchantId)).some(({ id }) => id === member.id))
      throw new CompanyRefusal("invitation_gone");
    await grantRoles(tx, merchantId, member.id, accepted);
    const subject = encodeId("mbr", member.id);
    const { role, liveRole } = accepted;
    await recordAudit(tx, runtime.uuid(), {
      ...{
        merchantId,
        memberId: member.id,
        actor: memberActor(member),
        action: "AcceptInvitation",
        subject,
        requestId,
      },
      after: { email, role, liveRole, provider: provider.id },
    });
    return begin(parts, tx, arrival, proved);
  });
}

async function begin({ runtime }: Parts, tx: Tx, arrival: Arrival, { member, proofVersion }: Proved): Promise<Secret> {
  const { provider, flow, claims, userAgent, address } = arrival;
  const token = await startSignIn(tx, runtime, {
    ...{ memberId: member.id, proofVersion, userAgent, address, secondFactor: factorOf(arrival) },
    provider: {
      ...{ providerId: provider.id, issuer: provider.issuer, subject: claims.sub },
      session: typeof claims.sid === "string" ? claims.sid : undefined,
    },
  });
  if (token === undefined) throw new CompanyRefusal("expired");
  if (flow.signIn !== undefined) await endSignIn(tx, flow.signIn.memberId, flow.signIn.id);
  await audit(runtime, tx, arrival, { member, action: "SignInByCompany" });
  return token;
}

function factorOf({ provider, claims }: Arrival): SecondFactor | undefined {
  const { secondFactor } = provider;
  if (secondFactor === undefined) return undefined;
  const isProved =
    secondFactor === "always" ||
    valuesOf(claims[secondFactor.claim]).some((value) => secondFactor.values.includes(String(value)));
  return isProved ? "PROVIDER" : undefined;
}

async function link({ accounts, runtime }: Parts, arrival: Arrival): Promise<undefined> {
  const { flow, claims } = arrival;
  const { id, memberId } = flow.signIn!;
  await accounts.transaction(async (tx) => {
    if (!(await lockSignInById(tx, memberId, id))) throw new CompanyRefusal("signed_out");
    const email = typeof claims.email === "string" ? claims.email : undefined;
    const isLinked = await linkIdentity(tx, identityOf(arrival), { memberId, email });
    const holder = await findByIdentity(tx, identityOf(arrival));
    if (holder?.member.id !== memberId) throw new CompanyRefusal("linked_elsewhere");
    if (isLinked) await audit(runtime, tx, arrival, { member: holder.member, action: "LinkCompanyAccount" });
  });
}

async function prove({ accounts, runtime }: Parts, arrival: Arrival): Promise<Secret> {
  const { flow, claims } = arrival;
  const { id, memberId } = flow.signIn!;
  const holder = await findByIdentity(accounts, identityOf(arrival));
  if (holder?.member.id !== memberId) throw new CompanyRefusal("other_account");
  const { auth_time: provedAt } = claims;
  const ageMs = typeof provedAt === "number" ? Math.abs(runtime.now().getTime() - provedAt * 1_000) : undefined;
  if (ageMs === undefined || ageMs > proofAgeMs) throw new CompanyRefusal("not_fresh");
  return accounts.transaction(async (tx) => {
    if (!(await lockSignInById(tx, memberId, id))) throw new CompanyRefusal("signed_out");
    const token = await noteProof(tx, runtime, id, factorOf(arrival));
    if (token === undefined) throw new CompanyRefusal("signed_out");
    await audit(runtime, tx, arrival, { member: holder.member, action: "ProveByCompany" });
    return token;
  });
}

function audit(
  runtime: Parts["runtime"],
  tx: Tx,
  { provider, address, requestId }: Arrival,
  { member, action }: { member: Member; action: string },
): Promise<void> {
  return recordMemberAudit(tx, runtime, {
    ...{ memberId: member.id, subject: encodeId("mbr", member.id), actor: memberActor(member), action, requestId },
    after: { provider: provider.id, address },
  });
}
