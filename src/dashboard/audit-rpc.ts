/** The audit trail: proto ↔ accounts. */
import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AuditService,
  type ListAuditEntriesRequest,
  ListAuditEntriesResponseSchema,
} from "../../gen/dashboard/v1/audit_pb.ts";
import { type AuditEntry, type AuditFilter, listAudit } from "../accounts/audit-trail.ts";
import type { RuleContent } from "../core/record/routing-rules.ts";
import { type Connection, listConnections } from "../gateways/connections.ts";
import { encodeId } from "../platform/ids.ts";
import { describeRuleChanges } from "../reporting/rule-changes.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { isChanging } from "./guard.ts";
import { loadPage, momentOf } from "./paging.ts";
import { nameIn } from "./routing-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";

/**
 * The rpc that lists the changes of a merchant: those of one environment, and those of its team, which concern both.
 * `methods` are those whose names the trail contains.
 */
export function createAuditService(
  { accounts, runtime }: Pick<DashboardParts, "accounts" | "runtime">,
  methods: readonly DescMethod[],
): ServiceImpl<typeof AuditService> {
  const namesOf = (those: readonly DescMethod[]) => those.map(({ name }) => name).toSorted();
  const actions = namesOf(methods.filter(isChanging));
  const reads = namesOf(methods.filter((method) => !isChanging(method)));
  return {
    async listAuditEntries(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const filter = filterOf(request, reads);
      const list = ["audit", merchantId, filter];
      const about = { list, key: environment.core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, async (page) => {
        const lists = await Promise.all(
          [environment.database, accounts].map((database) => listAudit(database, { merchantId, filter, ...page })),
        );
        // Ids sort by time.
        return lists.flat().sort((left, right) => (left.id < right.id ? 1 : -1));
      });
      const isAboutRules = rows.some((row) => ruleChangeOf(row) !== undefined);
      const connections = isAboutRules ? await listConnections(environment.database, merchantId) : [];
      const entries = rows.map((row) => ({ ...auditEntryMessage(row), changes: describeChanges(row, connections) }));
      return create(ListAuditEntriesResponseSchema, { entries, nextPageToken, actions });
    },
  };
}

function filterOf(request: ListAuditEntriesRequest, reads: readonly string[]): AuditFilter {
  const { includeReads, actor, action, subject } = request;
  return {
    without: includeReads ? [] : reads,
    actor: actor || undefined,
    action: action || undefined,
    subject: subject || undefined,
    createdAfter: momentOf("createdAfter", request.createdAfter),
    createdBefore: momentOf("createdBefore", request.createdBefore),
  };
}

/** Returns the two versions of a routing rule that an entry recorded, with public ids; undefined for any other entry. */
function ruleChangeOf({ subject, before, after }: AuditEntry) {
  if (!subject.endsWith("/routing-rule") || after === null) return undefined;
  return { before: (before ?? undefined) as RuleContent | undefined, after: after as RuleContent };
}

/** Returns the differences between two versions of a routing rule, in the sentences of the rule's own history. */
function describeChanges(entry: AuditEntry, connections: readonly Connection[]): string[] {
  const change = ruleChangeOf(entry);
  if (change === undefined) return [];
  const nameOf = nameIn(connections.map((each) => ({ ...each, id: encodeId("gc", each.id) })));
  return describeRuleChanges(change.before, change.after, nameOf);
}

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
