/** One HTTP server that pretends to be two acquirers and stands in for real gateways: it builds their shared state and serves their routes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { adyenRoutes } from "../adyen/stand-in.ts";
import { GatewayHttp } from "../gateway-http.ts";
import { paypalRoutes } from "../paypal/stand-in.ts";
import { stripeRoutes } from "../stripe/stand-in.ts";
import { sandboxARoutes } from "./a/acquirer.ts";
import { Accounts } from "./accounts.ts";
import { adminRoutes } from "./admin.ts";
import { sandboxBRoutes } from "./b/acquirer.ts";
import { NoticeSender } from "./b/notices.ts";
import { Faults } from "./faults.ts";
import { IdempotencyStore } from "./idempotency.ts";
import { type Delays, Issuer } from "./issuer.ts";
import { Ledger } from "./ledger.ts";
import { Pauses } from "./pauses.ts";
import { RequestLog } from "./request-log.ts";
import { findRoute, type Route, type SandboxAnswer } from "./routes.ts";

/** The server of all acquirers; closing it lets go of everything that waits. */
export type Acquirer = { readonly server: Server; close(): Promise<void> };

type Served = {
  readonly routes: readonly Route[];
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly requests: RequestLog;
};

// The connectors' requests are under 4 KiB.
const bodyBytesMax = 64 * 1024;

/** Not listening yet. `close` lets everything paused go on and gives the port back. */
export function createAcquirer(delays: Delays): Acquirer {
  const http = new GatewayHttp();
  const accounts = new Accounts();
  const ledger = new Ledger();
  const pauses = new Pauses();
  const faults = new Faults(pauses);
  const requests = new RequestLog();
  const issuer = new Issuer({ ledger, pauses, delays });
  const idempotency = new IdempotencyStore<SandboxAnswer>();
  const notices = new NoticeSender(http, pauses, faults);
  const routes = [
    ...sandboxARoutes({ accounts, ledger, issuer, idempotency }),
    ...sandboxBRoutes({ accounts, ledger, issuer, idempotency, notices, pauses, faults }),
    ...adyenRoutes({ accounts, ledger, issuer, notices, pauses, faults }),
    ...stripeRoutes({ accounts, ledger, issuer, pauses, searchLagMs: delays.searchLagMs }),
    ...paypalRoutes({ accounts, ledger, issuer }),
    ...adminRoutes({ accounts, ledger, issuer, pauses, faults, requests }),
  ];
  const server = createServer((request, response) => {
    serve({ routes, pauses, faults, requests }, request, response).then(undefined, (error: Error) =>
      response.destroy(error),
    );
  });
  return {
    server,
    async close() {
      notices.close();
      pauses.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await http.close();
    },
  };
}

async function serve({ routes, pauses, faults, requests }: Served, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "/", "http://sandbox");
  const method = request.method ?? "GET";
  const found = findRoute(routes, method, url.pathname);
  if (found === undefined) return reply(response, 404, { error: "no such path" });
  const { route, parameters } = found;
  const body = await readBody(request);
  if (body === undefined) return reply(response, 413, { error: "the body is too large" });
  if (requests.isDown(route.operation)) return response.destroy();
  const { headers } = request;
  const asked = { method, path: url.pathname, parameters, query: url.searchParams, headers, body };
  const execute = () => route.handle(asked);
  const answer = await (route.operation.startsWith("admin.") ? execute() : faults.aroundRequest(execute));
  const about = answer === "hang_up" ? "" : (answer.about ?? "");
  requests.record(route.operation, about);
  await pauses.gate(route.operation, about);
  if (answer === "hang_up") return response.destroy();
  return reply(response, answer.status, answer.body, answer.headers);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
