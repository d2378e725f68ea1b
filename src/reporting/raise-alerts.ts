/**
 * Opens and ends the alerts about gateways, verifications, holds, orders that were paid more than once, disputes,
 * stored cards and certificates: each turn compares the current state with the open alerts.
 */
import { heldInSql } from "../core/rows/payment.ts";
import {
  endAlertsOf,
  endEndpointAlertsOnce,
  loadOpenMatters,
  type Matter,
  type MatterKind,
  type OpenMatter,
  openAlert,
  replaceAlert,
} from "../events/alerts.ts";
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { type AlertId, type ConnectionId, type EndpointId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Runtime } from "../platform/runtime.ts";
import { compareCertificates } from "./certificate-alerts.ts";
import { compareDisputes } from "./dispute-alerts.ts";
import { loadConnectionHealth, sessionLongestMs } from "./gateway-health.ts";
import {
  attemptsMin,
  differenceMin,
  judgeApprovals,
  judgeFailures,
  pastDays,
  type Share,
  shareOf,
  type Verdict,
} from "./gateway-rules.ts";
import { comparePaidOrders } from "./paid-more-than-once.ts";
import { firstIdAt } from "./past-payments.ts";
import { compareSettlement } from "./settlement-alerts.ts";
import { type ConnectorOf, compareStoredCards } from "./stored-card-alerts.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

export type RaiseContext = {
  readonly database: Database;
  readonly runtime: Pick<Runtime, "uuid">;
  readonly log: Pick<Logger, "warn">;
  readonly connectorOf: ConnectorOf;
};

type Found = Matter & { readonly detail: string; readonly since?: Date; readonly coversUntil?: Date };

type Seen = { readonly found: readonly Found[]; readonly over: readonly OpenMatter[] };

const selectNow: Statement = { name: "select_clock", text: "SELECT app.clock() AS now" };

/**
 * Opens alerts for the current problems, and ends those whose problem is over. All workers may run it at once. Returns
 * false.
 */
export async function raiseAlertsOnce(context: RaiseContext): Promise<boolean> {
  const { database, runtime, log } = context;
  const [clock] = await database.query<{ now: Date }>(selectNow, []);
  const open = await loadOpenMatters(database);
  const seen = [
    await compareGateways(database, { open, now: clock!.now }),
    await compareCredentials(database, { open, now: clock!.now }),
    await compareVerifications(database, open),
    await compareHolds(database, open),
    await comparePaidOrders(database, open),
    await compareDisputes(database, open),
    await compareSettlement(database, open),
    await compareStoredCards(context, { open, now: clock!.now }),
  ];
  const certificates = await compareCertificates(database, { open, now: clock!.now });
  seen.push(certificates);
  const note = ({ id, merchantId, kind }: Found & { readonly id: AlertId }) =>
    log.warn({ alert: id, merchant: merchantId, kind }, "an alert of a merchant was opened");
  for (const { replaced, found } of certificates.replaced) {
    const opened = { id: runtime.uuid(), ...found };
    if (await replaceAlert(database, replaced, opened)) note(opened);
  }
  const over = seen.flatMap((each) => each.over);
  await endAlertsOf(
    database,
    over.map(({ id }) => id),
  );
  await endEndpointAlertsOnce(database);
  for (const found of seen.flatMap((each) => each.found)) {
    const opened = { id: runtime.uuid(), ...found };
    if (await openAlert(database, opened)) note(opened);
  }
  return false;
}

// Failures of the last hour from which on a merchant's connections are read one by one, and their share: far below
// what makes a connection unhealthy, because another connection at the same gateway may be well.
const suspectFailures = 3;
const suspectShare = 0.02;

const isSuspect = `r.approved + r.declined >= ${attemptsMin.approvals} AND r.declined >= ${differenceMin} * (r.approved + r.declined)
  OR r.failed >= ${suspectFailures} AND r.failed >= ${suspectShare} * (r.approved + r.declined + r.failed)`;

// The counts of the last hour's quarters, and of whole days before today. Each merchant's are a range of the primary
// key. The past is read only if an alert is open, or if the hour alone does not rule one out.
const selectGateways: Statement = {
  name: "select_gateways_to_judge",
  text: `
    WITH recent AS MATERIALIZED (
      SELECT m.merchant_id, r.* FROM merchant_settings m CROSS JOIN LATERAL (
        SELECT gateway, sum(approved)::int AS approved, sum(hard_declined + soft_declined + fraud_declined)::int AS declined,
          sum(timeouts + gateway_errors)::int AS failed
        FROM analytics_attempt a
        WHERE a.merchant_id = m.merchant_id AND a.minutes = 15 AND a.starts_at > $1
        GROUP BY gateway) r),
    judged AS MATERIALIZED (
      SELECT r.merchant_id FROM recent r WHERE ${isSuspect}
      UNION SELECT merchant_id FROM alert WHERE over_at IS NULL AND kind IN ('APPROVAL_RATE_LOW','GATEWAY_UNHEALTHY'))
    SELECT recent.merchant_id AS "merchantId", recent.gateway, recent.approved, recent.declined, recent.failed,
      coalesce(past.approved, 0) AS "pastApproved", coalesce(past.declined, 0) AS "pastDeclined", coalesce(past.failed, 0) AS "pastFailed"
    FROM judged JOIN recent USING (merchant_id) LEFT JOIN (
      SELECT judged.merchant_id, p.* FROM judged CROSS JOIN LATERAL (
        SELECT gateway, sum(approved)::int AS approved, sum(hard_declined + soft_declined + fraud_declined)::int AS declined,
          sum(timeouts + gateway_errors)::int AS failed
        FROM analytics_attempt a
        WHERE a.merchant_id = judged.merchant_id AND a.minutes = 1440 AND a.starts_at >= $2 AND a.starts_at < $3
        GROUP BY gateway) p) past USING (merchant_id, gateway)`,
};

type GatewayRow = {
  readonly merchantId: MerchantId;
  readonly gateway: string;
  readonly approved: number;
  readonly declined: number;
  readonly failed: number;
  readonly pastApproved: number;
  readonly pastDeclined: number;
  readonly pastFailed: number;
};

async function compareGateways(
  database: Queryable,
  { open, now }: { open: readonly OpenMatter[]; now: Date },
): Promise<Seen> {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const bounds = [now.getTime() - hourMs, today - pastDays * dayMs, today].map((at) => new Date(at));
  const rows = await database.query<GatewayRow>(selectGateways, bounds);
  const approvals = compareApprovals(rows, open);
  const suspects = rows.filter(
    ({ approved, declined, failed }) =>
      failed >= suspectFailures && failed >= suspectShare * (approved + declined + failed),
  );
  const unhealthy = open.filter(({ kind }) => kind === "GATEWAY_UNHEALTHY");
  const merchants = new Set([...suspects, ...unhealthy].map(({ merchantId }) => merchantId));
  const seen: Seen[] = [approvals];
  for (const merchantId of merchants) {
    seen.push(await compareConnections(database, { merchantId, rows, unhealthy, now }));
  }
  return { found: seen.flatMap(({ found }) => found), over: seen.flatMap(({ over }) => over) };
}

function compareApprovals(rows: readonly GatewayRow[], open: readonly OpenMatter[]): Seen {
  const verdicts = rows.map((row) => {
    const recent = { attempts: row.approved + row.declined, counted: row.approved };
    const past = { attempts: row.pastApproved + row.pastDeclined, counted: row.pastApproved };
    const subject = {
      ...nothing,
      merchantId: row.merchantId,
      kind: "APPROVAL_RATE_LOW" as const,
      gateway: row.gateway,
    };
    return { subject, verdict: judgeApprovals(recent, past), detail: describeApprovals(row.gateway, recent, past) };
  });
  return seenBy(
    verdicts,
    open.filter(({ kind }) => kind === "APPROVAL_RATE_LOW"),
  );
}

const nothing = { endpointId: null, connectionId: null, gateway: null } as const;

type Judged = { readonly subject: Matter; readonly verdict: Verdict; readonly detail: string };

/** Finds the current problems. An open alert is over if its subject is good again, or was not called at all. */
function seenBy(judged: readonly Judged[], open: readonly OpenMatter[]): Seen {
  const same = (one: Matter, other: Matter) =>
    one.merchantId === other.merchantId && one.connectionId === other.connectionId && one.gateway === other.gateway;
  const found = judged.filter(({ verdict }) => verdict === "bad");
  return {
    found: found.map(({ subject, detail }) => ({ ...subject, detail })),
    over: open.filter((alert) => (judged.find(({ subject }) => same(subject, alert))?.verdict ?? "good") === "good"),
  };
}

const selectConnections: Statement = {
  name: "select_gateways_of_connections",
  text: "SELECT id, gateway FROM connection WHERE merchant_id = $1",
};

/** Judges each connection by its own last hour, in which a card that no gateway could get does not count. */
async function compareConnections(
  database: Queryable,
  asked: { merchantId: MerchantId; rows: readonly GatewayRow[]; unhealthy: readonly OpenMatter[]; now: Date },
): Promise<Seen> {
  const { merchantId, rows, unhealthy, now } = asked;
  const since = new Date(now.getTime() - hourMs);
  const health = await loadConnectionHealth(database, { merchantId, since });
  const connections = await database.query<{ id: ConnectionId; gateway: string }>(selectConnections, [merchantId]);
  const judged = connections.flatMap(({ id, gateway }): Judged[] => {
    const recent = health.find(({ connectionId }) => connectionId === id);
    if (recent === undefined) return [];
    const share = { attempts: recent.attempts, counted: recent.timeouts + recent.errors };
    const row = rows.find((each) => each.merchantId === merchantId && each.gateway === gateway);
    const past = row
      ? { attempts: row.pastApproved + row.pastDeclined + row.pastFailed, counted: row.pastFailed }
      : { attempts: 0, counted: 0 };
    const subject = { ...nothing, merchantId, kind: "GATEWAY_UNHEALTHY" as const, connectionId: id, gateway };
    return [{ subject, verdict: judgeFailures(share, past), detail: describeFailures(gateway, share, past) }];
  });
  return seenBy(
    judged,
    unhealthy.filter((alert) => alert.merchantId === merchantId),
  );
}

const percent = (share: Share) => `${(100 * shareOf(share)).toFixed(1)}%`;
const pastWords = (past: Share) =>
  past.attempts === 0 ? "" : `, ${percent(past)} in the ${pastDays} days before today (UTC)`;

function describeFailures(gateway: string, recent: Share, past: Share): string {
  return `${gateway} gave no usable answer to ${recent.counted} of ${recent.attempts} attempts of the last hour. That is ${percent(recent)}${pastWords(past)}.`;
}

function describeApprovals(gateway: string, recent: Share, past: Share): string {
  return `${gateway} approved ${recent.counted} of the ${recent.attempts} attempts that it answered in the last hour. That is ${percent(recent)}${pastWords(past)}.`;
}

// The last refusal of each connection, and whether its gateway has accepted credentials since: by any other answer to a
// payment of the last hour, or by the verification of newer ones. An alert that is open needs no refusal of the last hour.
const selectRefused: Statement = {
  name: "select_refused_credentials",
  text: `
    WITH suspected AS (
      SELECT DISTINCT connection_id FROM attempt WHERE refusal = 'CREDENTIALS' AND answered_at > $1
      UNION SELECT connection_id FROM alert WHERE kind = 'CREDENTIALS_REFUSED' AND over_at IS NULL)
    SELECT c.merchant_id AS "merchantId", c.id AS "connectionId", c.gateway, r.answered_at AS since, r.gateway_code AS "gatewayCode",
      EXISTS (SELECT FROM connection_credential v WHERE v.connection_id = c.id AND v.verified_at > r.answered_at)
      OR EXISTS (
        SELECT FROM payment_session s CROSS JOIN LATERAL (SELECT * FROM attempt WHERE session_id = s.id OFFSET 0) a
        WHERE s.merchant_id = c.merchant_id AND s.id >= $2 AND a.connection_id = c.id AND a.answered_at > r.answered_at
          AND a.status IN ('AUTHORIZED','CAPTURED','DECLINED','AWAITING_CUSTOMER')) AS "isAccepted"
    FROM suspected JOIN connection c ON c.id = suspected.connection_id CROSS JOIN LATERAL (
      SELECT answered_at, gateway_code FROM attempt WHERE connection_id = c.id AND refusal = 'CREDENTIALS'
      ORDER BY answered_at DESC LIMIT 1) r`,
};

/** Finds the connections whose credentials their gateway refuses now. */
async function compareCredentials(
  database: Queryable,
  { open, now }: { open: readonly OpenMatter[]; now: Date },
): Promise<Seen> {
  type Row = {
    merchantId: MerchantId;
    connectionId: ConnectionId;
    gateway: string;
    since: Date;
    gatewayCode: string | null;
    isAccepted: boolean;
  };
  const since = new Date(now.getTime() - hourMs);
  const firstId = firstIdAt(new Date(since.getTime() - sessionLongestMs));
  const refused = (await database.query<Row>(selectRefused, [since, firstId])).filter(({ isAccepted }) => !isAccepted);
  return {
    found: refused.map(({ isAccepted: _, gatewayCode, ...subject }) => ({
      ...nothing,
      ...subject,
      kind: "CREDENTIALS_REFUSED" as const,
      detail: `${subject.gateway} refuses the credentials of this connection${gatewayCode === null ? "" : `; its code is ${gatewayCode}`}. It processes no payment: each goes to the next gateway of its plan, if there is one.`,
    })),
    over: ofKinds(open, ["CREDENTIALS_REFUSED"]).filter(
      (alert) => !refused.some(({ connectionId }) => connectionId === alert.connectionId),
    ),
  };
}

// Credentials that are newer than those in use. One that has waited for a day is forgotten rather than in work.
const selectUnverifiedGateways: Statement = {
  name: "select_unverified_gateways",
  text: `SELECT c.merchant_id AS "merchantId", c.id AS "connectionId", c.gateway, min(v.created_at) AS since,
           c.credential_version IS NOT NULL AS "hasOlder"
         FROM connection c JOIN connection_credential v ON v.connection_id = c.id
         WHERE v.verified_at IS NULL AND v.dropped_at IS NULL AND v.version > coalesce(c.credential_version, 0)
         GROUP BY c.id HAVING min(v.created_at) <= (SELECT app.clock()) - interval '1 day'`,
};

// An endpoint that never was verified, or whose URL was changed, matters once events have waited for it for an hour.
const selectUnverifiedEndpoints: Statement = {
  name: "select_unverified_endpoints",
  text: `SELECT e.merchant_id AS "merchantId", e.id AS "endpointId", waiting.since
         FROM endpoint e CROSS JOIN LATERAL (
           SELECT next_at AS since FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING'
           ORDER BY next_at LIMIT 1) waiting
         WHERE (e.status = 'PENDING' OR e.status = 'PAUSED' AND e.verified_at IS NULL)
           AND waiting.since <= (SELECT app.clock()) - interval '1 hour'`,
};

async function compareVerifications(database: Queryable, open: readonly OpenMatter[]): Promise<Seen> {
  type GatewayFound = {
    merchantId: MerchantId;
    connectionId: ConnectionId;
    gateway: string;
    since: Date;
    hasOlder: boolean;
  };
  type EndpointFound = { merchantId: MerchantId; endpointId: EndpointId; since: Date };
  const gateways = await database.query<GatewayFound>(selectUnverifiedGateways, []);
  const endpoints = await database.query<EndpointFound>(selectUnverifiedEndpoints, []);
  const found: Found[] = [
    ...gateways.map(({ hasOlder, ...gateway }) => ({
      ...nothing,
      ...gateway,
      kind: "GATEWAY_UNVERIFIED" as const,
      detail: hasOlder
        ? "New credentials were entered a day ago or earlier and are not verified. The earlier ones stay in use until then."
        : "Credentials were entered a day ago or earlier and are not verified. No payment is routed there until then.",
    })),
    ...endpoints.map((endpoint) => ({
      ...nothing,
      ...endpoint,
      kind: "ENDPOINT_UNVERIFIED" as const,
      detail: `Events wait for ${encodeId("we", endpoint.endpointId)}, which is not verified: it never was, or its URL was changed.`,
    })),
  ];
  const over = ofKinds(open, ["GATEWAY_UNVERIFIED", "ENDPOINT_UNVERIFIED"]).filter(
    (alert) =>
      !found.some(
        ({ kind, connectionId, endpointId }) =>
          kind === alert.kind && connectionId === alert.connectionId && endpointId === alert.endpointId,
      ),
  );
  return { found, over };
}

const ofKinds = (open: readonly OpenMatter[], kinds: readonly MatterKind[]) =>
  open.filter(({ kind }) => kinds.includes(kind));

// A hold is about to end in its last twelve hours, or in its last quarter if that is shorter.
const selectEndingHolds: Statement = {
  name: "select_ending_holds",
  text: `SELECT m.merchant_id AS "merchantId", h.* FROM merchant_settings m CROSS JOIN LATERAL (
           SELECT count(*)::int AS holds, min(held_until) AS first, max(held_until) AS last FROM payment_session s
           WHERE s.merchant_id = m.merchant_id AND ${heldInSql} AND s.held_until <= (SELECT app.clock()) + interval '12 hours'
             AND s.held_until - (SELECT app.clock()) <= (s.held_until - s.held_at) / 4) h
         WHERE h.holds > 0`,
};
const selectEndedHolds: Statement = {
  name: "select_ended_holds",
  text: `SELECT n.id FROM alert n WHERE n.kind = 'HOLDS_EXPIRING' AND n.over_at IS NULL AND NOT EXISTS (
           SELECT FROM payment_session s
           WHERE s.merchant_id = n.merchant_id AND ${heldInSql} AND s.held_until <= n.covers_until)`,
};

/**
 * A single alert covers all holds of a merchant that were ending when it opened. It ends when each is captured or
 * released.
 */
async function compareHolds(database: Queryable, open: readonly OpenMatter[]): Promise<Seen> {
  type Ending = { merchantId: MerchantId; holds: number; first: Date; last: Date };
  const ending = await database.query<Ending>(selectEndingHolds, []);
  const ended = new Set((await database.query<{ id: AlertId }>(selectEndedHolds, [])).map(({ id }) => id));
  return {
    found: ending.map(({ merchantId, holds, first, last }) => ({
      ...nothing,
      merchantId,
      kind: "HOLDS_EXPIRING",
      detail: `${holds === 1 ? "1 payment is held and is" : `${holds} payments are held and are`} not captured. The first hold ends at ${first.toISOString().slice(0, 16).replace("T", " ")} UTC.`,
      coversUntil: last,
    })),
    over: open.filter(({ id }) => ended.has(id)),
  };
}
