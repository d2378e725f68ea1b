/** The payment step: puts the widget into the page with the order's session. */

import { html, jsonForScript } from "./html.ts";
import type { Order } from "./orders.ts";
import { page, priceText } from "./page.ts";
import { product } from "./product-page.ts";

/** A card number of the sandbox, and what a payment with it does. */
export type TestCard = { readonly number: string; readonly name: string; readonly behaviour: string };

export function checkoutPage(
  order: Order,
  { apiOrigin, testCards }: { apiOrigin: string; testCards: readonly TestCard[] },
) {
  const session = order.sessions.at(-1)!;
  // Everything Switchyard.mount needs besides the callbacks, which are in public/checkout.js.
  const { sessionId, clientSecret, vault } = session;
  const widget = { apiBase: apiOrigin, sessionId, clientSecret, vault };
  return page(
    "Checkout",
    html`<h1>Checkout</h1>
<div class="columns">
<section class="panel" aria-labelledby="pay">
<h2 id="pay">Pay by card</h2>
<p class="summary"><span>${product.name}</span><strong>${priceText(order)}</strong></p>
<div id="card"></div>
<button type="button" id="again" class="button quiet" hidden>Try another card</button>
</section>
<section class="panel quiet" aria-labelledby="cards">
<h2 id="cards">Test cards</h2>
<p class="note">With any expiry to come and any security code.</p>
<ul class="cards">${testCards.map(testCard)}</ul>
</section>
</div>
<script type="application/json" id="checkout">${jsonForScript({ orderRef: order.orderRef, widget })}</script>`,
    [`${apiOrigin}/widget/v1/widget.js`, "/checkout.js"],
  );
}

function testCard({ number, name, behaviour }: TestCard) {
  // As on the cards themselves: American Express in 4, 6 and 5 digits.
  const isAmex = number.length === 15;
  const grouped = isAmex ? number.replace(/^(.{4})(.{6})/, "$1 $2 ") : number.replace(/(.{4})(?=.)/g, "$1 ");
  return html`<li><code>${grouped}</code><strong>${name}</strong><span>${behaviour}</span></li>`;
}
