/** A merchant's server as a process: accepts, refuses or ignores webhooks by their path, and records each. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { sha256 } from "../../../platform/secrets.ts";
import { answerParent } from "../../testing/child-process.ts";
import type { ReceivedWebhook, Route } from "./receiver-process.ts";

const routes = new Map<string, { manner: Route["manner"]; webhook: Webhook }>();
let received: ReceivedWebhook[] = [];
let count = 0;
let waiting: { count: number; resolve: () => void } | undefined;

const server = createServer((request, response) => void receive(request, response));
server.keepAliveTimeout = 60_000;

answerParent({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))),
  trust: (given: Readonly<Record<string, Route>>) => {
    for (const [path, { secret, manner }] of Object.entries(given)) {
      routes.set(path, { manner, webhook: new Webhook(secret.slice(secret.indexOf("whsec_"))) });
    }
    return null;
  },
  count: () => count,
  waitForCount: (wanted: number) =>
    new Promise<null>((resolve) => {
      waiting = { count: wanted, resolve: () => resolve(null) };
      resolveWaiting();
    }),
  take: () => {
    const batch = received;
    received = [];
    return batch;
  },
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  request.on("error", () => {});
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const route = routes.get(request.url ?? "");
    // Before the first route is set, addresses are verified.
    if (route === undefined) return void response.writeHead(204).end();
    const body = Buffer.concat(chunks);
    const headers = request.headers as Record<string, string>;
    received.push({
      path: request.url ?? "",
      eventId: String(headers["webhook-id"]),
      bodyHash: sha256(body).toString("hex"),
      isGenuine: isGenuine(route.webhook, body, headers),
      atMs: performance.timeOrigin + performance.now(),
    });
    count += 1;
    resolveWaiting();
    if (route.manner === "accept") response.writeHead(204).end();
    if (route.manner === "refuse") response.writeHead(500).end();
  });
}

function isGenuine(webhook: Webhook, body: Buffer, headers: Record<string, string>): boolean {
  try {
    webhook.verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function resolveWaiting(): void {
  if (waiting === undefined || count < waiting.count) return;
  waiting.resolve();
  waiting = undefined;
}
