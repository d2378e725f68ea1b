/** Keeps an open order page up to date by Server-Sent Events. */

import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { RestClient } from "../client/merchant/rest-client.ts";
import { orderDetails } from "./order-page.ts";
import type { Order, Orders } from "./orders.ts";

// Webhooks tell the end at once; asking shows the attempts on the way there.
const askOpenEveryMs = 1_000;
// After the end only a hold that is given back can still change the trail.
const askEndedEveryMs = 5_000;
// A page left open all day stops asking; its browser reconnects when it is looked at again.
const asksMax = 3_600;

/** Sends the order's details now and after every change, until the page goes away. */
export async function streamOrder(order: Order, response: ServerResponse, shop: { orders: Orders; api: RestClient }) {
  const gone = new AbortController();
  let shown = "";
  const show = () => {
    const details = orderDetails(order).text;
    if (details === shown) return;
    shown = details;
    response.write(`data: ${JSON.stringify(details)}\n\n`);
  };
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const unwatch = shop.orders.watch(order, show);
  response.on("close", () => {
    gone.abort();
    unwatch();
  });
  show();
  for (let asks = 0; asks < asksMax && !gone.signal.aborted; asks++) {
    await refreshState(order, shop, gone.signal);
    const open = order.state === undefined || order.state.status === "CREATED";
    await delay(open ? askOpenEveryMs : askEndedEveryMs, undefined, { signal: gone.signal }).catch(() => undefined);
  }
  response.end();
}

/** Asks the service about the order's newest session. Without an answer the order stays as it was. */
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
