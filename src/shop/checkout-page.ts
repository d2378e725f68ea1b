/** The payment step: mounts the widget with the order's session. */
import { html, jsonForScript } from "./html.ts";
import type { Order } from "./orders.ts";
import { page } from "./page.ts";
import { contentsOf } from "./products.ts";
import { type TestCard, testCardList } from "./test-card-list.ts";

/** Returns the page on which a customer pays an order, with test cards to try. */
export function checkoutPage(
  order: Order,
  {
    apiOrigin,
    walletOrigin,
    testCards,
  }: { apiOrigin: string; walletOrigin?: string | undefined; testCards: readonly TestCard[] },
) {
  const session = order.sessions.at(-1)!;
  // Everything Switchyard.mount needs besides the callbacks, which are in public/checkout.js.
  const { sessionId, clientSecret, vault } = session;
  const { product, customer } = order;
  const quantity = order.amountMinor / product.amountMinor;
  const widget = { apiBase: apiOrigin, sessionId, clientSecret, vault };
  return page(
    "Checkout",
    html`<h1>Checkout</h1>
<div class="columns">
<section class="panel" aria-labelledby="pay">
<h2 id="pay">Pay</h2>
<p class="summary">${contentsOf(order)}</p>
${customer && html`<p class="note">Signed in as ${customer.name}</p>`}
${
  product.agreement === undefined &&
  html`<form method="post" action="/orders/${order.orderRef}/quantity">
<button class="button quiet" name="quantity" value="${quantity + 1}">Add one more</button>
${quantity > 1 && html`<button class="button quiet" name="quantity" value="${quantity - 1}">Remove one</button>`}
</form>`
}
<div id="card"></div>
<div id="declined" hidden>
<p class="note"><a href="/orders/${order.orderRef}">What happened at the gateways</a></p>
</div>
</section>
<section class="panel quiet" aria-labelledby="cards">
<h2 id="cards">Test cards</h2>
${testCardList(testCards, apiOrigin)}
</section>
</div>
<script type="application/json" id="checkout">${jsonForScript({ orderRef: order.orderRef, widget })}</script>`,
    [
      // Emulators: Safari has the first by itself, and the widget loads the second from Google.
      ...(walletOrigin ? ["apple-pay", "google-pay"].map((name) => `${walletOrigin}/wallets/${name}.js`) : []),
      `${apiOrigin}/widget/v1/widget.js`,
      "/checkout.js",
      "/test-cards.js",
    ],
  );
}
