/** What becomes of a captured payment whose card is disputed: the reports, and when each is due. PURE. */
import type { DisputeBehaviour } from "../gateways/sandbox/card-behaviour.ts";

/** The reports of disputes, as Adyen names them. */
export type DisputeReport =
  | ("NOTIFICATION_OF_FRAUD" | "REQUEST_FOR_INFORMATION" | "CHARGEBACK")
  | ("INFORMATION_SUPPLIED" | "CHARGEBACK_REVERSED" | "SECOND_CHARGEBACK");

/** One report: the time after the plan's beginning, and whether a whole refund by then prevents it. */
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
};

/** The dispute of a payment: when its plan began, and how many of its reports were made. */
export type Disputed = { readonly fromMs: number; readonly made: number };

/** Reports whether a payment's dispute begins with this change. */
export function beginsDispute(behaviour: DisputeBehaviour | undefined, change: DisputePlan["begins"]): boolean {
  return behaviour !== undefined && disputePlans[behaviour].begins === change;
}

/** Returns the next report of a dispute, and its time; undefined after the last one. */
export function nextReport(behaviour: DisputeBehaviour, { fromMs, made }: Disputed) {
  const step = disputePlans[behaviour].steps[made];
  return step && { ...step, timeMs: fromMs + step.afterMs };
}

/** Returns what a report tells beside its signed fields. */
export function disputeFacts(report: DisputeReport, { fromMs }: Disputed): Readonly<Record<string, string>> {
  const asks = report === "CHARGEBACK" || report === "REQUEST_FOR_INFORMATION";
  return {
    ...(report === "NOTIFICATION_OF_FRAUD"
      ? { nofReasonCode: "6", nofSchemeCode: "visa" }
      : { chargebackReasonCode: "13.1", chargebackSchemeCode: "visa" }),
    ...(asks && { defensePeriodEndsAt: new Date(fromMs + 18 * day).toISOString() }),
  };
}
