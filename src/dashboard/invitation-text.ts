/** An invitation as a mail. Says nothing that an inviting member could have worded, but their address. */
import type { Invitation } from "../accounts/invitations.ts";

const roles = { VIEWER: "a viewer", DEVELOPER: "a developer", OWNER: "an owner" } as const;

/** Subject and text; the link is a secret of whoever reads the mail. */
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
    `It works once, until ${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC. Pass it on to nobody: whoever opens it joins in your name.`,
    "",
    "If you do not know what this is about, leave it: nothing happens.",
    "",
  ];
  return { subject: `Invitation to the payment dashboard of ${merchantName}`, text: lines.join("\n") };
}
