/** Generates docs/declines.md from the gateways' decline tables. Its test says how to update the file. */

import { declines as adyenDeclines } from "./adyen/declines.ts";
import type { DeclineKind, DeclineStop, DeclineTable } from "./declines.ts";
import { declines as paypalDeclines } from "./paypal/declines.ts";
import { declines as sandboxADeclines } from "./sandbox/a/declines.ts";
import { declines as sandboxBDeclines } from "./sandbox/b/declines.ts";
import { declines as stripeDeclines } from "./stripe/declines.ts";

/** A gateway's table, and a description of the fields that are read beside its codes. */
type Section = { readonly gateway: string; readonly table: DeclineTable; readonly beside: string };

const sections: readonly Section[] = [
  {
    gateway: "STRIPE",
    table: stripeDeclines,
    beside: `The code is \`decline_code\`, or \`code\` where there is no finer one. A charge whose \`outcome.type\` is \`blocked\` was stopped by Stripe itself. It counts as fraud, whatever the code, unless its \`outcome.reason\` has a row that begins with \`blocked.\`; a stricter code keeps its own row. It is shown with the code that came. When the charge cannot be read, a code that would let the plan go on stops it as unclassified. A stop is added where \`advice_code\` is \`do_not_try_again\` (scheme_rule) or \`confirm_card_data\` (same_card_fails), and where a network's own code forbids another attempt.

A payment whose customer has to authenticate, and cannot be asked, is declined as \`authentication_required\`.`,
  },
  {
    gateway: "ADYEN",
    table: adyenDeclines,
    beside: `The code is \`refusalReasonCode\`; notifications give its name. An answer without a reason stops as unclassified. Rows that begin with \`error.\` are \`errorCode\`s of a request (HTTP 422) that Adyen refuses because of the card. Rows that begin with \`raw.\` are network codes out of \`refusalReasonRaw\` and \`refusalCodeRaw\`: where Adyen's code has no stop, they add theirs, and \`merchantAdviceCode\` adds one where it forbids another attempt. The account has to ask Adyen for these fields.

Where the customer cannot be asked, a payment that needs 3-D Secure is declined as \`authentication_required\`.`,
  },
  {
    gateway: "PAYPAL",
    table: paypalDeclines,
    beside: `The code is \`processor_response.response_code\` of a denied authorization, or the issue of an error (HTTP 422) where there is no authorization. A denied authorization without the processor's code was refused by PayPal itself, for a reason that it keeps: it stops as unclassified, with \`DENIED\` as its code. A stop is added where \`payment_advice_code\` forbids another attempt (scheme_rule) or is 01 (same_card_fails), and where \`cvv_code\` says that the security code did not match (same_card_fails). \`avs_code\` adds none: PayPal is sent no address.

A payment whose customer has to authenticate, and cannot be asked, is declined as \`authentication_required\`. PayPal names its codes and explains few of them, so most rows are judged by the name; of two readings the stricter is taken.`,
  },
  {
    gateway: "SANDBOX_A",
    table: sandboxADeclines,
    beside: "The first sandbox gateway borrows Stripe's names.",
  },
  {
    gateway: "SANDBOX_B",
    table: sandboxBDeclines,
    beside: "The second sandbox gateway borrows Adyen's numbers.",
  },
];

const kinds: Readonly<Record<DeclineKind, string>> = {
  HARD_DECLINE: "The gateway declined. The next gateway is used if the routing rule says so.",
  SOFT_DECLINE: "The gateway declined for now. The routing rule's switch for hard declines applies.",
  FRAUD: "Suspected fraud. No other gateway is used, whatever the rule says.",
};

const stops: Readonly<Record<DeclineStop, string>> = {
  none: "Only the routing rule decides.",
  fraud: "Fraud never fails over.",
  scheme_rule: "The card network or the issuer forbids another attempt at any gateway.",
  same_card_fails: "Every gateway gets the same answer until the customer corrects the card.",
  authentication_required:
    "The customer has to authenticate. Where the gateway can ask for that, it gets the payment once more; no other gateway is used.",
  authentication_failed: "The customer did not authenticate. No other gateway is used.",
  unclassified: "It is not known whether another gateway may be used.",
};

const opening = `# Decline codes

Look up a gateway's decline code: its kind, whether it stops the plan, and the public \`declineCode\`. A code that is in no table stops the plan as \`unclassified\`. The browser receives \`card_declined\` in place of \`fraud_suspected\`, \`lost_or_stolen\`, \`unclassified\`, \`too_many_attempts\` and \`blocked\`; your backend receives the real code, and the gateway's own as \`gatewayCode\`. \`too_many_attempts\` is no gateway's answer: the card was [tried too often](card-testing.md#counting-tries), or too many cards of the customer's network were declined. Neither is \`blocked\`: your [block list](card-testing.md#block-list) has the customer.

Network codes only add stops, at every gateway that passes them on: Visa's response codes 04, 07, 12, 14, 15, 41, 43, 46, 57, R0, R1 and R3, and Mastercard's advice codes 03, 21, 24 to 30, 40, 41 and 43.
`;

const again = `## Again

The column says whether the gateway documents that the same payment may be sent to it once more at once. A routing rule that [retries at the same gateway](routing.md#retry-at-the-same-gateway) does so, once in a payment. A network's advice to try again later (Mastercard's 02, Stripe's \`try_again_later\`) takes the permission away. Adyen says of no code that it may be sent again at once, so no payment is retried there.
`;

export function declinesPage(): string {
  return [
    opening,
    `## Kinds\n\n${list(kinds)}\n`,
    `## Stops\n\n${list(stops)}\n`,
    again,
    ...sections.map(
      ({ gateway, table, beside }) =>
        `## ${gateway}\n\n${beside}\n\n| code | kind | stop | declineCode | again | source |\n|---|---|---|---|---|---|\n${rowsOf(table)}\n`,
    ),
  ].join("\n");
}

function list(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([name, meaning]) => `- \`${name}\`: ${meaning}`)
    .join("\n");
}

function rowsOf(table: DeclineTable): string {
  return Object.entries(table)
    .map(([code, { kind, stop, declineCode, source, again }]) => {
      const sources = again === undefined || again === source ? source : `${source}; again: ${again}`;
      return `| \`${code}\` | ${kind} | ${stop} | ${declineCode} | ${again === undefined ? "no" : "yes"} | ${sources} |`;
    })
    .join("\n");
}
