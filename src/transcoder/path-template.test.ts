import { describe, expect, it } from "vitest";
import { parsePathTemplate } from "./path-template.ts";

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
