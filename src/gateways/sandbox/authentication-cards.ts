/** The test cards whose bank, the sandbox bank, challenges the customer. They need a page that shows it: the widget. */
import type { AttemptOutcome, CardBehaviour, CardOutcome, TestCard } from "./card-behaviour.ts";

const approve: CardBehaviour = { act: "approve" };
const declineAtA: CardBehaviour = { act: "decline", code: "transaction_not_allowed" };
const challengeAtA = {
  act: "authenticate",
  when: "as_needed",
  code: "authentication_required",
  passed: approve,
} as const;
const challengeAtB: CardBehaviour = { act: "authenticate", when: "as_needed", code: "38", passed: approve };

const group = "authentication";
const hardAtA = { status: "DECLINED", failureKind: "HARD_DECLINE", gateway: "SANDBOX_A" } as const;
const softAtA = { status: "DECLINED", failureKind: "SOFT_DECLINE", gateway: "SANDBOX_A" } as const;
const softAtB = { status: "DECLINED", failureKind: "SOFT_DECLINE", gateway: "SANDBOX_B" } as const;
// If a gateway imports a provider's proof, the provider is called first; it does not know these cards.
const approvedByA = {
  status: "SUCCEEDED",
  attempts: [softAtA, { status: "CAPTURED", gateway: "SANDBOX_A" }],
  events: ["payment_session.succeeded"],
} as const;
const approvedByB = (...before: readonly AttemptOutcome[]): CardOutcome => ({
  status: "SUCCEEDED",
  attempts: [...before, { status: "CAPTURED", gateway: "SANDBOX_B" }],
  events: ["payment_session.succeeded"],
});

/** Every test card of customer authentication by the gateway. The outcomes are those of the right code, by the demo's rule. */
export const authenticationCards: readonly TestCard[] = [
  {
    number: "4000000000007106",
    name: "Challenge",
    group,
    behaviour: "The bank asks the customer at SANDBOX_A, which then approves.",
    onA: challengeAtA,
    onB: approve,
    outcome: approvedByA,
  },
  {
    number: "4000000000007114",
    name: "Failover, then a challenge",
    group,
    behaviour: "Hard decline at SANDBOX_A; the bank asks at SANDBOX_B, which then holds without a further request.",
    onA: declineAtA,
    onB: challengeAtB,
    outcome: approvedByB(hardAtA, softAtB),
  },
  {
    number: "4000000000007122",
    name: "Challenge, confirmed too late",
    group,
    behaviour:
      "As the card above. Leave the bank’s page alone until the payment ends after ten minutes, then confirm: the late hold is voided.",
    onA: declineAtA,
    onB: challengeAtB,
    outcome: {
      status: "DECLINED",
      declineCode: "authentication_failed",
      attempts: [hardAtA, softAtB, { status: "VOIDED", gateway: "SANDBOX_B" }],
      events: ["payment_session.declined", "payment_attempt.voided"],
      settledAfterS: 600,
    },
  },
  {
    number: "4000000000007130",
    name: "Two challenges",
    group,
    behaviour: "The bank asks at SANDBOX_A, which then declines; it asks again at SANDBOX_B.",
    onA: { ...challengeAtA, passed: declineAtA },
    onB: challengeAtB,
    outcome: approvedByB(softAtA, hardAtA),
  },
  {
    number: "4000000000007148",
    name: "Challenge, answer lost",
    group,
    behaviour: "After the challenge, SANDBOX_A’s first answer is lost; the payment is completed by a second request.",
    onA: { ...challengeAtA, losesCompletion: true },
    onB: approve,
    outcome: { ...approvedByA, settledAfterS: 10 },
  },
  {
    number: "4000000000007155",
    name: "Challenge, answered by several ways",
    group,
    behaviour: "The customer’s return, the page and SANDBOX_A itself report the answer at one moment.",
    onA: challengeAtA,
    onB: approve,
    outcome: approvedByA,
  },
  {
    number: "4000000000007163",
    name: "Declined, then a challenge",
    group,
    behaviour: "SANDBOX_A declines until the customer has confirmed; it is tried again with a challenge.",
    onA: { ...challengeAtA, when: "if_asked" },
    onB: approve,
    outcome: approvedByA,
  },
];
