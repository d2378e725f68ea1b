/** `switchyard refund limits`: how much each member of a role may refund per day. */
import { type Command, Option } from "commander";
import type { RefundLimitsView } from "../client/dashboard-client.ts";
import { type Amount, parseAmountOrZero } from "./amounts.ts";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { amountOf } from "./output.ts";

type Options = AttachOptions &
  ScopeOptions & { readonly role?: "developer" | "owner"; readonly set?: readonly Amount[]; readonly remove?: boolean };

export function limitsCommand(): Command {
  return merchantCommand("limits", {
    description: "show or replace how much each member of a role may refund per day (UTC) with a sign-in",
    example: "switchyard refund limits --role developer --set 500.00EUR 500.00USD",
  })
    .addOption(new Option("--role <role>", "role whose limits are replaced").choices(["developer", "owner"]))
    .option("--set <limits...>", "all limits of the role, one for each currency, such as 500.00EUR", addLimit)
    .option("--remove", "remove every limit of the role")
    .action(async ({ role, set, remove = false, ...options }: Options) => {
      if ((role !== undefined) !== (set !== undefined || remove) || (set !== undefined && remove))
        throw new UsageError("To replace limits, give --role with either --set or --remove.");
      await administer(
        options,
        async ({ refunds }) => {
          if (role === undefined) return refunds.getRefundLimits(scopeOf(options));
          const named = role === "owner" ? "ROLE_OWNER" : "ROLE_DEVELOPER";
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
  const name = role === "ROLE_OWNER" ? "Owners" : "Developers";
  return `${name}: ${amounts.length === 0 ? "no limit" : `${amounts.map(amountOf).join(", ")} per day each`}`;
}

function addLimit(text: string, before: readonly Amount[] = []): readonly Amount[] {
  return [...before, parseAmountOrZero(text)];
}
