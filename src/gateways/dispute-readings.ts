/** A gateway's record of disputes, and the pages in which it is read. */
import type { Amount } from "./amounts.ts";
import type { DisputeReason } from "./dispute-reasons.ts";

export const disputeStages = ["FRAUD_WARNING", "INQUIRY", "CHARGEBACK", "PRE_ARBITRATION"] as const;
export type DisputeStage = (typeof disputeStages)[number];
export const disputeStatuses = ["NEEDS_RESPONSE", "UNDER_REVIEW", "WON", "LOST", "ACCEPTED", "CLOSED"] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

/** Amounts taken from the merchant and returned, in one currency. `returnedMinor` is never more than `takenMinor`. */
export type Taken = { readonly currency: string; readonly takenMinor: number; readonly returnedMinor: number };

/** A gateway's record of one dispute of one payment, at the time of the request. */
export type DisputeReading = {
  readonly gatewayReference: string;
  /** The gateway's reference for the payment, or for its capture, and the attempt that the record names. */
  readonly paymentReference?: string | undefined;
  readonly captureReference?: string | undefined;
  readonly attemptReference?: string | undefined;
  readonly stage: DisputeStage;
  readonly status: DisputeStatus;
  /** The gateway's own status, if it means nothing here. */
  readonly unknownStatus?: string | undefined;
  /** Absent if it is not valid here. */
  readonly amount?: Amount | undefined;
  /** The gateway's own reason; absent or `other` if it gives none. */
  readonly reason?: DisputeReason | undefined;
  readonly networkReasonCode?: string | undefined;
  readonly network?: string | undefined;
  readonly respondBy?: Date | undefined;
  readonly openedAt?: Date | undefined;
  /** True if the record has an answer of ours, whatever its status says. */
  readonly isAnswered?: boolean | undefined;
  readonly taken: readonly Taken[];
};

/** A page of the list. `refused`: the credentials may not read disputes. `unknown`: nothing could be read. */
export type DisputePage =
  | { readonly type: "page"; readonly disputes: readonly DisputeReading[]; readonly next?: string | undefined }
  | { readonly type: "refused"; readonly reason: string }
  | { readonly type: "unknown"; readonly reason: string };

/** The disputes of one payment. `unreadable`: the credentials may not read them, or nothing names the payment. Undefined: the gateway did not say. */
export type PaymentDisputes = readonly DisputeReading[] | "unreadable" | undefined;

/** Selects the disputes since `since`, from `page` on. `askedAt` returns the time of a dispute's last reading. */
export type DisputeQuery = {
  readonly since: Date;
  readonly page?: string | undefined;
  readonly askedAt: (gatewayReference: string) => Promise<Date | undefined>;
};
