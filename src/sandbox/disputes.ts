/** Plans the disputes of a captured payment: the reports, and when each is due. PURE. */
import type { DisputeBehaviour } from "../gateways/sandbox/card-behaviour.ts";

/** The reports of disputes, as Adyen names them. */
export type DisputeReport =
  | ("NOTIFICATION_OF_FRAUD" | "REQUEST_FOR_INFORMATION" | "CHARGEBACK")
  | ("INFORMATION_SUPPLIED" | "CHARGEBACK_REVERSED" | "SECOND_CHARGEBACK" | "DISPUTE_DEFENSE_PERIOD_ENDED");

/** A report: the time after the plan's beginning, and whether a whole refund by then prevents it. */
type DisputeStep = { readonly afterMs: number; readonly report: DisputeReport; readonly unlessRefunded?: true };

type DisputePlan = {
  readonly begins: "captured" | "refundTaken" | "refundMade";
  readonly steps: readonly DisputeStep[];
};

const second = 1_000;
const day = 24 * 60 * 60 * second;
const charged = { afterMs: 5 * second, report: "CHARGEBACK" } as const;

const disputePlans: Readonly<Record<DisputeBehaviour, DisputePlan>> = {
  charged: { begins: "captured", steps: [charged] },
  asked: {
    begins: "captured",
    steps: [
      { afterMs: 5 * second, report: "REQUEST_FOR_INFORMATION" },
      { afterMs: day, report: "CHARGEBACK", unlessRefunded: true },
    ],
  },
  warned: { begins: "captured", steps: [{ afterMs: 5 * second, report: "NOTIFICATION_OF_FRAUD" }] },
  after_refund: { begins: "refundMade", steps: [charged] },
  charged_again: {
    begins: "captured",
    steps: [
      charged,
      { afterMs: 10 * second, report: "INFORMATION_SUPPLIED" },
      { afterMs: 15 * second, report: "CHARGEBACK_REVERSED" },
      { afterMs: 20 * second, report: "SECOND_CHARGEBACK" },
    ],
  },
  during_refund: { begins: "refundTaken", steps: [{ afterMs: 0, report: "CHARGEBACK" }] },
  answers_lost: { begins: "captured", steps: [charged] },
};

/** The merchant's answer, and the bank's decision: without a verdict the dispute waits. */
export type DisputeAnswer = {
  readonly type: "accept" | "evidence";
  readonly atMs: number;
  readonly verdict: "won" | "lost" | "none";
  readonly isDecided?: true;
};

/** The dispute of a payment: when its plan began, how many of its steps are over, and the reports that were made. */
export type Disputed = {
  readonly fromMs: number;
  readonly made: number;
  readonly reports?: readonly DisputeReport[];
  readonly answer?: DisputeAnswer;
  /** The amounts that the bank took and returned, under the dispute's reference. */
  readonly moved?: readonly DisputeMoved[];
  /** True once the answer to a response was lost on the way. */
  readonly answerWasLost?: true;
};

/** Money that a report took or returned; RFC 3339. */
export type DisputeMoved = {
  readonly at: string;
  readonly report: "CHARGEBACK" | "CHARGEBACK_REVERSED" | "SECOND_CHARGEBACK";
  readonly dispute: string;
};

/** Returns the money that a report moves; a second chargeback only takes a returned amount. */
export function movedBy(
  report: DisputeReport,
  { moved = [] }: Disputed,
  id: string,
): Omit<DisputeMoved, "at"> | undefined {
  const isReturned = moved.at(-1)?.report === "CHARGEBACK_REVERSED";
  if (report === "SECOND_CHARGEBACK") return isReturned ? { report, dispute: `dispute_${id}_again` } : undefined;
  return report === "CHARGEBACK" || report === "CHARGEBACK_REVERSED" ? { report, dispute: `dispute_${id}` } : undefined;
}

/** Time that the bank takes to decide. */
export const verdictAfterMs = 5 * second;

/**
 * Stripe's words for tests: https://docs.stripe.com/testing#disputes (2026). All emulators take them, anywhere in the
 * request.
 */
export function verdictIn(evidence: string): DisputeAnswer["verdict"] {
  if (evidence.includes("winning_evidence")) return "won";
  return evidence.includes("losing_evidence") ? "lost" : "none";
}

/** Reports whether a payment's dispute begins with this change. */
export function beginsDispute(behaviour: DisputeBehaviour | undefined, change: DisputePlan["begins"]): boolean {
  return behaviour !== undefined && disputePlans[behaviour].begins === change;
}

/** Returns the next report of a dispute, and its time; undefined after the last one. */
export function nextReport(behaviour: DisputeBehaviour, { fromMs, made }: Pick<Disputed, "fromMs" | "made">) {
  const step = disputePlans[behaviour].steps[made];
  return step && { ...step, timeMs: fromMs + step.afterMs };
}

/** Returns the content of a report beside its signed fields. */
export function disputeFacts(report: DisputeReport, { fromMs }: Disputed): Readonly<Record<string, string>> {
  const asks = report === "CHARGEBACK" || report === "REQUEST_FOR_INFORMATION";
  return {
    ...(report === "NOTIFICATION_OF_FRAUD"
      ? { nofReasonCode: "6", nofSchemeCode: "visa" }
      : { chargebackReasonCode: "13.1", chargebackSchemeCode: "visa" }),
    ...(asks && { defensePeriodEndsAt: new Date(fromMs + 18 * day).toISOString() }),
  };
}

/** A dispute as an acquirer returns it when it is read. A second chargeback is a separate dispute. */
export type DisputeRecord = {
  readonly id: string;
  readonly stage: "fraud_warning" | "inquiry" | "chargeback";
  readonly status: "needs_response" | "under_review" | "won" | "lost" | "accepted" | "closed";
  readonly openedMs: number;
  readonly respondByMs: number;
  readonly isTaken: boolean;
  readonly isReturned: boolean;
};

/** Returns the disputes of a payment, from the reports that were made; the newest first. */
export function disputeRecords(
  id: string,
  behaviour: DisputeBehaviour | undefined,
  disputed: Disputed | undefined,
): readonly DisputeRecord[] {
  const { fromMs, made, reports = [], answer }: Disputed = disputed ?? { fromMs: 0, made: 0 };
  if (behaviour === undefined || reports.length === 0) return [];
  const { steps } = disputePlans[behaviour];
  const has = (report: DisputeReport) => reports.includes(report);
  const at = (report: DisputeReport) => fromMs + (steps.find((step) => step.report === report)?.afterMs ?? 0);
  const openedMs = fromMs + steps[0]!.afterMs;
  const times = { openedMs, respondByMs: fromMs + 18 * day };
  const none = { isTaken: false, isReturned: false };
  if (has("NOTIFICATION_OF_FRAUD")) return [{ id, stage: "fraud_warning", status: "closed", ...times, ...none }];
  const decided = answer && answeredStatus(answer);
  if (!has("CHARGEBACK")) {
    const status = made < steps.length ? "needs_response" : "closed";
    return [
      {
        id,
        stage: "inquiry",
        status: decided === "won" || decided === "lost" ? "closed" : (decided ?? status),
        ...times,
        ...none,
      },
    ];
  }
  const [isReturned, isAnswered] = [has("CHARGEBACK_REVERSED") || decided === "won", has("INFORMATION_SUPPLIED")];
  const status = decided ?? (isReturned ? "won" : isAnswered ? "under_review" : "needs_response");
  const first = { id, stage: "chargeback", status, ...times, isTaken: true, isReturned } as const;
  if (!has("SECOND_CHARGEBACK")) return [first];
  const again = {
    ...first,
    id: `${id}_again`,
    status: "lost",
    openedMs: at("SECOND_CHARGEBACK"),
    isReturned: false,
  } as const;
  return [again, first];
}

function answeredStatus({ type, verdict, isDecided }: DisputeAnswer): "accepted" | "under_review" | "won" | "lost" {
  if (type === "accept") return "accepted";
  return isDecided && verdict !== "none" ? verdict : "under_review";
}
