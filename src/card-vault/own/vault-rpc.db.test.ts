import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { brokenAnswers, otherMoney, silences } from "../../dev/testing/broken-answers.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { approvedCard, type GatewayHarness, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { unreachableOrigins } from "../../dev/testing/unreachable-origins.ts";
import { VaultProcess } from "../../dev/testing/vault-process.ts";
import type { AuthorizeRequest } from "../../gateways/connector.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import type { ConnectorParts } from "../../gateways/sandbox/connector-parts.ts";
import { Secret } from "../../platform/secrets.ts";
import { usesPerToken } from "../../vault/vault-limits.ts";

const vault = await forFile(() => VaultProcess.start());

const credentials = {
  apiKey: new Secret("sandbox_test_conformance"),
  merchantAccount: new Secret("test_conformance"),
};
const gateways = {
  SANDBOX_A: (parts: ConnectorParts) => new SandboxAConnector({ ...parts, forwarder: vault.client }),
  SANDBOX_B: (parts: ConnectorParts) => new SandboxBConnector({ ...parts, forwarder: vault.client }),
};
const refusals = {
  SANDBOX_A: { status: 429, body: '{"error":{"type":"rate_limit_error"}}' },
  SANDBOX_B: { status: 429, body: '{"status":429,"errorCode":"too_many"}' },
};

/** Returns a source of payments for which the vault keeps a card; one card serves as many as the vault allows. */
function payments(harness: GatewayHarness): () => Promise<AuthorizeRequest> {
  let sessions = 0;
  let usesLeft = 0;
  let sessionId: string;
  let vaultToken: Secret;
  return async () => {
    if (usesLeft === 0) {
      sessionId = `ps_${harness.connector.gateway}_${++sessions}`;
      vaultToken = await vault.tokenize(sessionId, approvedCard);
      usesLeft = usesPerToken;
    }
    usesLeft--;
    return harness.newPayment({ sessionId, vaultToken });
  };
}

describe.each(["SANDBOX_A", "SANDBOX_B"] as const)("%s through the vault", (gateway) => {
  let harness: GatewayHarness;
  let newPayment: () => Promise<AuthorizeRequest>;
  beforeAll(async () => {
    harness = await startGatewayHarness({ connect: gateways[gateway], credentials });
    newPayment = payments(harness);
  });
  beforeEach(() => harness.spoilWith((honest) => honest));
  afterAll(() => harness?.close());

  const authorize = async (change: { timeoutMs?: number; connector?: GatewayHarness["connector"] } = {}) => {
    const payment = await newPayment();
    const call = harness.call(payment.attemptReference, change.timeoutMs);
    return (change.connector ?? harness.connector).authorize(call, payment);
  };

  it("holds, and returns the card summary", async () => {
    expect(await authorize()).toMatchObject({ outcome: { type: "held" }, card: { brand: "visa", last4: "4242" } });
  });

  it.each(Object.entries({ ...brokenAnswers, ...otherMoney }))("takes %s as unknown", async (_, spoil) => {
    harness.spoilWith(spoil);
    const { outcome } = await authorize();
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(outcome).not.toHaveProperty("lostAtVault");
  });

  it.each(Object.entries(silences))("takes %s as unknown, with kind TIMEOUT", async (_, spoil) => {
    harness.spoilWith(spoil);
    const { outcome } = await authorize({ timeoutMs: 200 });
    expect(outcome).toMatchObject({ type: "unknown", kind: "TIMEOUT" });
    expect(outcome).not.toHaveProperty("lostAtVault");
  });

  // The vault sends a sandbox's cards to loopback addresses only, so a name is refused before it is resolved.
  const cause = (name: string) => (name.includes("resolve") ? "request_refused" : "connection_refused");
  it.each(Object.entries(unreachableOrigins))("takes %s as provably nothing", async (name, origin) => {
    const { outcome } = await authorize({ connector: harness.connectTo(await origin(harness.middle.url)) });
    expect(outcome).toMatchObject({ type: "notProcessed", cause: cause(name) });
  });

  it("treats an answer that is documented as not processed as provably nothing", async () => {
    harness.spoilWith(() => refusals[gateway]);
    expect((await authorize()).outcome).toMatchObject({ type: "notProcessed", cause: "rate_limited" });
  });

  it("treats a card that the vault no longer keeps as provably nothing", async () => {
    const payment = harness.newPayment({ vaultToken: new Secret("tok_that_never_was") });
    const { outcome } = await harness.connector.authorize(harness.call("gone"), payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "token_unusable" });
  });
});

describe("the vault's own failures", () => {
  let harness: GatewayHarness;
  let newPayment: () => Promise<AuthorizeRequest>;
  beforeAll(async () => {
    harness = await startGatewayHarness({ connect: gateways.SANDBOX_A, credentials });
    newPayment = payments(harness);
  });
  beforeEach(() => harness.spoilWith((honest) => honest));
  afterAll(() => harness?.close());

  const authorize = async (payment: AuthorizeRequest, timeoutMs?: number) =>
    (await harness.connector.authorize(harness.call(payment.attemptReference, timeoutMs), payment)).outcome;
  const arrivedAt = (payment: AuthorizeRequest) =>
    harness.middle.waitFor(({ headers }) => headers["idempotency-key"] === payment.attemptReference);

  it("never sends with a service token that the vault does not know", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const stranger = vault.clientSigning({ kid: "stranger", environment: "test", privateKey });
    const asked = harness.middle.requests.length;
    const { reply } = await stranger.forward({
      connector: "SANDBOX_A",
      operation: "authorize",
      token: await vault.tokenize("ps_stranger", approvedCard),
      sessionId: "ps_stranger",
      origin: harness.middle.url,
      pathVariables: {},
      headers: {},
      body: "amount=1",
      timeoutMs: 5_000,
    });
    stranger.close();
    expect(reply).toMatchObject({ type: "neverSent", cause: "vault_unavailable" });
    expect(harness.middle.requests).toHaveLength(asked);
  });

  it("reports an unknown result when the vault is killed during a call, and reconnects to it", async () => {
    const payment = await newPayment();
    await harness.sandbox.hold("a.authorize");
    const outcome = authorize(payment);
    await harness.sandbox.paused({ operation: "a.authorize" });
    process.kill(vault.pid, "SIGKILL");
    expect(await outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR", lostAtVault: true });
    await harness.sandbox.release({ operation: "a.authorize" });
    // The hold exists all the same, so this is not "nothing happened".
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "held" }]);
    await vault.restart();
    expect(await authorize(await newPayment())).toMatchObject({ type: "held" });
  });

  it("provably sends nothing while the vault is dead", async () => {
    const payment = await newPayment();
    process.kill(vault.pid, "SIGKILL");
    const asked = harness.middle.requests.length;
    // The first call may find a connection that is just breaking; then it is unknown if it was sent.
    expect(["notProcessed", "unknown"]).toContain((await authorize(payment)).type);
    expect(await authorize(payment)).toMatchObject({ type: "notProcessed", cause: "vault_unavailable" });
    expect(harness.middle.requests).toHaveLength(asked);
    await vault.restart();
    expect(await authorize(payment)).toMatchObject({ type: "held" });
  });

  it("treats the silence of a vault that is suspended as unknown, and not as the gateway's", async () => {
    const payment = await newPayment();
    process.kill(vault.pid, "SIGSTOP");
    const outcome = await authorize(payment, 200);
    process.kill(vault.pid, "SIGCONT");
    expect(outcome).toMatchObject({ type: "unknown", kind: "TIMEOUT", lostAtVault: true });
  });

  it("distinguishes the gateway's silence from the vault's", async () => {
    harness.spoilWith(() => "hang");
    const payment = await newPayment();
    const outcome = authorize(payment, 500);
    await arrivedAt(payment);
    expect(await outcome).toEqual({ type: "unknown", kind: "TIMEOUT", reason: "no answer within 500 ms" });
  });
});
