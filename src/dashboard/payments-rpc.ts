/** A merchant's payments for its people: proto ↔ core. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  CountPaymentsResponseSchema,
  ExportPaymentsResponseSchema,
  ListPaymentsResponseSchema,
  PaymentMatch_By,
  type PaymentSchema,
  type PaymentService,
} from "../../gen/dashboard/v1/payments_pb.ts";
import { adoptCapturedByHand, orderCancel, orderCapture, type TakenHold } from "../core/capture-later.ts";
import { loadSession } from "../core/record/load-session.ts";
import { isHeld, isProcessing } from "../core/rows/payment.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { decimalOf, isoCurrencies, isoExponent } from "../platform/money.ts";
import { whyNotRefundable } from "../refunds/request-refund.ts";
import { loadCustomerTotals } from "../reporting/customer-totals.ts";
import { loadPayment } from "../reporting/payment-details.ts";
import { countPayments, type ListedPayment, listPayments } from "../reporting/payment-list.ts";
import { searchPayments } from "../reporting/payment-search.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { createDecisionMethods } from "./attempt-decisions-rpc.ts";
import { csvLine } from "./csv.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { disputeFields } from "./dispute-messages.ts";
import { loadWalkedPage } from "./paging.ts";
import { amountMessage, filterOf, paymentMessage, summaryMessage } from "./payment-messages.ts";
import { refundFields } from "./refund-messages.ts";
import { createRefundMethods } from "./refunds-rpc.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

/** The rpcs that list, find, show and export payments, and those by which people resolve an attempt. */
export function createPaymentService({ runtime }: DashboardParts): ServiceImpl<typeof PaymentService> {
  const loadPage = (scope: Scope, { filter: wanted, ...page }: Page) => {
    const { merchantId, environment } = scope;
    const filter = filterOf(wanted);
    return loadWalkedPage(scope, { ...page, filter, now: runtime.now() }, (place) =>
      listPayments(environment.reads, { merchantId, filter, ...place }),
    );
  };
  return {
    async listPayments({ filter, pageSize, pageToken }, context) {
      const page = { list: "payments", filter, pageSize, pageToken } as const;
      const { rows, ...more } = await loadPage(scopedContextOf(context), page);
      return create(ListPaymentsResponseSchema, { payments: rows.map(summaryMessage), ...more });
    },

    async countPayments(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const filter = filterOf(request.filter);
      const { payments, amounts, countedBackTo } = await countPayments(environment.reads, { merchantId, filter });
      return create(CountPaymentsResponseSchema, {
        payments,
        amounts: amounts.map(({ amountMinor, currency }) => amountMessage(BigInt(amountMinor), currency)),
        captured: amounts
          .filter(({ capturedMinor }) => capturedMinor !== "0")
          .map(({ capturedMinor, currency }) => amountMessage(BigInt(capturedMinor), currency)),
        ...(countedBackTo && { countedBackTo: timestampFromDate(countedBackTo) }),
      });
    },

    async searchPayments(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const text = request.text.trim();
      if (text === "") return {};
      const { matches, customerRef } = await searchPayments(environment.reads, { merchantId, text });
      return {
        matches: matches.map(({ payment, by }) => ({ payment: summaryMessage(payment), by: PaymentMatch_By[by] })),
        customerRef: customerRef ?? "",
      };
    },

    async getCustomerTotals({ customer }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { case: by, value = "" } = customer;
      const named = by === "email" ? { email: value } : { customerRef: value };
      const totals = await loadCustomerTotals(environment.reads, merchantId, named);
      return {
        totals: totals.map(({ payments, succeeded, currency, capturedMinor, refundedMinor }) => ({
          payments,
          succeeded,
          captured: amountMessage(BigInt(capturedMinor), currency),
          refunded: amountMessage(BigInt(refundedMinor), currency),
        })),
      };
    },

    async getPayment(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const sessionId = requireId("ps", request.sessionId, "payment");
      const payment = await loadPayment(environment.database, { merchantId, sessionId });
      if (payment === undefined) throw new DomainError("not_found", "This payment does not exist.");
      const refunded = refundFields(payment, whyNotRefundable(environment.core, payment));
      const disputing = { connectorOf: environment.core.connectorOf, now: runtime.now() };
      const message: MessageInitShape<typeof PaymentSchema> = paymentMessage(payment);
      return { payment: Object.assign(message, refunded, payment.disputes && disputeFields(payment, disputing)) };
    },

    ...createRefundMethods(),
    ...createHoldMethods(),
    ...createDecisionMethods(),

    listCurrencies() {
      const currencies = isoCurrencies.toSorted().map((code) => ({ code, exponent: isoExponent(code) }));
      return { currencies };
    },

    async exportPayments({ filter, pageToken }, context) {
      const { rpcContext, ...scope } = scopedContextOf(context);
      const page = { list: "payments export", filter, pageToken } as const;
      const { rows, nextPageToken } = await loadPage(scope, page);
      // An export leaves one audit row, however many calls it takes.
      if (pageToken !== "") rpcContext.leaveNoRow();
      const headings = pageToken === "" ? csvLine(columns) : "";
      const csv = headings + rows.map(csvOf).join("");
      return create(ExportPaymentsResponseSchema, { csv, payments: rows.length, nextPageToken });
    },
  };
}

type Page = Omit<Parameters<typeof loadWalkedPage>[1], "filter" | "now"> & {
  readonly filter: Parameters<typeof filterOf>[0];
};

const columns = [
  "session_id",
  "order_ref",
  "amount",
  "amount_minor",
  "currency",
  "status",
  "processing",
  "gateways",
  "captured_via",
  "failover",
  "decline_code",
  "card_brand",
  "card_last4",
  "created_at",
  "settled_at",
  "held_until",
  "gateway_reference",
  "amount_captured",
  "amount_refunded",
  "dispute_status",
  "dispute_respond_by",
];

function csvOf(payment: ListedPayment): string {
  const { amountMinor, capturedMinor, refundedMinor, currency, status, dispute } = payment;
  const exponent = isoExponent(currency);
  return csvLine([
    encodeId("ps", payment.id),
    shownOrderRef(payment.orderRef),
    decimalOf(amountMinor, exponent),
    amountMinor,
    currency,
    status,
    String(isProcessing(payment)),
    payment.gateways.join(" "),
    payment.capturedVia ?? "",
    String(payment.failover),
    payment.declineCode ?? "",
    payment.cardBrand ?? "",
    payment.cardLast4 ?? "",
    payment.createdAt.toISOString(),
    payment.settledAt?.toISOString() ?? "",
    (isHeld(payment) && payment.heldUntil?.toISOString()) || "",
    payment.gatewayReference ?? "",
    capturedMinor === null ? "" : decimalOf(capturedMinor, exponent),
    decimalOf(refundedMinor, exponent),
    dispute?.status ?? "",
    dispute?.respondBy ? new Date(dispute.respondBy).toISOString() : "",
  ]);
}

/** The rpcs that capture and cancel held payments. Each writes an audit row; a worker calls the gateway. */
function createHoldMethods(): Pick<ServiceImpl<typeof PaymentService>, "capturePayment" | "cancelPayment"> {
  return {
    async capturePayment(request, context) {
      const amountMinor = request.amountMinor === undefined ? undefined : Number(request.amountMinor);
      const { environment } = scopedContextOf(context);
      const done = await giveOrder(context, request, (tx, held) =>
        orderCapture(tx, environment.core, { ...held, amountMinor }),
      );
      return done;
    },

    async cancelPayment(request, context) {
      const { environment } = scopedContextOf(context);
      const done = await giveOrder(context, request, (tx, held) => orderCancel(tx, environment.core, held));
      return done;
    },
  };
}

type Held = { readonly merchantId: MerchantId; readonly sessionId: SessionId; readonly workMs: number };

/**
 * Gives an order about a held payment and audits it, unless it was given before. The hold is read at its gateway first:
 * a capture by a person there counts as the order.
 */
async function giveOrder(
  context: HandlerContext,
  request: { readonly sessionId: string; readonly reason: string },
  order: (tx: Tx, held: Held) => Promise<TakenHold | undefined>,
) {
  const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
  const sessionId = requireId("ps", request.sessionId, "payment");
  const database = rpcContext.transactingIn(environment);
  await adoptCapturedByHand({ ...environment.core, database }, { merchantId, sessionId });
  return change(async (tx) => {
    const taken = await order(tx, { merchantId, sessionId, workMs: 0 });
    const { session, attempts } = await loadSession(tx, sessionId);
    const held =
      attempts.find(({ id }) => id === (session.winnerAttemptId ?? taken?.attempt.id)) ??
      attempts.find(({ captureOrderedAt }) => captureOrderedAt !== null);
    const { gateway = "", capturedAmountMinor = null } = held ?? {};
    const amountMinor = capturedAmountMinor ?? session.amountMinor;
    const { currency } = session;
    const after = { amountMinor, currency, gateway, reason: request.reason };
    if (taken !== undefined) await rpcContext.audit(tx, { subject: request.sessionId, after });
    return { amountMinor: BigInt(amountMinor), currency, gateway, replayed: taken === undefined };
  });
}
