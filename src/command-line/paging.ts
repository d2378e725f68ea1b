/** Lists with pages: the options of a command, and its hint when there are more rows. */
import { type Command, InvalidArgumentError } from "commander";
import { pageSizeDefault, pageSizeMax } from "../limits.ts";

export type PagingOptions = { readonly count: number; readonly pageToken?: string };

export function addPaging(command: Command): Command {
  return command
    .option("--count <count>", `number of rows, at most ${pageSizeMax}`, parseCount, pageSizeDefault)
    .option("--page-token <token>", "continue after a previous page");
}

export function pageOf({ count, pageToken = "" }: PagingOptions): { pageSize: number; pageToken: string } {
  return { pageSize: count, pageToken };
}

export function withNextPage(lines: readonly string[], nextPageToken: string | undefined): readonly string[] {
  return nextPageToken ? [...lines, `For the next page: --page-token ${nextPageToken}`] : lines;
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= pageSizeMax) return count;
  throw new InvalidArgumentError(`It must be a number from 1 to ${pageSizeMax}.`);
}
