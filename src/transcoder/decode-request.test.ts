import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { implementLibrary, libraryMessage } from "../dev/testing/transcoder/library.ts";
import { compileRoutes } from "./compile-routes.ts";
import { decodeRequest } from "./decode-request.ts";
import { findRoute } from "./route-table.ts";
import { TranscodingError } from "./transcoding-error.ts";

const table = compileRoutes([implementLibrary({})]);

/** Decodes as a request would be; a refusal is an outcome, any other error is a bug and is rethrown. */
function outcome(method: string, target: string, body: string | undefined): "decoded" | "refused" | "unmatched" {
  const match = table.match(target);
  const route = match && findRoute(match, method);
  if (match === undefined || route === undefined) return "unmatched";
  try {
    decodeRequest(route, match, body === undefined ? undefined : Buffer.from(body));
    return "decoded";
  } catch (error) {
    if (error instanceof TranscodingError) return "refused";
    throw error;
  }
}

const scalars = fc.oneof(
  fc.constantFrom(
    null,
    true,
    0,
    -1,
    4900.5,
    2 ** 53,
    1e300,
    "",
    "NOVEL",
    "NaN",
    "-1",
    "1s",
    "aGk=",
    "2030-01-31T12:00:00Z",
  ),
  fc.string({ unit: "binary" }),
  fc.double(),
);
const names = fc.constantFrom(
  ...libraryMessage("Book").fields.map((field) => field.jsonName),
  "heading",
  "parts",
  "isbn",
);
const { value: bodies } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalars,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(names, tie("value")),
  ),
}));

describe("decodeRequest()", () => {
  it("decodes or refuses any JSON, and never fails otherwise", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.dictionary(names, bodies), (body) => {
        seen.add(outcome("POST", "/v1/books", JSON.stringify(body)));
      }),
      { numRuns: 500 },
    );
    expect(seen).toContain("refused");
    expect(outcome("POST", "/v1/books", '{"title":"Emma"}')).toBe("decoded");
  });

  it("decodes or refuses any path and query, and never fails otherwise", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "7", "%", "2", "F", "/", ":", ".", "=", "&", "+", "tags=", "chapter.", "sequel."),
    });
    const seen = new Set<string>();
    fc.assert(
      fc.property(text, text, (path, query) => {
        seen.add(outcome("GET", `/v1/files/${path}?${query}`, undefined));
        seen.add(outcome("GET", `/v1/books?${query}`, undefined));
      }),
      { numRuns: 500 },
    );
    expect([...seen].sort()).toEqual(["decoded", "refused", "unmatched"]);
  });
});
