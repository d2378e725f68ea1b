/** Prints an answer or an error, as JSON or in lines for a person. */
import { ApiError } from "../client/merchant/api-error.ts";
import { asCalled } from "./present-help.ts";

export type OutputOptions = { readonly json?: boolean };

export function print<Answer extends object>(
  options: OutputOptions,
  answer: Answer,
  lines: (answer: Answer) => readonly string[],
): void {
  console.log(options.json ? JSON.stringify(answer, null, 2) : asCalled(lines(answer).join("\n")));
}

/** Formats rows under headings, in columns as wide as their widest cell; returns `nothing` without rows. */
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

/** Describes a refusal by the service, for a person or as JSON; undefined for any other error. */
export function describeRefusal(error: unknown, options: OutputOptions): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { code, message, problems, requestId } = error;
  if (options.json) return JSON.stringify({ code, message, problems, requestId }, null, 2);
  // The message has the only one.
  const more = problems.length > 1 ? problems.map(({ param, detail }) => `- ${param}: ${detail}`) : [];
  return [`${message} (${code}${requestId ? `, ${requestId}` : ""})`, ...more].join("\n");
}

/** Formats an amount as the rpcs return it: 49.00 EUR. */
export function amountOf({ amountMinor = "", currency = "", exponent = 0 }: AmountView = {}): string {
  const digits = amountMinor.padStart(exponent + 1, "0");
  const cut = digits.length - exponent;
  return `${digits.slice(0, cut)}${exponent > 0 ? `.${digits.slice(cut)}` : ""} ${currency}`;
}
type AmountView = { readonly amountMinor?: string; readonly currency?: string; readonly exponent?: number };

/** Replaces control characters, which a terminal would obey, in text of other parties. */
export function shown(text = ""): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16)}}`);
}
