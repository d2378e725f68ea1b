import { describe, expect, it } from "vitest";
import { captureVariable, parsePathTemplate } from "./path-template.ts";

describe("parsePathTemplate()", () => {
  it("reads literals, wildcards, variables and the verb", () => {
    expect(parsePathTemplate("/v1/{book.name=shelves/*/books/**}:move")).toEqual({
      segments: [
        { type: "literal", text: "v1" },
        { type: "literal", text: "shelves" },
        { type: "one" },
        { type: "literal", text: "books" },
        { type: "rest" },
      ],
      variables: [{ fieldNames: ["book", "name"], start: 1, end: undefined }],
      verb: "move",
    });
  });

  it("reads {id} as {id=*}", () => {
    expect(parsePathTemplate("/a/{id}")).toEqual(parsePathTemplate("/a/{id=*}"));
  });

  it("decodes literals", () => {
    expect(parsePathTemplate("/caf%C3%A9").segments).toEqual([{ type: "literal", text: "café" }]);
  });

  it.each([
    ["", "no path template"],
    ["v1/books", "no path template"],
    ["/", "no path template"],
    ["/v1/", "no path template"],
    ["/v1//books", "no path template"],
    ["/v1/{id", "no path template"],
    ["/v1/{id}s", "no path template"],
    ["/v1/{a={b}}", "no path template"],
    ["/v1/a:b/c", "no path template"],
    ["/v1/books:", "no path template"],
    ["/v1/books:mo*ve", "verb"],
    ["/v1/**/books", "** before its end"],
    ["/v1/{path=**}/books", "** before its end"],
    ["/v1/***", "segment"],
    ["/v1/book*", "segment"],
    ["/v1/bücher", "segment"],
    ["/v1/%zz", "segment"],
    ["/v1/%ff", "segment"],
    ["/v1/{id=}", "segment"],
    ["/v1/{id=a//b}", "segment"],
    ["/v1/{}", "field path"],
    ["/v1/{=*}", "field path"],
    ["/v1/{a..b}", "field path"],
    ["/v1/{1a}", "field path"],
  ])("refuses %s", (text, reason) => {
    expect(() => parsePathTemplate(text)).toThrow(reason);
  });
});

describe("captureVariable()", () => {
  const capture = (template: string, path: string) =>
    captureVariable(parsePathTemplate(template).variables[0]!, path.slice(1).split("/"));

  it.each([
    ["/v1/{id}", "/v1/a%2Fb%20c", "a/b c"],
    ["/v1/{id}", "/v1/a+b", "a+b"],
    ["/v1/{id}", "/v1/%F0%9F%98%80", "😀"],
    ["/v1/{name=shelves/*}", "/v1/shelves/a%2Fb", "shelves/a%2Fb"],
    ["/v1/{name=shelves/*}", "/v1/shelves/a%2fb%20c", "shelves/a%2fb c"],
    ["/v1/{path=**}", "/v1/a/b/c", "a/b/c"],
    ["/v1/{path=**}", "/v1", ""],
    ["/v1/{path=a/**}", "/v1/a", "a"],
    ["/v1/{path=**}", "/v1/a%252Fb", "a%2Fb"],
    ["/v1/{id}", "/v1/%zz", undefined],
    ["/v1/{id}", "/v1/%ff", undefined],
    ["/v1/{path=**}", "/v1/a/%c3", undefined],
  ])("takes from %s and %s the value %s", (template, path, value) => {
    expect(capture(template, path)).toBe(value);
  });
});
