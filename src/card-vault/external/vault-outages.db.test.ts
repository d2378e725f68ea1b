/**
 * Every way in which an external vault can fail: the failure is reported, nothing is treated as a decline, and no
 * secret is logged.
 */

import { Pool } from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { createSession } from "../../core/create-session.ts";
import type { VaultFault } from "../../dev/testing/external-vault/orders.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { Database } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { number, SaasFixture } from "./external-vault.fixture.ts";
import { SaasVault } from "./external-vault.ts";

const fixture = await forFile(() => SaasFixture.start());
afterEach(() => fixture.calm());

type Expected = { status: string; failureKind: string; next: "failover" | "stop" };
const refusal = (status: number, code: string) => ({ status, body: { error: { type: "x", message: "no", code } } });
const proxyFault = (moment: "before" | "after", effect: VaultFault["effect"]): VaultFault => ({
  operation: "proxy",
  moment,
  effect,
  times: 1,
});

const nothingSent: Expected = { status: "FAILED", failureKind: "GATEWAY_ERROR", next: "stop" };
const lostAtVault: Expected = { status: "VOIDING", failureKind: "GATEWAY_ERROR", next: "stop" };

describe("a vault in trouble, while a card is sent", () => {
  it.each<[string, VaultFault, Expected, number]>([
    ["does not describe the card", { operation: "read", moment: "before", effect: "cut" }, nothingSent, 0],
    ["keeps us waiting for the card", { operation: "read", moment: "before", effect: "hang" }, nothingSent, 0],
    ["refuses our key", proxyFault("before", refusal(401, "IR_01")), nothingSent, 0],
    ["no longer keeps the card", proxyFault("before", refusal(422, "IR_05")), nothingSent, 0],
    ["refuses the request", proxyFault("before", refusal(400, "IR_06")), { ...nothingSent, next: "failover" }, 1],
    ["cuts the connection before it sends", proxyFault("before", "cut"), lostAtVault, 0],
    ["cuts the connection afterwards", proxyFault("after", "cut"), lostAtVault, 1],
    ["answers like a proxy in between", proxyFault("after", { status: 502, body: "bad gateway" }), lostAtVault, 1],
    ["answers with a frame that is none", proxyFault("after", { status: 200, body: { response: {} } }), lostAtVault, 1],
    [
      "says only that something went wrong",
      proxyFault("after", refusal(500, "HE_00")),
      { ...lostAtVault, next: "failover" },
      2,
    ],
    ["never answers", proxyFault("after", "hang"), { status: "VOIDING", failureKind: "TIMEOUT", next: "failover" }, 2],
  ])("%s: the failure is reported, and nothing else is treated as a decline", async (_, fault, expected, asked) => {
    await fixture.base.sandbox.hold("b.notification");
    const session = await fixture.pay([fault]);
    const attempts = await fixture.attempts(session);
    const { status, failureKind, next } = expected;
    expect(attempts[0]).toMatchObject({ status, failureKind, nextAction: next });
    expect(attempts.map((attempt) => attempt.status)).not.toContain("DECLINED");
    expect(session.status).toBe(next === "failover" ? "SUCCEEDED" : "DEGRADED");
    expect(await fixture.atGateways(session)).toHaveLength(asked);
  });

  it("cannot be connected to: nothing was sent, and the failure names the vault", async () => {
    const { emulator } = fixture;
    const { session, grant } = await fixture.openSession();
    const token = await emulator.tokenize(grant, number);
    await emulator.kill();
    const ended = await fixture.submit(session, token);
    await emulator.restart();
    expect(ended).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.attempts(session)).toMatchObject([
      { status: "FAILED", nextBecause: expect.stringContaining("card vault could not be used") },
    ]);
  });

  it("is well, and the gateway is down: the proxy hides it, the attempt is unknown and the next gateway is called", async () => {
    await fixture.base.sandbox.setDown("B", true);
    const attempts = await fixture.attempts(await fixture.pay());
    expect(attempts.map(({ failureKind }) => failureKind)).toEqual(["GATEWAY_ERROR", "GATEWAY_ERROR"]);
    expect(attempts.map(({ nextAction }) => nextAction)).toEqual(["failover", "stop"]);
  });

  it("does not know a token: nothing was sent", async () => {
    for (const token of ["token_unknown", "../v1/payment-methods", "x".repeat(5_000)]) {
      const { session } = await fixture.openSession();
      const ended = await fixture.submit(session, token);
      expect(ended).toMatchObject({ status: "DEGRADED", cardLast4: null });
      expect(await fixture.attempts(session)).toMatchObject([
        { status: "FAILED", nextBecause: expect.stringContaining("no longer keeps this card") },
      ]);
    }
  });
});

describe("a database that does not answer, while a card is sent", () => {
  it("sends nothing, and throws nothing", async () => {
    const pool = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/none", connectionTimeoutMillis: 500 });
    const vault = new SaasVault({ ...fixture.vaultParts, database: new Database(pool) });
    const { reply } = await vault.forward({
      connector: "SANDBOX_B",
      operation: "authorize",
      token: new Secret("token_1"),
      sessionId: encodeId("ps", systemRuntime.uuid()),
      origin: fixture.base.sandbox.origin,
      pathVariables: {},
      headers: {},
      body: "{}",
      timeoutMs: 1_000,
    });
    expect(reply).toMatchObject({ type: "neverSent", cause: "vault_unavailable" });
    await pool.end();
  });
});

describe("a vault in trouble, while a session is created", () => {
  it.each<[string, VaultFault["effect"]]>([
    ["cuts the connection", "cut"],
    ["never answers", "hang"],
    ["refuses our key", refusal(401, "IR_01")],
    ["is broken inside", refusal(500, "HE_00")],
    ["gives no grant", { status: 200, body: { id: "12345_pms_1" } }],
    ["gives no session", { status: 200, body: { sdk_authorization: "abc" } }],
    ["gives an endless grant", { status: 200, body: { id: "12345_pms_1", sdk_authorization: "x".repeat(5_000) } }],
  ])("%s: the creation is refused as unavailable, and its key stays usable", async (_, effect) => {
    const { core, base, emulator } = fixture;
    const [fields, key] = [fixture.order(), systemRuntime.uuid()];
    await emulator.setFaults({ operation: "session", moment: "before", effect });
    await expect(createSession(core, base.owner, fields, key)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("card vault"),
    });
    await emulator.setFaults();
    expect(await createSession(core, base.owner, fields, key)).toMatchObject({ replayed: false });
  });
});

describe("the log of these tests", () => {
  it("says what failed, and contains no key, grant, token or card", async () => {
    await fixture.pay();
    const logged = fixture.logged.join("");
    expect(logged).toContain("the card vault did not open a session");
    const { apiKey, publishableKey } = fixture.emulator.settings;
    const { proxied } = await fixture.emulator.record();
    expect(proxied.length).toBeGreaterThan(0);
    const secrets = [apiKey.expose(), publishableKey, number, "client_secret", ...proxied.map(({ token }) => token)];
    for (const secret of secrets) expect(logged).not.toContain(secret);
    expect(JSON.stringify(proxied)).not.toContain(number);
  });
});
