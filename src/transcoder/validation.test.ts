import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { libraryMessage } from "../dev/testing/transcoder/library.ts";
import { validateMessage } from "./validation.ts";

const validate = (name: string, json: JsonValue) =>
  validateMessage(libraryMessage(name), fromJson(libraryMessage(name), json));

describe("validateMessage()", () => {
  it("finds nothing in a valid message", () => {
    expect(validate("Book", { title: "Emma" })).toEqual([]);
  });

  it("reports a required field as missing, also at its zero value", () => {
    const missing = [{ param: "title", pointer: "/title", code: "missing_field", detail: "is required" }];
    expect(validate("Book", {})).toEqual(missing);
    expect(validate("Book", { title: "" })).toEqual(missing);
  });

  it("points into lists, maps and nested messages by JSON name, and finds all problems at once", () => {
    const json = { title: "Emma", priceMinor: "-1", chapters: [{ heading: "x" }, { parts: [{ heading: "y" }] }] };
    expect(validate("Book", json).map(({ pointer }) => pointer)).toEqual(["/priceMinor", "/chapters/1/heading"]);
    const period = { begin: 1, end: 2, daily: true, chapters: { a: {} } };
    expect(validate("Period", period)).toMatchObject([{ param: "chapters.a.heading", pointer: "/chapters/a/heading" }]);
  });

  it("reports a rule of the whole message, and an unset required oneof, at the message", () => {
    expect(validate("Period", { begin: 2, end: 1 })).toEqual([
      { param: "", pointer: "", code: "invalid_field", detail: "must begin before it ends" },
      { param: "", pointer: "", code: "missing_field", detail: "must have one of daily, weekly" },
    ]);
  });

  it("reports a wrong key at its entry", () => {
    const [problem] = validate("Period", { begin: 1, end: 2, daily: true, chapters: { abcd: { heading: "x" } } });
    expect(problem).toMatchObject({ pointer: "/chapters/abcd", code: "invalid_field" });
    expect(problem?.detail).toMatch(/^has a key that is not valid: must be at most 3/);
  });

  it("never shows an expression", () => {
    const [problem] = validate("Shelfmark", { mark: "12" });
    expect(problem?.detail).toBe("does not have the form that is described for it");
  });

  it("never repeats a value", () => {
    const [problem] = validate("Book", { title: "4242424242424242 is my card, please take it now" });
    expect(problem?.code).toBe("invalid_field");
    expect(JSON.stringify(problem)).not.toContain("4242");
  });
});
