/** The result of reading a single value. PURE. */
import type { JsonValue } from "@bufbuild/protobuf";

/** A value in the JSON form of protobuf-es, or a description of the expected value. */
export type Reading = { readonly ok: true; readonly json: JsonValue } | { readonly ok: false; readonly detail: string };

/** Returns a reading of a valid value. */
export function accepted(json: JsonValue): Reading {
  return { ok: true, json };
}

/** Returns a reading of an invalid value; `detail` says what it must be and never what it was. */
export function refused(detail: string): Reading {
  return { ok: false, detail };
}
