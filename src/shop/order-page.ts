/** The result of an order: its status, its attempts, and the webhooks received. */
import type { PaymentAttempt, PaymentSession } from "../client/merchant/payment-session.ts";
import { type Html, html } from "./html.ts";
import type { Order } from "./orders.ts";
import { page, priceText } from "./page.ts";
import { contentsOf } from "./products.ts";

export function orderPage(order: Order, dashboardUrl: string | undefined): string {
  return page(
    `Order ${order.orderRef}`,
    html`<h1>Order <span class="ref">${order.orderRef}</span></h1>
<p class="summary"><span>${contentsOf(order)}</span><strong>${priceText(order)}</strong></p>
<div id="details" aria-live="polite">${orderDetails(order, dashboardUrl)}</div>`,
    ["/order.js"],
  );
}

/** Returns the part of the page that changes; public/order.js replaces it. */
export function orderDetails(order: Order, dashboardUrl: string | undefined): Html {
  const { state } = order;
  return html`<section class="panel">
<h2>Payment</h2>
${statusLine(state, dashboardUrl)}
${order.webhooks.some(({ type }) => type === "payment_attempt.capture_failed") && captureFailed}
</section>
${order.state?.agreementId !== undefined && order.state.status === "SUCCEEDED" && renewalsOf(order)}
<section class="panel">
<h2>Attempts</h2>
${state?.attempts.length ? html`<ol class="steps">${state.attempts.map(attempt)}</ol>` : html`<p class="note">None yet.</p>`}
</section>
<section class="panel">
<h2>Webhooks received</h2>
${order.webhooks.length ? html`<ul class="steps">${order.webhooks.map(webhook)}</ul>` : html`<p class="note">None yet.</p>`}
</section>`;
}

// The session stays SUCCEEDED, because the gateway had accepted the capture: the shop has to settle the order itself.
const captureFailed = html`<p class="alarm">The gateway has reported that the capture failed: the money will not arrive.</p>`;

function statusLine(state: PaymentSession | undefined, dashboardUrl: string | undefined): Html {
  if (!state) return html`<p class="note">Loading…</p>`;
  const paid =
    state.capturedVia &&
    html`Captured via <strong>${state.capturedVia}</strong>${state.failover ? " after failover" : ""}. `;
  const by = state.wallet && ` by ${state.wallet.type === "apple_pay" ? "Apple Pay" : "Google Pay"}`;
  const end = state.card?.last4 && ` ending in ${state.card.last4}`;
  const card = state.card && html`Card: ${state.card.brand}${end}${by}. `;
  const declined = state.declineCode && html`Reason: <code>${state.declineCode}</code>. `;
  const waiting = state.processing && "We are confirming your payment; you do not need to pay again.";
  return html`<p>${badge(state.status)} ${paid}${card}${declined}${waiting}</p>
<p class="note">Session <code>${state.sessionId}</code></p>
${dashboardUrl !== undefined && html`<p><a href="${dashboardUrl}/payments/${state.sessionId}">See this payment on the dashboard</a></p>`}`;
}

function renewalsOf(order: Order): Html {
  const { orderRef, renewals } = order;
  return html`<section class="panel">
<h2>Next bags</h2>
${renewals.length > 0 && html`<ul class="steps">${renewals.map((one) => renewal(order, one))}</ul>`}
<form method="post" action="/orders/${orderRef}/renewals"><button class="button quiet">Charge the next bag</button></form>
</section>`;
}

function renewal(order: Order, charge: PaymentSession): Html {
  const { orderRef, status, amountMinor, currency, capturedVia, declineCode } = charge;
  const result = declineCode === undefined ? capturedVia && `via ${capturedVia}` : html`<code>${declineCode}</code>`;
  const isUnpaid = status === "DECLINED" || status === "DEGRADED";
  return html`<li><p><strong>${orderRef}</strong> ${badge(status)} ${priceText({ amountMinor, currency })} ${result}</p>
${isUnpaid && linkOf(order, orderRef)}</li>`;
}

/** A shop sends the link by e-mail. */
function linkOf({ orderRef, links }: Order, renewalRef: string): Html {
  const url = links.get(renewalRef);
  if (url !== undefined) return html`<p class="note">Sent to the customer: <a href="${url}">the link to pay it</a></p>`;
  return html`<form method="post" action="/orders/${orderRef}/links"><button class="button quiet" name="renewal" value="${renewalRef}">Send a link</button></form>`;
}

function attempt(state: PaymentAttempt): Html {
  const { sequence, gateway, status, because, failureKind, declineCode, gatewayCode, durationMs, next } = state;
  const why = [failureKind, declineCode ?? gatewayCode].filter((one) => one !== undefined);
  const duration = durationMs !== undefined && html`<small>${durationMs}&nbsp;ms</small>`;
  const nextStep = next && html`<p class="note">${nextNames[next.action]}: ${next.because}</p>`;
  return html`<li>
<p><strong>${sequence}. ${gateway}</strong> ${badge(status)} ${why.map((one) => html`<code>${one}</code> `)}${duration}</p>
<p class="note">${because}</p>
${nextStep}
${status === "VOIDING" && html`<p class="note">Any hold is being voided, which can take a minute or two.</p>`}
</li>`;
}

function webhook({ type, webhookId, receivedAt }: Order["webhooks"][number]): Html {
  const [subject, event] = type.split(".");
  return html`<li>
<p><strong>${subject}.<wbr>${event}</strong> <small>${receivedAt.toISOString().slice(11, 23)} UTC</small></p>
<p class="note">Signature verified · <code>${webhookId}</code></p>
</li>`;
}

const nextNames = { failover: "Failover", authenticate: "Authenticate", retry: "Retry", stop: "Stop" } as const;
const good = ["SUCCEEDED", "CAPTURED", "AUTHORIZED"];
const open = ["CREATED", "AUTHORIZING", "AWAITING_CUSTOMER", "VOIDING", "UNKNOWN"];
// Voided, as intended.
const neutral = ["VOIDED"];

/** Returns a status in the color of what it means. */
export function badge(status: string): Html {
  const tones = { good, open, neutral };
  const tone = Object.entries(tones).find(([, statuses]) => statuses.includes(status))?.[0] ?? "bad";
  return html`<span class="badge ${tone}">${status}</span>`;
}
