/** Checks the work of an environment: its clock, workers, backlogs, and states that must never occur. */

import { loadWebhookFigures } from "../events/webhook-figures.ts";
import { findUnconfirmedTimeline } from "../oversight/declare-restore.ts";
import { loadRecoveryFigures } from "../oversight/recovery-figures.ts";
import type { Queryable } from "../platform/database.ts";
import { encodeId, type SessionId } from "../platform/ids.ts";
import { clockDifferenceMaxMs, type Finding, namedMax, ok, problem, warning } from "./finding.ts";

// Sessions that the doctor audits, newest first: the worker audits all of them.
const auditedSessions = 500;
// Ages of a backlog: an event is sent within a second of its payment; the sweep sends it after a minute at the latest.
const backlogAges = { warnSeconds: 60, problemSeconds: 300 } as const;
// Longest silence of workers: a worker audits every 50 seconds.
const workerSilenceSecondsMax = 300;

const selectClock = {
  name: "examine_app_clock",
  text: 'SELECT extract(epoch FROM app.clock() - clock_timestamp())::float8 * 1000 AS "aheadMs"',
};
const selectViolations = {
  name: "examine_audit",
  text: `SELECT rule, session_id AS "sessionId" FROM app.audit(
           ARRAY(SELECT id FROM payment_session ORDER BY id DESC LIMIT $1)) LIMIT $2`,
};

const selectPartitions = {
  name: "examine_partitions",
  text: `SELECT kind FROM app.retention r WHERE NOT EXISTS (
           SELECT FROM app.partition_sets s WHERE s.kind = r.kind AND s.from_at > app.clock()) ORDER BY kind`,
};

/** Returns findings on the work that an environment's worker should have done by now. */
export async function examineWork(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  const area = `payments ${environment}`;
  return [
    ...(await examineAppClock(`database ${environment}`, database)),
    ...(await examineTimeline(`database ${environment}`, database)),
    ...(await examinePartitions(`database ${environment}`, database)),
    ...(await examineRules(area, database)),
    ...(await examineRecovery(area, environment, database)),
    ...(await examineBacklogs(`webhooks ${environment}`, database)),
  ];
}

async function examineAppClock(area: string, database: Queryable): Promise<Finding[]> {
  const [row] = await database.query<{ aheadMs: number }>(selectClock, []);
  const aheadMs = row?.aheadMs ?? 0;
  if (Math.abs(aheadMs) <= clockDifferenceMaxMs) return [ok(area, "app.clock() is the server's clock")];
  const says = `app.clock() is ${(aheadMs / 1000).toFixed(0)} s off the server's clock, and sessions, leases and retries depend on it`;
  return [
    problem(
      area,
      says,
      "as its owner: CREATE OR REPLACE FUNCTION app.clock() as in src/migrations/environment/base.sql",
    ),
  ];
}

// A role without pg_read_all_stats sees that replicas exist but no details; every role can read the setting.
const selectReplication = {
  name: "examine_replication",
  text: `SELECT (SELECT count(*) FROM pg_stat_replication) AS replicas,
           current_setting('synchronous_standby_names') <> '' AS "isSynchronous"`,
};

async function examineTimeline(area: string, database: Queryable): Promise<Finding[]> {
  const changed = await findUnconfirmedTimeline(database);
  const [row] = await database.query<{ replicas: number; isSynchronous: boolean }>(selectReplication, []);
  const { replicas = 0, isSynchronous = false } = row ?? {};
  return [
    changed === undefined
      ? ok(area, "writes the confirmed timeline")
      : problem(
          area,
          `was promoted, or restored into another cluster (timeline ${changed.confirmed} to ${changed.current}), and may have lost commits: no session continues`,
          "if no commit is missing: switchyard restore confirm; otherwise: switchyard restore declare (docs/postgresql-replicas.md)",
        ),
    ...(replicas > 0 && !isSynchronous
      ? [
          warning(
            area,
            `has ${replicas} ${replicas === 1 ? "replica" : "replicas"}, none of them synchronous: a failover loses commits`,
            "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (a, b)', then reload PostgreSQL (docs/postgresql-replicas.md)",
          ),
        ]
      : []),
  ];
}

async function examinePartitions(area: string, database: Queryable): Promise<Finding[]> {
  const missing = await database.query<{ kind: string }>(selectPartitions, []);
  if (missing.length === 0) return [ok(area, "has its partitions for the next month")];
  const says = `has no partition for the next month's ${missing.map(({ kind }) => kind).join(" and ")}`;
  return [warning(area, says, "a worker creates them within ten minutes: look for errors in its log")];
}

async function examineRules(area: string, database: Queryable): Promise<Finding[]> {
  const broken = await database.query<{ rule: string; sessionId: SessionId }>(selectViolations, [
    auditedSessions,
    namedMax,
  ]);
  if (broken.length === 0) return [ok(area, `the newest ${auditedSessions} sessions keep every rule of app.audit()`)];
  const remedy = "compare the session with its gateway's record, and close its item: switchyard rpc WorkQueueService";
  return broken.map(({ rule, sessionId }) =>
    problem(area, `${encodeId("ps", sessionId)} breaks the rule ${rule}`, remedy),
  );
}

async function examineRecovery(area: string, environment: string, database: Queryable): Promise<Finding[]> {
  const { auditedSecondsAgo, lapsedLeaseSeconds, openItems } = await loadRecoveryFigures(database);
  const open = Object.values(openItems).reduce((sum, one) => sum + one, 0);
  const start = "start one: switchyard serve --role worker; if one runs, look for errors in its log";
  return [
    auditedSecondsAgo === undefined
      ? warning(area, "no worker has worked on this database yet", start)
      : auditedSecondsAgo > workerSilenceSecondsMax
        ? problem(area, `no worker has worked on it for ${Math.round(auditedSecondsAgo)} s`, start)
        : ok(area, `a worker worked on it ${Math.round(auditedSecondsAgo)} s ago`),
    ...(lapsedLeaseSeconds > backlogAges.warnSeconds
      ? [problem(area, `a payment has waited ${Math.round(lapsedLeaseSeconds)} s for a worker to resume it`, start)]
      : []),
    ...(open > 0
      ? [
          warning(
            area,
            `${open} item(s) of the work queue need a person`,
            `switchyard rpc WorkQueueService/ListWorkItems --environment ${environment}`,
          ),
        ]
      : []),
  ];
}

async function examineBacklogs(area: string, database: Queryable): Promise<Finding[]> {
  const { unpublished, notFannedOut, due } = await loadWebhookFigures(database);
  const remedy =
    "start a worker, and check `nats` above: workers post events, and publish those that went out without JetStream";
  const backlogs = [
    ["events wait in the outbox for JetStream", unpublished],
    ["events wait for their deliveries", notFannedOut],
    ["deliveries to healthy endpoints are late", due.healthy],
  ] as const;
  const late = backlogs.filter(([, { oldestSeconds }]) => oldestSeconds > backlogAges.warnSeconds);
  if (late.length === 0) return [ok(area, "no event waits")];
  return late.map(([what, { waiting, oldestSeconds }]) => {
    const says = `${waiting} ${what}, the oldest for ${Math.round(oldestSeconds)} s`;
    return oldestSeconds > backlogAges.problemSeconds ? problem(area, says, remedy) : warning(area, says, remedy);
  });
}
