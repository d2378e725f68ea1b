/** `switchyard ledger`: every capture, refund and void of past days, as a file. */
import { Command } from "commander";
import { ApiError } from "../client/merchant/api-error.ts";
import { findWrongDay, type LedgerDays } from "../reporting/ledger-days.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { exportPages } from "./export-pages.ts";

export function ledgerCommand(): Command {
  return new Command("ledger").addCommand(exportCommand());
}

type Options = MerchantOptions & LedgerDays & { readonly output: string };

function exportCommand(): Command {
  return merchantCommand("export", {
    description:
      "export a past day, or a range of at most 31 days, as CSV, oldest first; the same days are the same file each time",
    example: "switchyard ledger export --from 2026-03-01 --to 2026-03-31 --output ledger-2026-03.csv",
  })
    .option("--day <day>", "past day in UTC, such as 2026-03-04")
    .option("--from <day>", "first day of a range, in place of --day")
    .option("--to <day>", "last day of the range, included; it must be over")
    .requiredOption("--output <file>", "file to create; it must not exist yet")
    .action(async (options: Options) => {
      const { day = "", from = "", to = "" } = options;
      const wrong = findWrongDay({ day, from, to });
      if (wrong) throw new UsageError(asOptions(`${wrong.field} ${wrong.rule}.`));
      const call = administer(
        options,
        ({ ledger }) =>
          exportPages(options.output, async (pageToken) => {
            const page = await ledger.exportLedger({ ...scopeOf(options), day, from, to, pageToken });
            return { ...page, rows: page.entries };
          }),
        ({ rows }) => [
          `Exported ${rows} entries of ${day || (from === to ? from : `${from} to ${to}`)} to ${options.output}.`,
        ],
      );
      await (options.json ? call : call.catch(nameOptions));
    });
}

const asOptions = (message: string) => message.replace(/^day\b|\b(?:from|to)\b/g, "--$&");

function nameOptions(error: unknown): never {
  throw error instanceof ApiError && error.code === "invalid_parameter"
    ? new UsageError(asOptions(error.message))
    : error;
}
