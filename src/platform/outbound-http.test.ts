import { execFile } from "node:child_process";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Receiver } from "../dev/testing/receiver.ts";
import { GatewayHttp, parseJsonObject, readJsonObject } from "./outbound-http.ts";

describe("GatewayHttp.send()", () => {
  let http: GatewayHttp;
  let gateway: Receiver;
  beforeEach(async () => {
    http = new GatewayHttp();
    gateway = await Receiver.start();
  });
  afterEach(() => Promise.all([http.close(), gateway.close()]));

  const post = (url: string, more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
    http.send({ method: "POST", url, headers: { "content-type": "text/plain" }, body: "x", timeoutMs: 5_000, ...more });

  it("returns status, headers and bytes", async () => {
    gateway.answerWith({ status: 402, headers: { "request-id": "r1" }, body: "no" });
    const reply = await post(gateway.url);
    expect(reply).toMatchObject({ type: "answer", status: 402, headers: { "request-id": "r1" } });
    expect(reply.type === "answer" && Buffer.from(reply.body).toString()).toBe("no");
  });

  it("identifies the sender, and requests an answer that is not compressed", async () => {
    await post(gateway.url);
    await http.send({ method: "GET", url: gateway.url, headers: {}, timeoutMs: 5_000 });
    for (const { headers } of gateway.requests) {
      expect(headers).toMatchObject({ "user-agent": "Switchyard", "accept-encoding": "identity" });
    }
    expect(gateway.requests).toHaveLength(2);
  });

  it("reports neverSent if the name does not resolve", async () => {
    const reply = await post("http://gateway.invalid");
    expect(reply).toMatchObject({ type: "neverSent", cause: "connection_refused" });
  });

  it("reports neverSent if the other side does not speak TLS", async () => {
    const reply = await post(gateway.url.replace("http:", "https:"));
    expect(reply).toMatchObject({ type: "neverSent", cause: "connection_refused" });
    expect(gateway.requests).toEqual([]);
  });

  it("reports noAnswer if the connection breaks after the request was read", async () => {
    gateway.answerWith("reset");
    expect(await post(gateway.url)).toMatchObject({ type: "noAnswer", timedOut: false });
    expect(gateway.requests).toHaveLength(1);
  });

  it("sends once, also if a kept connection turns out to be closed", async () => {
    await post(gateway.url);
    gateway.answerWith("reset");
    expect(await post(gateway.url)).toMatchObject({ type: "noAnswer" });
    expect(gateway.requests).toHaveLength(2);
  });

  it("does not follow a redirect", async () => {
    gateway.answerWith({ status: 307, headers: { location: `${gateway.url}/elsewhere` } });
    expect(await post(gateway.url)).toMatchObject({ type: "answer", status: 307 });
    expect(gateway.requests).toHaveLength(1);
  });

  it("stops reading after a megabyte", async () => {
    gateway.answerWith({ status: 200, body: "x".repeat(1024 * 1024 + 1) });
    expect(await post(gateway.url)).toMatchObject({ type: "noAnswer", timedOut: false });
  });

  it("counts the deadline to the last byte of the answer", async () => {
    const dripping = await listen(
      createTcpServer((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")),
    );
    expect(await post(dripping.url, { timeoutMs: 100 })).toMatchObject({ type: "noAnswer", timedOut: true });
    await dripping.close();
  });

  it("connects directly to the gateway whatever proxy the process's environment names", async () => {
    const script = `
      import { GatewayHttp } from ${JSON.stringify(new URL("outbound-http.ts", import.meta.url).href)};
      const http = new GatewayHttp();
      const request = { method: "POST", url: ${JSON.stringify(gateway.url)}, headers: {}, body: "", timeoutMs: 5000 };
      console.log(JSON.stringify((await http.send(request)).type));
      await http.close();`;
    const nowhere = "http://127.0.0.1:1";
    const env = {
      HTTP_PROXY: nowhere,
      http_proxy: nowhere,
      HTTPS_PROXY: nowhere,
      ALL_PROXY: nowhere,
      NODE_USE_ENV_PROXY: "1",
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { env });
    expect(stdout.trim()).toBe('"answer"');
  });

  it("does not treat an unsolicited answer as the next request's", async () => {
    const answer = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    gateway.answerWith({ write: (socket) => void socket.write(answer("first") + answer("forged")) });
    const first = await post(gateway.url);
    gateway.answerWith({ status: 200, body: "second" });
    const second = await post(gateway.url);
    expect([first, second].map((reply) => reply.type === "answer" && Buffer.from(reply.body).toString())).not.toContain(
      "forged",
    );
    expect(second).toMatchObject({ type: "answer" });
  });

  it("stops waiting on the signal, without reporting a timeout", async () => {
    gateway.answerWith("hang");
    const stop = new AbortController();
    const reply = post(gateway.url, { signal: stop.signal });
    await gateway.waitFor();
    stop.abort();
    expect(await reply).toMatchObject({ type: "noAnswer", timedOut: false });
  });
});

describe("GatewayHttp with options", () => {
  const limits = { answerBytesMax: 10, connectTimeoutMs: 300 };
  const openHttp = (options: ConstructorParameters<typeof GatewayHttp>[0]) => {
    const http = new GatewayHttp(options);
    onTestFinished(() => http.close());
    return http;
  };

  it("reads no more than the given bytes, and a compressed answer only unless it refuses them", async () => {
    const gateway = await Receiver.start();
    onTestFinished(() => gateway.close());
    const request = { method: "POST", url: gateway.url, headers: {}, body: "x", timeoutMs: 5_000 } as const;
    gateway.answerWith({ status: 200, body: "x".repeat(11) });
    expect(await openHttp(limits).send(request)).toMatchObject({ type: "noAnswer", timedOut: false });
    gateway.answerWith({ status: 200, headers: { "content-encoding": "gzip" }, body: "x" });
    expect(await openHttp(limits).send(request)).toMatchObject({ type: "answer" });
    expect(await openHttp({ ...limits, refusesCompressed: true }).send(request)).toEqual({
      type: "noAnswer",
      timedOut: false,
      reason: "the answer was compressed",
    });
  });

  it("reports a connection that fails after the deadline as never sent, or as a timeout", async () => {
    const silent = await listen(createTcpServer(() => {}));
    onTestFinished(() => silent.close());
    const url = silent.url.replace("http:", "https:");
    const request = { method: "POST", url, headers: {}, body: "x", timeoutMs: 50 } as const;
    expect(await openHttp(limits).send(request)).toMatchObject({ type: "neverSent", cause: "connection_refused" });
    const late = await openHttp({ ...limits, lateFailureTimesOut: true }).send(request);
    expect(late).toEqual({ type: "noAnswer", timedOut: true, reason: "no answer within 50 ms" });
  });
});

describe("readJsonObject()", () => {
  const read = (headers: Record<string, string>) => readJsonObject({ headers, body: Buffer.from("{}") });

  it.each(["application/json", "application/json;charset=UTF-8", "Application/JSON ; a=b", "application/hal+json"])(
    "reads %s",
    (contentType) => {
      expect(read({ "content-type": contentType })).toEqual({});
    },
  );

  it.each(["text/html", "text/plain", "application/jsonp", "application/json, text/html", ""])(
    "returns nothing for %j",
    (contentType) => {
      expect(read({ "content-type": contentType })).toBeUndefined();
    },
  );

  it("reads an answer without a content type", () => {
    expect(read({})).toEqual({});
  });
});

describe("parseJsonObject()", () => {
  it.each(["", "{", "[]", "null", "1", '"text"', '{"a":1}}'])("returns nothing for %j", (text) => {
    expect(parseJsonObject(Buffer.from(text))).toBeUndefined();
  });

  it("returns nothing for bytes that are not UTF-8", () => {
    expect(parseJsonObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeUndefined();
  });
});

async function listen(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

describe("GatewayHttp.download()", () => {
  let http: GatewayHttp;
  let gateway: Receiver;
  beforeEach(async () => {
    http = new GatewayHttp();
    gateway = await Receiver.start();
  });
  afterEach(() => Promise.all([http.close(), gateway.close()]));

  const get = (bytesMax: number, timeoutMs = 5_000) =>
    http.download({ method: "GET", url: gateway.url, headers: {}, timeoutMs }, bytesMax);
  const bytesOf = async (reply: Awaited<ReturnType<typeof get>>) => {
    if (reply.type !== "download") throw new Error(reply.type);
    let bytes = 0;
    for await (const chunk of reply.body) bytes += chunk.length;
    return bytes;
  };

  it("passes a file on, of at most so many bytes", async () => {
    gateway.answerWith({ status: 200, body: "x".repeat(1_000) });
    expect(await bytesOf(await get(1_000))).toBe(1_000);
    await expect(get(999).then(bytesOf)).rejects.toThrow();
  });

  it("follows no redirect, and reports every other status", async () => {
    gateway.answerWith({ status: 302, headers: { location: `${gateway.url}/other` }, body: "" });
    expect(await get(10)).toEqual({ type: "refused", status: 302 });
    gateway.answerWith({ status: 403, body: "no" });
    expect(await get(10)).toEqual({ type: "refused", status: 403 });
    expect(gateway.requests).toHaveLength(2);
  });

  it("reports a file that does not arrive", async () => {
    gateway.answerWith("reset");
    expect(await get(10)).toMatchObject({ type: "noAnswer" });
  });
});
