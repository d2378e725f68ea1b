/** Reads the well-known types that JSON writes as text, more strictly than protobuf-es does. PURE. */
import { accepted, type Reading, refused } from "./reading.ts";

const timestamp =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const duration = /^-?(\d{1,12})(?:\.\d{1,9})?s$/;
const fieldMask = /^[a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)*(?:,[a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)*)*$/;

// The bounds of google.protobuf.Timestamp and Duration, as their comments state them.
const firstInstant = Date.parse("0001-01-01T00:00:00Z");
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z");
const durationSecondsMax = 315_576_000_000;

/**
 * Reads google.protobuf.Timestamp: RFC 3339 with a date that exists; `Date.parse` alone reads 30 February as 1 March.
 */
export function readTimestamp(text: string): Reading {
  const [, year, month, day] = timestamp.exec(text) ?? [];
  if (year === undefined || !dateExists(Number(year), Number(month), Number(day))) {
    return refused("must be an RFC 3339 time such as 2030-01-31T12:00:00.000Z");
  }
  const instant = Date.parse(text);
  if (instant < firstInstant || instant > lastInstant) return refused("must lie in the years 0001 to 9999");
  return accepted(text);
}

/** Reads google.protobuf.Duration: seconds with the suffix s. */
export function readDuration(text: string): Reading {
  const seconds = duration.exec(text)?.[1];
  if (seconds === undefined) return refused("must be a duration in seconds such as 1.5s");
  return Number(seconds) < durationSecondsMax ? accepted(text) : refused("must be shorter than 10 000 years");
}

/** Reads google.protobuf.FieldMask: lowerCamelCase paths separated by commas; the empty text is the empty mask. */
export function readFieldMask(text: string): Reading {
  return text === "" || fieldMask.test(text) ? accepted(text) : refused("must be field names with commas between them");
}

function dateExists(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
