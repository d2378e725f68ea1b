/** How recovery stands, in numbers: read for metrics, in a few small statements however many payments there are. */
import type { Queryable, Statement } from "../platform/database.ts";
import { type AuditRule, auditRules } from "./audit-sessions.ts";
import type { ComparisonCounts } from "./comparison-runs.ts";
import { loadPartitionsAhead } from "./keep-partitions.ts";
import { type WorkItemKind, workItemKinds } from "./work-items.ts";

/** What an attempt may be waiting in: for its outcome, for its capture, for the end of its hold. */
export const openStatuses = ["UNKNOWN", "AUTHORIZED", "VOIDING"] as const;
type OpenStatus = (typeof openStatuses)[number];

/** How many attempts, and how long ago the oldest of them began; 0 when there is none. */
export type OpenAttempts = { readonly attempts: number; readonly oldestSeconds: number };

/** One environment's figures. Every rule and every kind has its number, also when it is 0. */
export type RecoveryFigures = {
  /** Rules that are broken now, also where a person has closed the row. */
  readonly violations: Readonly<Record<AuditRule, number>>;
  readonly openItems: Readonly<Record<WorkItemKind, number>>;
  /** Since the installation's first day. */
  readonly alarms: Readonly<Record<WorkItemKind, number>>;
  readonly processing: number;
  /** Attempts that are not over, of sessions in processing. */
  readonly openAttempts: Readonly<Record<OpenStatus, OpenAttempts>>;
  /** How long the session waits whose turn came first and that nobody has taken; 0 when none does. */
  readonly lapsedLeaseSeconds: number;
  /** Undefined before the first audit. */
  readonly auditedSecondsAgo: number | undefined;
  /** The last pass that was finished; undefined before the first. */
  readonly comparison: (ComparisonCounts & { readonly finishedSecondsAgo: number }) | undefined;
  /** For how many days from now each kind of rows has tables of its own. */
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
      (SELECT extract(epoch FROM app.clock() - audited_at)::float8 FROM audit_walk) AS "auditedSecondsAgo"
    FROM payment_session WHERE phase = 'PROCESSING'`,
};
// By way of the sessions in processing, which have an index and are few.
const selectOpen: Statement = {
  name: "count_open_attempts",
  text: `
    SELECT a.status, count(*)::int AS attempts,
      greatest(0, extract(epoch FROM app.clock() - min(a.started_at)))::float8 AS "oldestSeconds"
    FROM payment_session s JOIN attempt a ON a.session_id = s.id
    WHERE s.phase = 'PROCESSING' AND a.status IN ('UNKNOWN', 'AUTHORIZED', 'VOIDING') GROUP BY a.status`,
};
const selectLastRun: Statement = {
  name: "select_last_comparison_run",
  text: `
    SELECT attempts, read, by_notices AS "byNotices", could_not_tell AS "couldNotTell", mismatches, strays,
      extract(epoch FROM app.clock() - finished_at)::float8 AS "finishedSecondsAgo"
    FROM comparison_run WHERE finished_at IS NOT NULL ORDER BY started_at DESC LIMIT 1`,
};

type ItemRow = { kind: WorkItemKind; rule: AuditRule | null; all: number; open: number; unresolved: number };
type SessionsRow = { processing: number; lapsedLeaseSeconds: number | null; auditedSecondsAgo: number | null };

/** The figures as they stand. */
export async function loadRecoveryFigures(queryable: Queryable): Promise<RecoveryFigures> {
  const items = await queryable.query<ItemRow>(selectItems, []);
  const [sessions] = await queryable.query<SessionsRow>(selectSessions, []);
  const open = await queryable.query<OpenAttempts & { status: OpenStatus }>(selectOpen, []);
  const [comparison] = await queryable.query<NonNullable<RecoveryFigures["comparison"]>>(selectLastRun, []);
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
    auditedSecondsAgo: sessions?.auditedSecondsAgo ?? undefined,
    comparison,
    partitionsAhead: await loadPartitionsAhead(queryable),
  };
}

function countEach<Name extends string>(names: readonly Name[], count: (name: Name) => number): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, count(name)])) as Record<Name, number>;
}
