/** `switchyard ledger`: every capture, refund and void of a past day, as a file. */
import { Command, InvalidArgumentError } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { exportPages } from "./export-pages.ts";

/** Exports the ledger of a day. */
export function ledgerCommand(): Command {
  return new Command("ledger")
    .description("every capture, refund and void of a past day, to compare with the gateways' statements")
    .addCommand(exportCommand());
}

type Options = AttachOptions & ScopeOptions & { readonly day: string; readonly output: string };

function exportCommand(): Command {
  return merchantCommand("export", {
    description: "export a past day as CSV, oldest first; the same day is the same file each time",
    example: "switchyard ledger export --day 2026-03-04 --output ledger-2026-03-04.csv",
  })
    .requiredOption("--day <day>", "past day in UTC, such as 2026-03-04", parseDay)
    .requiredOption("--output <file>", "file to create; it must not exist yet")
    .action(async (options: Options) => {
      await administer(
        options,
        ({ ledger }) =>
          exportPages(options.output, async (pageToken) => {
            const page = await ledger.exportLedger({ ...scopeOf(options), day: options.day, pageToken });
            return { ...page, rows: page.entries };
          }),
        ({ rows }) => [`Exported ${rows} entries of ${options.day} to ${options.output}.`],
      );
    });
}

function parseDay(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a day, such as 2026-03-04.");
}
