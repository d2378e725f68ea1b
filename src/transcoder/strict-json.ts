/**
 * Parses JSON (RFC 8259) without losing anything: numbers keep their digits, repeated keys are remembered. It is
 * independent of schemas; decode-json.ts types the tree.
 */
import { TranscodingError } from "./transcoding-error.ts";

/** A parsed value. Numbers stay text, because a double cannot hold every integer. */
export type JsonNode = null | boolean | string | JsonNumber | JsonNode[] | JsonObject;

/** A number as it was written. */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** An object with the first value of every key, and the keys that occurred more than once. */
export class JsonObject {
  readonly members = new Map<string, JsonNode>();
  readonly repeatedKeys = new Set<string>();
}

// Deeper than any sensible message, shallow enough that recursion is never a danger.
const depthMax = 32;

const whitespace = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what a JSON string may not hold.
const string = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const literal = /true|false|null/y;
const literalValues = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parses a whole body. Throws TranscodingError `invalid_json` for anything but one UTF-8 JSON text without a BOM. */
export function parseStrictJson(bytes: Uint8Array): JsonNode {
  return new Parser(decodeUtf8(bytes)).document();
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new TranscodingError("invalid_json", "The body is not valid UTF-8.");
  }
}

/** Recursive descent over one text; `#at` is the next unread character. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonNode {
    if (this.#text.length === 0) throw new TranscodingError("invalid_json", "The body is empty; it must be JSON.");
    if (this.#text.startsWith("\uFEFF")) {
      throw new TranscodingError("invalid_json", "The body begins with a byte order mark; JSON has none.");
    }
    const node = this.#value(1);
    this.#skipWhitespace();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return node;
  }

  #value(depth: number): JsonNode {
    this.#skipWhitespace();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(this.#deeper(depth));
      case "[":
        return this.#array(this.#deeper(depth));
      case '"':
        return this.#string();
      case "t":
      case "f":
      case "n":
        return literalValues.get(this.#token(literal))!;
      default:
        return new JsonNumber(this.#token(number));
    }
  }

  #object(depth: number): JsonObject {
    const object = new JsonObject();
    this.#at++;
    if (this.#took("}")) return object;
    do {
      this.#skipWhitespace();
      const key = this.#string();
      if (!this.#took(":")) throw this.#unexpected();
      const value = this.#value(depth);
      if (object.members.has(key)) object.repeatedKeys.add(key);
      else object.members.set(key, value);
    } while (this.#took(","));
    if (!this.#took("}")) throw this.#unexpected();
    return object;
  }

  #array(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    this.#at++;
    if (this.#took("]")) return items;
    do items.push(this.#value(depth));
    while (this.#took(","));
    if (!this.#took("]")) throw this.#unexpected();
    return items;
  }

  #string(): string {
    const token = this.#token(string);
    return token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
  }

  #token(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0];
    if (token === undefined) throw this.#unexpected();
    this.#at += token.length;
    return token;
  }

  #took(character: string): boolean {
    this.#skipWhitespace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipWhitespace(): void {
    whitespace.lastIndex = this.#at;
    whitespace.test(this.#text);
    this.#at = whitespace.lastIndex;
  }

  #deeper(depth: number): number {
    if (depth > depthMax) {
      throw new TranscodingError("invalid_json", `The body is nested deeper than ${depthMax} levels.`);
    }
    return depth + 1;
  }

  #unexpected(): TranscodingError {
    const where = this.#at >= this.#text.length ? "it ends too early" : `look at character ${this.#at + 1}`;
    return new TranscodingError("invalid_json", `The body is not valid JSON: ${where}.`);
  }
}
