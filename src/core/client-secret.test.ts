import { describe, expect, it } from "vitest";
import { type ClientSecretKeys, deriveClientSecret, letterOf, verifyClientSecret } from "./client-secret.ts";

const key = (fill: number) => Buffer.alloc(32, fill);
const test: ClientSecretKeys = {
  letter: "t",
  current: 2,
  keys: new Map([
    [1, key(1)],
    [2, key(2)],
  ]),
};
const live: ClientSecretKeys = { letter: "l", current: 2, keys: test.keys };
const session = "01a1fcea-fe59-734e-9ba2-837c9e3e0c1b";

describe("a client secret", () => {
  it("is the same each time it is derived, and opens its session", () => {
    const secret = deriveClientSecret(test, session, 2).expose();
    expect(deriveClientSecret(test, session, 2).expose()).toBe(secret);
    expect(secret).toMatch(/^ps_[0-9a-z]{26}_secret_t2_[\w-]{43}$/);
    expect(verifyClientSecret(test, secret)).toBe(session);
  });

  it("still opens its session under an older key version that is still configured", () => {
    expect(verifyClientSecret(test, deriveClientSecret(test, session, 1).expose())).toBe(session);
  });

  it("opens nothing in the other environment, even under the same key", () => {
    const secret = deriveClientSecret(test, session, 2).expose();
    expect(verifyClientSecret(live, secret)).toBeUndefined();
    expect(verifyClientSecret(live, secret.replace("_t2_", "_l2_"))).toBe(session);
    expect(letterOf(secret)).toBe("t");
  });

  it("opens nothing once one of its characters is changed, or its key is gone", () => {
    const secret = deriveClientSecret(test, session, 2).expose();
    const last = secret.at(-2) === "A" ? "B" : "A";
    expect(verifyClientSecret(test, `${secret.slice(0, -2)}${last}${secret.at(-1)}`)).toBeUndefined();
    expect(verifyClientSecret(test, secret.replace("ps_0", "ps_1"))).toBeUndefined();
    expect(verifyClientSecret({ ...test, keys: new Map([[1, key(1)]]) }, secret)).toBeUndefined();
    expect(verifyClientSecret(test, "")).toBeUndefined();
  });

  it("prints as a redacted value", () => {
    expect(`${deriveClientSecret(test, session, 2)}`).toBe("[secret]");
    expect(JSON.stringify({ secret: deriveClientSecret(test, session, 2) })).toBe('{"secret":"[secret]"}');
  });
});
