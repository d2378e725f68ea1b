import { describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { probe as vaultProbe } from "../../vault/probe-card.ts";
import { probe } from "../card-forwarder.ts";
import { findProxyDestination } from "./destinations.ts";
import { fillProbe, isProbe } from "./probe-body.ts";
import { planProxyBody } from "./proxy-body.ts";

describe("fillProbe()", () => {
  it("puts the test card in every field for a part of a card, and leaves the rest", () => {
    const destination = findProxyDestination({ connector: "SANDBOX_B", operation: "authorize" })!;
    const body = { amount: 0, paymentMethod: { number: "{{card.number}}", cvc: "{{card.cvc}}", type: "scheme" } };
    const planned = planProxyBody(destination, JSON.stringify(body), { cvc: true, holder: true });
    if (planned.type !== "body") throw new Error(planned.reason);
    const filled = (gateway: string) => JSON.parse(fillProbe(planned.value, gateway, new Date("2026-05-01T00:00:00Z")));
    expect(filled("SANDBOX_B")).toEqual({
      amount: 0,
      paymentMethod: { number: "4242424242424242", cvc: "123", type: "scheme" },
    });
    expect(filled("ADYEN").paymentMethod).toEqual({ number: "4111111111111111", cvc: "737", type: "scheme" });
  });
});

describe("isProbe()", () => {
  it("recognizes only a connector's test call, by the same names as our own vault", () => {
    expect(isProbe({ token: probe.vaultToken, sessionId: probe.sessionId })).toBe(true);
    expect(isProbe({ token: probe.vaultToken, sessionId: "ps_1" })).toBe(false);
    expect(isProbe({ token: new Secret("tok_1"), sessionId: probe.sessionId })).toBe(false);
    expect({ token: probe.vaultToken.expose(), sessionId: probe.sessionId }).toEqual(vaultProbe);
  });
});
