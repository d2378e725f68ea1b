/**
 * `switchyard payment end-attempt` and `withdraw-end`: a person's decision about an attempt whose void or capture
 * the gateway never confirms.
 */
import type { Command } from "commander";
import { type Amount, parseAmount, partOf } from "./amounts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";

type EndOptions = MerchantOptions & {
  readonly givenUp?: boolean;
  readonly noneKept?: boolean;
  readonly captured?: string;
  readonly amount?: Amount;
  readonly reason: string;
};

export function endAttemptCommand(): Command {
  return merchantCommand("end-attempt", {
    description:
      "end an attempt in test whose void or capture the gateway never confirms; in live, two members do this on the payment's page of the dashboard",
    example:
      'switchyard payment end-attempt ps_… att_… --captured 8535296650153317 --reason "Captured, whole amount, seen in the gateway\'s dashboard."',
  })
    .argument("<session>", "id of the session")
    .argument("<attempt>", "id of the attempt")
    .option("--given-up", "end it as abandoned: no money was kept")
    .option("--none-kept", "with --given-up: confirms that nothing was captured, or that everything was refunded")
    .option("--captured <reference>", "end it as captured, once; the gateway's reference of the payment")
    .option(
      "--amount <amount>",
      "with --captured: captured amount and currency, such as 9.00EUR; without it, the ordered amount",
      parseAmount,
    )
    .requiredOption("--reason <text>", "what you saw, and where; written to the audit trail")
    .action(async (sessionId: string, attemptId: string, options: EndOptions) => {
      const end = endOf(options);
      await administer(
        options,
        async (dashboard) => {
          const { amount, reason } = options;
          const part = await partOf(dashboard, options, { sessionId, amount });
          return dashboard.payments.decideAttempt({
            ...scopeOf(options),
            sessionId,
            attemptId,
            reason,
            ...end,
            ...part,
          });
        },
        () => [`Decision recorded. A worker ends ${attemptId} within seconds.`],
      );
    });
}

function endOf({ givenUp = false, noneKept = false, captured, amount }: EndOptions) {
  if (givenUp === (captured !== undefined)) throw new UsageError("Give either --given-up or --captured <reference>.");
  if (captured !== undefined) return { kind: "CAPTURED" as const, gatewayReference: captured };
  if (amount !== undefined) throw new UsageError("Give --amount with --captured only.");
  if (!noneKept) {
    throw new UsageError(
      "An attempt can be given up only if no money was kept. If nothing was captured there, or everything was refunded, repeat this with --none-kept.",
    );
  }
  return { kind: "GIVEN_UP" as const, noMoneyKept: true };
}

export function withdrawEndCommand(): Command {
  return merchantCommand("withdraw-end", {
    description: "withdraw a decision about an attempt that is not yet confirmed",
    example: "switchyard payment withdraw-end ps_… att_… --environment live",
  })
    .argument("<session>", "id of the session")
    .argument("<attempt>", "id of the attempt")
    .action(async (sessionId: string, attemptId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ payments }) => payments.withdrawAttemptDecision({ ...scopeOf(options), sessionId, attemptId }),
        () => ["Withdrawn."],
      );
    });
}
