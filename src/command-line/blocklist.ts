/** `switchyard blocklist`: the cards, e-mail addresses and networks that a merchant has blocked. */
import { Command, Option } from "commander";
import type { BlocklistEntryView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { shown, table } from "./output.ts";
import { parseTime } from "./times.ts";

type Wanted = {
  readonly session?: string;
  readonly part?: "card" | "email" | "network";
  readonly email?: string;
  readonly network?: string;
  readonly reason: string;
  readonly until?: string;
};

export function blocklistCommand(): Command {
  return new Command("blocklist").addCommand(listCommand()).addCommand(addCommand()).addCommand(endCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list the entries that block, newest first",
    example: "switchyard blocklist list --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ blocklist }) => blocklist.listBlocklist(scopeOf(options)),
      ({ entries = [] }) =>
        table(
          ["ENTRY", "BLOCKED", "SESSION", "SINCE", "UNTIL", "BY", "REASON"],
          entries.map((entry) => [
            entry.entryId ?? "",
            nameOf(entry),
            entry.sessionId ?? "",
            entry.addedAt ?? "",
            entry.endsAt ?? "without end",
            shown(entry.addedBy),
            shown(entry.reason),
          ]),
          "Nothing is blocked.",
        ),
    );
  });
}

function addCommand(): Command {
  return merchantCommand("add", {
    description: "block a part of a payment, an e-mail address or a network; a card only by a payment of it",
    example: 'switchyard blocklist add --session ps_… --part card --reason "Tried 30 codes" --until 2027-01-01',
  })
    .option("--session <id>", "the payment whose part is blocked")
    .addOption(
      new Option(
        "--part <part>",
        "the payment's part; network is the /24 of the customer's address, or of IPv6 the /48",
      ).choices(["card", "email", "network"]),
    )
    .option("--email <address>", "the e-mail address to block; case is ignored")
    .option("--network <network>", "the network to block: an IPv4 address or its /24, or a /64 or /48 of IPv6")
    .requiredOption("--reason <text>", "why; shown with each payment that is blocked")
    .option("--until <time>", "end of the entry: a day or a time (default: without end)", parseTime)
    .action(async (options: MerchantOptions & Wanted) => {
      const { reason, until } = options;
      const entry = { ...blockedBy(options), reason, ...(until !== undefined && { endsAt: until }) };
      await administer(
        options,
        ({ blocklist }) => blocklist.addBlocklistEntry({ ...scopeOf(options), ...entry }),
        ({ entry: added = {} }) => [`Blocked ${nameOf(added)} by ${added.entryId}.`],
      );
    });
}

function blockedBy({ session, part, email, network }: Wanted) {
  const given = [session, email, network].filter((each) => each !== undefined);
  if (given.length !== 1 || (session === undefined) !== (part === undefined))
    throw new UsageError("Give --session with --part, or --email, or --network.");
  if (session !== undefined && part !== undefined) return { payment: { sessionId: session, part: partMessages[part] } };
  return email === undefined ? { network: network ?? "" } : { email };
}

const partMessages = {
  card: "PAYMENT_PART_CARD",
  email: "PAYMENT_PART_EMAIL",
  network: "PAYMENT_PART_NETWORK",
} as const;

function endCommand(): Command {
  return merchantCommand("end", {
    description: "end an entry, so that it blocks nothing any more",
    example: "switchyard blocklist end blk_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<entry>", "id of the entry")
    .action(async (entryId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ blocklist }) => blocklist.endBlocklistEntry({ ...scopeOf(options), entryId }),
        ({ entry = {} }) => [`Ended ${entry.entryId}, which blocked ${nameOf(entry)}.`],
      );
    });
}

function nameOf({ kind, network, cardLast4 }: BlocklistEntryView): string {
  if (kind === "NETWORK") return network ?? "";
  if (kind === "EMAIL") return "an e-mail address";
  return cardLast4 ? `the card ending in ${cardLast4}` : "a card";
}
