import type { Customer } from "./customers.ts";
import { type Html, html } from "./html.ts";
import { page, priceText } from "./page.ts";
import { product, subscription } from "./products.ts";

export function productPage(dashboardUrl: string | undefined, customer: Customer | undefined): string {
  return page(
    product.name,
    html`<article class="product">
<svg viewBox="0 0 200 200" role="img" aria-label="A blue moka pot">
<circle cx="100" cy="104" r="86" class="plate"/>
<path class="pot" d="M68 58h58l8 48H60z"/>
<path class="lid" d="M66 58c4-12 18-16 31-16s27 4 31 16z"/>
<circle class="knob" cx="97" cy="37" r="6"/>
<path class="pot" d="M60 112h74l9 46c1 5-2 9-7 9H58c-5 0-8-4-7-9z"/>
<path class="band" d="M58 104h78v10H58z"/>
<path class="pot" d="M68 58 50 52l14 30z"/>
<path class="handle" d="M128 66h26c6 0 9 4 8 10l-7 38"/>
</svg>
<div>
<h1>${product.name}</h1>
<p>Six cups, heavy steel, made to be handed down. Fits every hob, induction included.</p>
<p class="price">${priceText(product)} <small>with shipping</small></p>
<form method="post" action="/orders"><button class="button">Buy now</button></form>
<p class="note">Nothing is for sale: this demo shows a payment in test mode, from the first click to the webhook.</p>
${dashboardUrl !== undefined && html`<p class="note">Every payment is on <a href="${dashboardUrl}/home">the merchant’s dashboard</a>.</p>`}
<p class="note"><a href="/card-testers">Be a card tester</a>, and see what stops one.</p>
</div>
</article>
<section class="panel" aria-labelledby="account">
<h2 id="account">Your account</h2>
${customer === undefined ? signedOut : accountOf(customer)}
</section>`,
  );
}

const signedOut = html`<p>A customer who is signed in can save a card, and pays the next time with its security code alone.</p>
<form method="post" action="/account"><button class="button quiet" name="customer" value="ada">Sign in as Ada</button></form>`;

function accountOf({ name }: Customer): Html {
  return html`<p>You are signed in as ${name}. Save your card with an order, and pay the next one with its security code alone.</p>
<p><strong>${subscription.name}</strong>, ${priceText(subscription)} for each bag: pay the first one, and the shop charges the next ones without you.</p>
<form method="post" action="/orders"><button class="button quiet" name="product" value="subscription">Subscribe</button></form>
<form method="post" action="/account"><button class="button quiet" name="customer" value="">Sign out</button></form>`;
}
