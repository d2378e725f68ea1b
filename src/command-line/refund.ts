/** `switchyard refund`: makes, lists and shows refunds, and records the end of one that no gateway reports. */
import { Command, Option } from "commander";
import type { RefundLimitsView } from "../client/dashboard-client.ts";
import { nameOfGateway } from "../dashboard/ui/parts/gateway-name.ts";
import { type Amount, parseAmount, parseAmountOrZero, partOf } from "./amounts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { amountOf } from "./output.ts";
import { exportRefundsCommand, listRefundsCommand, showRefundCommand } from "./refund-list.ts";

export function refundCommand(): Command {
  return new Command("refund")
    .addCommand(makeCommand())
    .addCommand(listRefundsCommand())
    .addCommand(showRefundCommand())
    .addCommand(exportRefundsCommand())
    .addCommand(limitsCommand())
    .addCommand(decideCommand());
}

type MakeOptions = MerchantOptions & {
  readonly key: string;
  readonly amount?: Amount;
  readonly reason?: string;
  readonly ref?: string;
};

function makeCommand(): Command {
  return merchantCommand("make", {
    description: "refund a captured payment, whole or in part, at the gateway that captured it",
    example: "switchyard refund make ps_01h455vb4pex5vsknk084sn02q --key return-77 --amount 9.00EUR",
  })
    .argument("<session>", "id of the session")
    .requiredOption("--key <key>", "names the refund: a repeat with the same key refunds nothing twice")
    .option(
      "--amount <amount>",
      "amount and currency, such as 9.00EUR; without it, everything that is left",
      parseAmount,
    )
    .addOption(
      new Option("--reason <reason>", "reason, which some gateways take").choices([
        "requested_by_customer",
        "duplicate",
        "fraudulent",
      ]),
    )
    .option("--ref <text>", "your own reference of the refund, at most 80 characters")
    .action(async (sessionId: string, options: MakeOptions) => {
      const { key: idempotencyKey, amount, reason, ref: refundRef } = options;
      const asked = {
        ...(reason !== undefined && { reason }),
        ...(refundRef !== undefined && { refundRef }),
      };
      await administer(
        options,
        async (dashboard) => {
          const part = await partOf(dashboard, options, { sessionId, amount });
          return dashboard.payments.refundPayment({
            ...scopeOf(options),
            sessionId,
            idempotencyKey,
            ...asked,
            ...part,
          });
        },
        ({ refund: { refundId, amount, gateway = "" } = {}, replayed }) => [
          `${refundId}  ${amountOf(amount)} at ${nameOfGateway(gateway)}`,
          replayed ? "This key had made it before; nothing was refunded again." : "A worker sends it within a second.",
        ],
      );
    });
}

type DecideOptions = MerchantOptions & {
  readonly made?: string;
  readonly neverMade?: boolean;
  readonly send?: boolean;
  readonly reason: string;
};

function decideCommand(): Command {
  return merchantCommand("decide", {
    description: "record what you found out at the gateway about a refund whose end it does not report",
    example:
      'switchyard refund decide ps_… ref_… --made 8535296650153317 --reason "Seen in the gateway\'s list of refunds."',
  })
    .argument("<session>", "id of the session")
    .argument("<refund>", "id of the refund")
    .option("--made <reference>", "it was made; the gateway's reference of the refund")
    .option("--never-made", "the gateway has no such refund: the amount can be refunded again")
    .option("--send", "after a restore: send it, because the payment has no refund that is missing here")
    .requiredOption("--reason <text>", "what you saw, and where; written to the audit trail")
    .action(async (sessionId: string, refundId: string, options: DecideOptions) => {
      const decided = decisionOf(options);
      await administer(
        options,
        ({ payments }) =>
          payments.decideRefund({ ...scopeOf(options), sessionId, refundId, reason: options.reason, ...decided }),
        () => [`Decision recorded. A worker applies it to ${refundId} within seconds.`],
      );
    });
}

function decisionOf({ made, neverMade = false, send = false }: DecideOptions) {
  if (Number(made !== undefined) + Number(neverMade) + Number(send) !== 1)
    throw new UsageError("Give one of --made <reference>, --never-made and --send.");
  if (made !== undefined) return { decision: "MADE", gatewayReference: made } as const;
  return { decision: send ? "SEND" : "NEVER_MADE" } as const;
}

const refundingRoles = { support: "ROLE_SUPPORT", developer: "ROLE_DEVELOPER", owner: "ROLE_OWNER" } as const;

type Options = MerchantOptions & {
  readonly role?: "support" | "developer" | "owner";
  readonly set?: readonly Amount[];
  readonly remove?: boolean;
};

export function limitsCommand(): Command {
  return merchantCommand("limits", {
    description: "show or replace how much each member of a role may refund per day (UTC) with a sign-in",
    example: "switchyard refund limits --role developer --set 500.00EUR 500.00USD",
  })
    .addOption(new Option("--role <role>", "role whose limits are replaced").choices(["support", "developer", "owner"]))
    .option("--set <limits...>", "all limits of the role, one for each currency, such as 500.00EUR", addLimit)
    .option("--remove", "remove every limit of the role")
    .action(async ({ role, set, remove = false, ...options }: Options) => {
      if ((role !== undefined) !== (set !== undefined || remove) || (set !== undefined && remove))
        throw new UsageError("To replace limits, give --role with either --set or --remove.");
      await administer(
        options,
        async ({ refunds }) => {
          if (role === undefined) return refunds.getRefundLimits(scopeOf(options));
          const named = refundingRoles[role];
          const wanted = (set ?? []).map(({ amountMinor, currency }) => ({
            currency,
            amountMinor: String(amountMinor),
          }));
          const { limits } = await refunds.setRefundLimits({ ...scopeOf(options), role: named, limits: wanted });
          return { limits: limits ? [limits] : [] };
        },
        ({ limits = [] }) => limits.map(lineOf),
      );
    });
}

function lineOf({ role, amounts = [] }: RefundLimitsView): string {
  const names: Readonly<Record<string, string>> = { ROLE_SUPPORT: "Support", ROLE_OWNER: "Owners" };
  const name = names[role ?? ""] ?? "Developers";
  return `${name}: ${amounts.length === 0 ? "no limit" : `${amounts.map(amountOf).join(", ")} per day each`}`;
}

function addLimit(text: string, before: readonly Amount[] = []): readonly Amount[] {
  return [...before, parseAmountOrZero(text)];
}
