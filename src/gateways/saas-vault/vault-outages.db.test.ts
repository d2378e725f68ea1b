/** Every way in which an external vault can fail: what is known is said, nothing is taken for a decline, and no secret is logged. */
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createSession } from "../../core/create-session.ts";
import { Database } from "../../platform/database.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { VaultFault } from "../../testing/saas-vault/orders.ts";
import { SaasVault } from "./saas-vault.ts";
import { number, SaasFixture } from "./saas-vault-fixture.ts";

let fixture: SaasFixture;
beforeAll(async () => {
  fixture = await SaasFixture.start();
});
afterEach(() => fixture.calm());
afterAll(() => fixture.close());

type Told = { status: string; failureKind: string; next: "failover" | "stop" };
const refusal = (status: number, code: string) => ({ status, body: { error: { type: "x", message: "no", code } } });
const proxyFault = (moment: "before" | "after", effect: VaultFault["effect"]): VaultFault => ({
  operation: "proxy",
  moment,
  effect,
  times: 1,
});

const nothingSent: Told = { status: "FAILED", failureKind: "GATEWAY_ERROR", next: "stop" };
const lostAtVault: Told = { status: "VOIDING", failureKind: "GATEWAY_ERROR", next: "stop" };

describe("a vault in trouble, while a card is sent", () => {
  it.each<[string, VaultFault, Told, number]>([
    ["does not tell of the card", { operation: "read", moment: "before", effect: "cut" }, nothingSent, 0],
    ["keeps us waiting for the card", { operation: "read", moment: "before", effect: "hang" }, nothingSent, 0],
    ["refuses our key", proxyFault("before", refusal(401, "IR_01")), nothingSent, 0],
    ["keeps the card no longer", proxyFault("before", refusal(422, "IR_05")), nothingSent, 0],
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
  ])("%s: what is known is said, and nothing else is taken for a decline", async (_, fault, told, asked) => {
    await fixture.base.sandbox.hold("b.notice");
    const session = await fixture.pay([fault]);
    const attempts = await fixture.attempts(session);
    const { status, failureKind, next } = told;
    expect(attempts[0]).toMatchObject({ status, failureKind, nextAction: next });
    expect(attempts.map((attempt) => attempt.status)).not.toContain("DECLINED");
    expect(session.status).toBe(next === "failover" ? "SUCCEEDED" : "DEGRADED");
    expect(await fixture.atGateways(session)).toHaveLength(asked);
  });

  it("cannot be connected to: nothing was sent, and the vault is named", async () => {
    const { standIn } = fixture;
    const { session, grant } = await fixture.openSession();
    const token = await standIn.tokenize(grant, number);
    await standIn.kill();
    const ended = await fixture.submit(session, token);
    await standIn.restart();
    expect(ended).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.attempts(session)).toMatchObject([
      { status: "FAILED", nextBecause: expect.stringContaining("card vault could not be used") },
    ]);
  });

  it("is well, and the gateway is down: the proxy does not tell, so the attempt is unknown and the next gateway is asked", async () => {
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
        { status: "FAILED", nextBecause: expect.stringContaining("keeps this card no longer") },
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
      sessionId: encodeId("ps", systemEntropy.uuid()),
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
    const { core, base, standIn } = fixture;
    const [fields, key] = [fixture.order(), systemEntropy.uuid()];
    await standIn.setFaults({ operation: "session", moment: "before", effect });
    await expect(createSession(core, base.owner, fields, key)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("card vault"),
    });
    await standIn.setFaults();
    expect(await createSession(core, base.owner, fields, key)).toMatchObject({ replayed: false });
  });
});

describe("the log of it all", () => {
  it("says what went wrong, and holds no key, grant, token or card", async () => {
    await fixture.pay();
    const logged = fixture.logged.join("");
    expect(logged).toContain("the card vault opened no session");
    const { apiKey, publishableKey } = fixture.standIn.settings;
    const { proxied } = await fixture.standIn.record();
    expect(proxied.length).toBeGreaterThan(0);
    const secrets = [apiKey.expose(), publishableKey, number, "client_secret", ...proxied.map(({ token }) => token)];
    for (const secret of secrets) expect(logged).not.toContain(secret);
    expect(JSON.stringify(proxied)).not.toContain(number);
  });
});
