/** Customers who dispute a payment, banks that decide, and a merchant who answers, as the dice draw them. */
import type { DisputeEvent } from "../../gateways/dispute-notice.ts";
import type { Dice } from "./dice.ts";

/** A bank's next event, and the time until then. */
export type BankStep = { readonly event: DisputeEvent; readonly afterMs: number };

/** A dispute, and its bank's steps. */
export type PlannedDispute = {
  /** Time from the capture to its first step. */
  readonly afterMs: number;
  /** The disputed share of the captured amount, in hundredths. */
  readonly percent: number;
  readonly begins: readonly BankStep[];
  /**
   * Time for an answer after its last step; then it ends, or continues as after evidence if the gateway takes no
   * answer.
   */
  readonly answerMs: number;
  /** False: the gateway takes no answer. No signed field tells whether an answer was to an inquiry or to the chargeback after it. */
  readonly isAnswerable: boolean;
  /** The steps after evidence. */
  readonly decides: readonly BankStep[];
};

/** An answer of the merchant. Two that meet are two people with one page each. */
export type PlannedResponse = {
  readonly type: "ACCEPT" | "EVIDENCE";
  /** Time after the merchant has learned of the dispute. */
  readonly afterMs: number;
};

export type DisputeSchedule = {
  readonly disputes: readonly PlannedDispute[];
  readonly responses: readonly PlannedResponse[];
  /** Gateways that are read have statements of what they moved. */
  readonly hasStatements: boolean;
  /** Their statements have two lines of each movement. */
  readonly hasCopies: boolean;
  /** A gateway takes a second answer while a bank looks at the first one. */
  readonly takesAgain: boolean;
  /** Time after the first answer during which what gateways say to answers is lost. */
  readonly unheardMs: number;
};

const minuteMs = 60_000;
const disputingRuns = 0.02;
const disputedRefunds = 0.5;

/** Draws the disputes of a run; undefined in most runs. Half of the runs with refunds have some. */
export function drawDisputes(dice: Dice, hasRefunds: boolean): DisputeSchedule | undefined {
  if (!dice.chance(hasRefunds ? disputedRefunds : disputingRuns)) return undefined;
  return {
    disputes: Array.from({ length: dice.pick([1, 1, 1, 2]) }, () => drawDispute(dice)),
    responses: Array.from({ length: dice.pick([0, 1, 2, 2, 3]) }, () => drawResponse(dice)),
    hasStatements: dice.chance(0.5),
    hasCopies: dice.chance(0.3),
    takesAgain: dice.chance(0.5),
    unheardMs: dice.chance(0.3) ? dice.between(minuteMs, 20 * minuteMs) : 0,
  };
}

function drawDispute(dice: Dice): PlannedDispute {
  const step = (event: DisputeEvent): BankStep => ({
    event,
    afterMs: dice.between(0, dice.pick([20, 5_000, 10 * minuteMs])),
  });
  const begins = dice
    .weighted<readonly DisputeEvent[]>([
      [5, ["charged"]],
      [4, ["chargebackOpened", "charged"]],
      [2, ["inquiryOpened"]],
      [2, ["inquiryOpened", "charged"]],
      [1, ["fraudReported"]],
      [2, ["fraudReported", "charged"]],
    ])
    .map(step);
  const isInquiry = begins[0]?.event === "inquiryOpened";
  const isMixed = isInquiry && begins.length > 1;
  const decides = dice.weighted<readonly DisputeEvent[]>([
    ...(isMixed ? [] : ([[3, ["answerTimeOver"]]] as const)),
    ...(isInquiry && !isMixed
      ? []
      : ([
          [4, ["returned"]],
          [1, ["issuerSilent", "returned"]],
          [2, ["returned", "chargedAgain"]],
          [1, ["returned", "preArbitrationOpened", "preArbitrationWon"]],
          [1, ["returned", "preArbitrationOpened", "preArbitrationLost"]],
        ] as const)),
  ]);
  return {
    afterMs: dice.between(0, dice.pick([10, 2_000, minuteMs, 15 * minuteMs])),
    percent: dice.pick([100, 100, dice.between(1, 99)]),
    begins,
    answerMs: dice.between(minuteMs, 40 * minuteMs),
    isAnswerable: !isMixed,
    decides: decides.map(step),
  };
}

function drawResponse(dice: Dice): PlannedResponse {
  return {
    type: dice.pick(["ACCEPT", "EVIDENCE", "EVIDENCE"]),
    afterMs: dice.between(0, dice.pick([5, 2_000, 5 * minuteMs])),
  };
}
