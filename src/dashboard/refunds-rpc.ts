/** Refunds by members and operators: proto ↔ refunds. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type DecideRefundRequest,
  DecideRefundResponseSchema,
  DecideRefundRequest_Decision as Decision,
  type PaymentService,
  RefundPaymentResponseSchema,
} from "../../gen/dashboard/v1/payments_pb.ts";
import {
  ExportRefundsResponseSchema,
  GetRefundLimitsResponseSchema,
  GetRefundResponseSchema,
  ListRefundsResponseSchema,
  type RefundService,
  type SetRefundLimitsRequest,
  SetRefundLimitsResponseSchema,
} from "../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { signPageToken, verifyPageToken } from "../core/page-token.ts";
import { loadSession } from "../core/record/load-session.ts";
import type { Refund } from "../core/rows/entities.ts";
import type { RefundReason } from "../gateways/connector.ts";
import { pageSizeDefault } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { decimalOf, isCurrency, isoExponent } from "../platform/money.ts";
import {
  loadRefundLimits,
  type RefundingRole,
  type RefundLimits,
  recordRefundLimits,
  refundingRoles,
  requireWithinLimit,
} from "../refunds/daily-limit.ts";
import { decideRefund } from "../refunds/decide-refund.ts";
import { refundIdOf } from "../refunds/refund-rows.ts";
import { recordRequest } from "../refunds/request-refund.ts";
import { findRefund, type ListedRefund, listRefunds, type RefundFilter } from "../reporting/refund-list.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { csvLine } from "./csv.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { amountMessage } from "./payment-messages.ts";
import { refundFilterOf, refundMessage, statusOf } from "./refund-messages.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";
import { requireRevision, revisionOf } from "./settings-revision.ts";
import { requireId } from "./webhook-messages.ts";

/** The rpcs that refund, and that record a person's decision about a refund. Each writes an audit row. */
export function createRefundMethods(): Pick<ServiceImpl<typeof PaymentService>, "refundPayment" | "decideRefund"> {
  return {
    async refundPayment(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const sessionId = requireId("ps", request.sessionId, "payment");
      const { idempotencyKey: key, amountMinor, reason, refundRef } = request;
      const id = refundIdOf(sessionId, key);
      const { replayed, refund } = await change(async (tx) => {
        const replayed = await recordRequest(
          tx,
          environment.core,
          {
            ...{ merchantId, sessionId, key, refundRef, madeBy: rpcContext.actor },
            amountMinor: amountMinor === undefined ? undefined : Number(amountMinor),
            reason: reason as RefundReason | undefined,
          },
          id,
        );
        const { session, refunds } = await loadSession(tx, sessionId);
        const refund = { ...refunds.find((one) => one.id === id)!, orderRef: session.orderRef, alarm: undefined };
        if (replayed) return { replayed, refund };
        await requireRoleLimit(tx, context, refund);
        const { amountMinor: minor, currency, gateway } = refund;
        const after = { sessionId: request.sessionId, amountMinor: minor, currency, gateway, reason, refundRef };
        await rpcContext.audit(tx, { subject: encodeId("ref", id), after });
        return { replayed, refund };
      });
      return create(RefundPaymentResponseSchema, { refund: refundMessage(refund), replayed });
    },

    async decideRefund(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const { sessionId, refundId, reason } = request;
      const decision = decisionOf(request);
      const named = {
        ...{ merchantId, sessionId: requireId("ps", sessionId, "payment"), id: requireId("ref", refundId, "refund") },
        ...{ by: rpcContext.actor, reason },
      };
      await change(async (tx) => {
        const { status } = await decideRefund(tx, { ...named, ...decision });
        await rpcContext.audit(tx, {
          subject: refundId,
          before: { status },
          after: { sessionId, ...decision, reason },
        });
      });
      return create(DecideRefundResponseSchema, {});
    },
  };
}

/** Applies a member's daily limit to the refund that was recorded last. Operators have none. */
async function requireRoleLimit(tx: Tx, context: HandlerContext, { amountMinor, currency }: Refund): Promise<void> {
  const { merchantId, rpcContext } = scopedContextOf(context);
  if (!rpcContext.isMember) return;
  const { member, memberships } = rpcContext.signIn;
  const role = memberships.find((each) => each.merchantId === merchantId)?.role;
  await requireWithinLimit(tx, { merchantId, memberId: member.id, role, currency, amountMinor });
}

function decisionOf({ decision, gatewayReference }: Pick<DecideRefundRequest, "decision" | "gatewayReference">) {
  const isMade = decision === Decision.MADE;
  if (isMade !== (gatewayReference !== "")) {
    const rule = isMade ? "must name the refund at the gateway" : "is for a refund that was made";
    throw new DomainError("invalid_field", `gatewayReference ${rule}.`, { field: "gatewayReference" });
  }
  if (isMade) return { type: "succeeded", gatewayReference } as const;
  return { type: decision === Decision.SEND ? "send" : "failed" } as const;
}

// Rows of one call of an export: a quarter of a megabyte.
const exportRows = 1_000;

/** The rpcs that list, show and export refunds, and that show and set how much members may refund. */
export function createRefundService({ runtime }: DashboardParts): ServiceImpl<typeof RefundService> {
  /** An export continues with its own tokens only: a token of the list would leave no audit row. */
  type Page = { readonly list: "refunds" | "refunds export"; readonly count: number; readonly token: string };
  const loadPage = async ({ merchantId, environment }: Scope, filter: RefundFilter, page: Page) => {
    const key = environment.core.pageTokenKey;
    const scope = JSON.stringify([page.list, merchantId, filter]);
    const now = runtime.now();
    const after = page.token === "" ? undefined : verifyPageToken(key, { scope, token: page.token, now });
    const { lastPosition: lastId, ...found } = await listRefunds(environment.reads, {
      ...{ merchantId, filter, after, count: page.count },
    });
    return { ...found, nextPageToken: lastId === undefined ? "" : signPageToken(key, { scope, lastId, now }) };
  };
  return {
    async listRefunds({ filter, pageSize, pageToken }, context) {
      const page = { list: "refunds", count: pageSize ?? pageSizeDefault, token: pageToken } as const;
      const found = await loadPage(scopedContextOf(context), refundFilterOf(filter), page);
      const { refunds, nextPageToken, searchedBackTo } = found;
      return create(ListRefundsResponseSchema, {
        refunds: refunds.map(refundMessage),
        nextPageToken,
        ...(searchedBackTo && { searchedBackTo: timestampFromDate(searchedBackTo) }),
      });
    },

    async getRefund({ refundId }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const id = requireId("ref", refundId, "refund");
      const refund = await findRefund(environment.database, { merchantId, id });
      if (refund === undefined) throw new DomainError("not_found", "This refund does not exist.");
      return create(GetRefundResponseSchema, { refund: refundMessage(refund) });
    },

    async exportRefunds({ filter, pageToken }, context) {
      const { rpcContext, ...scope } = scopedContextOf(context);
      const page = { list: "refunds export", count: exportRows, token: pageToken } as const;
      const { refunds, nextPageToken } = await loadPage(scope, refundFilterOf(filter), page);
      // An export leaves one audit row, however many calls it takes.
      if (pageToken !== "") rpcContext.leaveNoRow();
      const csv = (pageToken === "" ? csvLine(columns) : "") + refunds.map(csvOf).join("");
      return create(ExportRefundsResponseSchema, { csv, refunds: refunds.length, nextPageToken });
    },

    async getRefundLimits(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const limits = await loadRefundLimits(environment.database, merchantId);
      return create(GetRefundLimitsResponseSchema, {
        limits: refundingRoles.map((role) => limitsMessage(role, limits)),
      });
    },

    async setRefundLimits(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const role = request.role === Role.OWNER ? "OWNER" : "DEVELOPER";
      const wanted = amountsOf(request);
      const limits = await change(async (tx) => {
        const before = await loadRefundLimits(tx, merchantId);
        requireRevision(request.revision, revised(role, before));
        const limits = { ...before, [role]: wanted };
        await recordRefundLimits(tx, merchantId, limits);
        const subject = `${encodeId("mer", merchantId)}/refund-limits`;
        await rpcContext.audit(tx, { subject, before: { [role]: before[role] ?? {} }, after: { [role]: wanted } });
        return limits;
      });
      return create(SetRefundLimitsResponseSchema, { limits: limitsMessage(role, limits) });
    },
  };
}

function limitsMessage(role: RefundingRole, limits: RefundLimits) {
  const amounts = revised(role, limits);
  return {
    role: Role[role],
    amounts: amounts.map(([currency, minor]) => amountMessage(minor, currency)),
    revision: revisionOf(amounts),
  };
}

/** Returns the limits of a role in the order of the currencies' codes. */
function revised(role: RefundingRole, limits: RefundLimits) {
  return Object.entries(limits[role] ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function amountsOf({ limits }: SetRefundLimitsRequest): Record<string, number> {
  const problems = limits.flatMap(({ currency }, index) => {
    const isTwice = limits.findIndex((one) => one.currency === currency) < index;
    if (isCurrency(currency) && !isTwice) return [];
    const detail = isTwice ? "is a currency that the list has already" : "is no currency of ISO 4217 in circulation";
    const pointer = `/limits/${index}/currency`;
    return [{ param: `limits[${index}].currency`, pointer, code: "invalid_field", detail } as const];
  });
  if (problems.length > 0)
    throw new DomainError("invalid_field", "Name each currency once, by its ISO 4217 code.", { problems });
  return Object.fromEntries(limits.map(({ currency, amountMinor }) => [currency, Number(amountMinor)]));
}

const columns = [
  ...["refund_id", "session_id", "order_ref", "amount", "amount_minor", "currency", "status", "gateway"],
  ...["gateway_reference", "failure_code", "reason", "refund_ref", "made_by", "created_at", "completed_at"],
];

function csvOf(refund: ListedRefund): string {
  const { amountMinor, currency, origin, madeBy, createdAt, completedAt } = refund;
  return csvLine([
    encodeId("ref", refund.id),
    encodeId("ps", refund.sessionId),
    shownOrderRef(refund.orderRef),
    decimalOf(amountMinor, isoExponent(currency)),
    amountMinor,
    currency,
    statusOf(refund),
    refund.gateway,
    refund.gatewayReference ?? "",
    refund.failureCode ?? "",
    refund.reason ?? "",
    shownOrderRef(refund.refundRef ?? ""),
    madeBy ?? (origin === "GATEWAY" ? "gateway" : "API"),
    createdAt.toISOString(),
    completedAt?.toISOString() ?? "",
  ]);
}
