/** Mails about calls that wait for a second person, and about those of operators that would have. */
import { type Approval, listHolders, type StoredCall } from "../../accounts/approvals.ts";
import type { Member } from "../../accounts/members.ts";
import { findMerchant } from "../../accounts/merchants.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import type { DashboardParts } from "../dashboard-parts.ts";

// The most sentences in the mail of a call with many changes; the dashboard shows all of them.
const sentencesInMail = 20;

/** Asks the other members with the role to decide. */
export async function mailApprovers(
  parts: DashboardParts,
  { call, requester, to }: { call: StoredCall; requester: Member; to: readonly Member[] },
): Promise<void> {
  const { dashboardOrigin, accounts } = parts;
  const { merchantId } = call;
  const name = (await findMerchant(accounts, merchantId))?.name ?? "";
  const page = `${dashboardOrigin}/live/${encodeId("mer", merchantId)}/home#approvals`;
  await mail(parts, to, {
    subject: `A change of ${name} waits for you`,
    lines: [
      `${requester.email} wants to change the live environment of ${name}. It waits for a second person:`,
      "",
      ...listed(call.sentences),
      "",
      ...(dashboardOrigin === undefined ? [] : ["Approve or reject it in the dashboard:", "", page, ""]),
      "Without a decision it ends in 72 hours, and nothing is changed.",
    ],
  });
}

/** Tells the owners of a call by an operator, who needs no second person. */
export async function mailOwners(
  parts: DashboardParts,
  { merchantId, actor, sentences }: { merchantId: MerchantId; actor: string } & Pick<Approval, "sentences">,
): Promise<void> {
  const name = (await findMerchant(parts.accounts, merchantId))?.name ?? "";
  await mail(parts, await listHolders(parts.accounts, merchantId, "OWNER"), {
    subject: `An operator has changed ${name}`,
    lines: [
      `The operator ${actor} has made a change of ${name} for which members need a second person:`,
      "",
      ...listed(sentences),
      "",
      "If you did not expect it, ask the operators of your installation. The audit trail has the details.",
    ],
  });
}

function listed(sentences: readonly string[]): string[] {
  const more = sentences.length - sentencesInMail;
  const shown = sentences.slice(0, sentencesInMail).map((sentence) => `- ${sentence}`);
  return more > 0 ? [...shown, `- and ${more} more`] : shown;
}

/** A mail that is not accepted is not sent again: the dashboard shows the same. */
async function mail(
  { mailer, runtime }: DashboardParts,
  to: readonly Member[],
  { subject, lines }: { subject: string; lines: readonly string[] },
): Promise<void> {
  const id = encodeId("ntc", runtime.uuid());
  const text = [...lines, ""].join("\n");
  await Promise.all(to.map(({ email }) => mailer?.send({ to: email, subject, text, id })));
}
