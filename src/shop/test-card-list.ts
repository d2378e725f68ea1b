/** Test cards that choose the sandbox gateways' behaviour, listed beside the card form. */
import { type Html, html } from "./html.ts";

/** A card number of the sandbox, with its behaviour and the outcome of the payment. */
export type TestCard = {
  readonly number: string;
  readonly name: string;
  readonly group: string;
  readonly behaviour: string;
  readonly outcome: string;
};

/** Returns the cards in groups, the first one open; public/test-cards.js makes the buttons copy. */
export function testCardList(cards: readonly TestCard[], apiOrigin: string): Html {
  const groups = [...new Set(cards.map(({ group }) => group))];
  return html`<p class="note">Use any future expiry date and any security code. <a href="${apiOrigin}/docs/test-cards">Attempts and webhooks of each card</a></p>
<div id="test-cards">${groups.map((group, index) =>
    cardGroup(
      group,
      cards.filter((card) => card.group === group),
      index === 0,
    ),
  )}</div>
<p id="copied" class="unseen" role="status"></p>`;
}

function cardGroup(title: string, cards: readonly TestCard[], isOpen: boolean): Html {
  return html`<details${isOpen && html` open`}>
<summary><h3>${title}</h3> <small>${cards.length} cards</small></summary>
<ul class="cards">${cards.map(cardItem)}</ul>
</details>
`;
}

function cardItem({ number, name, behaviour, outcome }: TestCard): Html {
  return html`<li>
<strong>${name}</strong>
<p class="number"><code>${grouped(number)}</code> <button type="button" class="copy" data-number="${number}" aria-label="Copy the number of ${name}">Copy</button></p>
<p>${behaviour}</p>
<p class="note">Ends ${outcome}</p>
</li>`;
}

/** Groups digits as on the cards themselves: American Express in 4, 6 and 5 digits. */
function grouped(number: string): string {
  const isAmex = number.length === 15;
  return isAmex ? number.replace(/^(.{4})(.{6})/, "$1 $2 ") : number.replace(/(.{4})(?=.)/g, "$1 ");
}
