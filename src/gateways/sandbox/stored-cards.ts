/**
 * The test cards that are stored: what the payment that stores them and their renewals meet. The bank challenges the
 * customer where the merchant wants it, as with an agreement; a payment without that is decided at once.
 */
import type { CardBehaviour, CardOutcome, StoredTestCard } from "./card-behaviour.ts";
import { approvedByA } from "./outcomes.ts";

const approve: CardBehaviour = { act: "approve" };
const hardAtA: CardBehaviour = { act: "decline", code: "transaction_not_allowed" };

const challenge = (code: string, passed: CardBehaviour): CardBehaviour => ({
  act: "authenticate",
  when: "if_wanted",
  code,
  passed,
});

type Renewed = Pick<StoredTestCard, "renewedAtA" | "renewedAtB">;

/** Returns the same decline at both gateways, with the code of each. */
function declined(
  [codeAtA, codeAtB]: readonly [string, string],
  more: Omit<Extract<CardBehaviour, { act: "decline" }>, "act" | "code"> = {},
): Renewed {
  return {
    renewedAtA: { act: "decline", code: codeAtA, ...more },
    renewedAtB: { act: "decline", code: codeAtB, ...more },
  };
}

/** The number whose set-up, which charges nothing, is declined. */
export const noSetUpCard = "4000000000007353";

type Stored = { readonly atA?: CardBehaviour; readonly behaviour?: string; readonly outcome?: CardOutcome };

function card(
  [number, name, renewal]: readonly [string, string, string],
  renewed: Partial<Renewed> = {},
  { atA = approve, behaviour = "Approved at the first gateway.", outcome = approvedByA() }: Stored = {},
): StoredTestCard {
  return {
    number,
    name,
    group: "stored",
    behaviour,
    renewal,
    onA: challenge("authentication_required", atA),
    onB: challenge("38", approve),
    onDirectory: { answer: "challenge" },
    renewedAtA: approve,
    renewedAtB: approve,
    ...renewed,
    outcome,
  };
}

const approvedByB: CardOutcome = {
  status: "SUCCEEDED",
  attempts: [{ status: "DECLINED", failureKind: "HARD_DECLINE" }, { status: "CAPTURED" }],
  events: ["payment_session.succeeded"],
};

export const storedCards: readonly StoredTestCard[] = [
  card(["4000000000007270", "Renewed", "Approved at SANDBOX_A."]),
  card(
    [
      "4000000000007288",
      "Renewed from the next day",
      "Declined everywhere for insufficient funds until the sandbox’s next day, and then approved.",
    ],
    declined(["insufficient_funds", "12"], { until: "next_day" }),
  ),
  card(
    [
      "4000000000007296",
      "Authentication wanted",
      "Declined everywhere for want of authentication; after the customer has stored it again, renewals are approved.",
    ],
    declined(["authentication_required", "38"], { until: "stored_again" }),
  ),
  card(
    [
      "4000000000007304",
      "Agreement revoked",
      "The customer has revoked it at the bank (R1): the agreement is cancelled, and no other gateway is called.",
    ],
    declined(["revocation_of_authorization", "26"], { networkCode: "R1" }),
  ),
  card(
    [
      "4000000000007312",
      "No such account",
      "The bank knows the number no longer (14): the card is stopped, and no other gateway is called.",
    ],
    declined(["invalid_account", "8"], { networkCode: "14" }),
  ),
  card(
    [
      "4000000000007379",
      "Not permitted",
      "The bank does not permit it (57): no retry for 30 days, but the card is not stopped.",
    ],
    declined(["transaction_not_allowed", "23"], { networkCode: "57" }),
  ),
  card(
    [
      "4000000000007320",
      "First gateway silent",
      "SANDBOX_A never answers; SANDBOX_B approves by the network’s name of the first payment, and what SANDBOX_A may hold is voided.",
    ],
    { renewedAtA: { act: "stay_silent" } },
  ),
  card(
    [
      "4000000000007338",
      "Began at the second gateway",
      "Approved at SANDBOX_B, where the agreement began; SANDBOX_A is skipped.",
    ],
    {},
    { atA: hardAtA, behaviour: "Hard decline at SANDBOX_A, approved at SANDBOX_B.", outcome: approvedByB },
  ),
  card(
    [
      "4000000000007346",
      "Not kept",
      "None: the card vault could not keep the card, and the agreement needs another one.",
    ],
    {},
    { behaviour: "Approved at the first gateway. The card vault cannot keep the card." },
  ),
  card([noSetUpCard, "No set-up", "Approved at SANDBOX_A. A set-up, which charges nothing, is declined."]),
  card(
    [
      "4000000000007361",
      "Without the network’s name",
      "Approved at SANDBOX_A, which gave no network transaction id; SANDBOX_B is skipped.",
    ],
    {},
    { atA: { act: "approve", givesNoNetworkId: true } },
  ),
  card(
    ["5200000000007200", "Mastercard, do not try again", "Declined (advice 03): the card is stopped."],
    declined(["generic_decline", "2"], { adviceCode: "03" }),
  ),
  card(
    ["5200000000007218", "Mastercard, cancelled", "Declined (advice 21): the agreement is cancelled."],
    declined(["generic_decline", "2"], { adviceCode: "21" }),
  ),
  card(
    ["5200000000007226", "Mastercard, tomorrow", "Declined (advice 25): no retry for 24 hours."],
    declined(["generic_decline", "2"], { adviceCode: "25" }),
  ),
];
