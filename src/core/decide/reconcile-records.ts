/** Reconciles a gateway's record of an attempt with ours. PURE. */

import type { LookUpAnswer } from "../../gateways/connector.ts";
import { amountInWords } from "../../platform/money.ts";
import type { Attempt, AttemptStatus } from "../rows/entities.ts";

export type OurRecord = Pick<Attempt, "status" | "captureOrderedAt" | "gatewayReference"> & {
  readonly captureConfirmed: boolean;
  /** True for a hold that waits until its merchant orders the capture. */
  readonly isHeld?: boolean;
} & Partial<Pick<Attempt, "amountMinor" | "capturedAmountMinor" | "currency">>;

/** The gateway's record, and whether it was just read or assembled from its notifications. */
export type TheirRecord = { readonly answer: LookUpAnswer; readonly source: "read" | "notifications" };

/**
 * The result of a reconciliation. `underway`: the flow has not ended the attempt yet and will get the gateway's answer
 * itself. `lookAtHold`: it gets it at its next look at the hold, which is due now.
 */
export type Verdict =
  | { readonly type: "agree" | "underway" | "lookAtHold" | "inconclusive" }
  | { readonly type: "orphan"; readonly gatewayReference: string }
  | { readonly type: "mismatch"; readonly detail: string };

type Conclusive = Exclude<LookUpAnswer, { type: "inconclusive" }>;

// The stage of an attempt, as far as the gateway's record depends on it.
type Stage = "beingAsked" | "open" | "held" | "captureOrdered" | "captureAccepted" | "captured" | "withoutHold";

type Cell = "agree" | "underway" | "lookAtHold" | "mismatch" | "orphan";

// A hold over another amount counts as a hold.
const matrix: Record<Stage, Record<Exclude<Conclusive["type"], "heldOther">, Cell>> = {
  beingAsked: { held: "underway", captured: "mismatch", voided: "underway", declined: "underway", absent: "underway" },
  open: { held: "underway", captured: "mismatch", voided: "underway", declined: "underway", absent: "underway" },
  // A capture by a person at the gateway counts as the merchant's order, and a void as the end of the hold.
  held: { held: "underway", captured: "lookAtHold", voided: "lookAtHold", declined: "underway", absent: "underway" },
  // Repeated until an answer of the gateway ends it.
  captureOrdered: {
    held: "underway",
    captured: "underway",
    voided: "underway",
    declined: "underway",
    absent: "underway",
  },
  // A capture that the gateway has only accepted may take days.
  captureAccepted: {
    held: "underway",
    captured: "agree",
    voided: "mismatch",
    declined: "mismatch",
    absent: "mismatch",
  },
  captured: { held: "mismatch", captured: "agree", voided: "mismatch", declined: "mismatch", absent: "mismatch" },
  // There is no hold and no money, whichever word the gateway uses for this.
  withoutHold: { held: "orphan", captured: "mismatch", voided: "agree", declined: "agree", absent: "agree" },
};

const stages: Record<AttemptStatus, Stage> = {
  AUTHORIZING: "beingAsked",
  AWAITING_CUSTOMER: "beingAsked",
  AUTHORIZED: "open",
  UNKNOWN: "open",
  VOIDING: "open",
  CAPTURED: "captured",
  DECLINED: "withoutHold",
  FAILED: "withoutHold",
  VOIDED: "withoutHold",
};

/** Reconciles the two records of one attempt. */
export function reconcileRecords(ours: OurRecord, theirs: TheirRecord): Verdict {
  const { answer, source } = theirs;
  if (answer.type === "inconclusive") return { type: "inconclusive" };
  const named = "gatewayReference" in answer ? answer.gatewayReference : undefined;
  const isOurs = named === ours.gatewayReference;
  const other = otherAmountIn(ours, answer);
  if (other !== undefined) return { type: "mismatch", detail: other };
  const cell = matrix[stageOf(ours)][answer.type === "heldOther" ? "held" : answer.type];
  // A notification describes the time at which it was sent; we have learned since that this hold is gone.
  if (cell === "orphan" && source === "notifications" && isOurs) return { type: "agree" };
  if (cell === "orphan" && named !== undefined) return { type: "orphan", gatewayReference: named };
  const isForeign = answer.type === "captured" && !isOurs;
  if (cell === "mismatch" || cell === "orphan" || (isForeign && (cell === "agree" || cell === "lookAtHold"))) {
    return { type: "mismatch", detail: describe(ours, answer.type, named) };
  }
  return { type: cell };
}

/** Describes a capture of another amount than the ordered one; undefined if there is none. */
function otherAmountIn(
  { amountMinor, capturedAmountMinor, currency = "" }: OurRecord,
  answer: LookUpAnswer,
): string | undefined {
  if (answer.type !== "captured" || amountMinor === undefined || capturedAmountMinor == null) return undefined;
  const { capturedMinor = amountMinor } = answer;
  if (capturedMinor === capturedAmountMinor) return undefined;
  const [captured, ordered] = [capturedMinor, capturedAmountMinor].map((minor) => amountInWords(minor, currency));
  return `The gateway has captured ${captured}, and ${ordered} was ordered.`;
}

function stageOf({ status, captureOrderedAt, captureConfirmed, isHeld }: OurRecord): Stage {
  const stage = stages[status];
  if (isHeld) return "held";
  if (stage === "open" && captureOrderedAt) return "captureOrdered";
  return stage === "captured" && !captureConfirmed ? "captureAccepted" : stage;
}

function describe(ours: OurRecord, theirs: Conclusive["type"], named: string | undefined): string {
  const ordered = ours.captureOrderedAt ? "" : ", its capture never ordered";
  return `Our record is ${ours.status}${ordered}${shown(ours.gatewayReference)}; the gateway's is ${theirs}${shown(named)}.`;
}

// The gateway chose the text, so it is cut to fit a row.
function shown(gatewayReference: string | null | undefined): string {
  return gatewayReference ? ` (${gatewayReference.slice(0, 100)})` : "";
}
