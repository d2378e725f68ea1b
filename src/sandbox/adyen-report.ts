/**
 * Settlement detail reports as Adyen makes them: the columns of
 * https://docs.adyen.com/reporting/settlement-reconciliation/transaction-level/settlement-details-report (2026). SANDBOX_B makes the same.
 */
import { currencies } from "../gateways/adyen/currencies.ts";
import type { Account } from "./accounts.ts";
import type { NotificationContent } from "./b-notifications.ts";
import type { SandboxAnswer } from "./routes.ts";
import type { Payout, StatementLine } from "./statements.ts";

const columns = [
  ...["Company Account", "Merchant Account", "Psp Reference", "Merchant Reference", "Payment Method", "Creation Date"],
  ...["TimeZone", "Type", "Modification Reference", "Gross Currency", "Gross Debit (GC)", "Gross Credit (GC)"],
  ...["Exchange Rate", "Net Currency", "Net Debit (NC)", "Net Credit (NC)", "Commission (NC)", "Markup (NC)"],
  ...[
    "Scheme Fees (NC)",
    "Interchange (NC)",
    "Payment Method Variant",
    "Modification Merchant Reference",
    "Batch Number",
  ],
  ...["Reserved4", "Reserved5", "Reserved6", "Reserved7", "Reserved8", "Reserved9", "Reserved10"],
];

/** The names of a line at the acquirer. */
export type ReportNames = { readonly payment: string; readonly modification: string };

const types = {
  capture: "Settled",
  refund: "Refunded",
  refund_failed: "RefundedReversed",
  chargeback: "Chargeback",
  chargeback_reversed: "ChargebackReversed",
} as const;

const reportName = (batch: number) => `settlement_detail_report_batch_${batch}.csv`;

export function batchOf(name: string): number {
  return Number(/^settlement_detail_report_batch_(\d+)\.csv$/.exec(name)?.[1]);
}

export function reportOf(
  account: string,
  payouts: readonly Payout[],
  namesOf: (line: StatementLine) => ReportNames,
): string {
  const rows = payouts.flatMap(({ lines, batch, currency, amount, paidMs }) => [
    ...lines.map((line) => rowOf(line, { account, batch, names: namesOf(line) })),
    {
      ...common({ account, batch, atMs: paidMs, type: "MerchantPayout", currency }),
      "Modification Reference": `TX${paidMs} batch ${batch}`,
      ...columnsOf("Net", "NC", -amount, currency),
    },
  ]);
  const lines = rows.map((row: Readonly<Record<string, string>>) =>
    columns.map((column) => quoted(row[column] ?? "")).join(","),
  );
  return `${[columns.join(","), ...lines].join("\n")}\n`;
}

function rowOf(
  { type, atMs, payment, refund, gross, fee, net, currency }: StatementLine,
  { account, batch, names }: { readonly account: string; readonly batch: number; readonly names: ReportNames },
): Readonly<Record<string, string>> {
  return {
    ...common({ account, batch, atMs, type: types[type], currency }),
    "Psp Reference": names.payment,
    "Merchant Reference": payment.reference,
    "Modification Reference": names.modification,
    "Modification Merchant Reference": refund?.reference ?? "",
    "Payment Method": payment.network,
    "Exchange Rate": "1",
    ...columnsOf("Gross", "GC", gross, currency),
    ...columnsOf("Net", "NC", net, currency),
    "Commission (NC)": fee === 0 ? "" : decimal(fee, currency),
  };
}

function common({
  account,
  batch,
  atMs,
  type,
  currency,
}: {
  account: string;
  batch: number;
  atMs: number;
  type: string;
  currency: string;
}) {
  return {
    "Company Account": "Sandbox",
    "Merchant Account": account,
    "Creation Date": new Date(atMs).toISOString().slice(0, 19).replace("T", " "),
    TimeZone: "UTC",
    Type: type,
    "Gross Currency": currency,
    "Net Currency": currency,
    "Batch Number": String(batch),
  };
}

function columnsOf(name: "Gross" | "Net", short: "GC" | "NC", value: number, currency: string) {
  const [debit, credit] = value < 0 ? [decimal(-value, currency), ""] : ["", decimal(value, currency)];
  return { [`${name} Debit (${short})`]: debit, [`${name} Credit (${short})`]: credit };
}

function decimal(value: number, currency: string): string {
  const decimals = currencies[currency] ?? 2;
  return (value / 10 ** decimals).toFixed(decimals);
}

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function csv(text: string): SandboxAnswer {
  return { status: 200, body: {}, page: text, headers: { "content-type": "text/csv; charset=utf-8" } };
}

/** Returns the notification that a report can be downloaded; its address is not signed. */
export function reportContent(
  account: Account,
  { batch, origin, from }: { batch: number; origin: string; from?: "b" | "adyen" },
): NotificationContent {
  const name = reportName(batch);
  return {
    eventCode: "REPORT_AVAILABLE",
    success: true,
    pspReference: name,
    merchantReference: "",
    ...(from && { from }),
    reason: `https://${origin}/${account.id}/${name}`,
  };
}
