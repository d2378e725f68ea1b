/**
 * Folds everything that a gateway has reported about a dispute into its state. The order of arrival means nothing.
 * PURE.
 */

import type { DisputeStage, DisputeStatus, ReportedNotice } from "../core/rows/disputes.ts";
import type { Amount } from "../gateways/amounts.ts";
import type { DisputeEvent } from "../gateways/dispute-notice.ts";
import type { Taken } from "../gateways/dispute-readings.ts";
import { type DisputeReason, disputeReasonOf } from "../gateways/dispute-reasons.ts";
import { unreachable } from "../platform/errors.ts";

export type FoldedDispute = {
  readonly stage: DisputeStage;
  readonly status: DisputeStatus;
  /** Absent while no notice has an amount that is valid here. */
  readonly amount?: { readonly amountMinor: number; readonly currency: string } | undefined;
  readonly reason: DisputeReason;
  readonly networkReasonCode?: string | undefined;
  readonly network?: string | undefined;
  readonly respondBy?: Date | undefined;
  readonly taken: readonly Taken[];
};

// The furthest that any notice reports counts. The first two of an inquiry and of a chargeback may be missing.
const order: readonly DisputeEvent[] = [
  ...([
    "remark",
    "fraudReported",
    "inquiryOpened",
    "chargebackOpened",
    "charged",
    "answered",
    "answerTimeOver",
  ] as const),
  ...([
    "issuerSilent",
    "returned",
    "chargedAgain",
    "preArbitrationOpened",
    "preArbitrationWon",
    "preArbitrationLost",
  ] as const),
];

/** Returns what a dispute of a payment is; undefined while nothing but remarks is known. `captured` is all that can be at stake. */
export function foldDispute(notices: readonly ReportedNotice[], captured?: Amount): FoldedDispute | undefined {
  // rule:dispute-order
  const ranked = notices.toSorted(byRank);
  if (ranked[0] === undefined || ranked[0].event === "remark") return undefined;
  const stage = stageOf(ranked);
  const counted = countedOf(ranked, stage);
  const amount = amountOf(ranked, captured);
  const first = ranked.filter(({ isRepeat }) => !isRepeat);
  const named = first.find(({ reasonCode }) => reasonCode !== undefined);
  const by = first.find(({ network }) => network)?.network;
  const deadlines = counted
    .filter((one) => one.respondBy !== undefined && hasDeadlineOf(stage, one.event))
    .map(({ respondBy }) => respondBy!);
  return {
    stage,
    status: statusOf(counted[0]!.event, stage),
    ...(amount && { amount }),
    reason: stage === "FRAUD_WARNING" ? "fraudulent" : disputeReasonOf(named?.reasonCode),
    ...(named && { networkReasonCode: named.reasonCode }),
    ...(by && { network: by }),
    ...(deadlines.length > 0 && { respondBy: new Date(deadlines.toSorted()[0]!) }),
    taken: takenOf(ranked, captured),
  };
}

// If two notices are of one event, the larger amount comes first.
function byRank(left: ReportedNotice, right: ReportedNotice): number {
  return (
    order.indexOf(right.event) - order.indexOf(left.event) ||
    (right.amountMinor ?? 0) - (left.amountMinor ?? 0) ||
    contentOf(left).localeCompare(contentOf(right))
  );
}

/** Returns the disputed amount, which the bank takes. An answer, or a part that came back, may be over less. */
function amountOf(ranked: readonly ReportedNotice[], captured: Amount | undefined): Amount | undefined {
  const events: readonly DisputeEvent[] = ["chargebackOpened", "charged", "chargedAgain"];
  const valued = ranked
    .toSorted((left, right) => events.indexOf(right.event) - events.indexOf(left.event))
    .find(({ event, amountMinor }) => event !== "remark" && amountMinor !== undefined);
  if (valued === undefined) return undefined;
  const currency = valued.currency!;
  const isTaken = valued.event === "charged" || valued.event === "chargedAgain";
  if (!isTaken) return { amountMinor: valued.amountMinor!, currency };
  const parts = ranked.filter((one) => one.event === valued.event && one.currency === currency);
  return { amountMinor: sumOfParts(parts, currency, captured), currency };
}

/** Adds up notices of different amounts, which are about parts. Together they are about no more than was captured. */
function sumOfParts(notices: readonly ReportedNotice[], currency: string, captured: Amount | undefined): number {
  const parts = new Set(notices.map(({ amountMinor = 0 }) => amountMinor));
  const sum = [...parts].reduce((total, part) => total + part, 0);
  // rule:dispute-parts
  return captured?.currency === currency ? Math.min(sum, Math.max(captured.amountMinor, ...parts)) : sum;
}

function contentOf({ at: _, ...content }: ReportedNotice): string {
  return JSON.stringify([content.currency, content.reasonCode, content.network, content.respondBy]);
}

// An answer, or the end of the time for one, belongs to an inquiry only if nothing says that money is at stake.
function stageOf(notices: readonly ReportedNotice[]): DisputeStage {
  const has = (...events: DisputeEvent[]) => notices.some(({ event }) => events.includes(event));
  if (has("preArbitrationOpened", "preArbitrationWon", "preArbitrationLost")) return "PRE_ARBITRATION";
  if (has("chargebackOpened", "charged", "issuerSilent", "returned", "chargedAgain")) return "CHARGEBACK";
  if (has("inquiryOpened")) return "INQUIRY";
  return has("answered", "answerTimeOver") ? "CHARGEBACK" : "FRAUD_WARNING";
}

// No signed field says whether an answer, or the end of the time for one, belongs to the inquiry or to the chargeback.
function countedOf(ranked: readonly ReportedNotice[], stage: DisputeStage): readonly ReportedNotice[] {
  if (stage === "INQUIRY" || !ranked.some(({ event }) => event === "inquiryOpened")) return ranked;
  return ranked.filter(({ event }) => event !== "answered" && event !== "answerTimeOver");
}

function hasDeadlineOf(stage: DisputeStage, event: DisputeEvent): boolean {
  if (event === "inquiryOpened") return stage === "INQUIRY";
  return event.startsWith("preArbitration")
    ? stage === "PRE_ARBITRATION"
    : stage !== "INQUIRY" && stage !== "PRE_ARBITRATION";
}

function statusOf(event: DisputeEvent, stage: DisputeStage): DisputeStatus {
  switch (event) {
    case "fraudReported":
      return "CLOSED";
    case "remark":
    case "inquiryOpened":
    case "chargebackOpened":
    case "charged":
      return "NEEDS_RESPONSE";
    case "answered":
    case "preArbitrationOpened":
      return "UNDER_REVIEW";
    case "answerTimeOver":
      return stage === "INQUIRY" ? "CLOSED" : "LOST";
    case "issuerSilent":
    case "returned":
    case "preArbitrationWon":
      return "WON";
    case "chargedAgain":
    case "preArbitrationLost":
      return "LOST";
    default:
      return unreachable(event);
  }
}

/**
 * Adds up the amounts taken and returned. Each sum only rises with every notice: an amount that comes back was taken
 * before, and one that is taken a second time came back, even if that was never reported. Notices of different amounts
 * are about parts.
 */
function takenOf(notices: readonly ReportedNotice[], captured: Amount | undefined): Taken[] {
  const moved = notices.filter(({ event }) => event === "charged" || event === "returned" || event === "chargedAgain");
  const currencies = [...new Set(moved.map(({ currency }) => currency).filter((one) => one !== undefined))].toSorted();
  return currencies.map((currency) => {
    const of = (event: DisputeEvent) => moved.filter((one) => one.event === event && one.currency === currency);
    const sum = (event: DisputeEvent) => sumOfParts(of(event), currency, captured);
    const again = sum("chargedAgain");
    const returned = of("returned").map(({ amountMinor = 0 }) => amountMinor);
    const takenMinor = Math.max(sum("charged"), again, ...returned) + again;
    const parts = [...new Set(returned)].reduce((total, part) => total + part, 0);
    return { currency, takenMinor, returnedMinor: Math.min(takenMinor, Math.max(parts, again)) };
  });
}
