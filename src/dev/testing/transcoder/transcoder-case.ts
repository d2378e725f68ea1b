/** A row of the table of cases: a request, and the message that the rpc received or the refusal. */
import type { JsonObject } from "@bufbuild/protobuf";

/** The end of a request. Messages are in ProtoJSON, so 64-bit integers are text. */
export type Ending =
  | { readonly type: "received"; readonly rpc: string; readonly request: JsonObject }
  | { readonly type: "answered"; readonly status: number; readonly text: string; readonly allow?: string }
  | {
      readonly type: "refused";
      readonly status: number;
      readonly code: string;
      /** "code place": the place is a pointer into the body, or a parameter's name. */
      readonly problems: readonly string[];
    };

/** A request line, an ending, and the body: text as it is, anything else as JSON. */
export type TranscoderCase = readonly [request: string, ending: Ending, body?: unknown];

export const got = (rpc: string, request: JsonObject): Ending => ({ type: "received", rpc, request });

/** The whole body of a success. */
export const answers = (text: string): Ending => ({ type: "answered", status: 200, text });

/** Expects an answer that names these methods, without a call of an rpc. */
export const options = (allow: string): Ending => ({ type: "answered", status: 204, text: "", allow });

/** A known path without this method. */
export const wrongMethod: Ending = { type: "refused", status: 405, code: "method_not_allowed", problems: [] };

/** A path that is not the service's. */
export const notMine: Ending = { type: "answered", status: 404, text: "not mine" };

/** Wrong parameters, of the path or the query. */
export const badParameters = (...names: string[]): Ending => ({
  type: "refused",
  status: 400,
  code: "invalid_parameter",
  problems: names.map((name) => `invalid_parameter ${name}`),
});

/** Wrong fields of the body, each as "code pointer". */
export const badFields = (...problems: string[]): Ending => ({
  type: "refused",
  status: 400,
  code: "invalid_fields",
  problems,
});

/** Refused before there are fields to name. */
export const bad = (status: number, code: string): Ending => ({ type: "refused", status, code, problems: [] });
