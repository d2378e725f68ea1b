import { describe, expect, it } from "vitest";
import { jsonPointer, problemOf, sameOrInside } from "./problem.ts";

describe("problemOf()", () => {
  it("names a nested value for people and for programs", () => {
    const finding = { path: ["items", 0, "sku"], code: "invalid_field", detail: "is odd" } as const;
    expect(problemOf(finding)).toEqual({
      param: "items[0].sku",
      pointer: "/items/0/sku",
      code: "invalid_field",
      detail: "is odd",
    });
  });

  it("begins below the field that is the whole body", () => {
    const finding = { path: ["book", "title"], code: "missing_field", detail: "is required" } as const;
    expect(problemOf(finding, "book")).toMatchObject({ param: "title", pointer: "/title" });
    expect(problemOf({ ...finding, path: ["book"] }, "book")).toMatchObject({ param: "book", pointer: "" });
  });

  it("has no pointer into the body for a parameter", () => {
    const finding = { path: ["chapter", "heading"], code: "invalid_parameter", detail: "is odd" } as const;
    expect(problemOf(finding)).toMatchObject({ param: "chapter.heading", pointer: "" });
  });

  it.each([
    "4111111111111111",
    "x4111111111111111",
    "x4111-1111-1111-1111",
    "123456789",
    "a b",
    "ü",
    "",
    "n".repeat(65),
  ])("hides the key %j", (key) => {
    const finding = { path: ["sales", key, "deep"], code: "invalid_field", detail: "is odd" } as const;
    const detail = "has a member that is odd";
    expect(problemOf(finding)).toMatchObject({ param: "sales", pointer: "/sales", detail });
  });

  it("says of a hidden parameter that it is one of the request's", () => {
    const finding = { path: ["page-size"], code: "invalid_parameter", detail: "is odd" } as const;
    expect(problemOf(finding)).toMatchObject({ param: "", detail: "has a query parameter that is odd" });
  });
});

describe("jsonPointer()", () => {
  it("escapes as RFC 6901 requires", () => {
    expect(jsonPointer(["a/b", "m~n", 3])).toBe("/a~1b/m~0n/3");
    expect(jsonPointer([])).toBe("");
  });
});

describe("sameOrInside()", () => {
  it.each([
    [["a"], ["a"], true],
    [[], ["a"], true],
    [["a", 0], ["a"], true],
    [["a", 0], ["a", 1], false],
    [["a"], ["ab"], false],
  ])("of %j and %j is %s", (a, b, related) => {
    expect(sameOrInside(a, b)).toBe(related);
  });
});
