/** The demo merchant: a shop with one product, which calls the payment service by HTTP like any merchant. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError } from "../client/merchant/api-error.ts";
import type { CreatedPaymentSession } from "../client/merchant/payment-session.ts";
import { RestClient } from "../client/merchant/rest-client.ts";
import { CardTester } from "./card-tester.ts";
import { cardTestersPage, readTries, streamTries } from "./card-testers-page.ts";
import { checkoutPage } from "./checkout-page.ts";
import { cookieOf, customerOf } from "./customers.ts";
import { html } from "./html.ts";
import { refreshState, streamOrder } from "./order-events.ts";
import { orderPage } from "./order-page.ts";
import { type Order, Orders } from "./orders.ts";
import { contentSecurityPolicy, page } from "./page.ts";
import { productPage } from "./product-page.ts";
import { product, subscription } from "./products.ts";
import { readText } from "./request-body.ts";
import type { TestCard } from "./test-card-list.ts";
import { WebhookReceiver } from "./webhooks.ts";

/** The addresses of the payment service, and the shop's own. */
export type ShopConfig = {
  /** The REST address with its version, such as `https://pay.example/api/v1`. */
  readonly restBase: string;
  /** The origin that serves the widget and its API. */
  readonly apiOrigin: string;
  /** The only origin that sees a card; the checkout page's content security policy names it. */
  readonly vaultOrigin: string;
  /** The origin of the emulators of Apple Pay and Google Pay, whose scripts the checkout page loads. */
  readonly walletOrigin?: string | undefined;
  readonly secretKey: ShopKey;
  readonly signingSecret: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly testCards: readonly TestCard[];
  /** The merchant's pages of the test environment on the dashboard, such as `https://dashboard.example/test/mer_…`. */
  readonly dashboardUrl?: string | undefined;
};

/** The secret key as the shop's owner keeps it, who replaces it when it is rotated. */
export type ShopKey = { read(): string; replace(secretKey: string): void };

export type Shop = { readonly origin: string; close(): Promise<void> };

// More would not be a demo of a shop.
const quantityMax = 9;

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly orderRef: string };
type Route = { readonly method: string; readonly path: RegExp; handle(exchange: Exchange): void | Promise<void> };

export async function startShop(config: ShopConfig): Promise<Shop> {
  const tester = new CardTester(config);
  const routes = routesOf(config, tester);
  const server = createServer((request, response) => {
    answer(routes, request, response).catch((error: unknown) => answerError(error, response, config));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(config.port, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      tester.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function routesOf(config: ShopConfig, tester: CardTester): Route[] {
  const orders = new Orders();
  const apiWith = (secretKey: string) => new RestClient({ restBase: config.restBase, secretKey });
  const api = () => apiWith(config.secretKey.read());
  const webhooks = new WebhookReceiver(config.signingSecret, orders);
  const found = (orderRef: string) => orders.find(orderRef) ?? notFound();
  // The order of a signed-in customer is paid by this customer alone: its checkout shows the customer's cards.
  const own = (request: IncomingMessage, orderRef: string) => {
    const order = found(orderRef);
    return order.customer === undefined || order.customer === customerOf(request) ? order : notFound();
  };
  const checkoutPolicy = contentSecurityPolicy(config);
  return [
    {
      method: "GET",
      path: /^\/$/,
      handle: ({ request, response }) => sendPage(response, productPage(config.dashboardUrl, customerOf(request))),
    },
    {
      method: "POST",
      path: /^\/account$/,
      handle: async ({ request, response }) => {
        const name = new URLSearchParams(await readText(request)).get("customer") ?? "";
        response.writeHead(303, { Location: "/", "Set-Cookie": cookieOf(name) }).end();
      },
    },
    {
      // The customer wants to pay: creates an order of ours, and a payment session for it.
      method: "POST",
      path: /^\/orders$/,
      handle: async ({ request, response }) => {
        const customer = customerOf(request);
        const wanted = new URLSearchParams(await readText(request)).get("product");
        const bought = wanted === "subscription" && customer ? subscription : product;
        const orderRef = `RH-${randomBytes(6).toString("hex")}`;
        const order = orders.add({ orderRef, product: bought, customer });
        const { sessionId } = await openSession(order, api());
        orders.ownSessionId ??= sessionId;
        response.writeHead(303, { Location: `/checkout/${orderRef}` }).end();
      },
    },
    {
      // A rotated key is refused at once. The shop then asks for the new one, and accepts a test key that reads a session
      // of the shop's own: another merchant's key does not.
      method: "POST",
      path: /^\/secret-key$/,
      handle: async ({ request, response }) => {
        if (request.headers["sec-fetch-site"] !== "same-origin") notFound();
        const secretKey = new URLSearchParams(await readText(request)).get("secretKey")?.trim() ?? "";
        const problem = await findKeyProblem(secretKey, { api: apiWith(secretKey), ownSessionId: orders.ownSessionId });
        if (problem !== undefined) {
          response.statusCode = 422;
          return sendPage(response, secretKeyPage(config, problem));
        }
        config.secretKey.replace(secretKey);
        response.writeHead(303, { Location: "/" }).end();
      },
    },
    {
      // Reloading shows the same session: the widget continues where it was.
      method: "GET",
      path: /^\/checkout\/([\w-]+)$/,
      handle: ({ request, response, orderRef }) => {
        // No window of another page can access it. An embedder policy would keep banks' pages out of their frame.
        response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
        sendPage(response, checkoutPage(own(request, orderRef), config), checkoutPolicy);
      },
    },
    {
      // Another card after a decline. An order that is paid, or may still be, keeps its session.
      method: "POST",
      path: /^\/orders\/([\w-]+)\/sessions$/,
      handle: async ({ request, response, orderRef }) => {
        const order = own(request, orderRef);
        await refreshState(order, { orders, api: api() });
        sendJson(response, await openSession(order, api()));
      },
    },
    {
      // The customer has changed the cart: the order's price is another, and so is the session to pay it with.
      method: "POST",
      path: /^\/orders\/([\w-]+)\/quantity$/,
      handle: async ({ request, response, orderRef }) => {
        const isChanged = await changeQuantity(own(request, orderRef), await readText(request), { orders, api: api() });
        response.writeHead(303, { Location: `/${isChanged ? "checkout" : "orders"}/${orderRef}` }).end();
      },
    },
    ...subscriptionRoutes({ own, orders, api }),
    {
      method: "GET",
      path: /^\/orders\/([\w-]+)$/,
      handle: ({ response, orderRef }) => sendPage(response, orderPage(found(orderRef), config.dashboardUrl)),
    },
    {
      method: "GET",
      path: /^\/orders\/([\w-]+)\/events$/,
      handle: ({ response, orderRef }) =>
        streamOrder(found(orderRef), response, { orders, api: api(), dashboardUrl: config.dashboardUrl }),
    },
    {
      method: "POST",
      path: /^\/webhooks$/,
      handle: async ({ request, response }) => {
        response.writeHead(webhooks.receive(request.headers, await readText(request))).end();
      },
    },
    ...testerRoutes(tester, api, config),
    file("/shop.css", "text/css"),
    file("/checkout.js", "text/javascript"),
    file("/test-cards.js", "text/javascript"),
    file("/order.js", "text/javascript"),
    file("/favicon.svg", "image/svg+xml"),
  ];
}

function subscriptionRoutes({
  own,
  orders,
  api,
}: {
  own: (request: IncomingMessage, orderRef: string) => Order;
  orders: Orders;
  api: () => RestClient;
}): Route[] {
  return [
    {
      // The next bag of a subscription is sent: charges the customer's card, once however often this is repeated.
      method: "POST",
      path: /^\/orders\/([\w-]+)\/renewals$/,
      handle: async ({ request, response, orderRef }) => {
        if (request.headers["sec-fetch-site"] !== "same-origin") notFound();
        const order = own(request, orderRef);
        const { amountMinor, currency, renewals, state } = order;
        const renewalRef = `${orderRef}-${renewals.length + 1}`;
        const charge = { orderRef: renewalRef, amountMinor, currency };
        const agreementId = state?.agreementId ?? notFound();
        const renewal = await api().chargeAgreement(agreementId, charge, { idempotencyKey: renewalRef });
        orders.recordRenewal(order, renewal);
        response.writeHead(303, { Location: `/orders/${orderRef}` }).end();
      },
    },
    {
      // The customer pays a declined charge by a link, with this card or another one.
      method: "POST",
      path: /^\/orders\/([\w-]+)\/links$/,
      handle: async ({ request, response, orderRef }) => {
        if (request.headers["sec-fetch-site"] !== "same-origin") notFound();
        const { renewals, links, state } = own(request, orderRef);
        const wanted = new URLSearchParams(await readText(request)).get("renewal");
        const declined = renewals.find((renewal) => renewal.orderRef === wanted) ?? notFound();
        const { amountMinor, currency } = declined;
        const returnTo = `http://${request.headers.host}/orders/${orderRef}`;
        const link = { orderRef: declined.orderRef, amountMinor, currency, returnTo };
        const { url } = await api().createRecoveryLink(state?.agreementId ?? notFound(), link);
        links.set(declined.orderRef, url);
        response.writeHead(303, { Location: `/orders/${orderRef}` }).end();
      },
    },
  ];
}

function testerRoutes(tester: CardTester, api: () => RestClient, { dashboardUrl }: ShopConfig): Route[] {
  return [
    {
      method: "GET",
      path: /^\/card-testers$/,
      handle: ({ response }) => sendPage(response, cardTestersPage(tester, dashboardUrl)),
    },
    {
      method: "POST",
      path: /^\/card-testers$/,
      handle: async ({ request, response }) => {
        tester.start(api(), readTries(await readText(request)) ?? notFound());
        response.writeHead(303, { Location: "/card-testers" }).end();
      },
    },
    {
      method: "GET",
      path: /^\/card-testers\/events$/,
      handle: ({ response }) => streamTries(tester, response, dashboardUrl),
    },
  ];
}

/**
 * Returns the session to pay an order with: the latest, or another in its place if the order's amount has changed or that one has ended
 * unpaid; never one with another amount. The key makes a repeated call, after a lost answer or a double click, return the same one.
 */
async function openSession(
  order: Order,
  api: RestClient,
  replaced = order.sessions.at(-1)?.sessionId,
): Promise<CreatedPaymentSession> {
  const { orderRef, amountMinor, currency, customer, product, sessions } = order;
  const latest = sessions.at(-1);
  const hasEnded = ["DECLINED", "DEGRADED", "EXPIRED"].includes(order.state?.status ?? "");
  if (latest?.sessionId === replaced && latest?.amountMinor === amountMinor && !hasEnded) return latest;
  const idempotencyKey = `${replaced ?? orderRef}-${amountMinor}`;
  const { agreement } = product;
  const wanted = {
    orderRef,
    amountMinor,
    currency,
    ...(replaced !== undefined && { replaces: replaced }),
    // Only a signed-in customer gets these fields: the holder of the session can pay with the customer's cards.
    ...(customer && { customerRef: customer.customerRef, saveCard: { ...(agreement && { agreement }) } }),
  };
  const created = await api.createSession(wanted, { idempotencyKey }).catch((error: unknown) => {
    // Another call was first, whose answer may not have come.
    if (error instanceof ApiError && error.state?.replacedBy !== undefined) return error.state.replacedBy;
    throw error;
  });
  if (typeof created === "string") return openSession(order, api, created);
  if (!sessions.some(({ sessionId }) => sessionId === created.sessionId)) sessions.push(created);
  order.state = undefined;
  return created.amountMinor === order.amountMinor ? created : openSession(order, api);
}

/** Returns false for an order that is paid, or being paid, as it was. */
async function changeQuantity(
  order: Order,
  form: string,
  { orders, api }: { orders: Orders; api: RestClient },
): Promise<boolean> {
  const quantity = Number(new URLSearchParams(form).get("quantity"));
  if (!Number.isInteger(quantity) || quantity < 1 || quantity > quantityMax || order.product.agreement) notFound();
  const { amountMinor } = order;
  orders.setAmount(order, order.product.amountMinor * quantity);
  try {
    await openSession(order, api);
    return true;
  } catch (error) {
    orders.setAmount(order, amountMinor);
    if (error instanceof ApiError && ["session_being_paid", "session_ended"].includes(error.code)) return false;
    throw error;
  }
}

async function answer(routes: readonly Route[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("X-Content-Type-Options", "nosniff");
  // An order's address is enough to see the order, so it is sent to no other site.
  response.setHeader("Referrer-Policy", "no-referrer");
  const path = request.url?.split("?")[0] ?? "";
  for (const route of routes) {
    const match = route.method === request.method && route.path.exec(path);
    if (match) return route.handle({ request, response, orderRef: match[1] ?? "" });
  }
  notFound();
}

/** Returns why the shop cannot take a secret key; undefined if it can. */
async function findKeyProblem(
  secretKey: string,
  { api, ownSessionId }: { api: RestClient; ownSessionId: string | undefined },
): Promise<string | undefined> {
  if (!/^[a-z0-9]+_test_sk_\w+$/.test(secretKey)) {
    return "This is not a secret key of the test environment: it does not contain _test_sk_.";
  }
  try {
    if (ownSessionId === undefined) await api.listSessions({ pageSize: 1 });
    else await api.getSession(ownSessionId);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.code === "invalid_key") return "This key is refused, too.";
    if (error instanceof ApiError && error.code === "not_found") return "This is the key of another merchant.";
    throw error;
  }
}

function secretKeyPage({ dashboardUrl }: ShopConfig, problem?: string): string {
  const keysPage =
    dashboardUrl === undefined
      ? "the dashboard"
      : html`<a href="${dashboardUrl}/keys">the dashboard’s page API keys</a>`;
  return page(
    "Secret key",
    html`<h1>The shop’s secret key is refused</h1>
<p>It was regenerated. Enter the new secret key of the test environment, which ${keysPage} has shown once; regenerate it there again if you no longer have it.</p>
${problem !== undefined && html`<p class="alarm" role="alert">${problem}</p>`}
<form class="panel key" method="post" action="/secret-key">
<label for="secret-key">Secret key</label>
<input id="secret-key" name="secretKey" type="password" autocomplete="off" required>
<button class="button">Use this key</button>
</form>`,
  );
}

class NotFound extends Error {}

function notFound(): never {
  throw new NotFound("There is no such page.");
}

function answerError(error: unknown, response: ServerResponse, config: ShopConfig): void {
  if (response.headersSent) {
    response.destroy();
  } else if (error instanceof NotFound) {
    response.statusCode = 404;
    sendPage(response, page("Not found", html`<h1>Not found</h1><p>${error.message}</p>`));
  } else if (error instanceof ApiError && error.code === "invalid_key") {
    response.statusCode = 502;
    sendPage(response, secretKeyPage(config));
  } else if (error instanceof ApiError) {
    response.statusCode = 502;
    const facts = html`<p class="note"><code>${error.code}</code> · request <code>${error.requestId ?? "none"}</code></p>`;
    sendPage(response, page("Payment service", html`<h1>No payment today</h1><p>${error.message}</p>${facts}`));
  } else {
    console.error(error);
    response.statusCode = 500;
    sendPage(response, page("Error", html`<h1>Something went wrong</h1><p>Please try again.</p>`));
  }
}

function sendPage(response: ServerResponse, text: string, policy = contentSecurityPolicy()): void {
  response.setHeader("Content-Security-Policy", policy);
  send(response, "text/html", text);
}

function sendJson(response: ServerResponse, data: unknown): void {
  send(response, "application/json", JSON.stringify(data));
}

function send(response: ServerResponse, mediaType: string, text: string): void {
  // A checkout page holds its session's client secret.
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Type", `${mediaType}; charset=utf-8`);
  response.end(text);
}

function file(path: string, mediaType: string): Route {
  const content = readFileSync(new URL(`public${path}`, import.meta.url), "utf8");
  return {
    method: "GET",
    path: new RegExp(`^${path.replace(".", "\\.")}$`),
    handle: ({ response }) => send(response, mediaType, content),
  };
}
