/** What a command prints: an answer as JSON or in lines for a person, and an error likewise. */
import { ApiError } from "../client/merchant/api-error.ts";
import { asCalled } from "./present-help.ts";

/** How a command's answer is wanted: for a person, or as JSON. */
export type OutputOptions = { readonly json?: boolean };

/** Prints an answer on standard output. */
export function print<Answer extends object>(
  options: OutputOptions,
  answer: Answer,
  lines: (answer: Answer) => readonly string[],
): void {
  console.log(options.json ? JSON.stringify(answer, null, 2) : asCalled(lines(answer).join("\n")));
}

/** Rows under their headings, in columns as wide as their widest cell; `nothing` when there are none. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  nothing: string,
): readonly string[] {
  if (rows.length === 0) return [nothing];
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A refusal of the service as a person or a program reads it; undefined for any other error. */
export function describeRefusal(error: unknown, options: OutputOptions): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { code, message, problems, requestId } = error;
  if (options.json) return JSON.stringify({ code, message, problems, requestId }, null, 2);
  const more = problems.map(({ param, detail }) => `- ${param}: ${detail}`);
  return [`${message} (${code}${requestId ? `, ${requestId}` : ""})`, ...more].join("\n");
}
