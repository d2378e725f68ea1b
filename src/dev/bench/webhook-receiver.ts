/** The merchants' server of benchmarks: answers 204, and records the first arrival of each webhook. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { answerParent } from "../testing/child-process.ts";

/** A request since the last `begin`, to check its content. */
export type SampleWebhook = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** First arrivals in milliseconds of the system's clock, by `webhook-id`; and the number of requests. */
export type Arrivals = {
  readonly atMs: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly lastAtMs: number;
  readonly sample: SampleWebhook | undefined;
};

let atMs = new Map<string, number>();
let requests = 0;
let lastAtMs = 0;
let sample: SampleWebhook | undefined;
let waiting: { count: number; resolve: () => void } | undefined;

const server = createServer((request, response) => {
  const id = String(request.headers["webhook-id"]);
  requests += 1;
  if (requests === 1) {
    const chunks: Buffer[] = [];
    const { url: path = "", headers } = request;
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      sample = { path, headers, body: Buffer.concat(chunks).toString() };
    });
  }
  request.on("end", () => {
    if (!atMs.has(id)) {
      lastAtMs = performance.timeOrigin + performance.now();
      atMs.set(id, lastAtMs);
    }
    response.writeHead(204).end();
    if (waiting !== undefined && atMs.size >= waiting.count) waiting.resolve();
  });
  request.resume();
});
server.keepAliveTimeout = 60_000;

answerParent({
  listen: () =>
    new Promise((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
    ),
  begin: () => {
    atMs = new Map();
    requests = 0;
    sample = undefined;
    return null;
  },
  /** Resolves when this many different webhooks have arrived since `begin`. */
  waitForCount: async (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting = { count, resolve };
    if (atMs.size >= count) resolve();
    await promise;
    waiting = undefined;
    return null;
  },
  arrivals: (): Arrivals => ({ atMs: Object.fromEntries(atMs), requests, lastAtMs, sample }),
});
