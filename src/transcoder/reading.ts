/**
 * The result of reading a text, and the only kind of text that the command line reads too: it loads no Protobuf for its
 * help.
 */
import type { JsonValue } from "@bufbuild/protobuf";

/** A value in the JSON form of protobuf-es, or a description of the expected value. */
export type Reading = { readonly ok: true; readonly json: JsonValue } | { readonly ok: false; readonly detail: string };

export function accepted(json: JsonValue): Reading {
  return { ok: true, json };
}

/** Returns a reading of an invalid value; `detail` says what the value must be and never repeats it. */
export function refused(detail: string): Reading {
  return { ok: false, detail };
}

const timestamp =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

// The bounds of google.protobuf.Timestamp, as its comment states them.
const firstInstant = Date.parse("0001-01-01T00:00:00Z");
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z");

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

function dateExists(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
