/** The figures of recovery for metrics, read in a few small statements however many payments there are. */

import { type WorkItemKind, workItemKinds } from "../core/record/work-items.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { loadPartitionsAhead } from "../retention/keep-partitions.ts";
import { type AuditRule, auditRules } from "./audit-sessions.ts";
import type { ReconciliationCounts } from "./reconciliation-runs.ts";

/** The statuses in which an attempt waits: for its customer, its outcome, its capture, the end of its hold. */
const openStatuses = ["AWAITING_CUSTOMER", "UNKNOWN", "AUTHORIZED", "VOIDING"] as const;
type OpenStatus = (typeof openStatuses)[number];

/** The number of attempts and the age of the oldest in seconds; both 0 when there is none. */
type OpenAttempts = { readonly attempts: number; readonly oldestSeconds: number };

/** The figures of one environment. Every rule and every kind has its number, even when it is 0. */
export type RecoveryFigures = {
  /** Current violations of each rule, even if a person has closed the row. */
  readonly violations: Readonly<Record<AuditRule, number>>;
  readonly openItems: Readonly<Record<WorkItemKind, number>>;
  readonly alarms: Readonly<Record<WorkItemKind, number>>;
  readonly processing: number;
  /** Attempts that are not over, of sessions in processing. */
  readonly openAttempts: Readonly<Record<OpenStatus, OpenAttempts>>;
  /** Waiting time of the session that has been due longest without being taken over; 0 when none waits. */
  readonly lapsedLeaseSeconds: number;
  /** True when the database was promoted and no operator has confirmed the loss since: its sessions stand still. */
  readonly isPromoted: boolean;
  /** Seconds since the last audit; undefined before the first one. */
  readonly auditedSecondsAgo: number | undefined;
  /** The last pass that was finished; undefined before the first. */
  readonly reconciliation: (ReconciliationCounts & { readonly finishedSecondsAgo: number }) | undefined;
  /** Number of days from now for which each kind of rows has partitions. */
  readonly partitionsAhead: Awaited<ReturnType<typeof loadPartitionsAhead>>;
};

const selectItems: Statement = {
  name: "count_work_items",
  text: `
    SELECT kind, rule, count(*) AS all, count(*) FILTER (WHERE closed_at IS NULL) AS open,
      count(DISTINCT (session_id, attempt_id)) FILTER (WHERE resolved_at IS NULL) AS unresolved
    FROM work_item GROUP BY kind, rule`,
};
const selectSessions: Statement = {
  name: "count_sessions_in_processing",
  text: `
    SELECT count(*) AS processing,
      greatest(0, extract(epoch FROM app.clock() - min(lease_until)))::float8 AS "lapsedLeaseSeconds",
      (SELECT extract(epoch FROM app.clock() - audited_at)::float8 FROM audit_walk) AS "auditedSecondsAgo",
      app.is_timeline_confirmed() IS NOT TRUE AS "isPromoted"
    FROM payment_session WHERE phase = 'PROCESSING'`,
};
// Through the sessions in processing, which have an index and are few.
const selectOpen: Statement = {
  name: "count_open_attempts",
  text: `
    SELECT a.status, count(*)::int AS attempts,
      greatest(0, extract(epoch FROM app.clock() - min(a.started_at)))::float8 AS "oldestSeconds"
    FROM payment_session s JOIN attempt a ON a.session_id = s.id
    WHERE s.phase = 'PROCESSING' AND a.status IN ('AWAITING_CUSTOMER', 'UNKNOWN', 'AUTHORIZED', 'VOIDING') GROUP BY a.status`,
};
const selectLastRun: Statement = {
  name: "select_last_reconciliation_run",
  text: `
    SELECT attempts, read, by_notifications AS "byNotifications", inconclusive AS "inconclusive", mismatches, orphans,
      extract(epoch FROM app.clock() - finished_at)::float8 AS "finishedSecondsAgo"
    FROM reconciliation_run WHERE finished_at IS NOT NULL ORDER BY started_at DESC LIMIT 1`,
};

type ItemRow = { kind: WorkItemKind; rule: AuditRule | null; all: number; open: number; unresolved: number };
type SessionsRow = {
  processing: number;
  lapsedLeaseSeconds: number | null;
  auditedSecondsAgo: number | null;
  isPromoted: boolean;
};

export async function loadRecoveryFigures(queryable: Queryable): Promise<RecoveryFigures> {
  const items = await queryable.query<ItemRow>(selectItems, []);
  const [sessions] = await queryable.query<SessionsRow>(selectSessions, []);
  const open = await queryable.query<OpenAttempts & { status: OpenStatus }>(selectOpen, []);
  const [reconciliation] = await queryable.query<NonNullable<RecoveryFigures["reconciliation"]>>(selectLastRun, []);
  const ofKind = (column: "all" | "open") => (kind: WorkItemKind) =>
    items.filter((item) => item.kind === kind).reduce((sum, item) => sum + item[column], 0);
  return {
    violations: countEach(auditRules, (rule) => items.find((item) => item.rule === rule)?.unresolved ?? 0),
    openItems: countEach(workItemKinds, ofKind("open")),
    alarms: countEach(workItemKinds, ofKind("all")),
    processing: sessions?.processing ?? 0,
    openAttempts: Object.fromEntries(
      openStatuses.map((status) => {
        const { attempts = 0, oldestSeconds = 0 } = open.find((row) => row.status === status) ?? {};
        return [status, { attempts, oldestSeconds }];
      }),
    ) as RecoveryFigures["openAttempts"],
    lapsedLeaseSeconds: sessions?.lapsedLeaseSeconds ?? 0,
    isPromoted: sessions?.isPromoted ?? false,
    auditedSecondsAgo: sessions?.auditedSecondsAgo ?? undefined,
    reconciliation,
    partitionsAhead: await loadPartitionsAhead(queryable),
  };
}

function countEach<Name extends string>(names: readonly Name[], count: (name: Name) => number): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, count(name)])) as Record<Name, number>;
}
