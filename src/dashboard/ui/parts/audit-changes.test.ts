import { describe, expect, it } from "vitest";
import { changesOf } from "./audit-changes.ts";

describe("changesOf()", () => {
  it("lists only what differs, in words", () => {
    const before = { checkoutOrigins: [], paused: false, version: 1, url: "https://a.example", lifetimeMs: 60_000 };
    const origins = ["https://a.example", "https://b.example"];
    const after = { checkoutOrigins: origins, paused: true, version: 1, lifetimeMs: 90_000 };
    expect(changesOf(before, after)).toEqual([
      { name: "Checkout origins", before: "none", after: "https://a.example, https://b.example" },
      { name: "Paused", before: "false", after: "true" },
      { name: "Url", before: "https://a.example", after: undefined },
      { name: "Lifetime", before: "60 s", after: "90 s" },
    ]);
  });

  it("lists every field of what is new, and nothing where nothing is recorded", () => {
    expect(changesOf(undefined, { policy: { a: 1 } })).toEqual([
      { name: "Policy", before: undefined, after: '{"a":1}' },
    ]);
    expect(changesOf(undefined, undefined)).toEqual([]);
  });
});
