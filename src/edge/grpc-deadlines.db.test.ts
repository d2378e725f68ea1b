import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { CheckoutService, SubmitPaymentRequestSchema } from "../../gen/payments/v1/checkout_pb.ts";
import {
  CreatePaymentSessionRequestSchema,
  PaymentSession_Status,
  PaymentSessionService,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { deriveClientSecret } from "../core/client-secret.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { grpcFrame, WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { Readiness } from "../platform/readiness.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const readiness = new Readiness(async () => true);
const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
const { draining, stopping } = readiness;
const server = await forFile(() => createGrpcServer({ ...edge.parts, draining, stopping }, { reflection: false }));
const port = await server.listen(0, "127.0.0.1");
const wire = new WireClient(port);
afterEach(() => edge.core.sandbox.release({}));

/** Creates a session whose payment is blocked at the gateway, as its customer's page sees it. */
async function held() {
  const session = await edge.core.newSession();
  edge.core.useCard(cards.approved);
  await edge.core.sandbox.hold("a.authorize");
  const secret = deriveClientSecret(edge.core.core.clientSecretKeys, session.id, session.secretVersion).expose();
  const submission = { sessionId: encodeId("ps", session.id), vaultToken: "tok_1" };
  const headers = { authorization: `Bearer ${secret}` };
  return { session, submission, headers };
}

/** Returns the session's end, once the gateway has answered. */
async function settled({ session }: Awaited<ReturnType<typeof held>>) {
  await edge.core.sandbox.release({ operation: "a.authorize" });
  await Promise.all(edge.core.core.inFlight);
  const { session: ended, attempts } = await edge.core.loadSession(session);
  return {
    status: ended.status,
    attempts: attempts.map(({ gateway, status }) => `${gateway} ${status}`),
    captured: await edge.core.capturedAtGateways(session),
  };
}
const paidOnce = { status: "SUCCEEDED", attempts: ["SANDBOX_A CAPTURED"], captured: 1 };

const transports = [
  ["gRPC", () => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` })],
  ["Connect", () => createConnectTransport({ httpVersion: "2", baseUrl: `http://127.0.0.1:${port}` })],
  [
    "Connect on the public port",
    () => createConnectTransport({ httpVersion: "1.1", baseUrl: `http://127.0.0.1:${edge.port}` }),
  ],
] as const;

describe.each(transports)("a submitted payment over %s", (_, transport) => {
  it("is paid once when its caller cancels during the authorization", async () => {
    const payment = await held();
    const leaving = new AbortController();
    const options = { headers: payment.headers, signal: leaving.signal };
    const call = createClient(CheckoutService, transport()).submitPayment(payment.submission, options);
    const left = call.then(() => expect.unreachable(), ConnectError.from);
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    leaving.abort();
    expect((await left).code).toBe(Code.Canceled);
    expect(await settled(payment)).toEqual(paidOnce);
  });

  it("is paid once when its deadline passes during the authorization", async () => {
    const payment = await held();
    const options = { headers: payment.headers, timeoutMs: 1_000 };
    const call = createClient(CheckoutService, transport()).submitPayment(payment.submission, options);
    const late = call.then(() => expect.unreachable(), ConnectError.from);
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    expect((await late).code).toBe(Code.DeadlineExceeded);
    expect(await settled(payment)).toEqual(paidOnce);
  });
});

describe("a deadline", () => {
  it.each([
    ["gRPC", "application/grpc", "grpc-timeout", "1500m"],
    ["gRPC-Web", "application/grpc-web+proto", "grpc-timeout", "1500m"],
    ["Connect", "application/proto", "connect-timeout-ms", "1500"],
  ])("is enforced by the server itself over %s, at about its time", async (_, type, name, timeout) => {
    const payment = await held();
    const message = toBinary(SubmitPaymentRequestSchema, create(SubmitPaymentRequestSchema, payment.submission));
    const body = name === "grpc-timeout" ? grpcFrame(message) : message;
    const startedAt = performance.now();
    const path = `/${CheckoutService.typeName}/SubmitPayment`;
    const answer = await wire.call(path, { ...payment.headers, "content-type": type, [name]: timeout }, body);
    const tookMs = performance.now() - startedAt;
    expect(answer.reason).toBe("deadline_exceeded");
    if (name === "grpc-timeout") expect(answer.grpcStatus).toBe(4);
    else expect(answer.status).toBe(504);
    expect(tookMs).toBeGreaterThan(1_450);
    expect(tookMs).toBeLessThan(5_000);
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    expect(await settled(payment)).toEqual(paidOnce);
  });

  const create1 = (orderRef: string) =>
    grpcFrame(
      toBinary(
        CreatePaymentSessionRequestSchema,
        create(CreatePaymentSessionRequestSchema, { amountMinor: 100n, currency: "EUR", orderRef }),
      ),
    );
  const createWith = (orderRef: string, timeout: string, key?: string) =>
    wire.call(
      `/${PaymentSessionService.typeName}/CreatePaymentSession`,
      {
        "content-type": "application/grpc",
        authorization: `Bearer ${edge.keys.secret}`,
        "grpc-timeout": timeout,
        ...(key && { "idempotency-key": key }),
      },
      create1(orderRef),
    );

  it("that has passed before the call begins creates nothing", async () => {
    for (const timeout of ["0m", "0S"]) {
      expect(await createWith("too-late", timeout)).toMatchObject({ grpcStatus: 4, reason: "deadline_exceeded" });
    }
    expect((await edge.call("GET", "/payment-sessions?orderRef=too-late")).json.paymentSessions).toEqual([]);
  });

  it.each(["1", "m", "-1m", "1.5S", "123456789m", "1x", "S1"])("that is no time is refused: %s", async (timeout) => {
    expect(await createWith("a", timeout)).toMatchObject({ grpcStatus: 3, reason: "invalid_parameter" });
  });

  it.each(["99999999H", "1H", "30S"])("may be any time ahead: %s", async (timeout) => {
    expect((await createWith("a", timeout)).grpcStatus).toBe(0);
  });

  it("passes while the database is blocked, and a repeat with the same key finds one whole session", async () => {
    const { asOwner } = edge.core;
    const lock = await asOwner.pool.connect();
    try {
      await lock.query("BEGIN");
      await lock.query("LOCK TABLE payment_session IN ACCESS EXCLUSIVE MODE");
      expect(await createWith("blocked", "300m", "once")).toMatchObject({ grpcStatus: 4, reason: "deadline_exceeded" });
    } finally {
      await lock.query("ROLLBACK");
      lock.release();
    }
    expect((await createWith("blocked", "5S", "once")).grpcStatus).toBe(0);
    const { paymentSessions } = (await edge.call("GET", "/payment-sessions?orderRef=blocked")).json;
    expect(paymentSessions).toMatchObject([{ orderRef: "blocked", amountMinor: 100, status: "CREATED" }]);
  });
});

describe("a server that stops", () => {
  it("answers a caller that waits for a payment, and the payment continues to its end", async () => {
    const payment = await held();
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const call = createClient(CheckoutService, transport).submitPayment(payment.submission, {
      headers: payment.headers,
    });
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    readiness.stop();
    const closing = server.close();
    const { checkout } = await call;
    expect(checkout).toMatchObject({ status: PaymentSession_Status.CREATED, processing: true });
    await closing;
    expect(await settled(payment)).toEqual(paidOnce);
  });
});
