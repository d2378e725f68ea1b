import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { toConnectError } from "../edge/error-mapping.ts";
import { DomainError, type DomainErrorCode } from "../platform/errors.ts";
import { PaymentSessionsClient } from "./payment-sessions-client.ts";

const style = { brand: "switchyard", errorDocsUrl: "https://docs.example/errors" };
const refusal = (code: DomainErrorCode, options = {}) =>
  toConnectError(style, new DomainError(code, `It is ${code}.`, options), "req_1");

/** Starts a gRPC server that refuses in turn and then creates, and a client of it. */
async function startRefusing(...refusals: ConnectError[]) {
  const keys: (string | null)[] = [];
  const createPaymentSession = (_: unknown, { requestHeader }: { requestHeader: Headers }) => {
    keys.push(requestHeader.get("idempotency-key"));
    const refused = refusals.shift();
    if (refused) throw refused;
    return { sessionId: "ps_1" };
  };
  return { client: await startServer({ createPaymentSession }), keys };
}

/** Starts a gRPC server with these rpcs, and a client of it. */
async function startServer(rpcs: Partial<ServiceImpl<typeof PaymentSessionService>>): Promise<PaymentSessionsClient> {
  const server = createServer(
    connectNodeAdapter({ routes: (router) => router.service(PaymentSessionService, rpcs) }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // Longer than a test, so that no deadline ends a call before the test does.
  const patience = { tryTimeoutMs: 60_000, timeoutMs: 120_000 };
  const address = `127.0.0.1:${port}`;
  const client = new PaymentSessionsClient({ address, secretKey: "switchyard_test_sk_x", ...patience });
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  return client;
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

  it("names the one field that a refusal is about, and says its rule once", async () => {
    const { client } = await startRefusing(refusal("amount_exceeds_held", { field: "amountMinor" }));
    const error = await client.createSession(order).catch((failure) => failure);
    expect(error).toMatchObject({ param: "amountMinor", message: "It is amount_exceeds_held." });
    expect(error.problems).toEqual([
      { param: "amountMinor", code: "amount_exceeds_held", detail: "It is amount_exceeds_held." },
    ]);
  });

  it("cancels an aborted call, also at the server, and sends none that was aborted before", async () => {
    const arrived = Promise.withResolvers<AbortSignal>();
    const client = await startServer({
      listPaymentSessions(_, { signal }) {
        arrived.resolve(signal);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const mind = new AbortController();
    const unwanted = client.listSessions({}, { signal: mind.signal });
    const atServer = await arrived.promise;
    const cancelled = once(atServer, "abort");
    mind.abort(new Error("changed my mind"));
    await expect(unwanted).rejects.toThrow("changed my mind");
    await cancelled;
    await expect(client.getSession("ps_1", { signal: mind.signal })).rejects.toThrow("changed my mind");
  });

  it("reports the time to wait when it is longer than a call waits", async () => {
    const { client, keys } = await startRefusing(refusal("rate_limited", { retryAfterMs: 20_000 }));
    const error = await client.createSession(order).catch((failure) => failure);
    expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: 20_000, isTemporary: true });
    expect(keys).toHaveLength(1);
  });
});
