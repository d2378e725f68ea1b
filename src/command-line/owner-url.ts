/** How a command that works as a database's owner is told the database. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { UsageError } from "./attachment.ts";

/** One of the two. */
export type OwnerUrlOptions = { readonly url?: string; readonly urlFile?: string };

/** Adds --url and --url-file. */
export function addOwnerUrl(command: Command): Command {
  return command
    .option("--url <url>", "address of the database, as its owner")
    .option("--url-file <file>", "file that has this address, so that no list of processes shows its password");
}

/** The address that was given, in one way or the other. */
export function ownerUrlOf({ url, urlFile }: OwnerUrlOptions): string {
  if ((url === undefined) === (urlFile === undefined)) throw new UsageError("Give --url or --url-file, one of them.");
  return url ?? readFileSync(urlFile!, "utf8").trim();
}
