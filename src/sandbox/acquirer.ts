/**
 * The HTTP server of both sandbox acquirers and of the gateway emulators: builds their shared state and serves their
 * routes.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { SandboxClock } from "../gateways/sandbox/clock.ts";
import { unreachable } from "../platform/errors.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { sandboxARoutes } from "./a-acquirer.ts";
import { Accounts } from "./accounts.ts";
import { adminRoutes } from "./admin.ts";
import { adyenRoutes } from "./adyen/emulator.ts";
import { sandboxBRoutes } from "./b-acquirer.ts";
import { NotificationSender } from "./b-notifications.ts";
import { bankRoutes } from "./bank-pages.ts";
import { isTestCard } from "./behaviour-at.ts";
import { Books } from "./books.ts";
import { Challenges } from "./challenges.ts";
import { Faults } from "./faults.ts";
import { IdempotencyStore } from "./idempotency.ts";
import { type Delays, Issuer } from "./issuer.ts";
import { Ledger } from "./ledger.ts";
import { Pauses } from "./pauses.ts";
import { paypalRoutes } from "./paypal/emulator.ts";
import { RequestLog } from "./request-log.ts";
import { findRoute, type Route, type SandboxAnswer } from "./routes.ts";
import { SavedCards } from "./saved-cards.ts";
import { Statements } from "./statements.ts";
import { stripeRoutes } from "./stripe/emulator.ts";
import { Tasks } from "./tasks.ts";
import { Directory, threeDSecureRoutes } from "./three-d-secure.ts";
import { Wallets, walletRoutes } from "./wallets/wallet-routes.ts";

export type Acquirer = { readonly server: Server; close(): Promise<void> };

type Served = {
  readonly routes: readonly Route[];
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly books: Books;
};

// The connectors' requests are under 4 KiB, except for the files of evidence: 4 MiB together, in Base64 at some.
const bodyBytesMax = 64 * 1024;
const fileBodyBytesMax = 8 * 1024 * 1024;
const takingFiles: ReadonlySet<string> = new Set([
  ...["a.submit-evidence", "b.supplyDefenseDocument", "adyen.supplyDefenseDocument"],
  ...["stripe.file", "paypal.submit_evidence"],
]);

type AcquirerOptions = { readonly recordsFile?: string | undefined; readonly payoutEveryMs?: number | undefined };

/**
 * Creates the server without listening. `close` releases every pause and the port. With `recordsFile` the next server
 * finds every record of this one in that file; without it they are in memory alone.
 */
export function createAcquirer(delays: Delays, { recordsFile, payoutEveryMs }: AcquirerOptions = {}): Acquirer {
  const http = new GatewayHttp();
  const books = new Books(recordsFile, isTestCard);
  const tasks = new Tasks(books);
  const accounts = new Accounts(books);
  const clock = new SandboxClock();
  const ledger = new Ledger(clock, books);
  const pauses = new Pauses();
  const faults = new Faults(pauses);
  const requests = new RequestLog();
  const challenges = new Challenges(books);
  const directory = new Directory(clock, books);
  const savedCards = new SavedCards(books);
  const issuer = new Issuer({ ledger, pauses, delays, challenges, directory, savedCards, clock, books });
  const idempotency = new IdempotencyStore<SandboxAnswer>(books);
  const notifications = new NotificationSender({ http, pauses, faults, tasks });
  const statements = new Statements({ ledger, accounts, clock, books, everyMs: payoutEveryMs });
  const shared = { accounts, ledger, issuer, challenges, directory, savedCards, pauses, faults, clock, books, tasks };
  const routes = [
    ...sandboxARoutes({ ...shared, idempotency, statements }),
    ...sandboxBRoutes({ ...shared, idempotency, notifications, statements }),
    ...bankRoutes(challenges),
    ...threeDSecureRoutes({ directory, accounts }),
    ...adyenRoutes({ ...shared, notifications, statements }),
    ...stripeRoutes({ ...shared, searchLagMs: delays.searchLagMs, statements }),
    ...paypalRoutes({ ...shared, statements }),
    ...walletRoutes(new Wallets(books)),
    ...adminRoutes({ ...shared, notifications, requests, statements }),
  ];
  ledger.resume();
  tasks.resume();
  statements.resume();
  const server = createServer((request, response) => {
    response.setHeader("x-content-type-options", "nosniff");
    serve({ routes, pauses, faults, requests, books }, request, response).then(undefined, (error: Error) =>
      response.destroy(error),
    );
  });
  return {
    server,
    async close() {
      // First, so that the file shows the same as after a kill: what a stop interrupts, the next start resumes.
      books.close();
      notifications.close();
      pauses.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await http.close();
    },
  };
}

async function serve(
  { routes, pauses, faults, requests, books }: Served,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const url = new URL(request.url ?? "/", "http://sandbox");
  const method = request.method ?? "GET";
  const found = findRoute(routes, method, url.pathname);
  if (found === undefined) return reply(response, { status: 404, body: { error: "no such path" } });
  const { route, parameters } = found;
  const body = await readBody(request, takingFiles.has(route.operation) ? fileBodyBytesMax : bodyBytesMax);
  if (body === undefined) return reply(response, { status: 413, body: { error: "the body is too large" } });
  if (requests.isDown(route.operation)) return response.destroy();
  await pauses.gate(`${route.operation}.arrival`, "");
  const { headers } = request;
  const asked = { method, path: url.pathname, parameters, query: url.searchParams, headers, body };
  const execute = () => route.handle(asked);
  const answer = await (route.operation.startsWith("admin.")
    ? execute()
    : faults.aroundRequest(route.operation, execute));
  const about = answer === "hang_up" ? "" : (answer.about ?? "");
  requests.record(route.operation, about);
  await pauses.gate(route.operation, about);
  books.flush();
  if (answer === "hang_up") return response.destroy();
  return reply(response, answer);
}

async function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response: ServerResponse, answer: Exclude<SandboxAnswer, string>): void {
  const { status, body, headers, spoilt, page } = answer;
  if (page !== undefined) {
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers }).end(page);
    return;
  }
  const text = JSON.stringify(body);
  const half = text.slice(0, text.length / 2);
  const head = { "content-type": "application/json", ...headers };
  switch (spoilt) {
    case "cut":
      response.writeHead(status, { ...head, "content-length": Buffer.byteLength(text) });
      response.write(half, () => response.destroy());
      return;
    case "page":
      response.writeHead(status, { "content-type": "text/html" }).end("<html><body>Please try again.</body></html>");
      return;
    case "half":
      response.writeHead(status, head).end(half);
      return;
    case "nothing":
      response.writeHead(status, head).end();
      return;
    case undefined:
      response.writeHead(status, head).end(text);
      return;
    default:
      unreachable(spoilt);
  }
}
