import { describe, expect, it } from "vitest";
import { probe } from "../card-vault/card-vault.ts";
import { isProbe } from "./gateway-facts.ts";

describe("isProbe()", () => {
  it("recognizes only a connector's test call", () => {
    const [token, { sessionId }] = [probe.vaultToken.expose(), probe];
    expect(isProbe({ token, sessionId })).toBe(true);
    expect(isProbe({ token, sessionId: "ps_1" })).toBe(false);
    expect(isProbe({ token: "tok_1", sessionId })).toBe(false);
  });
});
