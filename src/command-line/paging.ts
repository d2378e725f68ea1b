/** Lists that come in pages: the options of a command, and what it says when there is more. */
import { type Command, InvalidArgumentError } from "commander";
import { pageSizeDefault, pageSizeMax } from "../limits.ts";

/** Which page of a list is wanted. */
export type PagingOptions = { readonly count: number; readonly pageToken?: string };

/** Adds --count and --page-token. */
export function addPaging(command: Command): Command {
  return command
    .option("--count <count>", `how many, at most ${pageSizeMax}`, parseCount, pageSizeDefault)
    .option("--page-token <token>", "goes on where a page ended");
}

/** The page that the options name, as requests carry it. */
export function pageOf({ count, pageToken = "" }: PagingOptions): { pageSize: number; pageToken: string } {
  return { pageSize: count, pageToken };
}

/** The lines of a page and, where there is more, how to go on. */
export function withNextPage(lines: readonly string[], nextPageToken: string | undefined): readonly string[] {
  return nextPageToken ? [...lines, `There is more: --page-token ${nextPageToken}`] : lines;
}

/** A number of rows. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= pageSizeMax) return count;
  throw new InvalidArgumentError(`It must be a number from 1 to ${pageSizeMax}.`);
}
