/**
 * The test cards that SANDBOX_3DS knows. Each is declined without authentication; with the proof of it the gateways
 * decide. Numbers that Stripe publishes keep their meaning (https://docs.stripe.com/testing, 2026).
 */
import type { AttemptOutcome, CardBehaviour, CardOutcome, DirectoryBehaviour, TestCard } from "./card-behaviour.ts";
import { storedCards } from "./stored-cards.ts";

const approve: CardBehaviour = { act: "approve" };
const group = "authentication";
const softDecline: AttemptOutcome = { status: "DECLINED", failureKind: "SOFT_DECLINE" };
const capturedByA: AttemptOutcome = { status: "CAPTURED", gateway: "SANDBOX_A" };
const done = { method: "done" } as const;

/** Returns a gateway's reaction: a soft decline without authentication, this with it. */
function onA(
  passed: CardBehaviour = approve,
  more: { refusesProof?: boolean; grantsExemption?: boolean } = {},
): CardBehaviour {
  return { act: "authenticate", when: "as_needed", code: "authentication_required", passed, ...more };
}

function onB(passed: CardBehaviour = approve): CardBehaviour {
  return { act: "authenticate", when: "as_needed", code: "38", passed };
}

function succeeded(...after: AttemptOutcome[]): CardOutcome {
  return {
    status: "SUCCEEDED",
    attempts: [softDecline, ...(after.length === 0 ? [capturedByA] : after)],
    events: ["payment_session.succeeded"],
  };
}

function declined(declineCode: string, ...after: AttemptOutcome[]): CardOutcome {
  return {
    status: "DECLINED",
    declineCode,
    attempts: [softDecline, ...after],
    events: ["payment_session.declined"],
  };
}

function card(
  number: string,
  name: string,
  behaviour: string,
  onDirectory: DirectoryBehaviour,
  more: Partial<Pick<TestCard, "onA" | "onB" | "outcome">> = {},
): TestCard {
  return { number, name, group, behaviour, onDirectory, onA: onA(), onB: onB(), outcome: succeeded(), ...more };
}

/** Every test card of customer authentication by a provider. The outcomes are those of the right code. */
export const providerCards: readonly TestCard[] = [
  card("4000000000003055", "Frictionless", "The bank authenticates without asking the customer.", { answer: "Y" }),
  card("4000000000003220", "Provider’s challenge", "The bank asks the customer.", { ...done, answer: "challenge" }),
  card("5200000000007028", "Provider’s challenge, Mastercard", "The bank asks the customer.", { answer: "challenge" }),
  card("4000002760003184", "Challenge at every payment", "The bank asks the customer.", { answer: "challenge" }),
  card(
    "4000008400001629",
    "Challenge, then failover",
    "The bank asks once. SANDBOX_A declines, and SANDBOX_B gets the same proof: no second challenge.",
    { answer: "challenge" },
    {
      onA: onA({ act: "decline", code: "transaction_not_allowed" }),
      outcome: succeeded(
        { status: "DECLINED", failureKind: "HARD_DECLINE", gateway: "SANDBOX_A" },
        { status: "CAPTURED", gateway: "SANDBOX_B" },
      ),
    },
  ),
  card(
    "4000008260003178",
    "Challenge, then no funds",
    "The bank asks once; both gateways decline for want of funds.",
    { answer: "challenge" },
    {
      onA: onA({ act: "decline", code: "insufficient_funds" }),
      onB: onB({ act: "decline", code: "12" }),
      outcome: declined(
        "insufficient_funds",
        { status: "DECLINED", failureKind: "SOFT_DECLINE", gateway: "SANDBOX_A" },
        { status: "DECLINED", failureKind: "SOFT_DECLINE", gateway: "SANDBOX_B" },
      ),
    },
  ),
  card(
    "4000008400001280",
    "Directory down, needed",
    "The directory does not answer, and SANDBOX_A runs no authentication of its own for this card.",
    { answer: "down" },
    {
      onA: { act: "decline", code: "authentication_required" },
      outcome: declined("authentication_required", { ...softDecline, gateway: "SANDBOX_A" }),
    },
  ),
  card(
    "4000000000003097",
    "Directory down, not needed",
    "The directory does not answer; SANDBOX_A approves without authentication.",
    { answer: "down" },
    {
      onA: approve,
      onB: approve,
      outcome: {
        status: "SUCCEEDED",
        attempts: [{ status: "CAPTURED" }],
        events: ["payment_session.succeeded"],
      },
    },
  ),
  card(
    "4000000000007007",
    "Refused by the bank",
    "The bank answers N, with a message to the customer.",
    { answer: "N", message: "Sandbox Bank did not approve this payment. Please call us at +44 20 7946 0123." },
    {
      outcome: declined("authentication_failed"),
    },
  ),
  card(
    "4000000000007015",
    "Rejected by the bank",
    "The bank answers R.",
    { answer: "R" },
    {
      outcome: declined("authentication_failed"),
    },
  ),
  card("4000000000007023", "Attempted", "The bank does not take part; the attempt counts.", { answer: "A" }),
  card(
    "4000000000007031",
    "Device check without an end",
    "The bank’s device check never reports: ten seconds later the bank asks the customer.",
    { method: "silent", answer: "challenge" },
    { outcome: { ...succeeded(), settledAfterS: 12 } },
  ),
  card(
    "4000000000007049",
    "Approved in the bank’s app",
    "The customer confirms in the bank’s app after five seconds; the page may be closed.",
    { answer: "app" },
    { outcome: { ...succeeded(), settledAfterS: 7 } },
  ),
  card(
    "4000000000007056",
    "Return is lost",
    "The bank asks, and its return of the customer is lost; the provider is asked within half a minute.",
    { answer: "challenge", losesReturn: true },
    { outcome: { ...succeeded(), settledAfterS: 30 } },
  ),
  card(
    "4000000000007064",
    "Blank bank page",
    "The bank’s page stays blank. Cancel the payment, or wait for its end after ten minutes.",
    { answer: "blank" },
    { outcome: { ...declined("authentication_failed"), settledAfterS: 600 } },
  ),
  card(
    "4000000000007072",
    "Exemption granted",
    "SANDBOX_A asks for an exemption, and the bank needs no authentication.",
    { answer: "challenge" },
    {
      onA: onA(approve, { grantsExemption: true }),
      outcome: { status: "SUCCEEDED", attempts: [{ status: "CAPTURED" }], events: ["payment_session.succeeded"] },
    },
  ),
  card(
    "4000000000007080",
    "Exemption refused",
    "SANDBOX_A asks for an exemption; the bank refuses it, and asks the customer.",
    { answer: "challenge" },
  ),
  card(
    "4000000000007098",
    "Proof refused",
    "SANDBOX_A asks for authentication again although the customer has authenticated.",
    { answer: "Y" },
    {
      onA: onA(approve, { refusesProof: true }),
      outcome: declined("authentication_required", { ...softDecline, gateway: "SANDBOX_A" }),
    },
  ),
];

/** Returns the reaction of SANDBOX_3DS to a card; undefined for one that it does not know. */
export function directoryCardBehaviour(number: string): DirectoryBehaviour | undefined {
  return [...providerCards, ...storedCards].find((one) => one.number === number)?.onDirectory;
}
