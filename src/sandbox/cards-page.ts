/** Generates docs/test-cards.md from the table of test cards. Its test says how to update the file. */

import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import type { CardGroup, TestCard } from "../gateways/sandbox/card-behaviour.ts";
import { attemptsInWords, endInWords, groupTitles } from "../gateways/sandbox/card-words.ts";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { storedCards } from "../gateways/sandbox/stored-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { walletCards } from "../gateways/sandbox/wallet-cards.ts";

const opening = `# Test cards

In the test environment two sandbox gateways take payments, and the card number decides what they do. Use any future expiry date and any security code. The vault refuses every other number with \`test_card_required\`, except the test numbers of the gateways that can be connected ([gateways.md](gateways.md)). The checkout page of the demo shop lists them too, except stored cards and wallets, with a button to copy each number.

The outcomes are those of the demo's routing rule: customers are authenticated as needed, by \`SANDBOX_3DS\`; \`SANDBOX_A\` comes first, then \`SANDBOX_B\` after a hard or soft decline, a timeout or a gateway error. Where no time is given, the payment ends within two seconds. A gateway has 10 seconds to answer.

You can use the cards any number of times, except two, which show the [limits on a card's tries](card-testing.md#counting-tries): \`4000000000008401\` is declined for its security code, and \`4000000000008419\` is approved.

\`SANDBOX_A\` answers every request at once and can be queried for its holds. \`SANDBOX_B\` only accepts requests, reports by signed notifications and cannot be queried. It is certain that it holds nothing only when no report can arrive any more, about a minute later. Until then the attempt is \`VOIDING\` and the session has long ended.

In the browser, \`onDeclined\` gets \`card_declined\` in place of \`fraud_suspected\`, \`lost_or_stolen\`, \`unclassified\`, \`too_many_attempts\` and \`blocked\`. \`payment_attempt.voided\` reports that a possible hold is voided after the session has ended; it is also sent if the gateway says that there was no hold.

The reason follows an attempt's status in brackets. In capitals it is the kind of failure of its authorization, by which the routing rule decides; \`capture_not_allowed\` is the gateway's answer when it refused to capture its hold.
`;

const groupNotes: Readonly<Record<CardGroup, string>> = {
  approved: "",
  failover: "The first gateway does not approve, so the second one is used, under one loading state.",
  authentication: `The widget shows the sandbox bank’s page. The code 123456 confirms; any other code, or *Cancel*, ends the payment as \`DECLINED\` with \`authentication_failed\`, and no other gateway is used. The outcomes below are those of the right code, except for the card that is confirmed too late. Without a page that can show the bank’s, as in a call from a server, these cards are declined with \`authentication_required\`.`,
  declined: "Nothing is held or captured. The `declineCode` is the one your backend reads.",
  nasty:
    "Answers that are lost, late or wrong, and captures that fail. None of them makes more than one capture or leaves a hold.",
  refunds:
    "Each payment is captured; the card decides how its refund ends. A refund of any other card is made at once at `SANDBOX_A`, and received and then reported at `SANDBOX_B`.",
  disputes:
    "Each payment is captured, and `dispute.created` and the webhooks that follow are sent. `SANDBOX_B` and Adyen report the dispute at once; `SANDBOX_A`, Stripe and PayPal are queried every ten minutes, so put `SANDBOX_B` first in the routing rule to see it sooner.",
  settlement:
    "Each payment is captured; the card decides how the gateway pays it out. Every sandbox gateway keeps 1.4 % and 0.25 of a payment, takes 15.00 for a dispute, and pays out once a day, in the demo every two minutes.",
  later:
    "The outcome is that of a payment captured at once. A hold of any other card ends by itself after seven days at `SANDBOX_A`, which says so with the hold, and after five days at `SANDBOX_B`, which reports it.",
  stored:
    "The outcome is that of the payment that stores the card; the bank challenges the customer if the merchant requests it, as for an agreement. The second table shows the result of a charge of the stored card. `SANDBOX_A` charges only agreements that began there, `SANDBOX_B` every agreement with a network transaction id. A charge with an id that belongs to no payment of the card is declined with `authentication_required`. A charge of any other test card ends like its payment.",
  wallets:
    "These are in the sheets of the wallets’ emulators; the form takes only the last two. The network of both gateways takes a cryptogram once. The outcomes are those of the rule’s default for [cryptograms](wallets.md#cryptograms): if the first gateway does not respond it is looked up, and after a decline no other gateway is called.",
};

export function cardsPage(): string {
  const groups = Object.keys(groupTitles) as CardGroup[];
  return `${opening}${groups.map((group) => groupSection(group) + (group === "stored" ? renewals() : "")).join("")}`;
}

function renewals(): string {
  const rows = storedCards.map(({ number, renewal }) => `| \`${number}\` | ${asCode(renewal)} |`);
  return `\n| card number | result of a charge of the stored card |\n|---|---|\n${rows.join("\n")}\n`;
}

function groupSection(group: CardGroup): string {
  const note = groupNotes[group] && `\n${groupNotes[group]}\n`;
  const cards = [...testCards, ...authenticationCards, ...providerCards, ...storedCards, ...walletCards];
  const rows = cards.filter((card) => card.group === group).map(row);
  const head = "| card number | name | what happens | ends | attempts | webhooks |\n|---|---|---|---|---|---|";
  return `\n## ${groupTitles[group]}\n${note}\n${head}\n${rows.join("\n")}\n`;
}

function row({ number, name, behaviour, outcome }: TestCard): string {
  const events = outcome.events.map((event) => `\`${event}\``).join(", ");
  const [end, attempts] = [endInWords(outcome), attemptsInWords(outcome)].map(asCode);
  return `| \`${number}\` | ${name} | ${behaviour} | ${end} | ${attempts} | ${events} |`;
}

/** Formats literals of the API, such as DECLINED and card_expired, as code. */
function asCode(text: string): string {
  return text.replaceAll(/\b([A-Z]{3,}(_[A-Z]+)*|[a-z]+(_[a-z]+)+|(?<=with )[a-z]+)\b/g, "`$1`");
}
