/** Parses times as people type them. */
import { InvalidArgumentError } from "commander";

/** Parses a date, which means its first moment in UTC, or an ISO 8601 time. */
export function parseTime(text: string): string {
  const time = new Date(text);
  if (/^\d{4}-\d{2}-\d{2}(T|$)/.test(text) && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new InvalidArgumentError("It must be a time such as 2026-11-01T08:00:00Z.");
}
