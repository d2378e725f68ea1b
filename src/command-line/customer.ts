/** `switchyard customer`: what is kept about a customer, and its erasure on request. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";

/** Erases what is kept about a customer. */
export function customerCommand(): Command {
  return new Command("customer").description("what is kept about a merchant's customers").addCommand(eraseCommand());
}

function eraseCommand(): Command {
  return merchantCommand("erase", {
    description: "erase a customer's e-mail address from every session of the merchant; nothing brings it back",
    example: "switchyard customer erase --email ada@example.com --merchant mer_… --environment live",
  })
    .requiredOption("--email <address>", "whose; upper and lower case are one address")
    .action(async ({ email, ...options }: AttachOptions & ScopeOptions & { email: string }) => {
      await administer(
        options,
        async ({ settings }) => {
          let [sessions, orderReferences, after] = [0, 0, ""];
          do {
            const erased = await settings.eraseCustomer({ ...scopeOf(options), email, after });
            sessions += erased.sessions ?? 0;
            orderReferences += erased.orderReferences ?? 0;
            after = erased.nextAfter ?? "";
          } while (after !== "");
          return { sessions, orderReferences };
        },
        ({ sessions, orderReferences }) => [
          `Erased the address from ${sessions} sessions.`,
          ...(orderReferences === 0
            ? []
            : [`${orderReferences} order references hold it; they are the shop's, and stay.`]),
          "Backups and gateways may still have it: docs/security.md says what to do.",
        ],
      );
    });
}
