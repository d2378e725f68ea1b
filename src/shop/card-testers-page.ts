/** The page on which a reader is a card tester, and sees what stops one. */
import type { ServerResponse } from "node:http";
import type { PaymentSession } from "../client/merchant/payment-session.ts";
import type { CardTester, Try } from "./card-tester.ts";
import { type Html, html } from "./html.ts";
import { badge } from "./order-page.ts";
import { page } from "./page.ts";

const testedCards = [
  { number: "4000000000008401", name: "4000 0000 0000 8401", note: "every security code is declined as wrong" },
  { number: "4000000000008419", name: "4000 0000 0000 8419", note: "every payment is approved" },
] as const;
const numbersOfTries = [33, 5, 12, 90] as const;

/** Reads the form. Returns undefined for anything that it does not offer. */
export function readTries(form: string): { number: string; times: number } | undefined {
  const fields = new URLSearchParams(form);
  const card = testedCards.find(({ number }) => number === fields.get("card"));
  const times = numbersOfTries.find((each) => String(each) === fields.get("tries"));
  return card && times && { number: card.number, times };
}

export function cardTestersPage(tester: CardTester, dashboardUrl: string | undefined): string {
  return page(
    "Card testing",
    html`<h1>Be a card tester</h1>
<div class="columns">
<section class="panel" aria-labelledby="try">
<h2 id="try">Try out a card</h2>
<p>Who has a stolen number tries out its security code at a shop, with one session after another. This page does so to the shop, one code after another, as fast as the shop answers.</p>
<form method="post" action="/card-testers">
<fieldset>
<legend>Card</legend>
${testedCards.map(
  ({ number, name, note }, index) => html`<label class="choice">
<input type="radio" name="card" value="${number}"${index === 0 && html` checked`}>
<span><code>${name}</code> <small>${note}</small></span>
</label>`,
)}
</fieldset>
<p><label for="tries">Security codes</label>
<select id="tries" name="tries">${numbersOfTries.map((each) => html`<option>${each}</option>`)}</select></p>
<button class="button">Try them</button>
</form>
<p class="note">In test, only these two cards are counted; in live, every card is. A count of declines ends after a day, and one of submissions after an hour.</p>
${dashboardUrl !== undefined && html`<p class="note">Block the card for good on the page of one of its payments, on <a href="${dashboardUrl}/payments">the merchant’s dashboard</a>.</p>`}
</section>
<div id="details">${testerDetails(tester, dashboardUrl)}</div>
</div>`,
    ["/order.js"],
  );
}

/** Returns the part of the page that changes; public/order.js replaces it. */
function testerDetails({ tries, left, problem }: CardTester, dashboardUrl: string | undefined): Html {
  const reached = tries.filter(({ session }) => session.attempts.length > 0).length;
  const stops = [...new Set(tries.flatMap(({ session }) => stopsOf(session)))];
  return html`<section class="panel" aria-labelledby="seen">
<h2 id="seen">What the shop answered</h2>
<p role="status">${tries.length === 0 ? "Nothing was tried yet." : html`<strong>${reached} of ${tries.length}</strong> tries reached a gateway.`} ${left > 0 && `${left} are left.`}</p>
${problem !== undefined && html`<p class="alarm">The run has ended: ${problem}.</p>`}
${stops.length > 0 && html`<p>What stopped the others or slowed them down:</p><ul>${stops.map((stop) => html`<li>${stop}</li>`)}</ul>`}
${tries.length > 0 && html`<ol class="steps" reversed>${tries.map((one) => tryItem(one, dashboardUrl))}</ol>`}
</section>`;
}

/** Returns why no gateway got a payment, and what slowed it down. */
function stopsOf({ attempts, routing }: PaymentSession): string[] {
  // A service that brakes sends this field.
  const { brakedBecause } = (routing ?? {}) as { brakedBecause?: string };
  const skipped = attempts.length > 0 ? [] : (routing?.skipped ?? []).map(({ because }) => because);
  return [...new Set([...skipped, ...(brakedBecause === undefined ? [] : [brakedBecause])])];
}

function tryItem({ code, shown, session }: Try, dashboardUrl: string | undefined): Html {
  const { sessionId, status, declineCode, attempts } = session;
  const gateways = attempts.map(({ gateway }) => gateway).join(", then ");
  return html`<li>
<p><strong>Code ${code}</strong> ${badge(status)} ${gateways || "no gateway"}</p>
<p class="note">The tester’s browser sees <code>${shown}</code>; the shop reads <code>${declineCode ?? status}</code>.
${dashboardUrl !== undefined && html`<a href="${dashboardUrl}/payments/${sessionId}">See this payment</a>`}</p>
</li>`;
}

/** Sends the details now and after every change, until the page disconnects. */
export function streamTries(tester: CardTester, response: ServerResponse, dashboardUrl: string | undefined): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const show = () => response.write(`data: ${JSON.stringify(testerDetails(tester, dashboardUrl).text)}\n\n`);
  response.on("close", tester.subscribe(show));
  show();
}
