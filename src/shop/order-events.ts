/** Keeps an open order page up to date by Server-Sent Events. */
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { RestClient } from "../client/merchant/rest-client.ts";
import { orderDetails } from "./order-page.ts";
import type { Order, Orders } from "./orders.ts";

// Webhooks report the outcome at once; polling shows the attempts before it.
const askOpenEveryMs = 1_000;
// After the outcome, only a voided hold can still change the attempt trail.
const askEndedEveryMs = 5_000;
// A page left open all day stops polling; its browser reconnects when a person returns to it.
const asksMax = 3_600;

/** Sends the order's details now and after every change, until the page disconnects. */
export async function streamOrder(
  order: Order,
  response: ServerResponse,
  shop: { orders: Orders; api: RestClient; dashboardUrl: string | undefined },
) {
  const gone = new AbortController();
  let shown = "";
  const show = () => {
    const details = orderDetails(order, shop.dashboardUrl).text;
    if (details === shown) return;
    shown = details;
    response.write(`data: ${JSON.stringify(details)}\n\n`);
  };
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const unsubscribe = shop.orders.subscribe(order, show);
  response.on("close", () => {
    gone.abort();
    unsubscribe();
  });
  show();
  for (let asks = 0; asks < asksMax && !gone.signal.aborted; asks++) {
    await refreshState(order, shop, gone.signal);
    const open = order.state === undefined || order.state.status === "CREATED";
    await delay(open ? askOpenEveryMs : askEndedEveryMs, undefined, { signal: gone.signal }).catch(() => undefined);
  }
  response.end();
}

/** Reads the order's newest session from the service. Without an answer the order stays unchanged. */
export async function refreshState(
  order: Order,
  { orders, api }: { orders: Orders; api: RestClient },
  signal?: AbortSignal,
): Promise<void> {
  const session = order.sessions.at(-1);
  if (!session) return;
  const state = await api.getSession(session.sessionId, { signal }).catch(() => undefined);
  if (state) orders.recordState(order, state);
}
