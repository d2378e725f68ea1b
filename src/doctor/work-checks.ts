/** Whether an environment's work gets done: the clock that it goes by, workers, backlogs, and what must never be. */
import { loadRecoveryFigures } from "../core/recovery-figures.ts";
import { loadWebhookFigures } from "../events/webhook-figures.ts";
import {
  auditedSessions,
  backlogAges,
  clockDifferenceMaxMs,
  namedMax,
  workerSilenceSecondsMax,
} from "../limits/doctor.ts";
import type { Queryable } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

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

/** What the worker of an environment should have done by now. */
export async function examineWork(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  const area = `payments ${environment}`;
  return [
    ...(await examineAppClock(`database ${environment}`, database)),
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
  const says = `app.clock() is ${(aheadMs / 1000).toFixed(0)} s off the server's clock: sessions, leases and retries go by it`;
  return [problem(area, says, "as its owner: CREATE OR REPLACE FUNCTION app.clock() as migration 001-payment has it")];
}

async function examinePartitions(area: string, database: Queryable): Promise<Finding[]> {
  const missing = await database.query<{ kind: string }>(selectPartitions, []);
  if (missing.length === 0) return [ok(area, "has its partitions for the next month")];
  const says = `has no partition for the next month's ${missing.map(({ kind }) => kind).join(" and ")}`;
  return [warning(area, says, "a worker makes them within ten minutes: look for errors in its log")];
}

async function examineRules(area: string, database: Queryable): Promise<Finding[]> {
  const broken = await database.query<{ rule: string; sessionId: string }>(selectViolations, [
    auditedSessions,
    namedMax,
  ]);
  if (broken.length === 0) return [ok(area, `the newest ${auditedSessions} sessions keep every rule of app.audit()`)];
  const remedy = "compare the session with its gateway's record, and close its row: switchyard work-list list";
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
      ? warning(area, "no worker has looked after this database yet", start)
      : auditedSecondsAgo > workerSilenceSecondsMax
        ? problem(area, `no worker has looked after it for ${Math.round(auditedSecondsAgo)} s`, start)
        : ok(area, `a worker looked after it ${Math.round(auditedSecondsAgo)} s ago`),
    ...(lapsedLeaseSeconds > backlogAges.warnSeconds
      ? [problem(area, `a payment has waited ${Math.round(lapsedLeaseSeconds)} s for a worker to go on with it`, start)]
      : []),
    ...(open > 0
      ? [warning(area, `${open} matter(s) wait for a person`, `switchyard work-list list --environment ${environment}`)]
      : []),
  ];
}

async function examineBacklogs(area: string, database: Queryable): Promise<Finding[]> {
  const { unpublished, notFannedOut, due } = await loadWebhookFigures(database);
  const remedy = "start a worker, and look at `nats` above: the relay hands events to JetStream, the worker posts them";
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
