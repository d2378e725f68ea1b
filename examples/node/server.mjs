/**
 * A merchant's backend: opens a payment session for each order, shows the page to pay on, accepts only signed webhooks, and
 * shows how an order was paid. README.md says how to run it.
 */
// @ts-check
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const { API_ORIGIN = "", SECRET_KEY = "", SIGNING_SECRET = "", PORT = "3000" } = process.env;
if (!API_ORIGIN || !SECRET_KEY || !SIGNING_SECRET) {
  console.error("Set API_ORIGIN, SECRET_KEY and SIGNING_SECRET, and PORT to use another than 3000.");
  process.exit(1);
}

// A secret is <brand>_<environment>_whsec_…; the library takes it from whsec_ on.
const webhook = new Webhook(SIGNING_SECRET.slice(SIGNING_SECRET.indexOf("whsec_")));
// Your backend sets the price, never the browser. Keep all three in a database.
const price = { amountMinor: 4900, currency: "EUR" };
/** @type {Map<string, any[]>} the sessions of each order, the latest last */
const sessions = new Map();
const paidOrders = new Set();
const seenWebhooks = new Set();

/** @param {string} path @param {RequestInit} options */
async function callApi(path, options = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${SECRET_KEY}` };
  // Waits no longer than a customer would; repeat a creation with the same Idempotency-Key.
  const response = await fetch(`${API_ORIGIN}/api/v1${path}`, {
    ...options,
    headers,
    signal: AbortSignal.timeout(15_000),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.code}: ${answer.detail} (request ${answer.requestId})`);
  return answer;
}

function openOrder() {
  const orderRef = `order-${randomUUID()}`;
  sessions.set(orderRef, []);
  return openSession(orderRef);
}

/** The session to pay an order with: the latest, or another in its place once that has ended unpaid. @param {string} orderRef */
async function openSession(orderRef) {
  const known = sessions.get(orderRef);
  if (known === undefined) return undefined;
  const replaces = known.at(-1)?.sessionId;
  // A second session beside one that may still be paid could charge the customer twice.
  if (replaces && !(await hasEndedUnpaid(replaces))) return known.at(-1);
  const session = await callApi("/payment-sessions", {
    method: "POST",
    // Two calls at once send the same key, and get the same session.
    headers: { "Content-Type": "application/json", "Idempotency-Key": replaces ?? orderRef },
    body: JSON.stringify({ ...price, orderRef, replaces }),
  });
  if (!known.some(({ sessionId }) => sessionId === session.sessionId)) known.push(session);
  return session;
}

/** @param {string} sessionId */
async function hasEndedUnpaid(sessionId) {
  const { status } = await callApi(`/payment-sessions/${sessionId}`);
  return ["DECLINED", "DEGRADED", "EXPIRED"].includes(status);
}

/** The order with every attempt at a gateway, and why the next one was made. @param {string} orderRef */
async function readOrder(orderRef) {
  const sessionId = sessions.get(orderRef)?.at(-1).sessionId;
  if (sessionId === undefined) return undefined;
  const { status, attempts } = await callApi(`/payment-sessions/${sessionId}`);
  const trail = attempts.map((/** @type {any} */ attempt) => ({
    gateway: attempt.gateway,
    outcome: attempt.status,
    because: attempt.next?.because,
  }));
  return { orderRef, paid: paidOrders.has(orderRef), status, trail };
}

/** It contains the client secret, so show it only to the customer who pays. @param {any} session */
function checkoutPage({ sessionId, clientSecret, vault, orderRef }) {
  const options = { container: "#card", apiBase: API_ORIGIN, sessionId, clientSecret, vault };
  // "<" must not end the script element.
  const json = JSON.stringify(options).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Checkout</title>
<h1>49.00 EUR</h1>
<div id="card"></div>
<p id="outcome"></p>
<p><a href="/orders/${orderRef}">Order status</a></p>
<script src="${API_ORIGIN}/widget/v1/widget.js"></script>
<script>
  const show = (text) => { document.getElementById("outcome").textContent = text; };
  Switchyard.mount({
    ...${json},
    // After a decline the customer pays again in the same form, in a fresh session.
    getSession: async () => {
      const answer = await fetch("/orders/${orderRef}/sessions", { method: "POST" });
      if (!answer.ok) throw new Error("The shop has no session.");
      return answer.json();
    },
    onSuccess: () => show("Paid. Thank you."),
    onDeclined: ({ declineCode }) => show("Declined: " + declineCode),
  });
</script>
</html>`;
}

/**
 * Throws WebhookVerificationError for a request that the service did not send.
 * @param {import("node:http").IncomingHttpHeaders} headers @param {Buffer} rawBody
 */
function receiveWebhook(headers, rawBody) {
  const event = /** @type {any} */ (webhook.verify(rawBody, /** @type {Record<string, string>} */ (headers)));
  // A webhook may arrive twice.
  if (seenWebhooks.has(headers["webhook-id"])) return;
  seenWebhooks.add(headers["webhook-id"]);
  // Ship now, not when the page reports success: a customer may close it.
  if (event.type === "payment_session.succeeded") paidOrders.add(event.data.orderRef);
  console.log(event.type, event.data.orderRef ?? "");
}

/** @param {import("node:http").IncomingMessage} request @returns {Promise<{ status: number, page?: string, body?: object }>} */
async function answer(request) {
  const { method, url = "" } = request;
  if (method === "GET" && url === "/") return { status: 200, page: checkoutPage(await openOrder()) };
  const [, retried] = /^\/orders\/([\w-]+)\/sessions$/.exec(url) ?? [];
  if (method === "POST" && retried) {
    const session = await openSession(retried);
    return session ? { status: 200, body: session } : { status: 404 };
  }
  if (method === "GET" && url.startsWith("/orders/")) {
    const order = await readOrder(decodeURIComponent(url.slice("/orders/".length)));
    return order ? { status: 200, body: order } : { status: 404 };
  }
  if (method === "POST" && url === "/webhooks") {
    // The raw bytes: a body that is parsed and printed again has another signature.
    receiveWebhook(request.headers, await buffer(request));
    return { status: 204 };
  }
  return { status: 404 };
}

/** @param {unknown} error */
function answerError(error) {
  if (error instanceof WebhookVerificationError) return { status: 400 };
  console.error(error);
  return { status: 500, body: { sorry: "No payment today." } };
}

createServer(async (request, response) => {
  const { status, page, body } = /** @type {{ status: number, page?: string, body?: object }} */ (
    await answer(request).catch(answerError)
  );
  const type = page === undefined ? "application/json" : "text/html; charset=utf-8";
  response
    .writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" })
    .end(page ?? (body && JSON.stringify(body)));
}).listen(Number(PORT), "127.0.0.1", () => console.log(`Pay at http://127.0.0.1:${PORT}`));
