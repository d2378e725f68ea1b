/** Cases that take longer than an ordinary test should: a slow body, a client that does not read. */

import { describe, expect, it } from "vitest";
import { type HeldConnection, hold, holdMany } from "../dev/testing/edge/slow-clients.ts";
import { forFile } from "../dev/testing/for-file.ts";
import {
  connectionCheckMs,
  connectionsMax,
  keepAliveMs,
  pipelinedRequestsMax,
  requestTimeoutMs,
  silenceTimeoutMs,
} from "../limits.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { referencePaths } from "./reference/reference-pages.ts";

const edge = await forFile(startEdgeFixture);

const patienceMs = 5_000;
const meta = "GET /api/v1/meta HTTP/1.1\r\nHost: a\r\n\r\n";
const json = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n";
const create = () =>
  `POST /api/v1/payment-sessions HTTP/1.1\r\nAuthorization: Bearer ${edge.keys.secret}\r\n${json}\r\n`;

describe.concurrent("slow clients", () => {
  it.each([
    ["REST", create],
    ["Connect", () => `POST /payments.v1.CheckoutService/GetCheckout HTTP/1.1\r\n${json}\r\n`],
    ["a notification", () => `POST /gateway-notifications/test/gc_00000000000000000000000000 HTTP/1.1\r\n${json}\r\n`],
  ])("that send a body a byte at a time are refused: %s", async (_, head) => {
    const { ended } = await hold(edge.port, head(), " ");
    const { answers, rest, lastedMs } = await ended;
    expect([answers.length, rest]).toEqual([1, ""]);
    // A call over Connect has a deadline of its own, as long as the body's.
    expect(answers[0]?.text).toMatch(/request_timeout|deadline_exceeded/i);
    expect(lastedMs).toBeGreaterThan(requestTimeoutMs - 100);
    expect(lastedMs).toBeLessThan(requestTimeoutMs + connectionCheckMs + patienceMs);
  });

  it("that are idle are kept longer than load balancers keep their side, but not forever", async () => {
    const { ended } = await hold(edge.port, meta);
    const { answers, lastedMs } = await ended;
    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(lastedMs).toBeGreaterThan(60_000);
    expect(lastedMs).toBeLessThan(keepAliveMs + patienceMs);
  });

  it("that do not read lose their answers", async () => {
    const page = `GET ${referencePaths.searchIndex} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const { socket, ended } = await hold(edge.port, page.repeat(pipelinedRequestsMax));
    socket.pause();
    // A client that returns later finds what the system had buffered, and the end.
    setTimeout(() => socket.resume(), 2 * silenceTimeoutMs + patienceMs);
    const { answers, lastedMs } = await ended;
    expect(answers.length).toBeLessThan(pipelinedRequestsMax);
    expect(lastedMs).toBeLessThan(2 * (silenceTimeoutMs + patienceMs));
  });
});

describe("connections", () => {
  it(`beyond ${connectionsMax} are closed unanswered, and those before them are served`, async () => {
    const held: HeldConnection[] = [];
    // No more at once than the system queues for a server.
    while (held.length < connectionsMax) held.push(...(await holdMany(100, edge.port, "")));
    const beyond = await hold(edge.port, meta);
    expect((await beyond.ended).answers).toEqual([]);
    held[0]?.socket.write(meta.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    expect((await held[0]?.ended)?.answers.map(({ status }) => status)).toEqual([200]);
    for (const { socket } of held) socket.destroy();
    await Promise.all(held.map(({ ended }) => ended));
    expect((await edge.call("GET", "/meta")).status).toBe(200);
  });
});
