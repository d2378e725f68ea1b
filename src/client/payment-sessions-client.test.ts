import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { toConnectError } from "../edge/error-mapping.ts";
import { DomainError, type DomainErrorCode } from "../platform/errors.ts";
import { PaymentSessionsClient } from "./payment-sessions-client.ts";

const style = { brand: "switchyard", errorDocsUrl: "https://docs.example/errors" };
const refusal = (code: DomainErrorCode, options = {}) =>
  toConnectError(style, new DomainError(code, `It is ${code}.`, options), "req_1");

/** A gRPC server that refuses in turn, and then creates; and a client of it. */
async function startRefusing(...refusals: ConnectError[]) {
  const keys: (string | null)[] = [];
  const createPaymentSession = (_: unknown, { requestHeader }: { requestHeader: Headers }) => {
    keys.push(requestHeader.get("idempotency-key"));
    const refused = refusals.shift();
    if (refused) throw refused;
    return { sessionId: "ps_1" };
  };
  const server = createServer(
    connectNodeAdapter({ routes: (router) => router.service(PaymentSessionService, { createPaymentSession }) }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new PaymentSessionsClient({ address: `127.0.0.1:${port}`, secretKey: "switchyard_test_sk_x" });
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  return { client, keys };
}

const order = { amountMinor: 4900n, currency: "EUR", orderRef: "order-1" };

describe("PaymentSessionsClient", () => {
  it.each<[string, ConnectError]>([
    ["unavailable", refusal("unavailable")],
    ["internal", refusal("internal")],
    ["rate_limited", refusal("rate_limited", { retryAfterMs: 10 })],
    ["idempotency_in_progress", refusal("idempotency_in_progress")],
    ["gRPC's own UNAVAILABLE", new ConnectError("The balancer has no server.", Code.Unavailable)],
  ])("sends a creation again with the same key after %s", async (_what, refused) => {
    const { client, keys } = await startRefusing(refused);
    expect(await client.createSession(order)).toMatchObject({ sessionId: "ps_1" });
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each<DomainErrorCode>(["invalid_field", "invalid_key", "idempotency_key_reused", "session_ended"])(
    "does not repeat what was refused with %s",
    async (code) => {
      const { client, keys } = await startRefusing(refusal(code));
      const error = await client.createSession(order).catch((failure) => failure);
      expect(error).toMatchObject({ name: "RpcError", code, message: `It is ${code}.`, requestId: "req_1", tries: 1 });
      expect(keys).toHaveLength(1);
    },
  );

  it("tells how long to wait when that is longer than a call waits", async () => {
    const { client, keys } = await startRefusing(refusal("rate_limited", { retryAfterMs: 20_000 }));
    const error = await client.createSession(order).catch((failure) => failure);
    expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: 20_000, isTemporary: true });
    expect(keys).toHaveLength(1);
  });
});
