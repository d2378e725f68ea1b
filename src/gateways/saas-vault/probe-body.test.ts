import { describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { probe as vaultProbe } from "../../vault/probe-card.ts";
import { probe } from "../card-forwarder.ts";
import { findProxyDestination } from "./destinations.ts";
import { fillProbe, isProbe } from "./probe-body.ts";
import { planProxyBody } from "./proxy-body.ts";

describe("fillProbe()", () => {
  it("puts the test card wherever the destination takes a part of one, and leaves the rest", () => {
    const destination = findProxyDestination({ connector: "SANDBOX_B", operation: "authorize" })!;
    const body = { amount: 0, paymentMethod: { number: "{{card.number}}", cvc: "{{card.cvc}}", type: "scheme" } };
    const planned = planProxyBody(destination, JSON.stringify(body), { cvc: true, holder: true });
    if (planned.type !== "body") throw new Error(planned.reason);
    expect(JSON.parse(fillProbe(planned.value, new Date("2026-05-01T00:00:00Z")))).toEqual({
      amount: 0,
      paymentMethod: { number: "4242424242424242", cvc: "123", type: "scheme" },
    });
  });
});

describe("isProbe()", () => {
  it("takes a connector's test call alone, by the words that our own vault knows it by", () => {
    expect(isProbe({ token: probe.vaultToken, sessionId: probe.sessionId })).toBe(true);
    expect(isProbe({ token: probe.vaultToken, sessionId: "ps_1" })).toBe(false);
    expect(isProbe({ token: new Secret("tok_1"), sessionId: probe.sessionId })).toBe(false);
    expect({ token: probe.vaultToken.expose(), sessionId: probe.sessionId }).toEqual(vaultProbe);
  });
});
