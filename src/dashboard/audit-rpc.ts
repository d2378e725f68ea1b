/** The audit trail: proto ↔ accounts. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type AuditService, ListAuditEntriesResponseSchema } from "../../gen/dashboard/v1/audit_pb.ts";
import { type AuditEntry, listAudit } from "../accounts/audit-trail.ts";
import { pageSizeDefault } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpc that shows who changed what of a merchant's: in one environment, and for both, as its team. */
export function createAuditService({ accounts }: Pick<DashboardParts, "accounts">): ServiceImpl<typeof AuditService> {
  return {
    async listAuditEntries(request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const count = request.pageSize ?? pageSizeDefault;
      const lists = await Promise.all(
        [environment.database, accounts].map((database) => listAudit(database, merchantId, count)),
      );
      // Ids are in the order of time.
      const newestFirst = lists.flat().sort((left, right) => (left.id < right.id ? 1 : -1));
      const entries = newestFirst.slice(0, count);
      return create(ListAuditEntriesResponseSchema, { entries: entries.map(auditEntryMessage) });
    },
  };
}

/** A row of the trail. */
export function auditEntryMessage({ id, before, after, createdAt, requestId, ...entry }: AuditEntry) {
  return {
    ...entry,
    auditEntryId: encodeId("aud", id),
    requestId: requestId ?? "",
    createdAt: timestampFromDate(createdAt),
    ...(before !== null && { before: before as JsonObject }),
    ...(after !== null && { after: after as JsonObject }),
  };
}
