import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { refusedBodyBytesMax } from "../limits.ts";
import { createHttpServer } from "./http-server.ts";

let server: Server;
let served: string[];
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  served = [];
  answer = (response) => response.writeHead(401, { "content-length": 2 }).end("no");
  server = createHttpServer({
    requestTimeoutMs: 600_000,
    handle: (request, response) => {
      served.push(request.url ?? "");
      answer(response);
    },
    refuse: () => ({ status: 400, headers: {}, body: "{}" }),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
// Waits for every connection: one that stays open would prevent its end.
afterEach(async () => {
  await new Promise((closed) => server.close(closed));
});

function closeOf(socket: Socket): Promise<void> {
  return new Promise((closed) => socket.once("close", () => closed()));
}

function open() {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("latin1");
  socket.on("error", () => {});
  return socket;
}

describe("a body that is refused unread", () => {
  const refusals: [string, (response: ServerResponse) => void][] = [
    ["at once", (response) => response.writeHead(401, { "content-length": 2 }).end("no")],
    ["after a moment", (response) => setImmediate(() => response.writeHead(401, { "content-length": 2 }).end("no"))],
    [
      "by a reader that saw too much",
      (response) => response.req.once("data", () => response.writeHead(401, { "content-length": 2 }).end("no")),
    ],
    [
      "while it is still read",
      (response) => response.req.on("data", () => {}).once("data", () => response.writeHead(401).end("no")),
    ],
  ];
  const framings = ["content-length: 1000000000", "transfer-encoding: chunked"];
  it.each(refusals.flatMap(([name, refuse]) => framings.map((framing) => [name, framing, refuse] as const)))(
    "%s, gets the last answer of its connection, and is read no further than a little: %s",
    async (...row) => {
      const [, framing] = row;
      answer = row[2];
      const connected = once(server, "connection");
      const socket = open();
      const [atServer] = (await connected) as [Socket];
      let received = "";
      socket.on("data", (text: string) => {
        received += text;
      });
      socket.write(`POST /big HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`);
      await once(server, "request");
      const bytes = "x".repeat(64 * 1024);
      const piece = framing.startsWith("transfer") ? `10000\r\n${bytes}\r\n` : bytes;
      const push = () => {
        while (socket.writable && socket.write(piece));
      };
      socket.on("drain", push);
      push();
      await closeOf(socket);
      expect(received).toMatch(/^HTTP\/1\.1 401 .*connection: close\r\n.*\r\n.*no/is);
      // The bytes that the parser's reader held before, and those of one read, come on top.
      expect(atServer.bytesRead).toBeLessThan(refusedBodyBytesMax + 512 * 1024);
    },
  );

  it("does not cut off an answer that its client reads late", async () => {
    const long = "y".repeat(1024 * 1024);
    answer = (response) => response.writeHead(401, { "content-length": long.length }).end(long);
    const socket = open();
    socket.write(`POST /big HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n`);
    await once(server, "request");
    socket.write("x".repeat(1000));
    let received = "";
    socket.on("data", (text: string) => {
      received += text;
    });
    await closeOf(socket);
    expect(received.endsWith(`\r\n\r\n${long}`)).toBe(true);
  });

  it("costs no connection if it is small and has already arrived", async () => {
    answer = (response) => setImmediate(() => response.writeHead(401, { "content-length": 2 }).end("no"));
    const socket = open();
    socket.write("POST /small HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n12345");
    const [refused] = (await once(socket, "data")) as [string];
    expect(refused).toMatch(/^HTTP\/1\.1 401 .*connection: keep-alive/is);
    socket.write("GET /next HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(socket, "data");
    expect(served).toEqual(["/small", "/next"]);
    socket.destroy();
  });

  it("lets nothing behind it be read as a request", async () => {
    const socket = open();
    socket.resume();
    socket.write("POST /first HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n");
    await once(server, "request");
    socket.write("12345GET /second HTTP/1.1\r\nhost: a\r\n\r\n");
    await closeOf(socket);
    expect(served).toEqual(["/first"]);
  });

  it("keeps the connection if there is no body, or if it was read", async () => {
    const socket = open();
    socket.write("GET /first HTTP/1.1\r\nhost: a\r\n\r\n");
    const [head] = (await once(socket, "data")) as [string];
    expect(head).toMatch(/connection: keep-alive/i);
    answer = (response) => {
      response.req.resume().once("end", () => response.writeHead(200, { "content-length": 0 }).end());
    };
    socket.write("POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n12345");
    const [read] = (await once(socket, "data")) as [string];
    expect(read).toMatch(/connection: keep-alive/i);
    socket.destroy();
  });
});
