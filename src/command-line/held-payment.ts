/** `switchyard payment capture` and `cancel`: a merchant's orders about a held payment. */
import type { Command } from "commander";
import { amountInWords } from "../platform/money.ts";
import { type Amount, parseAmount, partOf } from "./amounts.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";

type OrderOptions = AttachOptions & ScopeOptions & { readonly amount?: Amount; readonly reason: string };

export function captureCommand(): Command {
  return merchantCommand("capture", {
    description: "capture a held payment, whole or in part, at the gateway that holds it",
    example: "switchyard payment capture ps_01h455vb4pex5vsknk084sn02q --amount 9.00EUR --reason shipped",
  })
    .argument("<session>", "id of the session")
    .option("--amount <amount>", "amount and currency, such as 9.00EUR; without it, the whole amount", parseAmount)
    .requiredOption("--reason <text>", "the reason; written to the audit trail")
    .action(async (sessionId: string, options: OrderOptions) => {
      const { amount, reason } = options;
      await administer(
        options,
        async (dashboard) => {
          const part = await partOf(dashboard, options, { sessionId, amount });
          return dashboard.payments.capturePayment({ ...scopeOf(options), sessionId, reason, ...part });
        },
        ({ replayed, ...ordered }) => [
          `Capture of ${orderedAmount(ordered)} ordered.`,
          replayed ? "It had been ordered before; nothing is captured twice." : "A worker sends it within a second.",
        ],
      );
    });
}

export function cancelCommand(): Command {
  return merchantCommand("cancel", {
    description: "cancel a held payment: nothing is captured, and its hold is voided",
    example: 'switchyard payment cancel ps_01h455vb4pex5vsknk084sn02q --reason "out of stock"',
  })
    .argument("<session>", "id of the session")
    .requiredOption("--reason <text>", "the reason; written to the audit trail")
    .action(async (sessionId: string, options: OrderOptions) => {
      const { reason } = options;
      await administer(
        options,
        ({ payments }) => payments.cancelPayment({ ...scopeOf(options), sessionId, reason }),
        ({ replayed, ...cancelled }) => [
          `Payment of ${orderedAmount(cancelled)} cancelled.`,
          replayed ? "It had been cancelled before." : "A worker voids the hold within a second.",
        ],
      );
    });
}

function orderedAmount({ amountMinor = "0", currency = "EUR", gateway = "" }: Ordered): string {
  return `${amountInWords(Number(amountMinor), currency)} at ${gateway}`;
}

type Ordered = { readonly amountMinor?: string; readonly currency?: string; readonly gateway?: string };
