/** Options that give a command the address of a database as its owner. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Database } from "../platform/database.ts";
import { parseDatabaseAddress } from "../platform/database-address.ts";
import { Secret } from "../platform/secrets.ts";
import { UsageError } from "./attachment.ts";

/** Exactly one of the two is given. */
export type OwnerUrlOptions = { readonly url?: string; readonly urlFile?: string };

export function addOwnerUrl(command: Command, about = "connection URL of the database, as its owner"): Command {
  return command
    .option("--url <url>", about)
    .option("--url-file <file>", "file with this URL, so that the process list does not show its password");
}

export function ownerUrlOf({ url, urlFile }: OwnerUrlOptions): string {
  if ((url === undefined) === (urlFile === undefined)) throw new UsageError("Give either --url or --url-file.");
  const address = url ?? readFileSync(urlFile!, "utf8").trim();
  if (parseDatabaseAddress(address) !== undefined) return address;
  const option = url === undefined ? `--url-file: ${urlFile} must have one line,` : "--url must be";
  throw new UsageError(
    `${option} postgres://role:password@host/database, with /, %, @, # and ? of the password percent-encoded.`,
  );
}

/** Works on that database, and closes it. */
export async function onOwnerDatabase<Result>(
  options: OwnerUrlOptions,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { openDatabase } = await import("../processes/open-database.ts");
  const { database, close } = openDatabase(new Secret(ownerUrlOf(options)));
  try {
    return await work(database);
  } finally {
    await close();
  }
}
