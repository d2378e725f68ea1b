import type { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withAnswers } from "../core/recovery.fixture.ts";
import type { AuthorizeRequest } from "../gateways/connector.ts";
import { createAuthenticate } from "./authenticate.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge.fixture.ts";
import { createPublicServer } from "./public-server.ts";

let edge: EdgeFixture;
let server: ReturnType<typeof createServer>;
const requests: AuthorizeRequest[] = [];
beforeAll(async () => {
  edge = await startEdgeFixture();
  await edge.core.setRule([]);
  const environment = edge.parts.environments.test!;
  // Every gateway declines, and its requests are recorded.
  const core = withAnswers(environment.core, {
    authorize: async (_call, request) => {
      requests.push(request);
      const declined = { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined", gatewayCode: "no" } as const;
      return { outcome: { type: "declined", ...declined } };
    },
  });
  const environments = { test: { ...environment, core } };
  const authenticate = createAuthenticate(environments, "switchyard");
  server = createPublicServer({ ...edge.parts, environments, authenticate });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await edge.close();
});

/** Returns the first gateway's request for a payment that is submitted with these headers. */
async function requestWith(headers: Record<string, string>): Promise<AuthorizeRequest> {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
  const created = await edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) });
  const { sessionId, clientSecret } = created.json as { sessionId: string; clientSecret: string };
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/payments.v1.CheckoutService/SubmitPayment`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ sessionId, vaultToken: "tok_1" }),
  });
  expect(answer.status).toBe(200);
  return requests.at(-1)!;
}

describe("the customer's browser in a gateway's request", () => {
  it("is its public address, as the trusted proxy reports it, and its name", async () => {
    expect(await requestWith({ "x-forwarded-for": "10.9.9.9, 8.8.4.4", "user-agent": "Browser/1" })).toMatchObject({
      shopperIp: "8.8.4.4",
      shopperUserAgent: "Browser/1",
    });
  });

  it("has no address that is not public, and a name of bounded length", async () => {
    const { shopperIp, shopperUserAgent } = await requestWith({ "user-agent": "x".repeat(4_000) });
    expect(shopperIp).toBeUndefined();
    expect(shopperUserAgent).toHaveLength(500);
  });

  it("is stored in no row", async () => {
    await requestWith({ "x-forwarded-for": "8.8.4.4", "user-agent": "Traceless/7" });
    const text = `SELECT string_agg(to_jsonb(s)::text, '') || (SELECT string_agg(to_jsonb(a)::text, '') FROM attempt a)
      || (SELECT string_agg(to_jsonb(o)::text, '') FROM outbox_event o) AS everything FROM payment_session s`;
    const { rows } = await edge.core.asOwner.pool.query<{ everything: string }>(text);
    expect(rows[0]!.everything).toContain("order-1");
    expect(rows[0]!.everything).not.toMatch(/8\.8\.4\.4|Traceless/);
  });
});
