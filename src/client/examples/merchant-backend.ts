/**
 * A merchant's backend: opens a payment session for each order, reads how it stands, and believes signed webhooks only.
 *
 * Run it beside `npm start`, with the variables of docs/integration.md, "Before you begin":
 *
 *     npx node src/client/examples/merchant-backend.ts
 *
 * POST /orders opens an order, GET /orders/{orderRef} shows it, POST /webhooks receives webhooks.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { ApiError } from "../merchant/api-error.ts";
import { RestClient } from "../merchant/rest-client.ts";
import { verifyWebhook, WebhookVerificationError } from "../merchant/verify-webhook.ts";

const { API_ORIGIN, SECRET_KEY, SIGNING_SECRET, PORT = "3000" } = process.env;
if (!API_ORIGIN || !SECRET_KEY || !SIGNING_SECRET) {
  console.error("Set API_ORIGIN, SECRET_KEY and SIGNING_SECRET, and PORT to use another than 3000.");
  process.exit(1);
}

const payments = new RestClient({ restBase: `${API_ORIGIN}/api/v1`, secretKey: SECRET_KEY });
// While a signing secret is replaced by another, give both.
const secrets = [SIGNING_SECRET];
// Yours are in a database.
const paidOrders = new Set<string>();
const seenEvents = new Set<string>();

/** Opens an order. What it returns is for the page of the one customer who pays: it holds the client secret. */
async function openOrder() {
  const orderRef = `order-${randomUUID()}`;
  const { sessionId, clientSecret, vault } = await payments.createSession(
    { amountMinor: 4900, currency: "EUR", orderRef },
    // The order's own key: should this process die here, the same call made again returns the same session.
    { idempotencyKey: `${orderRef}-1` },
  );
  return { orderRef, sessionId, clientSecret, vault };
}

async function readOrder(orderRef: string) {
  // Newest first; there is one for every card that was tried.
  const { paymentSessions } = await payments.listSessions({ orderRef, pageSize: 1 });
  const newest = paymentSessions[0];
  if (newest === undefined) return undefined;
  const { status, attempts } = await payments.getSession(newest.sessionId);
  const trail = attempts.map(({ gateway, status: outcome, next }) => ({ gateway, outcome, because: next?.because }));
  return { orderRef, paid: paidOrders.has(orderRef), status, trail };
}

/** Throws WebhookVerificationError for a request that the service has not sent. */
function receiveWebhook(headers: IncomingHttpHeaders, body: Uint8Array): void {
  const event = verifyWebhook({ headers, body, secrets });
  // A webhook may come twice.
  if (seenEvents.has(event.id)) return;
  seenEvents.add(event.id);
  if (event.type === "payment_session.succeeded") paidOrders.add(event.data.orderRef);
  const isOfOrder = event.type !== "unknown" && event.type !== "webhook_endpoint.test";
  console.log(event.type, isOfOrder ? event.data.orderRef : "");
}

type Reply = { readonly status: number; readonly body?: object | undefined };

async function answer(request: IncomingMessage): Promise<Reply> {
  const { method, url = "" } = request;
  if (method === "POST" && url === "/orders") return { status: 201, body: await openOrder() };
  if (method === "GET" && url.startsWith("/orders/")) {
    const order = await readOrder(decodeURIComponent(url.slice("/orders/".length)));
    return { status: order ? 200 : 404, body: order };
  }
  if (method === "POST" && url === "/webhooks") {
    receiveWebhook(request.headers, await buffer(request));
    return { status: 204 };
  }
  return { status: 404 };
}

function answerError(error: unknown): Reply {
  if (error instanceof WebhookVerificationError) return { status: 400, body: { reason: error.reason } };
  if (error instanceof ApiError) {
    // By now it has been repeated as far as that is safe and of use.
    console.error(
      `${error.code} after ${error.tries} requests, ${error.requestId ?? "no request id"}: ${error.message}`,
    );
    return { status: 502, body: { code: error.code } };
  }
  console.error(error);
  return { status: 500 };
}

const server = createServer(async (request, response) => {
  const { status, body } = await answer(request).catch(answerError);
  const headers = { "Content-Type": "application/json", "Cache-Control": "no-store" };
  response.writeHead(status, headers).end(body && JSON.stringify(body));
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${PORT}`));
