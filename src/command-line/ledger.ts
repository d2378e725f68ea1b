/** `switchyard ledger`: every capture, refund and void of a past day, as a file. */
import { existsSync, writeFileSync } from "node:fs";
import { Command, InvalidArgumentError } from "commander";
import type { DashboardClient } from "../client/dashboard-client.ts";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";

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
        ({ ledger }) => exportAll(ledger, { ...scopeOf(options), day: options.day }, options.output),
        ({ entries }) => [`Exported ${entries} entries of ${options.day} to ${options.output}.`],
      );
    });
}

/** Exports page by page and prints progress. */
async function exportAll(
  ledger: DashboardClient["ledger"],
  request: ReturnType<typeof scopeOf> & { day: string },
  file: string,
): Promise<{ entries: number }> {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file.`);
  let count = 0;
  for (let pageToken = ""; ; ) {
    const page = await ledger.exportLedger({ ...request, pageToken });
    writeFileSync(file, page.csv ?? "", { flag: pageToken === "" ? "wx" : "a" });
    count += page.entries ?? 0;
    pageToken = page.nextPageToken ?? "";
    if (pageToken === "") return { entries: count };
    console.error(`${count} so far …`);
  }
}

function parseDay(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a day, such as 2026-03-04.");
}
