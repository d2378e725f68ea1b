/** Reads PayPal's transactions: the OpenAPI file of Transaction Search (2024), and what its records mean. A withdrawal does not name its lines. */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { Amount } from "../amounts.ts";
import type { GatewayCall, VerifyRow } from "../connector.ts";
import { statementsRow } from "../disputes-row.ts";
import type { LineKind, LineNames, ListedStatements, StatementLine, StatementPage } from "../statements.ts";
import type { PayPalApi } from "./api.ts";
import { fromMoney } from "./currencies.ts";
import type { Json } from "./refusals.ts";

const path = "/v1/reporting/transactions";
const day = 24 * 60 * 60_000;
// "The maximum supported range is 31 days": the OpenAPI file.
const windowMs = 31 * day;
// "It takes a maximum of three hours for executed transactions to appear": the same. A transaction also changes within days.
const lagMs = 3 * day;
// The number of records of a page, at most 500 by the same file. A hundred stay well below what a connector reads of
// one answer.
const pageSize = 100;

export function paypalStatements(api: PayPalApi): ListedStatements {
  return {
    type: "listed",
    lagMs,
    async readLines(call, { since, until, page: place }) {
      const [from = secondsOf(since), page = "1"] = place?.split("~") ?? [];
      const to = new Date(Math.min(until.getTime(), Date.parse(from) + windowMs));
      const read = pageIn(await list(api, call, { from, to: secondsOf(to), page, size: pageSize }));
      if (read.type !== "page") return read;
      if (Number(page) < read.pages) return { ...read, next: `${from}~${Number(page) + 1}` };
      return { ...read, next: to < until ? `${secondsOf(to)}~1` : undefined };
    },
  };
}

/** Checks that the transactions can be read. */
export async function checkStatements(api: PayPalApi, call: GatewayCall, now: Date): Promise<VerifyRow> {
  const range = { from: secondsOf(new Date(now.getTime() - day)), to: secondsOf(now) };
  const reply = await list(api, call, { ...range, page: "1", size: 1 });
  return statementsRow(reply, "Enable Transaction search for the app in PayPal's developer dashboard.");
}

function list(
  api: PayPalApi,
  call: GatewayCall,
  {
    from,
    to,
    page,
    size,
  }: { readonly from: string; readonly to: string; readonly page: string; readonly size: number },
): Promise<GatewayReply> {
  const query = new URLSearchParams({
    ...{ start_date: from, end_date: to, fields: "transaction_info", balance_affecting_records_only: "Y" },
    ...{ page_size: String(size), page },
  });
  return api.get(call, `${path}?${query}`);
}

const secondsOf = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;

function pageIn(
  reply: GatewayReply,
):
  | (Extract<StatementPage<StatementLine>, { type: "page" }> & { readonly pages: number })
  | Exclude<StatementPage<StatementLine>, { type: "page" }> {
  if (reply.type !== "answer") return { type: "unknown", reason: reply.reason };
  const { status } = reply;
  if (status === 401) return { type: "refused", reason: "the credentials are not valid" };
  if (status === 403) return { type: "refused", reason: "the app may not search transactions" };
  const json = status === 200 ? readJsonObject(reply) : undefined;
  const { transaction_details: details = [], total_pages: pages = 1 } = json ?? {};
  if (json === undefined || !Array.isArray(details) || typeof pages !== "number") {
    return { type: "unknown", reason: `the answer is no list (HTTP ${status})` };
  }
  const infos = details.map((one: unknown) => (isObject(one) ? one.transaction_info : undefined)).filter(isObject);
  return { type: "page", records: infos.map(lineIn).filter((one) => one !== undefined), pages };
}

// A pending or denied transaction has moved nothing for good.
const moved: readonly unknown[] = ["S", "V"];

function lineIn(info: Json): StatementLine | undefined {
  const { transaction_id: id, transaction_event_code: code, transaction_initiation_date: begunAt } = info;
  if (typeof id !== "string" || typeof code !== "string" || !moved.includes(info.transaction_status)) return undefined;
  const gross = signed(info.transaction_amount);
  const taken = info.fee_amount === undefined && gross ? { ...gross, amountMinor: 0 } : signed(info.fee_amount);
  const isExact = gross !== undefined && taken !== undefined && gross.currency === taken.currency;
  const kind = kindOf(code, gross?.amountMinor ?? 0);
  const amount = isObject(info.transaction_amount) ? String(info.transaction_amount.value) : "";
  return {
    // "A transaction ID is not unique in the reporting system": the OpenAPI file.
    lineId: [id, code, amount, String(begunAt)].join(" ").slice(0, 255),
    kind,
    gatewayType: code,
    gatewayReference: id,
    names: namesIn(info, kind),
    ...(isExact && {
      gross,
      settled: {
        grossMinor: gross.amountMinor,
        feeMinor: 0 - taken.amountMinor,
        netMinor: gross.amountMinor + taken.amountMinor,
        currency: gross.currency,
      },
    }),
  };
}

/** "The event group portion is sufficient for reconciliation": https://developer.paypal.com/reports/reference/t-codes/ (2026). */
function kindOf(code: string, amountMinor: number): LineKind {
  if (code === "T1107") return "REFUND";
  if (code === "T1106" || code === "T1201") return "CHARGEBACK";
  if (code === "T1202") return "CHARGEBACK_REVERSED";
  if (code === "T1110" || code === "T1111") return "RESERVE";
  const group = code.slice(0, 3);
  // The merchant's payments to others are in the same group.
  if (group === "T00") return amountMinor > 0 ? "CAPTURE" : "ADJUSTMENT";
  if (group === "T01") return "FEE";
  if (group === "T02") return "CONVERSION";
  if (group === "T04") return "PAYOUT";
  return /^T\d\d$/.test(group) ? "ADJUSTMENT" : "OTHER";
}

function namesIn(
  { transaction_id: id, invoice_id: invoice, paypal_reference_id: base }: Json,
  kind: LineKind,
): LineNames {
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const name = text(invoice);
  const isOurRefund = name?.startsWith("ref_") === true;
  const attempt = isOurRefund ? undefined : name;
  if (kind === "CAPTURE") return { capture: text(id), attempt };
  if (kind === "REFUND")
    return { refund: text(id), capture: text(base), ...(isOurRefund ? { ourRefund: name } : { attempt }) };
  return kind === "CHARGEBACK" || kind === "CHARGEBACK_REVERSED" ? { capture: text(base), attempt } : {};
}

function signed(money: unknown): Amount | undefined {
  if (!isObject(money) || typeof money.value !== "string") return undefined;
  const isNegative = money.value.startsWith("-");
  const amount = fromMoney({ ...money, value: isNegative ? money.value.slice(1) : money.value });
  return amount && { ...amount, amountMinor: isNegative ? 0 - amount.amountMinor : amount.amountMinor };
}
