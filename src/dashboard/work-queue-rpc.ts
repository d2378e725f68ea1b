/** The work queue, alarms that need a person: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CloseWorkItemResponseSchema,
  ListWorkItemsResponseSchema,
  WorkItem_Kind,
  type WorkQueueService,
} from "../../gen/dashboard/v1/work_queue_pb.ts";
import { auditedClosing, closeWorkItem, listCauses, listWorkItems, type WorkItem } from "../core/record/work-items.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { environmentContextOf } from "./rpc-context.ts";

export function createWorkQueueService({ runtime }: DashboardParts): ServiceImpl<typeof WorkQueueService> {
  return {
    async listWorkItems(request, context) {
      const { database, core } = environmentContextOf(context).environment;
      const { includeClosed, byCause } = request;
      const about = { list: ["work items", includeClosed, byCause], key: core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, (page) =>
        (byCause ? listCauses : listWorkItems)(database, { includeClosed, ...page }),
      );
      return create(ListWorkItemsResponseSchema, { workItems: rows.map(toMessage), nextPageToken });
    },

    async closeWorkItem({ workItemId, note, wholeCause: isWholeCause }, context) {
      const { rpcContext, environment } = environmentContextOf(context);
      const id = decodeId("wi", workItemId);
      const item = await rpcContext.changeEnvironment(environment, async (tx) => {
        const closed = id && (await closeWorkItem(tx, { id, by: rpcContext.actor, note, isWholeCause }));
        if (!closed) throw new DomainError("not_found", "This work item does not exist or is already closed.");
        const { merchantId } = closed;
        await rpcContext.audit(tx, { merchantId, subject: workItemId, after: auditedClosing(closed, note) });
        return closed;
      });
      return create(CloseWorkItemResponseSchema, { workItem: toMessage(item), closedCount: item.count });
    },
  };
}

function toMessage({ id, merchantId, sessionId, count = 1, ...item }: WorkItem & { readonly count?: number }) {
  const { attemptId, gateway, rule, resolvedAt, closedAt, closedBy, closeNote } = item;
  return {
    workItemId: encodeId("wi", id),
    kind: WorkItem_Kind[item.kind],
    merchantId: encodeId("mer", merchantId),
    sessionId: encodeId("ps", sessionId),
    detail: item.detail,
    count,
    openedAt: timestampFromDate(item.openedAt),
    ...(attemptId !== null && { attemptId: encodeId("att", attemptId) }),
    ...(gateway !== null && { gateway }),
    ...(rule !== null && { rule }),
    ...(resolvedAt !== null && { resolvedAt: timestampFromDate(resolvedAt) }),
    ...(closedAt !== null && { closedAt: timestampFromDate(closedAt) }),
    ...(closedBy !== null && { closedBy }),
    ...(closeNote !== null && { closeNote }),
  };
}
