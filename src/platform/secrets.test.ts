import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { deriveKey, equalInConstantTime, type KeyRing, Secret, seal, unseal } from "./secrets.ts";

const ring: KeyRing = { current: "k2", keys: { k1: Buffer.alloc(32, 1), k2: Buffer.alloc(32, 2) } };

describe("Secret", () => {
  it("shows its value only on request", () => {
    const secret = new Secret("hunter2");
    expect([`${secret}`, JSON.stringify([secret]), inspect({ secret }), String(secret)].join()).not.toContain(
      "hunter2",
    );
    expect(secret.expose()).toBe("hunter2");
  });
});

describe("seal()", () => {
  it("opens with its own associated data, and contains nothing in clear", () => {
    const sealed = seal(ring, "credential/1", "hunter2");
    expect(sealed).toMatch(/^k2\./);
    expect(Buffer.from(sealed.slice(3), "base64url").includes("hunter2")).toBe(false);
    expect(unseal(ring, "credential/1", sealed).expose()).toBe("hunter2");
  });

  it("does not open with other associated data, when changed, or without its key", () => {
    const sealed = seal(ring, "credential/1", "hunter2");
    expect(() => unseal(ring, "credential/2", sealed)).toThrow();
    expect(() => unseal(ring, "credential/1", `${sealed.slice(0, -2)}AA`)).toThrow();
    expect(() => unseal({ current: "k1", keys: { k1: ring.keys.k1! } }, "credential/1", sealed)).toThrow(
      /not in the ring/,
    );
  });

  it("opens a value that an older key of the ring sealed", () => {
    const old = seal({ ...ring, current: "k1" }, "credential/1", "hunter2");
    expect(unseal(ring, "credential/1", old).expose()).toBe("hunter2");
  });

  it("seals the same text differently each time", () => {
    expect(seal(ring, "p", "x")).not.toBe(seal(ring, "p", "x"));
  });
});

describe("deriveKey()", () => {
  it("derives a separate key for each purpose", () => {
    const master = Buffer.alloc(32, 9);
    expect(deriveKey(master, "a")).toHaveLength(32);
    expect(equalInConstantTime(deriveKey(master, "a"), deriveKey(master, "b"))).toBe(false);
  });
});
