import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordRoutingRule } from "../core/record/routing-rules.ts";
import { browser } from "../core/scenarios/core.fixture.ts";
import { withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { AuthorizeRequest } from "../gateways/connector.ts";
import { createAuthenticate } from "./authenticate.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createPublicServer } from "./public-server.ts";

const requests: AuthorizeRequest[] = [];
const edge = await forFile(startEdgeFixture);
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
const server = createPublicServer({ ...edge.parts, environments, authenticate });
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function submitWith(headers: Record<string, string>, fields: object = {}) {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
  const created = await edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) });
  const { sessionId, clientSecret } = created.json as { sessionId: string; clientSecret: string };
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/payments.v1.CheckoutService/SubmitPayment`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ sessionId, vaultToken: "tok_1", ...fields }),
  });
  return { sessionId, status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

/** Returns the first gateway's request for a payment that is submitted with these headers. */
async function requestWith(headers: Record<string, string>): Promise<AuthorizeRequest> {
  expect((await submitWith(headers)).status).toBe(200);
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

describe("a payment that has to be authenticated", () => {
  beforeAll(async () => {
    const { core, owner, connectionIds } = edge.core;
    const { merchantId } = owner;
    await core.database.transaction((tx) =>
      recordRoutingRule(tx, { merchantId, connectionIds, failoverOn: [], authentication: "ALWAYS" }),
    );
  });

  it("is declined, and no gateway is called, if the page leaves its browser out", async () => {
    const before = requests.length;
    const { sessionId, status, json } = await submitWith({});
    expect(status).toBe(200);
    expect(json.checkout).toMatchObject({
      status: "DECLINED",
      outcome: { decline: { declineCode: "authentication_required" } },
    });
    expect(requests).toHaveLength(before);
    const read = await edge.call("GET", `/payment-sessions/${sessionId}`);
    const left = { because: expect.stringMatching(/^Each payment has to be authenticated, and the page sent no data/) };
    expect(read.json).toMatchObject({ attempts: [], routing: { plan: [], skipped: [left, left] } });
  });

  it("stays open, and no gateway is called, if the browser breaks its rules", async () => {
    const before = requests.length;
    const { sessionId, status, json } = await submitWith({}, { browser: { ...browser, language: "no language" } });
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining("language")]);
    expect(requests).toHaveLength(before);
    expect((await edge.call("GET", `/payment-sessions/${sessionId}`)).json).toMatchObject({ status: "CREATED" });
  });

  it("is authenticated with the browser that the page describes", async () => {
    await submitWith({}, { browser });
    expect(requests.at(-1)?.authentication).toMatchObject({ wish: "always", browser });
  });
});
