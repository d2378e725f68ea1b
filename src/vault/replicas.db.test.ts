/** Two vault processes on one database act as one: limits, uses and endings count over both. */
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NeverSent_Reason, VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { startVault, type Vault } from "./main.ts";
import { liveCard, startVaultFixture, testCard, type VaultFixture } from "./vault.fixture.ts";
import {
  callsPerAddress,
  callsPerMerchant,
  callsPerSession,
  countWindowMs,
  tokensPerSession,
  usesPerToken,
} from "./vault-limits.ts";

let fixture: VaultFixture;
let other: Vault;
let clients: Client<typeof VaultService>[];
let gateway: Receiver;

beforeAll(async () => {
  fixture = await startVaultFixture({ trustedProxies: ["127.0.0.1"] });
  [other, gateway] = await Promise.all([startVault(fixture.config), Receiver.start()]);
  clients = [fixture.vault, other].map(({ origins }) =>
    createClient(VaultService, createGrpcTransport({ baseUrl: origins.grpc })),
  );
});
afterAll(async () => {
  await other?.close();
  await fixture?.close();
  await gateway?.close();
});

/** Calls the processes in turn; each test counts under an address of its own. */
async function tokenize(turn: number, call: { session: string; address: string; body?: object; profile?: string }) {
  const { session, address, body = testCard, profile } = call;
  const { public: origin } = [fixture.vault, other][turn % 2]!.origins;
  return fetch(`${origin}/tokens`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${fixture.grant(session, profile === undefined ? {} : { profile })}`,
      "x-forwarded-for": address,
    },
    body: JSON.stringify(body),
  });
}

async function forward(turn: number, sessionId: string, token: string) {
  const request = {
    connector: "SANDBOX_A",
    operation: "authorize",
    sessionId,
    token,
    origin: gateway.url,
    body: Buffer.from("card[number]={{card.number}}"),
    timeoutMs: 5_000,
  };
  const headers = { authorization: `Bearer ${fixture.serviceToken()}` };
  return (await clients[turn % 2]!.forward(request, { headers })).result;
}

const refusals = (responses: Response[]) => responses.filter(({ status }) => status === 429).length;

describe("card testing at two copies of the vault", () => {
  it("allows ten cards of a session over both, requested concurrently", async () => {
    const calls = Array.from({ length: tokensPerSession + 6 }, (_, turn) =>
      tokenize(turn, { session: "ps_many", address: "192.0.2.1" }),
    );
    const responses = await Promise.all(calls);
    expect(refusals(responses)).toBe(6);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(tokensPerSession);
  });

  it("shares one address's limit, for wrong cards as for right ones, and no new session helps", async () => {
    let accepted = 0;
    let limited: Response | undefined;
    // Twice the limit, in case a window ends in between.
    for (let turn = 0; turn <= callsPerAddress * 2 && limited === undefined; turn++) {
      const body = turn % 3 === 0 ? { ...testCard, number: "4242424242424241" } : liveCard;
      const response = await tokenize(turn, { session: `ps_fresh_${turn}`, address: "192.0.2.2", body });
      if (response.status === 429) limited = response;
      else accepted += Number(response.status === 400);
    }
    expect(await limited?.json()).toMatchObject({ code: "rate_limited" });
    expect(accepted).toBeGreaterThanOrEqual(callsPerAddress);
    // Another customer is not held up, and neither process admits the first one.
    for (const turn of [0, 1]) {
      expect((await tokenize(turn, { session: "ps_else", address: "192.0.2.3" })).status).toBe(201);
      expect((await tokenize(turn, { session: "ps_again", address: "192.0.2.2" })).status).toBe(429);
    }
  });

  it("shares one session's limit over any number of addresses, and leaves the merchant's to its customers", async () => {
    let accepted = 0;
    let refused = 0;
    // Twice the limit, in case a window ends in between; none of these cards is right.
    for (let turn = 0; turn <= callsPerSession * 2 || refused === 0; turn++) {
      const call = { session: "ps_leaked", address: `198.51.100.${100 + turn}`, profile: "mer_leaked", body: liveCard };
      const { status } = await tokenize(turn, call);
      if (status === 429) refused++;
      else accepted += Number(status === 400);
    }
    expect(accepted).toBeGreaterThanOrEqual(callsPerSession);
    expect(accepted + refused).toBeGreaterThan(callsPerSession * 2);
    const { rows } = await fixture.database.pool.query(
      "SELECT sum(calls)::int AS charged FROM tokenize_count WHERE counted_by = 'merchant' AND subject = 'mer_leaked'",
    );
    expect(rows).toEqual([{ charged: accepted }]);
    const customer = { session: "ps_customer", address: "198.51.100.99", profile: "mer_leaked" };
    expect((await tokenize(0, customer)).status).toBe(201);
  });

  it("shares one merchant's limit, from any number of addresses, and no other merchant's", async () => {
    // The calls of this window so far, and of the next one, in case this one ends in between.
    await fixture.database.pool.query(
      `INSERT INTO tokenize_count (environment, counted_by, subject, window_ends, calls)
       SELECT 'test', 'merchant', 'mer_busy', date_bin($1::int * interval '1 ms', clock_timestamp(), 'epoch')
         + later * $1::int * interval '1 ms', $2 FROM generate_series(1, 2) AS later`,
      [countWindowMs, callsPerMerchant - 1],
    );
    const from = (turn: number, profile: string) =>
      tokenize(turn, { session: `ps_${profile}`, address: `198.51.100.${turn}`, profile });
    expect((await from(1, "mer_busy")).status).toBe(201);
    for (const turn of [2, 3]) expect((await from(turn, "mer_busy")).status).toBe(429);
    expect((await from(4, "mer_calm")).status).toBe(201);
  });
});

describe("a card at two copies of the vault", () => {
  const tokenOf = async (session: string) =>
    ((await (await tokenize(0, { session, address: "192.0.2.9" })).json()) as { token: string }).token;

  it("is opened by either, as often as it may be in all", async () => {
    const token = await tokenOf("ps_used");
    const results = await Promise.all(
      Array.from({ length: usesPerToken + 3 }, (_, turn) => forward(turn, "ps_used", token)),
    );
    expect(results.filter((result) => result.case === "answer")).toHaveLength(usesPerToken);
    expect(gateway.requests).toHaveLength(usesPerToken);
  });

  it("is deleted at both when one receives Forget, and neither accepts another card for the session", async () => {
    const token = await tokenOf("ps_over");
    await clients[0]!.forget(
      { sessionId: "ps_over" },
      { headers: { authorization: `Bearer ${fixture.serviceToken()}` } },
    );
    expect(await forward(1, "ps_over", token)).toMatchObject({
      case: "neverSent",
      value: { reason: NeverSent_Reason.TOKEN_NOT_FOUND },
    });
    for (const turn of [0, 1]) {
      expect((await tokenize(turn, { session: "ps_over", address: "192.0.2.9" })).status).toBe(409);
    }
  });
});
