/** Refunds by members and operators: proto ↔ refunds. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type DecideRefundRequest,
  DecideRefundRequest_Decision as Decision,
  type PaymentService,
  RefundPaymentResponseSchema,
} from "../../gen/dashboard/v1/payments_pb.ts";
import {
  ExportRefundsResponseSchema,
  ListRefundsResponseSchema,
  type RefundService,
} from "../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { roleFor } from "../accounts/members.ts";
import { loadSession } from "../core/record/load-session.ts";
import type { Refund } from "../core/rows/entities.ts";
import type { RefundReason } from "../gateways/connector.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { decimalOf, isoExponent } from "../platform/money.ts";
import {
  loadRefundLimits,
  lockCap,
  type RefundingRole,
  type RefundLimits,
  recordRefundLimits,
  refundingRoles,
  requireWithinLimit,
} from "../refunds/daily-limit.ts";
import { decideRefund } from "../refunds/decide-refund.ts";
import { refundIdOf } from "../refunds/refund-rows.ts";
import { recordRequest } from "../refunds/request-refund.ts";
import { findRefund, type ListedRefund, listRefunds } from "../reporting/refund-list.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { csvLine } from "./csv.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadWalkedPage } from "./paging.ts";
import { amountMessage } from "./payment-messages.ts";
import { amountsOf } from "./refund-limit-messages.ts";
import { refundFilterOf, refundMessage, statusOf } from "./refund-messages.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";
import { requireRevision, revisionOf } from "./settings-revision.ts";
import { requireId } from "./webhook-messages.ts";

/** The rpcs that refund, and that record a person's decision about a refund. Each writes an audit row. */
export function createRefundMethods(): Pick<ServiceImpl<typeof PaymentService>, "refundPayment" | "decideRefund"> {
  return {
    async refundPayment(request, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const sessionId = requireId("ps", request.sessionId, "payment");
      const { idempotencyKey: key, amountMinor, reason, refundRef } = request;
      const id = refundIdOf(sessionId, key);
      const { replayed, refund } = await rpcContext.changeEnvironment(environment, async (tx) => {
        if (rpcContext.isMember) await lockCap(tx, rpcContext.signIn.member.id);
        const replayed = await recordRequest(
          tx,
          environment.core,
          {
            merchantId,
            sessionId,
            key,
            refundRef,
            madeBy: rpcContext.actor,
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
        merchantId,
        sessionId: requireId("ps", sessionId, "payment"),
        id: requireId("ref", refundId, "refund"),
        by: rpcContext.actor,
        reason,
      };
      await change(async (tx) => {
        const { status } = await decideRefund(tx, { ...named, ...decision });
        await rpcContext.audit(tx, {
          subject: refundId,
          before: { status },
          after: { sessionId, ...decision, reason },
        });
      });
      return {};
    },
  };
}

/** Applies a member's daily limit to the refund, or the accepted dispute, that was recorded last. Operators have none. */
export async function requireRoleLimit(
  tx: Tx,
  context: HandlerContext,
  refund: Pick<Refund, "amountMinor" | "currency" | "createdAt">,
): Promise<void> {
  const { merchantId, environment, rpcContext } = scopedContextOf(context);
  if (!rpcContext.isMember) return;
  const { member, memberships } = rpcContext.signIn;
  const membership = memberships.find((each) => each.merchantId === merchantId);
  const role = membership && roleFor(membership, environment.name);
  const { amountMinor, currency, createdAt } = refund;
  await requireWithinLimit(tx, { merchantId, memberId: member.id, role, currency, amountMinor, createdAt });
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

/** The rpcs that list, show and export refunds, and that show and set how much members may refund. */
export function createRefundService({ runtime }: DashboardParts): ServiceImpl<typeof RefundService> {
  const loadPage = (scope: Scope, { filter: wanted, ...page }: Page) => {
    const { merchantId, environment } = scope;
    const filter = refundFilterOf(wanted);
    return loadWalkedPage(scope, { ...page, filter, now: runtime.now() }, (place) =>
      listRefunds(environment.reads, { merchantId, filter, ...place }),
    );
  };
  return {
    async listRefunds({ filter, pageSize, pageToken }, context) {
      const page = { list: "refunds", filter, pageSize, pageToken } as const;
      const { rows, ...more } = await loadPage(scopedContextOf(context), page);
      return create(ListRefundsResponseSchema, { refunds: rows.map(refundMessage), ...more });
    },

    async getRefund({ refundId }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const id = requireId("ref", refundId, "refund");
      const refund = await findRefund(environment.database, { merchantId, id });
      if (refund === undefined) throw new DomainError("not_found", "This refund does not exist.");
      return { refund: refundMessage(refund) };
    },

    async exportRefunds({ filter, pageToken }, context) {
      const { rpcContext, ...scope } = scopedContextOf(context);
      const page = { list: "refunds export", filter, pageToken } as const;
      const { rows, nextPageToken } = await loadPage(scope, page);
      // An export leaves one audit row, however many calls it takes.
      if (pageToken !== "") rpcContext.leaveNoRow();
      const csv = (pageToken === "" ? csvLine(columns) : "") + rows.map(csvOf).join("");
      return create(ExportRefundsResponseSchema, { csv, refunds: rows.length, nextPageToken });
    },

    async getRefundLimits(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const limits = await loadRefundLimits(environment.database, merchantId);
      return {
        limits: refundingRoles.map((role) => limitsMessage(role, limits)),
      };
    },

    async setRefundLimits(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const role = refundingRoles.find((name) => Role[name] === request.role);
      if (role === undefined) throw new Error("validation admits only the roles that refund");
      const wanted = amountsOf(request.limits);
      const limits = await change(async (tx) => {
        const before = await loadRefundLimits(tx, merchantId);
        requireRevision(request.revision, revised(role, before));
        const limits = { ...before, [role]: wanted };
        await recordRefundLimits(tx, merchantId, limits);
        const subject = `${encodeId("mer", merchantId)}/refund-limits`;
        await rpcContext.audit(tx, { subject, before: { [role]: before[role] ?? {} }, after: { [role]: wanted } });
        return limits;
      });
      return { limits: limitsMessage(role, limits) };
    },
  };
}

type Page = Omit<Parameters<typeof loadWalkedPage>[1], "filter" | "now"> & {
  readonly filter: Parameters<typeof refundFilterOf>[0];
};

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
