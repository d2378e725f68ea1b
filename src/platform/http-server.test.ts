import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpDrain } from "./http-server.ts";

// Far beyond the duration of a test.
const longMs = 600_000;

let server: Server;
let drain: HttpDrain;
let agent: Agent;
let port: number;
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  answer = (response) => response.end("served");
  server = createServer((_request, response) => answer(response));
  drain = new HttpDrain(server);
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  agent.destroy();
  server.closeAllConnections();
  if (server.listening) await new Promise((closed) => server.close(closed));
});

async function get(): Promise<IncomingMessage> {
  const sent = request({ host: "127.0.0.1", port, agent }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response;
}

describe("HttpDrain", () => {
  it("answers on a kept connection, and marks it as the last time", async () => {
    expect((await get()).headers.connection).toBe("keep-alive");
    drain.begin();
    expect((await get()).headers.connection).toBe("close");
  });

  it("waits for an answer in progress, and then ends its connection", async () => {
    const { promise: came, resolve: respond } = Promise.withResolvers<ServerResponse>();
    answer = respond;
    const response = get();
    const pending = await came;
    let isClosed = false;
    const closed = drain.close(longMs).then(() => {
      isClosed = true;
    });
    await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
    expect(isClosed).toBe(false);
    pending.end("served");
    expect((await response).headers.connection).toBe("close");
    await closed;
  });

  it("does not wait for connections without any request", async () => {
    const opened = once(server, "connection");
    const silent = connect(port, "127.0.0.1");
    await opened;
    await drain.close(longMs);
    await once(silent.resume(), "close");
  });

  it("closes a connection that takes too long", async () => {
    const { promise: came, resolve: respond } = Promise.withResolvers<ServerResponse>();
    answer = respond;
    const broken = expect(get()).rejects.toThrow("socket hang up");
    await came;
    await drain.close(10);
    await broken;
  });
});
