import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { rights } from "../accounts/rights.ts";
import { addService, parseServices } from "../accounts/services-file.ts";
import { RpcError } from "../client/rpc-error.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { filesOf } from "../dev/e2e/guide-text.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { signInternalServiceToken } from "../platform/internal-service-token.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { createServiceTokens } from "../platform/service-token-signing.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";
import { createServiceAuthenticate } from "./service-callers.ts";

const added = addService("[]", { name: "orders", environment: "test", merchants: "*", rights });
const orders = { kid: "orders", privateKey: createPrivateKey(added.privateKey) };

const edge = await forFile(startEdgeFixture);
const merchant = encodeId("mer", edge.core.owner.merchantId);
const all = parseServices(added.file);
let services = all;
const calls: string[] = [];
const authenticate = createServiceAuthenticate(
  edge.parts.authenticate,
  { environments: edge.parts.environments, accounts: edge.core.core.database },
  { entries: () => services, onCall: ({ environment, service }) => calls.push(`${environment} ${service}`) },
);
const server = await forFile(() => createGrpcServer({ ...edge.parts, authenticate }, { reflection: false }));
const address = `127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
const client = await forFile(async () => createGrpcClient(PaymentSessionService, address));
const refunds = await forFile(async () => createGrpcClient(RefundService, address));

const order = { amountMinor: 4900n, currency: "EUR", orderRef: "by-a-service" };
const createBy = (token: string) =>
  client.createPaymentSession(order, { timeoutMs: 5_000, metadata: { authorization: `Bearer ${token}` } });
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error) => new RpcError(error).code,
  );

function forged(change: { typ?: string; aud?: string; lifetime?: string; issuedAgoSeconds?: number; key?: KeyObject }) {
  const issuedAt = Math.floor(Date.now() / 1_000) - (change.issuedAgoSeconds ?? 0);
  return new SignJWT({ merchant })
    .setProtectedHeader({ alg: "EdDSA", kid: "orders", typ: change.typ ?? "internal-service+jwt" })
    .setAudience(change.aud ?? "edge:test")
    .setIssuedAt(issuedAt)
    .setExpirationTime(change.lifetime ?? "60s")
    .sign(change.key ?? orders.privateKey);
}

const checkout = join(import.meta.dirname, "..", "..");

/** Runs the program of docs/grpc.md unchanged and returns its output. */
function signByTheGuide(): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-sign-token-"));
  try {
    symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "orders.pem"), added.privateKey);
    const program = filesOf(readFileSync(join(checkout, "docs", "grpc.md"), "utf8")).get("sign-token.mjs")!;
    writeFileSync(join(folder, "sign-token.mjs"), program);
    return execFileSync(process.execPath, ["sign-token.mjs", "orders", "orders.pem", merchant], { cwd: folder })
      .toString()
      .trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("an internal service's token", () => {
  it("is what the guide's program signs", async () => {
    expect(await codeOf(createBy(signByTheGuide()))).toBeUndefined();
  });

  it("makes refunds that name the service", async () => {
    await edge.core.setRule([]);
    const { sessionId } = (
      await edge.call("POST", "/payment-sessions", { body: JSON.stringify({ ...order, amountMinor: 4900 }) })
    ).json;
    await edge.core.submit({ id: decodeId("ps", sessionId)! }, cards.approved);
    const authorization = `Bearer ${await signInternalServiceToken(orders, { environment: "test", merchant })}`;
    const metadata = { authorization, "idempotency-key": "return-1" };
    await refunds.createRefund({ sessionId }, { timeoutMs: 5_000, metadata });
    const { rows } = await edge.core.core.database.pool.query("SELECT made_by FROM refund");
    expect(rows).toEqual([{ made_by: "orders (service)" }]);
  });

  it("replaces the secret key of the merchant that it names", async () => {
    const created = await createBy(await signInternalServiceToken(orders, { environment: "test", merchant }));
    const read = await edge.call("GET", `/payment-sessions/${created.sessionId}`);
    expect(read.json).toMatchObject({ orderRef: "by-a-service", status: "CREATED" });
    expect(calls.splice(0).at(-1)).toBe("test orders");
    expect(await codeOf(createBy(await forged({})))).toBeUndefined();
  });

  it.each([
    ["for the other environment", () => signInternalServiceToken(orders, { environment: "live", merchant })],
    [
      "for a merchant that is not there",
      () =>
        signInternalServiceToken(orders, {
          environment: "test",
          merchant: encodeId("mer", "01890000-0000-7000-8000-000000000000"),
        }),
    ],
    ["for what is no merchant", () => signInternalServiceToken(orders, { environment: "test", merchant: "ps_1" })],
    [
      "of a service that nobody knows",
      () => signInternalServiceToken({ ...orders, kid: "refunds" }, { environment: "test", merchant }),
    ],
    ["signed with another key", () => forged({ key: generateKeyPairSync("ed25519").privateKey })],
    ["for the vault", () => createServiceTokens({ ...orders, environment: "test" })()],
    ["of another kind", () => forged({ typ: "vault-service+jwt" })],
    ["for another audience", () => forged({ aud: "vault:test" })],
    ["that is over", () => forged({ issuedAgoSeconds: 120, lifetime: "-30s" })],
    ["that is to last for an hour", () => forged({ issuedAgoSeconds: 120, lifetime: "1h" })],
    ["that is none", async () => "a.b.c"],
  ])("%s is refused as any wrong key", async (_, token) => {
    calls.splice(0);
    expect(await codeOf(createBy(await token()))).toBe("invalid_key");
    expect(calls).toEqual([]);
  });

  it.each([
    ["is refused for a merchant that is not among the service's", { merchants: [systemRuntime.uuid()] }, "invalid_key"],
    ["is refused without the right", { rights: ["sessions.read"] }, "right_not_granted"],
    ["is admitted with the right and the merchant", { merchants: [edge.core.owner.merchantId] }, undefined],
  ])("%s", async (_, bounds, code) => {
    services = all.map((service) => ({ ...service, ...bounds }));
    try {
      const token = await signInternalServiceToken(orders, { environment: "test", merchant });
      calls.splice(0);
      expect(await codeOf(createBy(token))).toBe(code);
      expect(calls).toEqual(code === undefined ? ["test orders"] : []);
    } finally {
      services = all;
    }
  });

  it("is refused once its service has left the file", async () => {
    services = [];
    try {
      const token = await signInternalServiceToken(orders, { environment: "test", merchant });
      expect(await codeOf(createBy(token))).toBe("invalid_key");
    } finally {
      services = all;
    }
  });

  it("is refused on the public port", async () => {
    const token = await signInternalServiceToken(orders, { environment: "test", merchant });
    const answer = await edge.call("GET", "/payment-sessions", { headers: { authorization: `Bearer ${token}` } });
    expect(answer.json.code).toBe("invalid_key");
  });

  it("leaves the secret key valid", async () => {
    expect(await codeOf(createBy(edge.keys.secret))).toBeUndefined();
    expect(await codeOf(createBy(edge.keys.publishable))).toBe("key_type_not_allowed");
  });
});
