/** The rows of disputes, as the database has them. */
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { DisputeNotice } from "../../gateways/dispute-notice.ts";
import type { DisputeStage, DisputeStatus } from "../../gateways/dispute-readings.ts";
import type { DisputeReason } from "../../gateways/dispute-reasons.ts";
import type {
  AttemptId,
  ConnectionId,
  DisputeId,
  DisputeResponseId,
  MerchantId,
  SessionId,
} from "../../platform/ids.ts";

export {
  type DisputeStage,
  type DisputeStatus,
  disputeStages,
  disputeStatuses,
} from "../../gateways/dispute-readings.ts";

/** A report of a gateway, with the amount if it is valid here, and when it arrived. */
export type ReportedNotice = DisputeNotice & {
  readonly amountMinor?: number | undefined;
  readonly currency?: string | undefined;
  /** The notification's: a day that is not signed is part of it. */
  readonly id?: string | undefined;
  /** Another notification had the same signed fields before. */
  readonly isRepeat?: true | undefined;
  readonly at: string;
};

/** An owner's decision about a dispute without further news, and its status before. */
export type DisputeDecision = {
  readonly status: "WON" | "LOST";
  readonly before: DisputeStatus;
  readonly by: string;
  readonly reason: string;
};

/** The columns of `dispute`. */
export const DisputeEntity = defineEntity({
  name: "Dispute",
  tableName: "dispute",
  properties: {
    sessionId: p.uuid().primary(),
    id: p.uuid().primary(),
    merchantId: p.uuid(),
    attemptId: p.uuid(),
    connectionId: p.uuid(),
    gateway: p.text(),
    gatewayReference: p.text(),
    stage: p.text().$type<DisputeStage>(),
    status: p.text().$type<DisputeStatus>(),
    amountMinor: p.bigint("number"),
    currency: p.text(),
    heldMinor: p.bigint("number"),
    overlapMinor: p.bigint("number"),
    reason: p.text().$type<DisputeReason>(),
    networkReasonCode: p.text().nullable(),
    network: p.text().nullable(),
    respondBy: p.datetime().nullable(),
    notices: p.json<readonly ReportedNotice[]>(),
    askedAt: p.datetime().nullable(),
    openedAt: p.datetime().nullable(),
    decision: p.json<DisputeDecision>().nullable(),
    dueSoonAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    closedAt: p.datetime().nullable(),
  },
});

/** Money that was taken from the merchant for a dispute, or returned. */
export type DisputeMovement = {
  readonly type: "CHARGEBACK" | "CHARGEBACK_REVERSED";
  readonly amountMinor: number;
  readonly currency: string;
  readonly recordedAt: Date;
};

/** A document of evidence. `file` names its row. */
export type DisputeDocument = {
  readonly file: string;
  readonly type: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
};

/** An answer to a dispute: an acceptance, or evidence. One that is REFUSED has no effect. */
export type DisputeResponse = {
  readonly id: DisputeResponseId;
  readonly type: "ACCEPT" | "EVIDENCE";
  readonly stage: DisputeStage;
  readonly status: "REQUESTED" | "TAKEN" | "REFUSED";
  /** The amount that an acceptance gives up, in the payment's currency. */
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly madeBy: string | null;
  /** Hexadecimal, as PostgreSQL writes bytes. */
  readonly requestHash: string;
  readonly defense: string | null;
  readonly documents: readonly DisputeDocument[];
  readonly sends: number;
  readonly firstSentAt: Date | null;
  readonly failureCode: string | null;
  readonly createdAt: Date;
  readonly answeredAt: Date | null;
};

type Row = InferEntity<typeof DisputeEntity>;

/** A dispute of a captured payment, with its movements and responses in their order. */
export type Dispute = Omit<Row, "sessionId" | "id" | "merchantId" | "attemptId" | "connectionId"> & {
  readonly sessionId: SessionId;
  readonly id: DisputeId;
  readonly merchantId: MerchantId;
  readonly attemptId: AttemptId;
  readonly connectionId: ConnectionId;
  readonly movements: readonly DisputeMovement[];
  readonly responses: readonly DisputeResponse[];
};
