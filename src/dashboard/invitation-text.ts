/**
 * The mail of an invitation. It contains no text that the inviting member could choose, except their address and the
 * merchant's name, which is one line without a link; its subject contains neither.
 */
import type { Invitation } from "../accounts/invitations.ts";

const roles = { VIEWER: "a viewer", DEVELOPER: "a developer", OWNER: "an owner" } as const;

/** Returns subject and text; the link is a secret of the recipient. */
export function writeInvitation(
  { role, invitedBy, expiresAt }: Pick<Invitation, "role" | "invitedBy" | "expiresAt">,
  { merchantName, link }: { merchantName: string; link: string },
): { subject: string; text: string } {
  const lines = [
    `${invitedBy.replace(/ \(\w+\)$/, "")} invites you to the payment dashboard of ${merchantName}, as ${roles[role]}.`,
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
