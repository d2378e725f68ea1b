/**
 * Reads Adyen's settlement detail reports: the columns by their names, and the types of rows, are those of
 * https://docs.adyen.com/reporting/settlement-reconciliation/transaction-level/settlement-details-report (2026). SANDBOX_B makes the same.
 */
import type { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { isCurrency, isoExponent } from "../../platform/money.ts";
import type { GatewayDownload } from "../../platform/outbound-http.ts";
import type { Amount } from "../amounts.ts";
import type { Credentials, GatewayCall, VerifyRow } from "../connector.ts";
import {
  type LineKind,
  type LineNames,
  type ReportedStatements,
  type ReportRow,
  type SettledAmounts,
  StatementError,
} from "../statements.ts";

const reportBytesMax = 256 * 1024 * 1024;
// A row has 30 short values.
const rowBytesMax = 64 * 1024;

/** Reports whether a signed file name is that of a settlement detail report. Nothing else is fetched. */
export function isReportName(name: string): boolean {
  return /^settlement_detail_report_[A-Za-z0-9_-]{1,100}\.csv$/.test(name);
}

type Download = (call: GatewayCall, name: string, bytesMax: number) => Promise<GatewayDownload>;

export function adyenStatements({
  download,
  canRead = hasReportCredentials,
  everyMs,
}: {
  readonly download: Download;
  readonly canRead?: (credentials: Credentials) => boolean;
  readonly everyMs?: number | undefined;
}): ReportedStatements {
  return {
    type: "reported",
    everyMs,
    canRead,
    async openReport(call, { name, fromRow }) {
      if (!isReportName(name)) return { type: "refused", reason: "the report has another name" };
      const reply = await download(call, name, reportBytesMax);
      if (reply.type === "download") return { type: "report", rows: rowsOf(reply.body, fromRow) };
      if (reply.type === "noAnswer") return { type: "unknown", reason: reply.reason };
      const { status } = reply;
      if (status === 401 || status === 403)
        return { type: "refused", reason: "the credentials may not download reports" };
      const type = status === 404 || status === 410 ? "missing" : "unknown";
      return { type, reason: `the report is not there (HTTP ${status})` };
    },
  };
}

/** Checks that reports can be downloaded: of one that does not exist, the credentials are judged all the same. */
export async function checkReports(download: Download, call: GatewayCall): Promise<VerifyRow> {
  const row = { check: "settlement", required: false } as const;
  const remedy =
    "Enter the credentials of a report user, and have Adyen notify about reports (REPORT_AVAILABLE); until then, payouts are seen at Adyen only.";
  if (!hasReportCredentials(call.credentials))
    return { ...row, state: "failed", detail: `No report is read. ${remedy}` };
  const reply = await download(call, "settlement_detail_report_batch_0.csv", 1_024);
  if (reply.type === "download") reply.body.destroy();
  const isRefused = reply.type === "refused" && (reply.status === 401 || reply.status === 403);
  if (reply.type === "noAnswer" || isRefused) {
    const why = reply.type === "noAnswer" ? reply.reason : `HTTP ${reply.status}`;
    return { ...row, state: "failed", detail: `The reports could not be read (${why}). ${remedy}` };
  }
  return { ...row, state: "passed", detail: "The credentials for reports are accepted." };
}

function hasReportCredentials({ reportApiKey, reportUser, reportPassword }: Credentials): boolean {
  return Boolean(reportApiKey?.expose() || (reportUser?.expose() && reportPassword?.expose()));
}

const columns = [
  ...([
    "Merchant Account",
    "Psp Reference",
    "Merchant Reference",
    "Type",
    "Modification Reference",
    "Gross Currency",
  ] as const),
  ...(["Gross Debit (GC)", "Gross Credit (GC)", "Net Currency", "Net Debit (NC)", "Net Credit (NC)"] as const),
  ...(["Commission (NC)", "Markup (NC)", "Scheme Fees (NC)", "Interchange (NC)", "Batch Number"] as const),
] as const;
// A column that some accounts' reports lack.
const ourRefundColumn = "Modification Merchant Reference";
type Row = Readonly<Record<(typeof columns)[number], string>> & { readonly [ourRefundColumn]?: string };

async function* rowsOf(body: Readable, fromRow: number): AsyncGenerator<ReportRow> {
  const parser = parse({ bom: true, max_record_size: rowBytesMax, columns: requireColumns });
  body.once("error", (error) => parser.destroy(error));
  parser.on("error", () => undefined);
  try {
    let row = 0;
    for await (const record of body.pipe(parser)) {
      if (row >= fromRow) yield rowIn(record as Row, row);
      row++;
    }
  } catch (error) {
    if (error instanceof StatementError) throw error;
    // A CSV error means that the file is no report of this form. With any other error, the download broke off.
    const type = error instanceof CsvError ? "refused" : "unknown";
    const why = error instanceof CsvError ? `${error.code} in row ${error.lines}` : "it broke off";
    throw new StatementError({ type, reason: `the report could not be read to its end (${why})` });
  } finally {
    body.destroy();
  }
}

function requireColumns(header: readonly string[]): string[] {
  const refuse = (reason: string) => {
    throw new StatementError({ type: "refused", reason });
  };
  if (header[0]?.startsWith("-----BEGIN PGP")) refuse("the report is encrypted");
  const missing = columns.find((column) => !header.includes(column));
  if (missing !== undefined) refuse(`the report has no column ${missing}`);
  return [...header];
}

/** The kind of each type of row; the page named above. */
const kinds: Readonly<Record<string, LineKind>> = {
  ...{ Settled: "CAPTURE", Refunded: "REFUND", RefundedReversed: "REFUND_FAILED" },
  ...{ Chargeback: "CHARGEBACK", SecondChargeback: "CHARGEBACK", ChargebackReversed: "CHARGEBACK_REVERSED" },
  ...{ Fee: "FEE", MiscCosts: "FEE", PaymentCost: "FEE", InvoiceDeduction: "FEE", MerchantPayout: "PAYOUT" },
  ...{ DepositCorrection: "ADJUSTMENT", Balancetransfer: "ADJUSTMENT", ManualCorrected: "ADJUSTMENT" },
  ...{ MatchedStatement: "ADJUSTMENT", BankInstructionReturned: "ADJUSTMENT", EpaPaid: "ADJUSTMENT" },
  ...{ PaidOut: "ADJUSTMENT", PaidOutReversed: "ADJUSTMENT" },
};
const ofPayments: ReadonlySet<LineKind> = new Set([
  ...(["CAPTURE", "REFUND", "REFUND_FAILED", "CHARGEBACK", "CHARGEBACK_REVERSED"] as const),
]);

function rowIn(record: Row, row: number): ReportRow {
  const kind = Object.hasOwn(kinds, record.Type) ? kinds[record.Type]! : "OTHER";
  const amounts = amountsIn(record, ofPayments.has(kind));
  const payoutReference = `${record["Batch Number"]}-${record["Net Currency"]}`;
  const reference = ofPayments.has(kind) ? record["Modification Reference"] || record["Psp Reference"] : "";
  const line: ReportRow["line"] = {
    lineId: `${record["Batch Number"]}:${row}`,
    kind,
    gatewayType: record.Type,
    gatewayReference: reference,
    names: namesIn(record, kind),
    ...amounts,
    payoutReference,
  };
  if (kind !== "PAYOUT" || amounts === undefined) return { row, line };
  const { netMinor, currency } = amounts.settled;
  const payout = { gatewayReference: payoutReference, amountMinor: -netMinor, currency };
  return { row, line, payout: { ...payout, status: "PAID", isComplete: true } };
}

function namesIn(record: Row, kind: LineKind): LineNames {
  if (!ofPayments.has(kind)) return {};
  const text = (value: string | undefined) => (value ? value : undefined);
  const modification = text(record["Modification Reference"]);
  const isOfRefund = kind === "REFUND" || kind === "REFUND_FAILED";
  return {
    payment: text(record["Psp Reference"]),
    attempt: text(record["Merchant Reference"]),
    ...(kind === "CAPTURE" && { capture: modification }),
    ...(isOfRefund && { refund: modification, ourRefund: text(record[ourRefundColumn]) }),
    ...((kind === "CHARGEBACK" || kind === "CHARGEBACK_REVERSED") && { dispute: modification }),
  };
}

/** Reads the amounts, which are in major units; undefined if one of them is not exact. */
function amountsIn(
  record: Row,
  isOfPayment: boolean,
): { readonly gross: Amount; readonly settled: SettledAmounts } | undefined {
  const currency = record["Net Currency"];
  const net = differenceIn(record["Net Credit (NC)"], record["Net Debit (NC)"], currency);
  if (net === undefined) return undefined;
  // A line that concerns the account alone has no gross, and is no fee of a payment.
  if (!isOfPayment) {
    return {
      gross: { amountMinor: net, currency },
      settled: { grossMinor: net, feeMinor: 0, netMinor: net, currency },
    };
  }
  const grossCurrency = record["Gross Currency"];
  const gross = differenceIn(record["Gross Credit (GC)"], record["Gross Debit (GC)"], grossCurrency);
  const fee = grossCurrency === currency && gross !== undefined ? gross - net : feeIn(record, currency);
  if (gross === undefined || fee === undefined) return undefined;
  return {
    gross: { amountMinor: gross, currency: grossCurrency },
    settled: { grossMinor: net + fee, feeMinor: fee, netMinor: net, currency },
  };
}

/** Returns the fee of an amount that was converted: a blended commission, or the sum of its parts. */
function feeIn(record: Row, currency: string): number | undefined {
  const parts = record["Commission (NC)"]
    ? [record["Commission (NC)"]]
    : [record["Markup (NC)"], record["Scheme Fees (NC)"], record["Interchange (NC)"]];
  const minor = parts.map((part) => minorOf(part || "0", currency));
  return minor.some((one) => one === undefined) ? undefined : minor.reduce((sum, one) => sum! + one!, 0);
}

function differenceIn(credit: string, debit: string, currency: string): number | undefined {
  if (credit === "" && debit === "") return undefined;
  const [added, taken] = [minorOf(credit || "0", currency), minorOf(debit || "0", currency)];
  return added === undefined || taken === undefined ? undefined : added - taken;
}

/** Returns a decimal in minor units; undefined if it has more decimals than the currency. Moves digits, never rounds. */
function minorOf(decimal: string, currency: string): number | undefined {
  const found = /^(-?)(\d{1,15})(?:\.(\d*?)0*)?$/.exec(decimal);
  if (!found || !isCurrency(currency)) return undefined;
  const [, sign = "", whole = "", fraction = ""] = found;
  const exponent = isoExponent(currency);
  if (fraction.length > exponent) return undefined;
  const minor = Number(whole + fraction.padEnd(exponent, "0"));
  if (!Number.isSafeInteger(minor)) return undefined;
  return sign === "-" && minor !== 0 ? -minor : minor;
}
