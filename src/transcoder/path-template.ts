/** The path templates of google.api.http: their grammar, and the part of a path that a variable captures. PURE. */

/** A part between slashes: text to match, `*` for any one part, `**` for the whole rest. */
export type Segment = { readonly type: "literal"; readonly text: string } | { readonly type: "one" | "rest" };

/** A variable and the segments it captures, from `start` to before `end`. */
export type PathVariable = {
  readonly fieldNames: readonly string[];
  readonly start: number;
  /** Undefined if the variable captures the whole rest. */
  readonly end: number | undefined;
};

/** A parsed template, such as `/v1/{name=shelves/*}:move`. */
export type PathTemplate = {
  readonly segments: readonly Segment[];
  readonly variables: readonly PathVariable[];
  /** The text after the colon, empty if there is none. */
  readonly verb: string;
};

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
// The characters that RFC 3986 allows in a path segment, less the colon (it begins the verb) and the asterisk.
const literalText = /^(?:[\w.~!$&'()+,;=@-]|%[0-9A-Fa-f]{2})+$/;
const templateParts = /^((?:\/(?:[^/{}:]+|\{[^{}]*\}))+)(?::([^/{}:]+))?$/;
const segmentParts = /\/(?:\{([^{}=]*)(?:=([^{}]*))?\}|([^/{}]+))/g;

/** Parses a template. Throws an Error that describes the mistake. */
export function parsePathTemplate(text: string): PathTemplate {
  const [, path, verb = ""] = templateParts.exec(text) ?? [];
  if (path === undefined) {
    throw new Error("is no path template: expected /segments with * or {variables} and an optional :verb");
  }
  if (verb !== "" && !literalText.test(verb)) throw new Error("has a verb that is no literal");
  const segments: Segment[] = [];
  const variables: PathVariable[] = [];
  for (const [, fieldPath, pattern, plain] of path.matchAll(segmentParts)) {
    if (fieldPath === undefined) {
      segments.push(parseSegment(plain!));
      continue;
    }
    const start = segments.length;
    for (const part of (pattern ?? "*").split("/")) segments.push(parseSegment(part));
    const end = segments.at(-1)!.type === "rest" ? undefined : segments.length;
    variables.push({ fieldNames: parseFieldPath(fieldPath), start, end });
  }
  if (segments.slice(0, -1).some((segment) => segment.type === "rest")) throw new Error("has ** before its end");
  return { segments, variables, verb };
}

/**
 * Returns the text that a variable captures from the raw segments of a matching path. `%2F` is decoded only if exactly
 * one segment is captured; elsewhere it could not be distinguished from a slash. Undefined if the percent-encoding is
 * broken.
 */
export function captureVariable({ start, end }: PathVariable, rawSegments: readonly string[]): string | undefined {
  const captured = rawSegments.slice(start, end);
  if (end === start + 1) return decodeSegment(captured[0]!);
  const decoded = captured.map((segment) =>
    segment.split(/(%2f)/i).map((part, at) => (at % 2 === 1 ? part : decodeSegment(part))),
  );
  if (decoded.some((parts) => parts.includes(undefined))) return undefined;
  return decoded.map((parts) => parts.join("")).join("/");
}

/** Decodes percent-encoding; undefined if it is broken or not UTF-8. */
export function decodeSegment(raw: string): string | undefined {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

function parseSegment(text: string): Segment {
  if (text === "*") return { type: "one" };
  if (text === "**") return { type: "rest" };
  const decoded = literalText.test(text) ? decodeSegment(text) : undefined;
  if (decoded === undefined) throw new Error("has a segment that is neither *, ** nor a percent-encoded literal");
  return { type: "literal", text: decoded };
}

function parseFieldPath(text: string): string[] {
  const names = text.split(".");
  if (!names.every((name) => identifier.test(name))) throw new Error("has a variable that is no field path");
  return names;
}
