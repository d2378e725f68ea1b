/** Tests that observing a connector changes nothing of it. */
import { describe, expect, it } from "vitest";
import { TestForwarder } from "../dev/testing/forwarder.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { AdyenConnector } from "./adyen/connector.ts";
import { observeConnector } from "./observed-connector.ts";
import { PayPalConnector } from "./paypal/connector.ts";
import { SandboxAConnector } from "./sandbox/a/connector.ts";
import { SandboxBConnector } from "./sandbox/b/connector.ts";
import { StripeConnector } from "./stripe/connector.ts";

const http = new GatewayHttp();
const parts = {
  http,
  forwarder: new TestForwarder(http, ""),
  origin: "http://127.0.0.1:1",
  environment: "test",
} as const;

const isTrait = ([, value]: [string, unknown]) => typeof value !== "object" && typeof value !== "function";
const traitsOf = (subject: object) => Object.fromEntries(Object.entries(subject).filter(isTrait));

describe("observeConnector()", () => {
  it.each([
    new AdyenConnector(parts),
    new PayPalConnector(parts),
    new SandboxAConnector(parts),
    new SandboxBConnector(parts),
    new StripeConnector(parts),
  ])("keeps every trait of $gateway", (connector) => {
    const observed = observeConnector(connector, () => undefined);
    expect(observed).toMatchObject(traitsOf(connector));
    expect(observed.authentication).toMatchObject(traitsOf(connector.authentication ?? {}));
    expect(observed.refunds).toMatchObject(traitsOf(connector.refunds ?? {}));
    expect(observed.readNotification !== undefined).toBe(!connector.canRead);
  });
});
