/** Transactions at PayPal's emulator: the OpenAPI file of Transaction Search (2024). */
import type { StatementLine, Statements } from "../statements.ts";
import type { Executed } from "./emulator-keys.ts";
import { money, refundIdOf, refusal } from "./emulator-objects.ts";
import type { Asked, EmulatorOrders } from "./emulator-orders.ts";

type Fields = Readonly<Record<string, unknown>>;

// https://developer.paypal.com/reports/reference/t-codes/ (2026).
const codes = {
  capture: "T0006",
  refund: "T1107",
  refund_failed: "T1114",
  chargeback: "T1201",
  chargeback_reversed: "T1202",
} as const;
// "The maximum supported range is 31 days": the OpenAPI file.
const rangeMs = 31 * 24 * 60 * 60 * 1_000;

export function searchTransactions(
  { request, account }: Asked,
  { statements, orders }: { readonly statements: Statements; readonly orders: EmulatorOrders },
): Executed {
  const { query } = request;
  const [fromMs, toMs] = [Date.parse(query.get("start_date") ?? ""), Date.parse(query.get("end_date") ?? "")];
  const [size, page] = [Number(query.get("page_size") ?? "100"), Number(query.get("page") ?? "1")];
  const isValid = toMs - fromMs <= rangeMs && size >= 1 && size <= 500 && page >= 1;
  if (!isValid) return { answer: refusal(400) };
  const lines = statements.lines("PAYPAL", account.id).filter(({ atMs }) => atMs >= fromMs && atMs < toMs + 1_000);
  const found = lines.slice((page - 1) * size, page * size).map((line) => detailOf(line, orders));
  const body = {
    // No list is empty: the OpenAPI file.
    ...(found.length > 0 && { transaction_details: found }),
    ...{ account_number: "SANDBOXMERCHANT", start_date: query.get("start_date"), end_date: query.get("end_date") },
    ...{ page, total_items: lines.length, total_pages: Math.max(1, Math.ceil(lines.length / size)) },
  };
  return { answer: { status: 200, body } };
}

function detailOf(line: StatementLine, orders: EmulatorOrders): Fields {
  const { id, type, atMs, payment, refund, gross, fee, currency } = line;
  const order = orders.orderOfRecord(payment.id);
  const captureId = order?.authorization?.captureId;
  const at = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
  const base = refund
    ? refundIdOf(refund)
    : type === "capture"
      ? captureId
      : id
          .replace(/[^a-z0-9]/g, "")
          .slice(-17)
          .toUpperCase();
  return {
    transaction_info: {
      transaction_id: base,
      ...(type !== "capture" && { paypal_reference_id: captureId, paypal_reference_id_type: "TXN" }),
      transaction_event_code: codes[type],
      transaction_initiation_date: at,
      transaction_updated_date: at,
      transaction_amount: money({ value: gross, currency }),
      ...(fee !== 0 && { fee_amount: money({ value: -fee, currency }) }),
      transaction_status: "S",
      invoice_id: refund?.reference || order?.invoiceId,
    },
  };
}
