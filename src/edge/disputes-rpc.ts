/** The dispute rpcs of merchants' backends: proto ↔ disputes. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type DisputeService,
  GetDisputeResponseSchema,
  ListDisputesResponseSchema,
} from "../../gen/payments/v1/dispute_pb.ts";
import { Dispute_Stage, Dispute_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { disputeStages as stages, disputeStatuses as statuses } from "../core/rows/disputes.ts";
import { requireCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { findDispute, listDisputes } from "../reporting/dispute-list.ts";
import { callerKey, momentOf, requireMerchant } from "./caller.ts";
import { toDisputeMessage } from "./dispute-messages.ts";

type Context = Parameters<ServiceImpl<typeof DisputeService>["listDisputes"]>[1];

/** The dispute rpcs; every method sees its own merchant and environment only. */
export const disputeService: ServiceImpl<typeof DisputeService> = {
  async listDisputes(request, context) {
    const { merchantId, keys, now, databases } = callOf(context);
    const { gateway, orderRef, pageSize, pageToken, respondBefore, createdAfter, createdBefore } = request;
    const { disputes, nextPageToken } = await listDisputes(databases, {
      merchantId,
      keys,
      now,
      pageSize,
      pageToken,
      filters: {
        gateway,
        orderRef,
        status: statuses.find((name) => Dispute_Status[name] === request.status),
        stage: stages.find((name) => Dispute_Stage[name] === request.stage),
        respondBefore: momentOf("respondBefore", respondBefore),
        createdAfter: momentOf("createdAfter", createdAfter),
        createdBefore: momentOf("createdBefore", createdBefore),
      },
    });
    return create(ListDisputesResponseSchema, {
      disputes: disputes.map((one) => toDisputeMessage(one, one)),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },

  async getDispute({ disputeId }, context) {
    const { merchantId, databases } = callOf(context);
    const id = decodeId("dsp", disputeId);
    const found = id && (await findDispute(databases, { merchantId, id }));
    if (!found) throw new DomainError("not_found", "There is no dispute with this id.");
    return create(GetDisputeResponseSchema, { dispute: toDisputeMessage(found, found) });
  },
};

function callOf(context: Context) {
  const { environment, holder } = requireMerchant(context.values.get(callerKey));
  const cells = [environment, ...holder.formerCells.map((cell) => requireCell(environment, cell))];
  const { pageTokenKey: keys, runtime } = environment.core;
  const databases = cells.map(({ core }) => core.database);
  return { merchantId: holder.merchantId, keys, now: runtime.now(), databases };
}
