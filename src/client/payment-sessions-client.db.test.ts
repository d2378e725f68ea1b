import { once } from "node:events";
import { createServer, type Socket, connect as tcpConnect } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PaymentSession_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "../edge/edge.fixture.ts";
import { createGrpcServer } from "../edge/grpc-server.ts";
import { TlsFiles } from "../platform/tls-files.ts";
import { PaymentSessionsClient, type PaymentSessionsClientOptions } from "./payment-sessions-client.ts";

const edge = await forFile(startEdgeFixture);
const server = await forFile(() => createGrpcServer(edge.parts, { reflection: false }));
const port = await server.listen(0, "127.0.0.1");
const client = await forFile(() => clientAt(port));

function clientAt(at: number, options: Partial<PaymentSessionsClientOptions> = {}): PaymentSessionsClient {
  return new PaymentSessionsClient({ address: `127.0.0.1:${at}`, secretKey: edge.keys.secret, ...options });
}

const order = (orderRef: string) => ({ amountMinor: 4900n, currency: "EUR", orderRef });

/** A connection to the edge that can be stopped, so that answers stay under way, and cut. */
async function startLine() {
  const sockets: Socket[] = [];
  const upstreams: Socket[] = [];
  const listener = createServer((socket) => {
    const upstream = tcpConnect(port, "127.0.0.1");
    socket.pipe(upstream).pipe(socket);
    for (const each of [socket, upstream]) each.on("error", () => {});
    socket.on("close", () => upstream.destroy());
    sockets.push(socket);
    upstreams.push(upstream);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    listener.close();
  });
  const hold = () => {
    upstreams.at(-1)!.unpipe(sockets.at(-1)!);
    upstreams.at(-1)!.pause();
  };
  return { port: (listener.address() as { port: number }).port, sockets, hold, cut };
}

describe("PaymentSessionsClient", () => {
  it("creates a session, reads it, and lists every one page by page", async () => {
    const made = [];
    for (const _ of [1, 2, 3]) made.push(await client.createSession(order("listed")));
    const { sessionId } = made[0]!;
    const read = await client.getSession(sessionId);
    expect(read).toMatchObject({ ...order("listed"), status: PaymentSession_Status.CREATED, attempts: [] });
    const page = await client.listSessions({ orderRef: "listed", status: "CREATED", pageSize: 2 });
    expect(page).toMatchObject({ paymentSessions: [{}, {}], nextPageToken: expect.any(String) });
    const seen = [];
    const filters = { orderRef: "listed", pageSize: 2, createdAfter: new Date(0), createdBefore: new Date() };
    for await (const session of client.eachSession(filters)) seen.push(session.sessionId);
    expect(seen.toSorted()).toEqual(made.map((each) => each.sessionId).toSorted());
    const ended = await client.listSessions({ orderRef: "listed", status: "EXPIRED" });
    expect(ended.paymentSessions).toEqual([]);
  });

  it("makes one session when the answer is lost with the connection", async () => {
    const line = await startLine();
    const flaky = clientAt(line.port);
    await flaky.listSessions();
    line.hold();
    const creating = flaky.createSession(order("lost"));
    const stored = () => client.listSessions({ orderRef: "lost" });
    await vi.waitFor(async () => expect((await stored()).paymentSessions).toHaveLength(1), 5_000);
    line.cut();
    const created = await creating;
    expect(line.sockets.length).toBe(2);
    expect((await stored()).paymentSessions.map(({ sessionId }) => sessionId)).toEqual([created.sessionId]);
    await flaky.close();
  });

  it("returns the first session to a call with the same key", async () => {
    const first = await client.createSession(order("again"), { idempotencyKey: "again-1" });
    const again = await client.createSession(order("again"), { idempotencyKey: "again-1" });
    expect(again.sessionId).toBe(first.sessionId);
  });

  it("reports a refusal as REST does, and does not repeat it", async () => {
    const refused = client.createSession({ ...order(""), amountMinor: -1n }, { idempotencyKey: "refused-1" });
    const error = await refused.catch((failure) => failure);
    expect(error).toMatchObject({ code: "missing_field", tries: 1, isTemporary: false, idempotencyKey: "refused-1" });
    expect(error.requestId).toMatch(/^req_/);
    expect(error.problems.map(({ param }: { param: string }) => param).toSorted()).toEqual(["amountMinor", "orderRef"]);
    expect(error.message).toMatch(/^orderRef [^:]+ \(and 1 more\)\.$/);
    expect(error.param).toBe("orderRef");
    await expect(client.getSession("ps_1")).rejects.toMatchObject({ code: "not_found", tries: 1 });
  });

  it("detects by itself that an idle connection is dead", async () => {
    const line = await startLine();
    const patient = clientAt(line.port, { keepaliveMs: 100 });
    await patient.listSessions();
    line.hold();
    await once(line.sockets[0]!, "close");
    expect(await patient.listSessions()).toBeDefined();
    expect(line.sockets).toHaveLength(2);
    await patient.close();
  });

  it("reports that no server answers, after the maximum of requests", async () => {
    const unreachable = clientAt(1, { triesMax: 2 });
    await expect(unreachable.listSessions()).rejects.toMatchObject({
      code: "unavailable",
      tries: 2,
      isTemporary: true,
    });
    await unreachable.close();
  });

  it("ends a call without an answer in time", async () => {
    const line = await startLine();
    const waiting = clientAt(line.port, { triesMax: 1 });
    await waiting.listSessions();
    line.hold();
    const late = waiting.listSessions({}, { timeoutMs: 200 });
    await expect(late).rejects.toMatchObject({ code: "deadline_exceeded", tries: 1 });
    await waiting.close();
  });

  it("lets running calls finish when it is closed, and accepts no others", async () => {
    const closing = clientAt(port);
    const ends: string[] = [];
    const running = closing.createSession(order("closing")).finally(() => ends.push("call"));
    const closed = closing.close().finally(() => ends.push("client"));
    expect(() => closing.listSessions()).toThrow("closed");
    await closed;
    expect(await running).toMatchObject(order("closing"));
    expect(ends).toEqual(["call", "client"]);
  });

  it("speaks TLS, authenticates itself where required, and trusts only its own authorities", async () => {
    const authority = new TestAuthority("ours");
    const [{ certFile, keyFile }, own] = [authority.issue("server"), authority.issue("client")];
    const tls = new TlsFiles({ certFile, keyFile, clientCaFile: authority.certFile }, { onBroken: () => {} });
    const secure = createGrpcServer(edge.parts, { reflection: false, tls });
    const at = await secure.listen(0, "127.0.0.1");
    onTestFinished(async () => {
      await secure.close();
      authority.close();
    });
    const list = async (parts: PaymentSessionsClientOptions["tls"] & object) => {
      const over = clientAt(at, { address: `localhost:${at}`, tls: parts, triesMax: 1 });
      return over.listSessions({ orderRef: "tls" }).finally(() => over.close());
    };
    const identity = { clientKey: own.key, clientCertificate: own.cert };
    expect((await list({ authorities: authority.cert, ...identity })).paymentSessions).toEqual([]);
    await expect(list({ authorities: authority.cert })).rejects.toMatchObject({ code: "unavailable" });
    await expect(list(identity)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("hides its key when printed", async () => {
    const secretKey = "switchyard_test_sk_neverShown";
    const stranger = clientAt(port, { secretKey });
    expect(inspect(stranger, { depth: 10, showHidden: true })).not.toContain(secretKey);
    const error = await stranger.getSession("ps_1").catch((failure) => failure);
    expect(error.code).toBe("invalid_key");
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secretKey);
    expect(() => clientAt(port, { secretKey: `${secretKey}\n` })).toThrow(/^secretKey must be printable ASCII/);
    await stranger.close();
  });
});
