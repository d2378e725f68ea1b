/** The audit trail: proto ↔ accounts. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type AuditService, ListAuditEntriesResponseSchema } from "../../gen/dashboard/v1/audit_pb.ts";
import { type AuditEntry, listAudit } from "../accounts/audit-trail.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage } from "./paging.ts";
import { scopedContextOf } from "./rpc-context.ts";

/**
 * The rpc that lists the changes of a merchant: those of one environment, and those of its team, which concern both.
 */
export function createAuditService({
  accounts,
  runtime,
}: Pick<DashboardParts, "accounts" | "runtime">): ServiceImpl<typeof AuditService> {
  return {
    async listAuditEntries(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const about = { list: ["audit", merchantId], key: environment.core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, async (page) => {
        const lists = await Promise.all(
          [environment.database, accounts].map((database) => listAudit(database, { merchantId, ...page })),
        );
        // Ids sort by time.
        return lists.flat().sort((left, right) => (left.id < right.id ? 1 : -1));
      });
      return create(ListAuditEntriesResponseSchema, { entries: rows.map(auditEntryMessage), nextPageToken });
    },
  };
}

/** Returns an entry of the audit trail. */
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
