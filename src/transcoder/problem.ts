/** The problems of a request, field by field: place, kind and remedy; never the value itself. PURE. */

/** The kind of a mistake. The first four are about the body, `invalid_parameter` is about the path and the query. */
export type ProblemCode = "missing_field" | "invalid_field" | "unknown_field" | "duplicate_field" | "invalid_parameter";

/** A mistake as the caller reads it. `pointer` is an RFC 6901 pointer into the body, empty for a parameter. */
export type Problem = {
  readonly param: string;
  readonly pointer: string;
  readonly code: ProblemCode;
  readonly detail: string;
};

/** The place of a value in the request message, by JSON names and list positions. */
export type JsonPath = readonly (string | number)[];

/** A mistake as it is found; `problemOf` converts it for the caller. */
export type Finding = { readonly path: JsonPath; readonly code: ProblemCode; readonly detail: string };

// Keys of objects may be the caller's own. A key that looks like a field name is safe to repeat, a card number used as
// a key is not.
const showableName = /^(?:(?!.*\d{9})[A-Za-z_]\w{0,63}|\d{1,8})$/;

/**
 * Describes a finding to the caller. With `bodyField` the body is that one field of the message, and body pointers
 * begin below it. A path stops before a key that is not safe to repeat; `detail` then says that it is about a member.
 */
export function problemOf({ path, code, detail: found }: Finding, bodyField?: string): Problem {
  const hidden = path.findIndex((step) => typeof step === "string" && !showableName.test(step));
  const shown = hidden === -1 ? path : path.slice(0, hidden);
  const hiddenKind = code === "invalid_parameter" && shown.length === 0 ? "query parameter" : "member";
  const detail = hidden === -1 ? found : `has a ${hiddenKind} that ${found}`;
  if (code === "invalid_parameter") return { param: dotted(shown), pointer: "", code, detail };
  const inBody = shown[0] === bodyField ? shown.slice(1) : shown;
  return { param: dotted(inBody) || (bodyField ?? ""), pointer: jsonPointer(inBody), code, detail };
}

/** Reports whether two paths are equal or one is inside the other. */
export function sameOrInside(a: JsonPath, b: JsonPath): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  return short.every((step, position) => step === long[position]);
}

/** Writes a path as RFC 6901 JSON pointer. */
export function jsonPointer(path: JsonPath): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function dotted(path: JsonPath): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}
