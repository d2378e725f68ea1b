/**
 * Inviting people to a merchant's team: proto ↔ accounts. The link is mailed to the address only, because accepting it
 * proves control of the address; without a mail server the owner receives it and passes it on.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  InviteMemberResponseSchema,
  MakeInvitationLinkResponseSchema,
  type MemberService,
} from "../../gen/dashboard/v1/members_pb.ts";
import type { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { countInvitationsOfADay, type Invitation, invite, revokeInvitation } from "../accounts/invitations.ts";
import { countMailTo } from "../accounts/member-actions.ts";
import { listTeam, normalizeEmail } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { invitationMessage, rolesOfMessage } from "./member-messages.ts";
import { merchantContextOf } from "./rpc-context.ts";

// Invitations of one merchant in a day, each an unsolicited mail: a large team joins in one day.
const invitationsADayMax = 50;
// Invitations to one address, each a mail to the same person: for a lost mail, or a wrong role.
const invitationsOfAddressMax = 5;
// Time after which a refused inviter may retry: the oldest invitation may be a day old by then.
const invitationsPauseMs = 60 * 60_000;

type InvitationRpcs = Pick<
  ServiceImpl<typeof MemberService>,
  "inviteMember" | "makeInvitationLink" | "revokeInvitation"
>;

export function invitationRpcs(parts: DashboardParts): InvitationRpcs {
  return {
    async inviteMember(request, context) {
      const { mailer } = parts;
      const origin = requireOrigin(parts);
      const invited = { ...request, isMailed: mailer !== undefined };
      const { invitation, token } = await recordInvitation(parts, context, invited);
      const link = linkTo(`${origin}/invitation`, token);
      if (mailer !== undefined) await mail({ ...parts, mailer }, invitation, link);
      return create(InviteMemberResponseSchema, {
        invitation: invitationMessage(invitation),
        unmailedLink: mailer === undefined ? link : "",
      });
    },

    async makeInvitationLink(request, context) {
      const origin = requireOrigin(parts);
      const { invitation, token } = await recordInvitation(parts, context, { ...request, isMailed: false });
      const link = linkTo(`${origin}/invitation`, token);
      return create(MakeInvitationLinkResponseSchema, { invitation: invitationMessage(invitation), link });
    },

    async revokeInvitation({ invitationId }, context) {
      const { merchantId, rpcContext } = merchantContextOf(context);
      const id = decodeId("inv", invitationId);
      await rpcContext.changeAccounts(async (tx) => {
        const revoked = id && (await revokeInvitation(tx, merchantId, id));
        if (!revoked) throw new DomainError("not_found", "This invitation does not exist or is no longer open.");
        await rpcContext.audit(tx, {
          subject: invitationId,
          before: { email: revoked.email, role: revoked.role, liveRole: revoked.liveRole },
        });
      });
      return {};
    },
  };
}

function recordInvitation(
  { runtime }: DashboardParts,
  context: HandlerContext,
  request: { email: string; role: Role; liveRole: Role; isMailed: boolean },
): Promise<{ invitation: Invitation; token: Secret }> {
  const { merchantId, rpcContext } = merchantContextOf(context);
  const email = normalizeEmail(request.email);
  if (email === undefined)
    throw new DomainError("invalid_field", "`email` must be an e-mail address.", { field: "email" });
  const roles = rolesOfMessage(request);
  return rpcContext.changeAccounts(async (tx) => {
    if ((await listTeam(tx, merchantId)).some((member) => member.email === email)) {
      throw new DomainError("state_conflict", "This address is already a member. Change its roles instead.");
    }
    const { count, ofAddress } = await countInvitationsOfADay(tx, merchantId, email);
    if (ofAddress >= invitationsOfAddressMax) {
      throw new DomainError("rate_limited", "This address was invited too often today. Try again tomorrow.", {
        retryAfterMs: invitationsPauseMs,
      });
    }
    if (count >= invitationsADayMax) {
      throw new DomainError(
        "rate_limited",
        "This merchant has reached today's limit of invitations. Try again tomorrow.",
        {
          retryAfterMs: invitationsPauseMs,
        },
      );
    }
    // Last, so that a refused invitation takes none of the mailbox's mails.
    if (request.isMailed) await countMailTo(tx, { merchantId, address: email });
    const invited = await invite(tx, runtime, { merchantId, email, ...roles, invitedBy: rpcContext.actor });
    await rpcContext.audit(tx, { subject: encodeId("inv", invited.invitation.id), after: { email, ...roles } });
    return invited;
  });
}

/** Mails the link; an invitation that the mail server refuses is revoked. */
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
  // Needs no right of the caller, because the link was not sent.
  await revokeInvitation(accounts, merchantId, id);
  if (handover.kind === "refused") {
    throw new DomainError("invalid_field", "The mail server refused this address. Check it.", { field: "email" });
  }
  throw new DomainError("unavailable", "The mail server did not accept the invitation. Try again later.", {
    cause: handover.reason,
  });
}

/** Returns the dashboard's origin. Throws `state_conflict` if there is none to link to. */
export function requireOrigin({ dashboardOrigin }: DashboardParts): string {
  if (dashboardOrigin === undefined)
    throw notConfigured("Links to the dashboard cannot be created", "SWITCHYARD_DASHBOARD_ORIGIN");
  return dashboardOrigin;
}

function notConfigured(what: string, setting: string): DomainError {
  return new DomainError("state_conflict", `${what}: the operator must set ${setting} first.`);
}

/** Returns a link with the token in the fragment, which browsers do not send. */
export function linkTo(page: string, token: Secret): string {
  return `${page}#${token.expose()}`;
}

const roles = {
  NONE: "without a role",
  VIEWER: "as a viewer",
  SUPPORT: "as support",
  DEVELOPER: "as a developer",
  OWNER: "as an owner",
} as const;

/**
 * Returns subject and text; the link is a secret of the recipient. They contain no text that the inviting member could
 * choose, except their address and the merchant's name, which is one line without a link; the subject contains neither.
 */
function writeInvitation(
  { role, liveRole, invitedBy, expiresAt }: Pick<Invitation, "role" | "liveRole" | "invitedBy" | "expiresAt">,
  { merchantName, link }: { merchantName: string; link: string },
): { subject: string; text: string } {
  const held = role === liveRole ? roles[role] : `${roles[role]} in test and ${roles[liveRole]} in live`;
  const lines = [
    `${invitedBy.replace(/ \(\w+\)$/, "")} invites you to the payment dashboard of ${merchantName}, ${held}.`,
    "",
    "To join, open this link:",
    "",
    link,
    "",
    `It works once, until ${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC. Do not share it: anyone who opens it can join in your name.`,
    "",
    "If you did not expect this invitation, ignore this mail.",
    "",
  ];
  return { subject: "Invitation to a payment dashboard", text: lines.join("\n") };
}
