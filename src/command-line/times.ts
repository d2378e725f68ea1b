/** Parses times as people type them. */
import { InvalidArgumentError } from "commander";
import { readTimestamp } from "../transcoder/reading.ts";

/** Parses a day, which means its first moment in UTC, or a time with its zone, by RFC 3339. */
export function parseTime(text: string): string {
  const time = isDay(text) ? `${text}T00:00:00Z` : text;
  if (readTimestamp(time).ok) return new Date(time).toISOString();
  throw new InvalidArgumentError(
    "It must be a day, which begins at midnight in UTC, or a time with its zone, such as 2026-11-01T08:00:00Z or 2026-11-01T09:00:00+01:00.",
  );
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && readTimestamp(`${text}T00:00:00Z`).ok;
}
