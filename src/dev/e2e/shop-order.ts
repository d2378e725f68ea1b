/** An order at the demo shop without a browser: reads its pages as plain HTTP. */
import type { OpenedSession } from "./api-checkout.ts";

export type ShopOrder = { readonly orderRef: string; readonly session: OpenedSession };

/** Buys the shop's product; returns the session in the checkout page. */
export async function orderAtShop(shopUrl: string): Promise<ShopOrder> {
  const page = await (await fetch(`${shopUrl}/orders`, { method: "POST" })).text();
  const [, json = ""] = /<script type="application\/json" id="checkout">(.*?)<\/script>/s.exec(page) ?? [];
  const { orderRef, widget } = JSON.parse(json);
  return { orderRef, session: widget };
}

export async function webhooksOf(shopUrl: string, orderRef: string): Promise<string[]> {
  const page = await (await fetch(`${shopUrl}/orders/${orderRef}`)).text();
  return [...page.matchAll(/<strong>(payment_\w+)\.<wbr>(\w+)<\/strong>/g)].map(
    ([, what, event]) => `${what}.${event}`,
  );
}

/** Resolves once the order page, which the shop updates by itself, shows the text. */
export async function shownOnOrderPage(shopUrl: string, orderRef: string, text: string): Promise<void> {
  const events = await fetch(`${shopUrl}/orders/${orderRef}/events`);
  for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
    if (chunk.replaceAll(/<[^>]*>/g, "").includes(text)) return;
  }
  throw new Error("the order page's events ended");
}
