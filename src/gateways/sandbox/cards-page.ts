/** docs/test-cards.md, made from the table of test cards. Its test says how the file is renewed. */
import type { CardGroup, TestCard } from "./card-behaviour.ts";
import { attemptsInWords, endInWords, groupTitles } from "./card-words.ts";
import { testCards } from "./test-cards.ts";

const opening = `# Test cards

In the test environment two gateways pretend, and the card number decides what they do. Any expiry date in the future will do, and any security code. Every other number is refused by the vault with \`test_card_required\`, but for the test numbers of the gateways that can be connected ([gateways.md](gateways.md)). The checkout page of the demo shop has the same list, with a button to copy each number.

The outcomes are those of the demo's routing rule: \`SANDBOX_A\` first, then \`SANDBOX_B\` after a hard decline, a timeout or a gateway error. Where no time is given, the end comes within two seconds. A gateway that does not answer is given 10 seconds.

\`SANDBOX_A\` answers everything at once and can be asked what it holds. \`SANDBOX_B\` only takes on what it is asked to do, reports by signed notices and cannot be asked; so a hold that it may have is known to be gone only when nothing can come any more, about a minute later. Until then the attempt is \`VOIDING\` and the session has long ended.

In the browser, \`onDeclined\` gets \`card_declined\` in place of \`fraud_suspected\`, \`lost_or_stolen\` and \`unclassified\`. \`payment_attempt.voided\` tells that what a gateway may have held is given back after the session has ended; it comes also where the gateway says that there was nothing.

In brackets behind an attempt's status stands why: in capitals the kind of failure of its authorization, by which the routing rule decides; \`capture_not_allowed\` is what the gateway said when it refused the capture of what it held.
`;

const groupNotes: Readonly<Record<CardGroup, string>> = {
  approved: "",
  failover: "The first gateway does not help, so the second one is asked, under one loading state.",
  declined: "Nothing is held or captured. The `declineCode` is the one your backend reads.",
  nasty:
    "Answers that are lost, late or wrong, and captures that fail. In none of them is more than one capture made, and no hold is left.",
};

/** The page as Markdown. */
export function cardsPage(): string {
  const groups = Object.keys(groupTitles) as CardGroup[];
  return `${opening}${groups.map(groupSection).join("")}`;
}

function groupSection(group: CardGroup): string {
  const note = groupNotes[group] && `\n${groupNotes[group]}\n`;
  const rows = testCards.filter((card) => card.group === group).map(row);
  const head = "| card number | name | what happens | ends | attempts | webhooks |\n|---|---|---|---|---|---|";
  return `\n## ${groupTitles[group]}\n${note}\n${head}\n${rows.join("\n")}\n`;
}

function row({ number, name, behaviour, outcome }: TestCard): string {
  const events = outcome.events.map((event) => `\`${event}\``).join(", ");
  const [end, attempts] = [endInWords(outcome), attemptsInWords(outcome)].map(asCode);
  return `| \`${number}\` | ${name} | ${behaviour} | ${end} | ${attempts} | ${events} |`;
}

/** Literals of the API, such as DECLINED and card_expired, as code. */
function asCode(text: string): string {
  return text.replaceAll(/\b([A-Z]{3,}(_[A-Z]+)*|[a-z]+(_[a-z]+)+|(?<=with )[a-z]+)\b/g, "`$1`");
}
