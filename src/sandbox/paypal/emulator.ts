/**
 * Emulator of PayPal for tests and the demo: its real paths, tokens, statuses and request ids, in front of the test
 * bank.
 */
import { randomBytes } from "node:crypto";
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import type { Account, Accounts } from "../accounts.ts";
import type { Book } from "../books.ts";
import { losingResponses } from "../losing-answers.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "../routes.ts";
import type { StatementLine, Statements } from "../statements.ts";
import { EmulatorDisputes } from "./emulator-disputes.ts";
import { type Executed, PayPalKeys, refundKeyLifeMs } from "./emulator-keys.ts";
import { money, refundIdOf, refusal } from "./emulator-objects.ts";
import { type Asked, EmulatorOrders, type OrderParts } from "./emulator-orders.ts";
import { EmulatorRefunds, losingRefunds } from "./emulator-refunds.ts";

export type PayPalEmulatorParts = OrderParts & {
  readonly accounts: Accounts;
  readonly clock: SandboxClock;
  readonly statements: Statements;
};

const orders = "/v2/checkout/orders";
const oneOrder = `${orders}/(?<id>[^/]+)`;
const oneDispute = "/v1/customer/disputes/(?<id>[^/]+)";
const oneAuthorization = "/v2/payments/authorizations/(?<id>[^/]+)";

// A few minutes less than nine hours, like PayPal's.
const tokenLifeS = 32_000;
// More than any test or demo requests; beyond it the oldest are refused.
const tokensMax = 10_000;

export function paypalRoutes(parts: PayPalEmulatorParts): readonly Route[] {
  const emulator = new EmulatorOrders(parts);
  const refunds = new EmulatorRefunds(parts, emulator);
  const disputes = new EmulatorDisputes(parts, emulator);
  const keys = new PayPalKeys(parts.clock, parts.books);
  const tokens: Book<Account> = parts.books.open("paypal token", tokensMax);
  const route = (
    method: "GET" | "POST",
    path: string,
    operation: string,
    handle: (asked: Asked) => Executed | Promise<Executed>,
  ): Route => ({
    method,
    path: new RegExp(`^${path}$`),
    operation: `paypal.${operation}`,
    async handle(request) {
      const account = tokens.get(/^Bearer (\S+)$/.exec(String(request.headers.authorization))?.[1] ?? "");
      if (account === undefined) return refusal(401);
      const execute = async () => handle({ request, account });
      const key = request.headers["paypal-request-id"];
      // PayPal documents no key for a void.
      const isKeyed = method === "POST" && key !== undefined && operation !== "void";
      const lifeMs = operation === "refund" ? refundKeyLifeMs : undefined;
      return keys.once(isKeyed ? `${account.id} ${operation} ${key}` : undefined, execute, lifeMs);
    },
  });
  const losing = (answer: Route) =>
    losingResponses(parts.ledger, ({ parameters }) => disputes.paymentOf(parameters.id), answer);
  return [
    {
      method: "POST",
      path: /^\/v1\/oauth2\/token$/,
      operation: "paypal.token",
      handle: async (request) => openAccount(parts.accounts, tokens, request),
    },
    route("POST", orders, "create", (asked) => emulator.create(asked)),
    route("GET", oneOrder, "read", (asked) => emulator.read(asked)),
    losingCompletions(
      emulator,
      parts,
      route("POST", `${oneOrder}/authorize`, "authorize", (asked) => emulator.authorize(asked)),
    ),
    route("GET", oneAuthorization, "read_authorization", (asked) => emulator.readAuthorization(asked)),
    losingCaptures(
      emulator,
      parts,
      route("POST", `${oneAuthorization}/capture`, "capture", (asked) => emulator.capture(asked)),
    ),
    route("POST", `${oneAuthorization}/void`, "void", (asked) => emulator.void(asked)),
    route("GET", "/v2/payments/captures/(?<id>[^/]+)", "read_capture", (asked) => emulator.readCapture(asked)),
    losingRefunds(
      emulator,
      parts,
      route("POST", "/v2/payments/captures/(?<id>[^/]+)/refund", "refund", (asked) => refunds.create(asked)),
    ),
    route("GET", "/v2/payments/refunds/(?<id>[^/]+)", "read_refund", (asked) => refunds.read(asked)),
    route("GET", "/v1/reporting/transactions", "search_transactions", (asked) =>
      searchTransactions(asked, { statements: parts.statements, orders: emulator }),
    ),
    route("GET", "/v1/customer/disputes", "list_disputes", (asked) => disputes.list(asked)),
    route("GET", oneDispute, "read_dispute", (asked) => disputes.read(asked)),
    losing(route("POST", `${oneDispute}/accept-claim`, "accept_dispute", (asked) => disputes.answer(asked, "accept"))),
    losing(
      route("POST", `${oneDispute}/provide-evidence`, "submit_evidence", (asked) => disputes.answer(asked, "evidence")),
    ),
  ];
}

/**
 * Wraps a route so that a capture or its answer is lost on the way to PayPal if the card says so; outside the memory of
 * keys.
 */
function losingCaptures(emulator: EmulatorOrders, { issuer }: PayPalEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = emulator.orderOf(request.parameters.id)?.authorization?.record;
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/** Wraps a route so that the first answer after a challenge is lost if the card says so; outside the memory of keys. */
function losingCompletions(emulator: EmulatorOrders, { issuer }: PayPalEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const challenge = emulator.find(request.parameters.id)?.asked?.challenge;
      return (await issuer.carryCompletion(challenge, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/**
 * Opens the account that the last part of the client ID names, such as `…_test_shop`, with any secret as long as
 * PayPal's are.
 */
function openAccount(accounts: Accounts, tokens: Book<Account>, request: SandboxRequest): SandboxAnswer {
  const login = /^Basic (\S+)$/.exec(String(request.headers.authorization))?.[1] ?? "";
  const [clientId = "", secret = ""] = Buffer.from(login, "base64").toString().split(":");
  const id = /_((?:test|live)_[A-Za-z0-9]{1,40})$/.exec(clientId)?.[1];
  if (id === undefined || !/^[\w-]{20,128}$/.test(secret)) {
    return { status: 401, body: { error: "invalid_client", error_description: "Client Authentication failed" } };
  }
  if (new URLSearchParams(request.body).get("grant_type") !== "client_credentials") {
    return { status: 400, body: { error: "unsupported_grant_type" } };
  }
  const token = `A21AA${randomBytes(48).toString("base64url")}`;
  tokens.set(token, accounts.find(id));
  const body = { scope: "https://uri.paypal.com/payments/payments", access_token: token, token_type: "Bearer" };
  return { status: 200, body: { ...body, app_id: "APP-80W284485P519543T", expires_in: tokenLifeS } };
}

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

function searchTransactions(
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
    // By the OpenAPI file, a list is never empty.
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
