/** What reading a single value comes to. PURE. */
import type { JsonValue } from "@bufbuild/protobuf";

/** A value as protobuf-es takes it from JSON, or what it would have to be. */
export type Reading = { readonly ok: true; readonly json: JsonValue } | { readonly ok: false; readonly detail: string };

/** The value is fine. */
export function accepted(json: JsonValue): Reading {
  return { ok: true, json };
}

/** The value is not; `detail` says what it must be and never what it was. */
export function refused(detail: string): Reading {
  return { ok: false, detail };
}
