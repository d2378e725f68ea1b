/**
 * The mail of an invitation. It contains no text that the inviting member could choose, except their address and the
 * merchant's name, which is one line without a link; its subject contains neither.
 */
import type { Invitation } from "../accounts/invitations.ts";

const roles = {
  NONE: "without a role",
  VIEWER: "as a viewer",
  SUPPORT: "as support",
  DEVELOPER: "as a developer",
  OWNER: "as an owner",
} as const;

/** Returns subject and text; the link is a secret of the recipient. */
export function writeInvitation(
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
