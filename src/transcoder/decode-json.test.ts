import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { libraryMessage } from "../dev/testing/transcoder/library.ts";
import { decodeMessage } from "./decode-json.ts";
import { type Finding, problemOf } from "./problem.ts";
import { parseStrictJson } from "./strict-json.ts";

const book = libraryMessage("Book");

/** Decodes a book from JSON text; returns the decoded part, and every problem as "code pointer: detail". */
function decode(text: string) {
  const findings: Finding[] = [];
  const json = decodeMessage(book, parseStrictJson(Buffer.from(text)), [], findings);
  // The decoded part must be valid for protobuf-es.
  fromJson(book, json ?? {});
  const problems = findings.map((finding) => problemOf(finding));
  return { json, problems: problems.map(({ code, pointer, detail }) => `${code} ${pointer}: ${detail}`) };
}

describe("decodeMessage()", () => {
  it.each<[string, unknown]>([
    ['{"priceMinor":4900}', { priceMinor: "4900" }],
    ['{"priceMinor":4900.0}', { priceMinor: "4900" }],
    ['{"priceMinor":4.9e3}', { priceMinor: "4900" }],
    ['{"priceMinor":-9007199254740991}', { priceMinor: "-9007199254740991" }],
    ['{"pages":-2147483648,"copies":4294967295}', { pages: -2147483648, copies: 4294967295 }],
    ['{"weight":1e300,"rating":1.5}', { weight: 1e300, rating: 1.5 }],
    ['{"rating":3.4028235e38}', { rating: Math.fround(3.4028235e38) }],
    ['{"weight":"-Infinity","rating":"NaN"}', { weight: "-Infinity", rating: "NaN" }],
    ['{"lent":false}', { lent: false }],
    ['{"cover":"aGk=","genre":"POETRY"}', { cover: "aGk=", genre: "POETRY" }],
    ['{"cover":"-_8"}', { cover: "-_8" }],
    ['{"tags":["a","b"],"chapters":[{"length":1}]}', { tags: ["a", "b"], chapters: [{ length: "1" }] }],
    ['{"sales":{"de":1,"__proto__":2}}', { sales: JSON.parse('{"de":"1","__proto__":"2"}') }],
    ['{"appendix":{"-1":{"heading":"x"}}}', { appendix: { "-1": { heading: "x" } } }],
    ['{"publishedAt":"2024-02-29T23:59:59.123456789+14:00"}', { publishedAt: "2024-02-29T23:59:59.123456789+14:00" }],
    ['{"readingTime":"-1.5s"}', { readingTime: "-1.5s" }],
    ['{"extra":{"a":[1,null,{"b":true}]},"note":null}', { extra: { a: [1, null, { b: true }] }, note: null }],
    ['{"edition":9}', { edition: "9" }],
    ['{"person":"Ann","mask":"title,preface.heading"}', { person: "Ann", mask: "title,preface.heading" }],
    ['{"mask":""}', { mask: "" }],
  ])("reads %s", (text, json) => {
    expect(decode(text)).toEqual({ json, problems: [] });
  });

  it.each([
    ['{"priceMinor":"4900"}', "invalid_field /priceMinor: must be a number, not a string"],
    ['{"priceMinor":true}', "invalid_field /priceMinor: must be a whole number"],
    ['{"priceMinor":null}', "invalid_field /priceMinor: may not be null; leave the field out"],
    ['{"priceMinor":49.5}', "invalid_field /priceMinor: must be a whole number"],
    ['{"priceMinor":[4900]}', "invalid_field /priceMinor: must be a whole number"],
    [
      '{"priceMinor":9007199254740993}',
      "invalid_field /priceMinor: must be between -9007199254740991 and 9007199254740991",
    ],
    ['{"barcode":-1}', "invalid_field /barcode: must be between 0 and 9007199254740991"],
    ['{"pages":2147483648}', "invalid_field /pages: must be between -2147483648 and 2147483647"],
    ['{"copies":1e999999999}', "invalid_field /copies: must be between 0 and 4294967295"],
    ['{"weight":1e400}', "invalid_field /weight: is too large a number"],
    ['{"rating":1e39}', "invalid_field /rating: is too large a number"],
    ['{"weight":"1"}', "invalid_field /weight: must be a number"],
    ['{"title":1}', "invalid_field /title: must be a string"],
    ['{"title":"\\ud800"}', "invalid_field /title: must not contain half of a surrogate pair"],
    ['{"title":"a\\u0000"}', "invalid_field /title: must not contain the NUL character"],
    ['{"lent":"true"}', "invalid_field /lent: must be true or false"],
    ['{"lent":1}', "invalid_field /lent: must be true or false"],
    ['{"cover":"a"}', "invalid_field /cover: must be base64"],
    ['{"cover":"aGk= "}', "invalid_field /cover: must be base64"],
    ['{"genre":1}', "invalid_field /genre: must be one of NOVEL, POETRY"],
    ['{"genre":"novel"}', "invalid_field /genre: must be one of NOVEL, POETRY"],
    ['{"tags":"a"}', "invalid_field /tags: must be a list"],
    ['{"tags":null}', "invalid_field /tags: must be a list"],
    ['{"tags":["a",null]}', "invalid_field /tags/1: may not be null; leave the field out"],
    [
      '{"chapters":[{},{"parts":[{"length":"1"}]}]}',
      "invalid_field /chapters/1/parts/0/length: must be a number, not a string",
    ],
    ['{"preface":"x"}', "invalid_field /preface: must be an object"],
    ['{"preface":null}', "invalid_field /preface: may not be null; leave the field out"],
    ['{"sales":[]}', "invalid_field /sales: must be an object"],
    ['{"sales":{"de":"1"}}', "invalid_field /sales/de: must be a number, not a string"],
    ['{"sales":{"de":1,"de":2}}', "duplicate_field /sales/de: is given more than once"],
    ['{"appendix":{"x":{}}}', "invalid_field /appendix/x: has a key that must be a whole number"],
    ['{"publishedAt":1700000000}', "invalid_field /publishedAt: must be a string"],
    [
      '{"publishedAt":"2023-02-29T00:00:00Z"}',
      "invalid_field /publishedAt: must be an RFC 3339 time such as 2030-01-31T12:00:00.000Z",
    ],
    [
      '{"publishedAt":"2024-01-01 00:00:00Z"}',
      "invalid_field /publishedAt: must be an RFC 3339 time such as 2030-01-31T12:00:00.000Z",
    ],
    ['{"publishedAt":"9999-12-31T23:59:59-01:00"}', "invalid_field /publishedAt: must lie in the years 0001 to 9999"],
    ['{"readingTime":"1s later"}', "invalid_field /readingTime: must be a duration in seconds such as 1.5s"],
    ['{"readingTime":"999999999999s"}', "invalid_field /readingTime: must be shorter than 10 000 years"],
    ['{"extra":{"a":{"b":1e400}}}', "invalid_field /extra/a/b: is too large a number"],
    ['{"extra":{"a":[9007199254740993]}}', "invalid_field /extra/a/0: is too large a whole number"],
    ['{"appendix":{"01":{}}}', "invalid_field /appendix/01: has a key that must be a whole number"],
    ['{"extra":{"a":1,"a":2}}', "duplicate_field /extra/a: is given more than once"],
    ['{"extra":[]}', "invalid_field /extra: must be an object"],
    ['{"edition":"9"}', "invalid_field /edition: must be a number, not a string"],
    ['{"mask":"snake_case"}', "invalid_field /mask: must be field names with commas between them"],
    [
      '{"person":"a","libraryId":1}',
      "invalid_field /libraryId: may not be given together with another of person, libraryId",
    ],
    ['{"price_minor":1}', "unknown_field /price_minor: is not a field of this request"],
    ['{"Title":"a"}', "unknown_field /Title: is not a field of this request"],
    ['{"__proto__":{"title":"a"}}', "unknown_field /__proto__: is not a field of this request"],
    ['{"toString":1}', "unknown_field /toString: is not a field of this request"],
    ['{"title":"a","title":"a"}', "duplicate_field /title: is given more than once"],
    ["[]", "invalid_field : must be an object"],
    ["null", "invalid_field : must be an object"],
  ])("refuses %s", (text, problem) => {
    expect(decode(text).problems).toEqual([problem]);
  });

  it("reports every problem in the order of the body and keeps the rest", () => {
    expect(decode('{"isbn":1,"title":"a","pages":"1","chapters":[7,{"heading":"b"}]}')).toEqual({
      json: { title: "a", chapters: [{}, { heading: "b" }] },
      problems: [
        "unknown_field /isbn: is not a field of this request",
        "invalid_field /pages: must be a number, not a string",
        "invalid_field /chapters/0: must be an object",
      ],
    });
  });

  it("does not repeat a key that may be a misplaced value", () => {
    expect(decode('{"4242424242424242":1,"sales":{"card 4242":"x"}}').problems).toEqual([
      "unknown_field : has a member that is not a field of this request",
      "invalid_field /sales: has a member that must be a number, not a string",
    ]);
  });
});
