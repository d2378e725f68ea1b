/** The hourly comparison with the gateways: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListComparisonRunsResponseSchema,
  type ReconciliationService,
} from "../../gen/dashboard/v1/reconciliation_pb.ts";
import { type ComparisonRun, listComparisonRuns } from "../core/comparison-runs.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { environmentVisitOf } from "./visit.ts";

/** The rpc that shows what each comparison with the gateways could see. */
export function createReconciliationService({ entropy }: DashboardParts): ServiceImpl<typeof ReconciliationService> {
  return {
    async listComparisonRuns(request, context) {
      const { database, core } = environmentVisitOf(context).environment;
      const about = { list: ["comparison runs"], key: core.pageTokenKey, now: entropy.now() };
      const { rows, nextPageToken } = await loadPage(request, about, (page) => listComparisonRuns(database, page));
      return create(ListComparisonRunsResponseSchema, { comparisonRuns: rows.map(toMessage), nextPageToken });
    },
  };
}

function toMessage({ id, startedAt, finishedAt, windowFrom, windowTo, ...counts }: ComparisonRun) {
  return {
    ...counts,
    comparisonRunId: encodeId("cmp", id),
    startedAt: timestampFromDate(startedAt),
    windowFrom: timestampFromDate(windowFrom),
    windowTo: timestampFromDate(windowTo),
    ...(finishedAt !== null && { finishedAt: timestampFromDate(finishedAt) }),
  };
}
