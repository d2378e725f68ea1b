/** The test cards of failures: answers that are lost, late, wrong or missing, and captures that go wrong. */
import type { CardBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA, approvedByBAfter, captureRefused, degraded } from "./outcomes.ts";

const approve: CardBehaviour = { act: "approve" };
// A decline after which the rule fails over.
const declineAtA: CardBehaviour = { act: "decline", code: "transaction_not_allowed" };
const declineAtB: CardBehaviour = { act: "decline", code: "23" };
const declinedHard = { status: "DECLINED", failureKind: "HARD_DECLINE" } as const;

const lostAnswers: readonly TestCard[] = [
  {
    number: "4000000000002040",
    name: "Answer lost",
    group: "nasty",
    behaviour: "SANDBOX_A holds the money but its answer is lost; approved at SANDBOX_B, the first hold is voided.",
    onA: { act: "approve_lose_answer" },
    onB: approve,
    outcome: approvedByBAfter("TIMEOUT", { settledAfterS: 10 }),
  },
  {
    number: "4000000000003022",
    name: "Answer lost, hold found",
    group: "nasty",
    behaviour:
      "SANDBOX_A holds the money but its answer is lost; SANDBOX_B declines, so the hold is looked up and captured.",
    onA: { act: "approve_lose_answer" },
    onB: declineAtB,
    outcome: {
      status: "SUCCEEDED",
      attempts: [{ status: "CAPTURED" }, declinedHard],
      events: ["payment_session.succeeded"],
      settledAfterS: 10,
    },
  },
  {
    number: "4000000000005027",
    name: "Gateway error after the hold",
    group: "nasty",
    behaviour: "SANDBOX_A holds the money and answers 500; approved at SANDBOX_B, the first hold is voided.",
    onA: { act: "approve_then_fail", status: 500 },
    onB: approve,
    outcome: approvedByBAfter("GATEWAY_ERROR"),
  },
  {
    number: "4000000000002024",
    name: "Approved late",
    group: "nasty",
    behaviour: "SANDBOX_A approves after we gave up; approved at SANDBOX_B, the late hold is refused or voided.",
    onA: { act: "approve_late" },
    onB: approve,
    outcome: approvedByBAfter("TIMEOUT", { settledAfterS: 10 }),
  },
  {
    number: "4000000000004103",
    name: "Approved after the end",
    group: "nasty",
    behaviour:
      "SANDBOX_A declines and SANDBOX_B approves after the payment has ended and the customer has left; the late hold is voided.",
    onA: declineAtA,
    onB: { act: "approve_late" },
    outcome: degraded([declinedHard, { status: "VOIDED", failureKind: "TIMEOUT" }], {
      settledAfterS: 10,
      closedAfterS: 20,
    }),
  },
];

const noAnswers: readonly TestCard[] = [
  {
    number: "4000000000005035",
    name: "All gateways down",
    group: "nasty",
    behaviour: "Every gateway answers 503; the session ends DEGRADED.",
    onA: { act: "fail", status: 503 },
    onB: { act: "fail", status: 503 },
    outcome: degraded(
      [
        { status: "VOIDED", failureKind: "GATEWAY_ERROR" },
        { status: "VOIDED", failureKind: "GATEWAY_ERROR" },
      ],
      { closedAfterS: 65 },
    ),
  },
  {
    number: "4000000000005241",
    name: "No gateway answers",
    group: "nasty",
    behaviour: "No gateway ever answers, and none holds anything; the session ends DEGRADED.",
    onA: { act: "stay_silent" },
    onB: { act: "stay_silent" },
    outcome: degraded(
      [
        { status: "VOIDED", failureKind: "TIMEOUT" },
        { status: "VOIDED", failureKind: "TIMEOUT" },
      ],
      { settledAfterS: 20, closedAfterS: 85 },
    ),
  },
];

const captures: readonly TestCard[] = [
  {
    number: "4000000000001026",
    name: "Captured slowly",
    group: "nasty",
    behaviour: "Approved at the first gateway, which is slow to capture.",
    onA: { act: "approve", capture: "slow" },
    onB: { act: "approve", capture: "slow" },
    outcome: approvedByA({ settledAfterS: 15 }),
  },
  {
    number: "4000000000004251",
    name: "Captured after the time limit",
    group: "nasty",
    behaviour:
      "SANDBOX_A takes a minute to capture; after 45 seconds the page tells the customer not to pay again, and the merchant receives an event.",
    onA: { act: "approve", capture: "overdue" },
    onB: { act: "approve", capture: "overdue" },
    outcome: {
      ...approvedByA({ settledAfterS: 60 }),
      events: ["payment_session.pending", "payment_session.succeeded"],
    },
  },
  {
    number: "4000000000005043",
    name: "Capture request lost",
    group: "nasty",
    behaviour: "The capture never reaches SANDBOX_A, which holds the money; it is sent again and carried out.",
    onA: { act: "approve", capture: "lose_request" },
    onB: { act: "approve", capture: "lose_request" },
    outcome: approvedByA({ settledAfterS: 11 }),
  },
  {
    number: "4000000000002081",
    name: "Capture answer lost",
    group: "nasty",
    behaviour:
      "SANDBOX_A captures, but its answer is lost; it is sent again with the same key, and nothing is charged twice.",
    onA: { act: "approve", capture: "lose_answer" },
    onB: { act: "approve", capture: "lose_answer" },
    outcome: approvedByA({ settledAfterS: 11 }),
  },
  {
    number: "4000000000004095",
    name: "Capture refused",
    group: "nasty",
    behaviour:
      "SANDBOX_A holds the money and permanently refuses to capture it; the hold is voided, then SANDBOX_B approves.",
    onA: { act: "approve", capture: "refuse" },
    onB: approve,
    outcome: {
      status: "SUCCEEDED",
      attempts: [captureRefused, { status: "CAPTURED" }],
      events: ["payment_session.succeeded"],
    },
  },
  {
    number: "4000000000004244",
    name: "Capture refused everywhere",
    group: "nasty",
    behaviour: "Each gateway holds the money and permanently refuses to capture it; both holds are voided.",
    onA: { act: "approve", capture: "refuse" },
    onB: { act: "approve", capture: "refuse" },
    outcome: degraded([captureRefused, captureRefused]),
  },
  {
    number: "4000000000004178",
    name: "Capture fails afterwards",
    group: "nasty",
    behaviour:
      "SANDBOX_A declines; SANDBOX_B accepts the capture and later reports that it failed, so the money never arrives.",
    onA: declineAtA,
    onB: { act: "approve", capture: "fail_later" },
    outcome: {
      status: "SUCCEEDED",
      attempts: [declinedHard, { status: "CAPTURED" }],
      events: ["payment_session.succeeded", "payment_attempt.capture_failed"],
    },
  },
];

const wrongAnswers: readonly TestCard[] = [
  {
    number: "4000000000004160",
    name: "Amount mismatch",
    group: "nasty",
    behaviour:
      "SANDBOX_A approves another amount, which counts as no answer; approved at SANDBOX_B, the hold is voided.",
    onA: { act: "approve_wrong_amount" },
    onB: approve,
    outcome: approvedByBAfter("GATEWAY_ERROR"),
  },
  {
    number: "4000000000004061",
    name: "Currency mismatch",
    group: "nasty",
    behaviour:
      "SANDBOX_A approves another currency, which counts as no answer; approved at SANDBOX_B, the hold is voided.",
    onA: { act: "approve_wrong_currency" },
    onB: approve,
    outcome: approvedByBAfter("GATEWAY_ERROR"),
  },
  {
    number: "4000000000004210",
    name: "Wrong reference",
    group: "nasty",
    behaviour:
      "SANDBOX_A's answer names another payment, which counts as no answer; approved at SANDBOX_B, the hold is voided.",
    onA: { act: "approve_wrong_reference" },
    onB: approve,
    outcome: approvedByBAfter("GATEWAY_ERROR"),
  },
];

export const nastyCards: readonly TestCard[] = [...lostAnswers, ...noAnswers, ...captures, ...wrongAnswers];
