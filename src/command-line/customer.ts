/** `switchyard customer`: erases the data of a customer on request. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";

export function customerCommand(): Command {
  return new Command("customer").addCommand(eraseCommand());
}

type Named = { readonly email?: string; readonly session?: string; readonly customerRef?: string };

function eraseCommand(): Command {
  return merchantCommand("erase", {
    description:
      "erase a customer's e-mail address, name and billing address from every session of the merchant with this address, or from one session; this cannot be undone",
    example: "switchyard customer erase --email ada@example.com --merchant mer_… --environment live",
  })
    .option("--email <address>", "e-mail address of the customer; case is ignored")
    .option("--session <id>", "the one session to erase from, such as one without an e-mail address")
    .option(
      "--customer-ref <reference>",
      "the merchant's reference of the customer, whose agreements are cancelled and whose stored cards are deleted too",
    )
    .action(async (given: AttachOptions & ScopeOptions & Named) => {
      const { email = "", session: sessionId = "", customerRef = "", ...options } = given;
      await administer(
        options,
        async ({ settings }) => {
          let [sessions, orderReferences, after] = [0, 0, ""];
          do {
            const erased = await settings.eraseCustomer({ ...scopeOf(options), email, sessionId, customerRef, after });
            sessions += erased.sessions ?? 0;
            orderReferences += erased.orderReferences ?? 0;
            after = erased.nextAfter ?? "";
          } while (after !== "");
          return { sessions, orderReferences };
        },
        ({ sessions, orderReferences }) => [
          `Erased the customer's data from ${counted(sessions)}.`,
          ...(orderReferences === 0
            ? []
            : [
                `The order reference, metadata or refund references of ${counted(orderReferences)} contain the address. They belong to the shop and were not changed.`,
              ]),
          "Backups and gateways may still have the data: see docs/retention.md.",
        ],
      );
    });
}

const counted = (sessions: number) => (sessions === 1 ? "1 session" : `${sessions} sessions`);
