/** The confirmation of an address for alerts: its mail, and its link, which the environment's key seals. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ConfirmAlertAddressRequest,
  ConfirmAlertAddressResponseSchema,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { confirmAlertAddress } from "../accounts/alert-addresses.ts";
import { type CausedMail, countConfirmation, countMailTo } from "../accounts/member-actions.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { findCell } from "../platform/cells.ts";
import { DomainError, unreachable } from "../platform/errors.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import type { Handover } from "../platform/mail.ts";
import { Secret, seal, unseal } from "../platform/secrets.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { linkTo } from "./invitation-rpc.ts";
import { type RpcContext, rpcContextOf } from "./rpc-context.ts";

// Lifetime of the link: over a week of holidays, as an invitation's.
const confirmationLifetimeMs = 7 * 24 * 60 * 60_000;

const associatedData = "alert-address confirmation";

type Sealed = {
  readonly merchantId: MerchantId;
  readonly cell: number;
  readonly address: string;
  readonly removals: number;
  readonly expiresAt: number;
};

type UnconfirmedAddress = CausedMail & { readonly removals: number };

/**
 * Asks an address to confirm that it gets a merchant's alerts. Returns why the mail was not accepted, as a sentence;
 * empty if it was.
 */
export async function askToConfirm(
  parts: DashboardParts,
  environment: DashboardEnvironment,
  { merchantId, address, removals }: UnconfirmedAddress,
): Promise<string> {
  const { accounts, dashboardOrigin, runtime } = parts;
  if (dashboardOrigin === undefined) return "The operator must set SWITCHYARD_DASHBOARD_ORIGIN first.";
  const expiresAt = runtime.now().getTime() + confirmationLifetimeMs;
  const sealed: Sealed = { merchantId, cell: environment.cell, address, removals, expiresAt };
  const token = new Secret(seal(environment.core.sealing, associatedData, JSON.stringify(sealed)));
  const merchantName = (await findMerchant(accounts, merchantId))?.name ?? "";
  const lines = [
    `The merchant ${merchantName} asks to send you the alerts of its payments (${environment.name} environment).`,
    "",
    "To receive them, open this link and confirm:",
    "",
    linkTo(`${dashboardOrigin}/alert-address`, token),
    "",
    `It works until ${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC.`,
    "",
    "If you did not expect this, ignore this mail: you get no alerts.",
    "",
  ];
  const mail = { subject: "Confirm your address for alerts", text: lines.join("\n") };
  return mailCounted(parts, { merchantId, address }, { ...mail, id: encodeId("ntc", runtime.uuid()) }, () =>
    countConfirmation(accounts, merchantId),
  );
}

/**
 * Mails to an address if its mailbox has not received too many today. Returns why not, as a sentence; empty if the mail
 * was accepted. `countFirst` counts the mail for another limit.
 */
export async function mailCounted(
  { accounts, mailer }: DashboardParts,
  caused: CausedMail,
  mail: { readonly subject: string; readonly text: string; readonly id: string },
  countFirst?: () => Promise<void>,
): Promise<string> {
  if (mailer === undefined) return problemOf(undefined);
  try {
    await countFirst?.();
    await countMailTo(accounts, caused);
  } catch (error) {
    if (error instanceof DomainError && error.code === "rate_limited") return error.message;
    throw error;
  }
  return problemOf(await mailer.send({ to: caused.address, ...mail }));
}

/** Returns why a mail was not accepted. Undefined means an installation without a mail server. */
function problemOf(handover: Handover | undefined): string {
  if (handover === undefined) return "This installation has no mail server. Ask your operator to set one up.";
  switch (handover.kind) {
    case "taken":
      return "";
    case "refused":
      return `The mail server refuses this address (${handover.replyCode}).`;
    case "failed":
      return `${handover.reason}.`;
    default:
      return unreachable(handover);
  }
}

export function confirmAlertAddressRpc(parts: DashboardParts) {
  return async ({ token }: ConfirmAlertAddressRequest, context: HandlerContext) => {
    const { environment, ...asked } = openToken(parts, token);
    const { merchantId, address } = asked;
    const rpcContext: RpcContext = rpcContextOf(context);
    await rpcContext.changeEnvironment(environment, async (tx) => {
      if (!(await confirmAlertAddress(tx, asked))) throw gone();
      const subject = `${encodeId("mer", merchantId)}/alert-addresses`;
      await rpcContext.audit(tx, { merchantId, subject, actor: address, after: { confirmed: address } });
    });
    const merchantName = (await findMerchant(parts.accounts, merchantId))?.name ?? "";
    return create(ConfirmAlertAddressResponseSchema, { address, merchantName });
  };
}

function openToken({ environments, runtime }: DashboardParts, token: string) {
  for (const first of Object.values(environments)) {
    const sealed = tryToOpen(first, token);
    const environment = sealed && findCell(first, sealed.cell);
    if (environment !== undefined && sealed!.expiresAt > runtime.now().getTime()) return { ...sealed!, environment };
  }
  throw gone();
}

function tryToOpen({ core }: DashboardEnvironment, token: string): Sealed | undefined {
  try {
    return JSON.parse(unseal(core.sealing, associatedData, token).expose()) as Sealed;
  } catch {
    return undefined;
  }
}

function gone(): DomainError {
  return new DomainError(
    "not_found",
    "This link has expired or was already used, or the address was removed. Whoever set the address can send a test alert, which brings a new link.",
  );
}
