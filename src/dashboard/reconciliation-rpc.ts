/** The hourly reconciliation with the gateways: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListReconciliationRunsResponseSchema,
  type ReconciliationService,
} from "../../gen/dashboard/v1/reconciliation_pb.ts";
import { listReconciliationRuns, type ReconciliationRun } from "../oversight/reconciliation-runs.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { environmentContextOf } from "./rpc-context.ts";

export function createReconciliationService({ runtime }: DashboardParts): ServiceImpl<typeof ReconciliationService> {
  return {
    async listReconciliationRuns(request, context) {
      const { database, core } = environmentContextOf(context).environment;
      const about = { list: ["reconciliation runs"], key: core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, (page) => listReconciliationRuns(database, page));
      return create(ListReconciliationRunsResponseSchema, { reconciliationRuns: rows.map(toMessage), nextPageToken });
    },
  };
}

function toMessage({ id, startedAt, finishedAt, windowFrom, windowTo, ...counts }: ReconciliationRun) {
  return {
    ...counts,
    reconciliationRunId: encodeId("cmp", id),
    startedAt: timestampFromDate(startedAt),
    windowFrom: timestampFromDate(windowFrom),
    windowTo: timestampFromDate(windowTo),
    ...(finishedAt !== null && { finishedAt: timestampFromDate(finishedAt) }),
  };
}
