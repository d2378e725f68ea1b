/** A gateway's statements: what it paid out, line by line, as it is read. */

import type { Secret } from "../platform/secrets.ts";
import type { Amount } from "./amounts.ts";

// The same type as in connector.ts, which imports this file.
type GatewayCall = {
  readonly credentials: Readonly<Record<string, Secret>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** The subject of a line. `OTHER`: a type that we do not know. */
export type LineKind =
  | ("CAPTURE" | "REFUND" | "REFUND_FAILED" | "CHARGEBACK" | "CHARGEBACK_REVERSED")
  | ("FEE" | "RESERVE" | "CONVERSION" | "ADJUSTMENT" | "PAYOUT" | "OTHER");

/** The names of what moved, as far as the line has them. */
export type LineNames = {
  /** The gateway's reference of the payment, and of its capture. */
  readonly payment?: string | undefined;
  readonly capture?: string | undefined;
  /** Our attempt id. */
  readonly attempt?: string | undefined;
  /** The gateway's reference of the refund, and our refund id. */
  readonly refund?: string | undefined;
  readonly ourRefund?: string | undefined;
  readonly dispute?: string | undefined;
};

/** The amounts that moved in the currency of the payout: gross less fee is net. Negative if taken from the merchant. */
export type SettledAmounts = {
  readonly grossMinor: number;
  readonly feeMinor: number;
  readonly netMinor: number;
  readonly currency: string;
};

export type StatementLine = {
  /** Unique within the account; another reading of the line has the same. */
  readonly lineId: string;
  readonly kind: LineKind;
  /** The gateway's own name of the type. */
  readonly gatewayType: string;
  /** The reference of the movement; empty if the line has none. */
  readonly gatewayReference: string;
  readonly names: LineNames;
  /** The amount in the payment's currency. Absent, like `settled`, if it cannot be read exactly. */
  readonly gross?: Amount | undefined;
  readonly settled?: SettledAmounts | undefined;
  /** The payout that has the line. */
  readonly payoutReference?: string | undefined;
};

export type StatementPayout = Amount & {
  readonly gatewayReference: string;
  readonly status: "PENDING" | "PAID" | "FAILED";
  /** In the form year-month-day. */
  readonly arrivesOn?: string | undefined;
  /** True once the gateway knows all its lines. */
  readonly isComplete: boolean;
};

/**
 * A part of a list, and where the next one begins. `refused`: the credentials may not read it, or it has a form that we do not know.
 * `missing`: the gateway has no such report. `unknown`: nothing could be read.
 */
export type StatementPage<Record> =
  | { readonly type: "page"; readonly records: readonly Record[]; readonly next?: string | undefined }
  | StatementFailure;

export type StatementFailure = { readonly type: "refused" | "missing" | "unknown"; readonly reason: string };

/** The part of a connector whose gateway lists its statements. Calls never throw and never repeat themselves. */
export type ListedStatements = {
  readonly type: "listed";
  /** The interval between readings, in milliseconds; hourly if absent. */
  readonly everyMs?: number | undefined;
  /** Time that a line may take until it is listed, in milliseconds: readings overlap by it. */
  readonly lagMs: number;
  /** Lists lines of this time, or of one payout. */
  readonly readLines: (
    call: GatewayCall,
    query: {
      readonly since: Date;
      readonly until: Date;
      readonly payout?: string | undefined;
      readonly page?: string | undefined;
    },
  ) => Promise<StatementPage<StatementLine>>;
  /** Absent if the lines of a payout are not known. */
  readonly readPayouts?: (
    call: GatewayCall,
    query: { readonly since: Date; readonly page?: string | undefined },
  ) => Promise<StatementPage<StatementPayout>>;
};

/** A report that is read from its beginning, and what it comes to. */
type StatementReport = { readonly type: "report"; readonly rows: AsyncIterable<ReportRow> } | StatementFailure;

/** A row of a report, with the payout of its batch; `payout` once the row says what the batch pays out. */
export type ReportRow = {
  /** The row's number, from 0, without the header. */
  readonly row: number;
  readonly line: StatementLine & { readonly payoutReference: string };
  readonly payout?: StatementPayout | undefined;
};

/** The part of a connector whose gateway makes reports. */
export type ReportedStatements = {
  readonly type: "reported";
  readonly everyMs?: number | undefined;
  /** False if the account has no credentials for reports. */
  readonly canRead: (credentials: GatewayCall["credentials"]) => boolean;
  /** Iterating throws a `StatementError` for a report that breaks off, or has another form. Rows before `fromRow` are left out. */
  readonly openReport: (
    call: GatewayCall,
    report: { readonly name: string; readonly fromRow: number },
  ) => Promise<StatementReport>;
};

export type GatewayStatements = ListedStatements | ReportedStatements;

/** A report that cannot be read any further. */
export class StatementError extends Error {
  readonly failure: StatementFailure;

  constructor(failure: StatementFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}
