import { describe, expect, it } from "vitest";
import { implementLibrary, serviceWithRule } from "../dev/testing/transcoder/library.ts";
import { compileRoutes } from "./compile-routes.ts";
import { findRoute } from "./route-table.ts";

type Rule = Parameters<typeof serviceWithRule>[0];
type Method = Parameters<typeof serviceWithRule>[1];

const get = (path: string): Rule => ({ pattern: { case: "get", value: path } });
const post = (path: string, rest: Rule = {}): Rule => ({ pattern: { case: "post", value: path }, ...rest });
const custom = (kind: string, path = "/v1/x"): Rule => ({ pattern: { case: "custom", value: { kind, path } } });

describe("compileRoutes()", () => {
  it.each<[string, Rule, Method, string]>([
    ["a rule without a pattern", {}, {}, "neither a method nor a path"],
    ["a streaming method", get("/v1/x"), { serverStreaming: true }, "streaming"],
    ["a wrong template", get("/v1/{"), {}, '"/v1/{" is no path template'],
    ["a variable that names no field", get("/v1/{isbn}"), {}, "{isbn} names no field of library.v1.Book"],
    ["a variable by its JSON name", get("/v1/{priceMinor}"), {}, "{priceMinor} names no field"],
    ["a repeated field in the path", get("/v1/{tags}"), {}, "{tags} names a repeated field"],
    ["a map in the path", get("/v1/{sales}"), {}, "{sales} names a repeated field"],
    ["a field inside a repeated one", get("/v1/{chapters.heading}"), {}, "{chapters.heading} names no field"],
    ["a message in the path", get("/v1/{preface}"), {}, "{preface} names a message"],
    ["a field inside a time", get("/v1/{published_at.seconds}"), {}, "{published_at.seconds} names no field"],
    ["a variable that stands twice", get("/v1/{name}/{name}"), {}, "{name} stands in the path twice"],
    ["an unknown body field", post("/v1/x", { body: "isbn" }), {}, 'body "isbn" names no top-level field'],
    ["a body field that is not at the top", post("/v1/x", { body: "preface.heading" }), {}, "no top-level field"],
    ["a body field that the path fills", post("/v1/{name}", { body: "name" }), {}, "a field that the path fills"],
    ["a body on GET", { ...get("/v1/x"), body: "*" }, {}, "a GET request has no body"],
    ["a body on HEAD", { ...custom("HEAD"), body: "*" }, {}, "a HEAD request has no body"],
    ["an unknown response field", { ...get("/v1/x"), responseBody: "isbn" }, {}, 'response_body "isbn" names no'],
    ["a method HTTP does not know", custom("FETCH"), {}, 'the method "FETCH"'],
    ["a method in lower case", custom("get"), {}, 'the method "get"'],
    ["a custom rule without a kind", custom(""), {}, 'the method ""'],
    ["TRACE", custom("TRACE"), {}, "TRACE requests are not served"],
    ["the same path twice", post("/v1/{name}", { additionalBindings: [post("/v1/*")] }), {}, "already used by library"],
    ["a request that holds an Any", post("/v1/x"), { input: "library.v1.Parcel" }, "google.protobuf.Any has no fixed"],
    [
      "a response that holds an Any",
      post("/v1/x"),
      { output: "library.v1.Parcel" },
      "google.protobuf.Any has no fixed",
    ],
    ["a request that is no object", post("/v1/x"), { input: "google.protobuf.Struct" }, "cannot be the whole request"],
    [
      "nested additional bindings",
      post("/v1/x", { additionalBindings: [post("/v1/y", { additionalBindings: [post("/v1/z")] })] }),
      {},
      "may not be nested",
    ],
  ])("refuses %s, naming file and method", (_, rule, method, reason) => {
    const compile = () => compileRoutes([serviceWithRule(rule, method)]);
    expect(compile).toThrow(expect.objectContaining({ name: "HttpRuleError" }));
    expect(compile).toThrow(reason);
    expect(compile).toThrow("library.proto: library.v1.LibraryService.Try: ");
  });

  it("refuses a route that another service has", () => {
    expect(() => compileRoutes([implementLibrary({}), serviceWithRule(get("/v1/books"))])).toThrow(
      "the same GET path is already used by library.v1.LibraryService.SearchBooks",
    );
  });

  it("leaves methods without a rule to other protocols", () => {
    expect(compileRoutes([implementLibrary({})]).match("/library.v1.LibraryService/Unimplemented")).toBeUndefined();
  });
});

describe("match()", () => {
  const table = compileRoutes([implementLibrary({})]);

  it.each([
    ["GET", "/v1/shelves/main", "GetMainShelf"],
    ["GET", "/v1/shelves/%6Dain", "GetMainShelf"],
    ["GET", "/v1/shelves/7", "GetShelf"],
    ["LOCK", "/v1/shelves/main", "Lock"],
    ["GET", "/v1/files/a/b:count", "CountFile"],
  ])("leads %s %s to %s, whose path is the most specific", (method, target, name) => {
    expect(findRoute(table.match(target)!, method)?.method.name).toBe(name);
  });
});
