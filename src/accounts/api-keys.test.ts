import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../platform/runtime.ts";
import { generateKey, parseKey } from "./api-keys.ts";

const generated = (environment = "test", kind: "secret" | "publishable" = "secret") =>
  generateKey(systemRuntime, { brand: "switchyard", environment, kind }).expose();

describe("API keys", () => {
  it("contain their brand, environment and kind, and can be parsed again", () => {
    expect(generated()).toMatch(/^switchyard_test_sk_[0-9A-Za-z]{38}$/);
    expect(parseKey("switchyard", generated("live", "publishable"))).toEqual({
      environment: "live",
      cell: 1,
      kind: "publishable",
    });
  });

  it("differ each time", () => {
    expect(new Set(Array.from({ length: 100 }, () => generated())).size).toBe(100);
  });

  it("are refused without a query when a character is mistyped", () => {
    fc.assert(
      fc.property(fc.integer({ min: 19, max: 56 }), fc.constantFrom(..."09AZaz"), (at, letter) => {
        const key = generated();
        const typed = key.slice(0, at) + letter + key.slice(at + 1);
        return typed === key || parseKey("switchyard", typed) === undefined;
      }),
    );
  });

  it.each(["", "switchyard_test_sk_", "other_test_sk_0", "switchyard_prod_sk_0"])("cannot be %j", (text) => {
    expect(parseKey("switchyard", text)).toBeUndefined();
  });

  it("belong to one brand", () => {
    expect(parseKey("another", generated())).toBeUndefined();
  });
});
