import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { libraryMessage } from "../dev/testing/transcoder/library.ts";
import { publicFieldJson, publicJson } from "./public-json.ts";

const chapter = libraryMessage("Chapter");
const book = libraryMessage("Book");
const write = (json: JsonValue) => publicJson(book, fromJson(book, json));

describe("publicJson()", () => {
  it("writes fields without presence even if they are empty, and leaves unset ones out", () => {
    expect(publicJson(chapter, create(chapter))).toBe('{"heading":"","length":0,"parts":[]}');
  });

  it("writes 64-bit integers as numbers everywhere", () => {
    const json = JSON.parse(
      write({
        priceMinor: "4900",
        barcode: "1",
        edition: "2",
        sales: { de: "3" },
        libraryId: "4",
        preface: { length: "5" },
      }),
    );
    expect(json).toMatchObject({ priceMinor: 4900, barcode: 1, edition: 2, sales: { de: 3 }, libraryId: 4 });
    expect(json.preface.length).toBe(5);
  });

  it("writes integers that exceed a double digit by digit", () => {
    expect(write({ barcode: "18446744073709551615" })).toContain('"barcode":18446744073709551615,');
    expect(write({ priceMinor: "-9007199254740993" })).toContain('"priceMinor":-9007199254740993,');
  });

  it.each([
    ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31T12:00:00.1Z", "2030-01-31T12:00:00.100Z"],
    ["2030-01-31T12:00:00.999999999Z", "2030-01-31T12:00:00.999Z"],
    ["2030-01-31T14:30:00.123456+02:30", "2030-01-31T12:00:00.123Z"],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ])("writes the time %s as %s", (time, written) => {
    expect(write({ publishedAt: time })).toContain(`"publishedAt":"${written}"`);
  });

  it("converts times in a recursive type", () => {
    const json = write({ chapters: [{ parts: [{ parts: [{ writtenAt: "2030-01-31T12:00:00Z", length: "7" }] }] }] });
    expect(json).toContain('"length":7,"writtenAt":"2030-01-31T12:00:00.000Z"');
  });

  it("leaves a Struct unchanged, including times and digits in it", () => {
    const extra = { at: "2030-01-31T12:00:00Z", count: "4900", none: null, list: [1.5, { deep: true }] };
    expect(JSON.parse(write({ extra })).extra).toEqual(extra);
  });

  it("leaves map keys unchanged", () => {
    const sales = JSON.parse('{"__proto__":"1","10":"2"}');
    expect(write({ sales })).toContain('"sales":{"10":2,"__proto__":1}');
  });
});

describe("publicFieldJson()", () => {
  const field = (name: string) => book.fields.find((each) => each.name === name)!;
  const message = fromJson(book, { tags: ["a"], priceMinor: "7", publishedAt: "2030-01-31T12:00:00Z" });

  it.each([
    ["tags", '["a"]'],
    ["price_minor", "7"],
    ["published_at", '"2030-01-31T12:00:00.000Z"'],
    ["chapters", "[]"],
    ["preface", "null"],
  ])("writes %s as %s", (name, json) => {
    expect(publicFieldJson(book, message, field(name))).toBe(json);
  });
});
