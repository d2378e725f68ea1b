/** Finds text that databases cannot store: Protobuf's text may contain NUL, which the readers of JSON refuse. PURE. */
import type { Finding, JsonPath } from "./problem.ts";

/** Returns a problem for each text of a message, however deep, that contains NUL. */
export function findNul(part: unknown, path: JsonPath = []): Finding[] {
  if (typeof part === "string") {
    if (!part.includes("\0")) return [];
    return [{ path, code: "invalid_field", detail: "must not contain the NUL character" }];
  }
  if (typeof part !== "object" || part === null || ArrayBuffer.isView(part)) return [];
  const isList = Array.isArray(part);
  // A oneof, whose fields are members of the message around it.
  if ("case" in part && "value" in part && typeof part.case === "string")
    return findNul(part.value, [...path.slice(0, -1), part.case]);
  return Object.entries(part).flatMap(([name, inner]) => findNul(inner, [...path, isList ? Number(name) : name]));
}
