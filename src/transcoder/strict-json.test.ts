import { describe, expect, it } from "vitest";
import { type JsonNode, JsonNumber, JsonObject, parseStrictJson } from "./strict-json.ts";

const parse = (text: string) => parseStrictJson(Buffer.from(text));

/** Returns the tree as JSON.parse would return it. */
function plain(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.source);
  if (node instanceof JsonObject)
    return Object.fromEntries([...node.members].map(([key, value]) => [key, plain(value)]));
  return Array.isArray(node) ? node.map(plain) : node;
}

describe("parseStrictJson()", () => {
  it.each([
    "{}",
    " [ ] ",
    '{"a":1,"b":[true,false,null,{"c":"d"}]}\n',
    "-0.5e+3",
    '"\\u00e9\\n\\"\\\\\\/ \\ud83d\\ude00 €😀"',
    '""',
    '{"":{"__proto__":1}}',
    "[1,\t2 ,\r\n3]",
  ])("reads what JSON.parse reads: %s", (text) => {
    expect(plain(parse(text))).toEqual(JSON.parse(text));
  });

  it.each([
    "",
    " ",
    "{",
    "[1,]",
    '{"a":1,}',
    "{'a':1}",
    "{a:1}",
    '{"a" 1}',
    '{"a":1 "b":2}',
    "01",
    "+1",
    ".5",
    "1.",
    "0x10",
    "NaN",
    "tru",
    "nullx",
    "[1 2]",
    '"a\nb"',
    '"\\x"',
    '"\\u12g4"',
    '"open',
    "{} {}",
    "// comment\n1",
    "\u00a01",
    "\uFEFF{}",
  ])("refuses %j", (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ kind: "invalid_json" }));
  });

  it("keeps the digits of numbers", () => {
    expect(parse("9007199254740993.0")).toEqual(new JsonNumber("9007199254740993.0"));
  });

  it("keeps the first value of a repeated key and remembers the key, however it is escaped", () => {
    const object = parse('{"a":1,"\\u0061":2,"b":3}') as JsonObject;
    expect(plain(object)).toEqual({ a: 1, b: 3 });
    expect([...object.repeatedKeys]).toEqual(["a"]);
  });

  it("reads 32 levels and refuses 33", () => {
    expect(plain(parse(`${"[".repeat(32)}${"]".repeat(32)}`))).toBeInstanceOf(Array);
    expect(() => parse(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow("deeper than 32");
  });

  it.each([
    ["a lone continuation byte", [0x22, 0x80, 0x22]],
    ["an overlong form", [0x22, 0xc0, 0xaf, 0x22]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a broken off character", [0x22, 0xe2, 0x82]],
  ])("refuses %s", (_, bytes) => {
    expect(() => parseStrictJson(Uint8Array.from(bytes))).toThrow("not valid UTF-8");
  });

  it("reports where it stopped without repeating the text there", () => {
    expect(() => parse('{"card":4242x}')).toThrow("The body is not valid JSON: look at character 13.");
    expect(() => parse('{"card":')).toThrow("it ends too early");
  });

  it("reads a body of one long string", () => {
    const text = `\\n${"x".repeat(500_000)}`;
    expect(parse(`"${text}"`)).toHaveLength(500_001);
  });
});
