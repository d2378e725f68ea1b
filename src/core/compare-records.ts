/** What it means when a gateway's record of an attempt is held against ours. PURE. */
import type { LookUpAnswer } from "../gateways/connector.ts";
import type { Attempt, AttemptStatus } from "./entities.ts";

/** Our side: the attempt, and whether its session counts the capture as confirmed. */
export type OurRecord = Pick<Attempt, "status" | "captureStartedAt" | "gatewayReference"> & {
  readonly captureConfirmed: boolean;
};

/** The gateway's side, and whether it was read just now or put together from the notices that came in. */
export type TheirRecord = { readonly answer: LookUpAnswer; readonly source: "read" | "notices" };

/** `underway`: the flow has not ended the matter yet, and will hear from the gateway itself. */
export type Verdict =
  | { readonly type: "agree" | "underway" | "cannotTell" }
  | { readonly type: "stray"; readonly gatewayReference: string }
  | { readonly type: "mismatch"; readonly detail: string };

type Told = Exclude<LookUpAnswer, { type: "cannotTell" }>;

// How far an attempt is, as far as the gateway's record is concerned.
type Stage = "beingAsked" | "open" | "captureOrdered" | "captureAccepted" | "captured" | "withoutHold";

type Cell = "agree" | "underway" | "mismatch" | "stray";

// A hold over another amount is a hold all the same.
const matrix: Record<Stage, Record<Exclude<Told["type"], "heldOther">, Cell>> = {
  beingAsked: { held: "underway", captured: "mismatch", voided: "underway", declined: "underway", absent: "underway" },
  open: { held: "underway", captured: "mismatch", voided: "underway", declined: "underway", absent: "underway" },
  // Repeated until the gateway's answer ends it, whichever that is.
  captureOrdered: {
    held: "underway",
    captured: "underway",
    voided: "underway",
    declined: "underway",
    absent: "underway",
  },
  // A capture that was only taken on may take the gateway days.
  captureAccepted: {
    held: "underway",
    captured: "agree",
    voided: "mismatch",
    declined: "mismatch",
    absent: "mismatch",
  },
  captured: { held: "mismatch", captured: "agree", voided: "mismatch", declined: "mismatch", absent: "mismatch" },
  // No hold and no money: by which of the words a gateway says so makes no difference.
  withoutHold: { held: "stray", captured: "mismatch", voided: "agree", declined: "agree", absent: "agree" },
};

const stages: Record<AttemptStatus, Stage> = {
  AUTHORIZING: "beingAsked",
  AUTHORIZED: "open",
  UNKNOWN: "open",
  VOIDING: "open",
  CAPTURED: "captured",
  DECLINED: "withoutHold",
  FAILED: "withoutHold",
  VOIDED: "withoutHold",
};

/** Compares the two records of one attempt. */
export function compareRecords(ours: OurRecord, theirs: TheirRecord): Verdict {
  const { answer, source } = theirs;
  if (answer.type === "cannotTell") return { type: "cannotTell" };
  const named = "gatewayReference" in answer ? answer.gatewayReference : undefined;
  const isOurs = named === ours.gatewayReference;
  const cell = matrix[stageOf(ours)][answer.type === "heldOther" ? "held" : answer.type];
  // A notice tells of the moment it was sent: of this very hold we have heard since that it is gone.
  if (cell === "stray" && source === "notices" && isOurs) return { type: "agree" };
  if (cell === "stray" && named !== undefined) return { type: "stray", gatewayReference: named };
  if (cell === "mismatch" || cell === "stray" || (cell === "agree" && answer.type === "captured" && !isOurs)) {
    return { type: "mismatch", detail: describe(ours, answer.type, named) };
  }
  return { type: cell };
}

function stageOf({ status, captureStartedAt, captureConfirmed }: OurRecord): Stage {
  const stage = stages[status];
  if (stage === "open" && captureStartedAt) return "captureOrdered";
  return stage === "captured" && !captureConfirmed ? "captureAccepted" : stage;
}

function describe(ours: OurRecord, theirs: Told["type"], named: string | undefined): string {
  const ordered = ours.captureStartedAt ? "" : ", its capture never ordered";
  return `Our record is ${ours.status}${ordered}${shown(ours.gatewayReference)}; the gateway's is ${theirs}${shown(named)}.`;
}

// A gateway's word, so not longer than a row has room for.
function shown(gatewayReference: string | null | undefined): string {
  return gatewayReference ? ` (${gatewayReference.slice(0, 100)})` : "";
}
