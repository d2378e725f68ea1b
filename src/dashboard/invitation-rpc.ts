/** Inviting people to a merchant's team: proto ↔ accounts. The link goes to the address alone, as it stands for whoever has that. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  InviteMemberResponseSchema,
  MakeInvitationLinkResponseSchema,
  type MemberService,
  RevokeInvitationResponseSchema,
} from "../../gen/dashboard/v1/members_pb.ts";
import type { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { countInvitationsOfADay, type Invitation, invite, revokeInvitation } from "../accounts/invitations.ts";
import { listTeam, lockTeam, normalizeEmail } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { invitationsADayMax, invitationsPauseMs } from "../limits/sign-in.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { writeInvitation } from "./invitation-text.ts";
import { invitationMessage, roleOfMessage } from "./member-messages.ts";
import { merchantVisitOf } from "./visit.ts";

type InvitationRpcs = Pick<
  ServiceImpl<typeof MemberService>,
  "inviteMember" | "makeInvitationLink" | "revokeInvitation"
>;

/** Invitations, and an end to them. */
export function invitationRpcs(parts: DashboardParts): InvitationRpcs {
  return {
    async inviteMember(request, context) {
      const { mailer } = parts;
      const origin = requireOrigin(parts);
      if (mailer === undefined) throw notConfigured("No mail can be sent", "SWITCHYARD_SMTP_URL");
      const { invitation, token } = await recordInvitation(parts, context, request);
      await mail({ ...parts, mailer }, invitation, linkTo(`${origin}/invitation`, token));
      return create(InviteMemberResponseSchema, { invitation: invitationMessage(invitation) });
    },

    async makeInvitationLink(request, context) {
      const origin = requireOrigin(parts);
      const { invitation, token } = await recordInvitation(parts, context, request);
      const link = linkTo(`${origin}/invitation`, token);
      return create(MakeInvitationLinkResponseSchema, { invitation: invitationMessage(invitation), link });
    },

    async revokeInvitation({ invitationId }, context) {
      const { merchantId, visit } = merchantVisitOf(context);
      const id = decodeId("inv", invitationId);
      await parts.accounts.transaction(async (tx) => {
        const revoked = id && (await revokeInvitation(tx, merchantId, id));
        if (!revoked) throw new DomainError("not_found", "There is no such invitation, or it is over already.");
        await visit.audit(tx, { subject: invitationId, before: { email: revoked.email, role: revoked.role } });
      });
      return create(RevokeInvitationResponseSchema);
    },
  };
}

function recordInvitation(
  { accounts, entropy }: DashboardParts,
  context: HandlerContext,
  request: { email: string; role: Role },
): Promise<{ invitation: Invitation; token: Secret }> {
  const { merchantId, visit } = merchantVisitOf(context);
  const email = normalizeEmail(request.email);
  if (email === undefined) throw new DomainError("invalid_field", "`email` must be an address.", { field: "email" });
  const role = roleOfMessage(request.role);
  return accounts.transaction(async (tx) => {
    await lockTeam(tx, merchantId);
    if ((await listTeam(tx, merchantId)).some((member) => member.email === email)) {
      throw new DomainError("state_conflict", "This address is a member already. Change its role instead.");
    }
    if ((await countInvitationsOfADay(tx, merchantId)) >= invitationsADayMax) {
      throw new DomainError("rate_limited", "This merchant has made all its invitations of a day. Go on tomorrow.", {
        retryAfterMs: invitationsPauseMs,
      });
    }
    const invited = await invite(tx, entropy, { merchantId, email, role, invitedBy: visit.actor });
    await visit.audit(tx, { subject: encodeId("inv", invited.invitation.id), after: { email, role } });
    return invited;
  });
}

/** Hands the link over; an invitation whose mail the server does not take is taken back. */
async function mail(
  { accounts, mailer }: DashboardParts & { readonly mailer: NonNullable<DashboardParts["mailer"]> },
  invitation: Invitation,
  link: string,
): Promise<void> {
  const { id, merchantId, email: to } = invitation;
  const merchantName = (await findMerchant(accounts, merchantId))?.name ?? "";
  const text = writeInvitation(invitation, { merchantName, link });
  const handover = await mailer.send({ to, ...text, id: encodeId("inv", id) });
  if (handover.kind === "taken") return;
  await accounts.transaction((tx) => revokeInvitation(tx, merchantId, id));
  if (handover.kind === "refused") {
    throw new DomainError("invalid_field", "The mail server refuses this address.", { field: "email" });
  }
  throw new DomainError("unavailable", "The mail server did not take the invitation. Try again later.", {
    cause: handover.because,
  });
}

/** Where the dashboard is. Throws `state_conflict` where no link could lead to it. */
export function requireOrigin({ dashboardOrigin }: DashboardParts): string {
  if (dashboardOrigin === undefined)
    throw notConfigured("No link leads to the dashboard", "SWITCHYARD_DASHBOARD_ORIGIN");
  return dashboardOrigin;
}

function notConfigured(what: string, setting: string): DomainError {
  return new DomainError("state_conflict", `${what}: the operator has to set ${setting} first.`);
}

/** A link with a token behind the #, which browsers send to nobody. */
export function linkTo(page: string, token: Secret): string {
  return `${page}#${token.expose()}`;
}
