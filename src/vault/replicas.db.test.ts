/** Two vault processes on one database act as one: they divide the limits of calls, and cards, uses and endings count over both. */

import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, describe, expect, it, vi } from "vitest";
import { NeverSent_Reason, VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { startVault, type Vault } from "./main.ts";
import { liveCard, startVaultFixture, testCard } from "./vault.fixture.ts";
import { callLimits, tokensPerSession, usesPerToken } from "./vault-limits.ts";

let copies: Vault[] = [];

const fixture = await forFile(() => startVaultFixture({ trustedProxies: ["127.0.0.1"] }));
const gateway = await forFile(() => Receiver.start());
// Each is one of two from its start on: the first one reports before the second starts, and leaves before the third.
await reports(1);
copies = [await startVault(fixture.config)];
await reports(2);
await fixture.vault.close();
copies.push(await startVault(fixture.config));
await reports(2);
const clients = copies.map(({ origins }) => createClient(VaultService, createGrpcTransport({ baseUrl: origins.grpc })));
afterAll(() => Promise.all(copies.map((copy) => copy.close())));

/** Waits until so many copies have reported. */
async function reports(count: number): Promise<void> {
  const select = "SELECT count(*)::int AS count FROM vault_copy WHERE expires_at > clock_timestamp()";
  const counted = async () => expect((await fixture.database.pool.query(select)).rows[0].count).toBe(count);
  await vi.waitFor(counted, { timeout: 10_000 });
}

/** Calls the processes in turn; each test counts under an address of its own. */
async function tokenize(turn: number, call: { session: string; address: string; body?: object }) {
  const { session, address, body = testCard } = call;
  const { public: origin } = copies[turn % 2]!.origins;
  return fetch(`${origin}/tokens`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${fixture.grant(session)}`,
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
      tokenize(turn, { session: "ps_many", address: "93.184.2.1" }),
    );
    const responses = await Promise.all(calls);
    expect(refusals(responses)).toBe(6);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(tokensPerSession);
  });

  it("shares one address's limit, for wrong cards as for right ones, and no new session helps", async () => {
    let accepted = 0;
    let limited: Response | undefined;
    // Twice the limit, which refills meanwhile.
    for (let turn = 0; turn <= callLimits.address.burst * 2 && limited === undefined; turn++) {
      const body = turn % 3 === 0 ? { ...testCard, number: "4242424242424241" } : liveCard;
      const response = await tokenize(turn, { session: `ps_fresh_${turn}`, address: "93.184.2.2", body });
      if (response.status === 429) limited = response;
      else accepted += Number(response.status === 400);
    }
    expect(await limited?.json()).toMatchObject({ code: "rate_limited" });
    expect(accepted).toBeGreaterThanOrEqual(callLimits.address.burst);
    // Another customer is not held up, and neither process admits the first one.
    for (const turn of [0, 1]) {
      expect((await tokenize(turn, { session: "ps_else", address: "93.184.2.3" })).status).toBe(201);
      // Some may have refilled.
      const again = Array.from({ length: 20 }, () => tokenize(turn, { session: "ps_again", address: "93.184.2.2" }));
      expect(refusals(await Promise.all(again))).toBeGreaterThan(10);
    }
  });

  it("divides one session's limit, over any number of addresses", async () => {
    const accepted = [0, 0];
    const share = callLimits.session.burst / 2;
    // Twice the limit; none of these cards is right.
    for (let turn = 0; turn < share * 4; turn++) {
      const call = { session: "ps_leaked", address: `93.${turn}.100.1`, body: liveCard };
      accepted[turn % 2]! += Number((await tokenize(turn, call)).status === 400);
    }
    // Some may have refilled.
    for (const count of accepted) expect([share, share + 1, share + 2]).toContain(count);
    expect((await tokenize(0, { session: "ps_customer", address: "93.185.100.99" })).status).toBe(201);
  });
});

describe("a card at two copies of the vault", () => {
  const tokenOf = async (session: string) =>
    ((await (await tokenize(0, { session, address: "93.184.2.9" })).json()) as { token: string }).token;

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
      expect((await tokenize(turn, { session: "ps_over", address: "93.184.2.9" })).status).toBe(409);
    }
  });
});
