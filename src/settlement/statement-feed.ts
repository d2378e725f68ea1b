/** Reads the statements of accounts: lists page by page, and reports row by row. */
import type { BoundConnector, Core } from "../core/core.ts";
import { gateways } from "../gateways/connector.ts";
import {
  feedLeaseMs,
  hurryFeed,
  jitter,
  postponeFeed,
  type TakenFeed,
  takeFeed,
  updateFeed,
} from "../gateways/feed-rows.ts";
import {
  type GatewayStatements,
  type ListedStatements,
  type ReportedStatements,
  type ReportRow,
  StatementError,
  type StatementFailure,
} from "../gateways/statements.ts";
import { followUpTimeoutMs } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import { type ConnectionId, encodeId, type PayoutId } from "../platform/ids.ts";
import { LineChanged, recordComplete, recordLines, recordPayout } from "./record-lines.ts";
import { firstDelayMs } from "./why-unsettled.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const readEveryMs = hourMs;
const blockedMs = dayMs;
// Payouts from before the account was connected belong to no payment here; a restore may bring payments back.
const firstReachMs = 90 * dayMs;
// A payout is listed by its creation, and its lines are known days later.
const payoutsReachMs = 35 * dayMs;
// Rows that are recorded together, and the rest after each, in milliseconds: payments wait for a long report no longer than that.
const rowsAtOnce = 100;
const restMs = 25;
const reportTimeoutMs = 4 * minuteMs;

const selectIncomplete: Statement = {
  name: "select_incomplete_payout",
  text: `
    SELECT id, gateway_reference AS "gatewayReference" FROM payout
    WHERE connection_id = $1 AND lines_known AND complete_at IS NULL AND ($2::text IS NULL OR gateway_reference > $2) ORDER BY gateway_reference LIMIT 1`,
};
const selectPayout: Statement = {
  name: "select_payout_by_reference",
  text: "SELECT id FROM payout WHERE connection_id = $1 AND gateway_reference = $2",
};
// Captures of the last month, of which the newest are looked at. A capture that is not confirmed, or has failed, is no one's debt yet.
const updateOverdue: Statement = {
  name: "update_overdue_captures",
  text: `
    UPDATE gateway_feed f SET overdue = (
      SELECT count(*) FROM (
        SELECT a.session_id, a.id FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id
        WHERE s.settled_at >= app.clock() - interval '30 days' - delay.is AND s.settled_at < app.clock() - delay.is AND s.amount_minor > 0
          AND s.capture_confirmed AND a.connection_id = $1 AND a.capture_failed_at IS NULL
        ORDER BY s.settled_at DESC LIMIT 10000) due
      WHERE (SELECT true FROM payout_line l WHERE l.status = 'MATCHED' AND l.session_id = due.session_id AND l.entry_type = 'CAPTURED'
        AND l.entry_id = due.id LIMIT 1) IS NULL)
    FROM (SELECT coalesce(usual_delay_ms, ${firstDelayMs}) * interval '1 ms' AS is FROM gateway_feed WHERE connection_id = $1 AND kind = 'settlement') delay
    WHERE f.connection_id = $1 AND f.kind = 'settlement'`,
};
// Reads the newest lines, so that an account with very many costs no more.
const updateDelay: Statement = {
  name: "update_usual_delay",
  text: `
    UPDATE gateway_feed SET usual_delay_ms = (
      SELECT CASE WHEN count(*) >= 20 THEN (1000 * percentile_disc(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM recorded_at - entry_at)))::bigint END
      FROM (SELECT recorded_at, entry_at FROM payout_line l JOIN connection c ON c.id = l.connection_id AND c.merchant_id = l.merchant_id
        WHERE l.connection_id = $1 AND l.status = 'MATCHED' AND l.recorded_at > app.clock() - interval '90 days'
        ORDER BY l.recorded_at DESC LIMIT 10000) newest)
    WHERE connection_id = $1 AND kind = 'settlement'`,
};

/** Reads a part of the statements of one account that is due. Returns true if there was one. */
export async function readStatementsOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  const readable = gateways.filter((gateway) => core.connectorOf(gateway)?.statements !== undefined);
  const feed = await takeFeed(core, "settlement", readable);
  if (feed === undefined) return false;
  const bound = await core.bind(feed.connectionId, feed.gateway, feed.credentialVersion);
  const statements = bound?.connector.statements;
  if (bound === undefined || statements === undefined) {
    await postponeFeed(core, feed, readEveryMs);
    return true;
  }
  const reader = { feed, credentials: bound.credentials, closing, everyMs: statements.everyMs ?? readEveryMs };
  const failure = await readPart(core, reader, statements).catch(failureIn);
  if (failure) await recordFailure(core, reader, failure);
  return true;
}

type Reader = {
  readonly feed: TakenFeed;
  readonly credentials: BoundConnector["credentials"];
  readonly closing: AbortSignal | undefined;
  readonly everyMs: number;
};

async function readPart(
  core: Core,
  reader: Reader,
  statements: GatewayStatements,
): Promise<StatementFailure | undefined> {
  return statements.type === "listed" ? readListed(core, reader, statements) : readReport(core, reader, statements);
}

function failureIn(error: unknown): StatementFailure {
  if (error instanceof LineChanged) return { type: "refused", reason: error.message };
  if (error instanceof StatementError) return error.failure;
  throw error;
}

async function recordFailure(core: Core, { feed, everyMs }: Reader, { type, reason }: StatementFailure): Promise<void> {
  const account = encodeId("gc", feed.connectionId);
  core.log.warn({ reason: `${account}: ${reason}` }, "the statements of an account could not be read");
  if (type !== "refused") return postponeFeed(core, feed, everyMs);
  return updateFeed(core, feed, { nextInMs: blockedMs, blockedReason: reason.slice(0, 200) });
}

/** The place where a list continues: a stage, the payout whose lines are read, and the gateway's own place. */
type Place = { readonly stage: "lines" | "payouts" | "of"; readonly payout: string; readonly page: string | undefined };

const separator = "|";
function placeIn(text: string | null): Place {
  const [stage = "lines", payout = "", ...page] = (text ?? `lines${separator}`).split(separator);
  const known = stage === "payouts" || stage === "of" ? stage : "lines";
  return { stage: known, payout, page: page.join(separator) || undefined };
}
const textOf = ({ stage, payout, page = "" }: Place) => [stage, payout, page].join(separator);

/** Reads one page: first the lines by time, then the payouts, then the lines of each payout that is not complete here. */
async function readListed(
  core: Core,
  { feed, credentials, closing, everyMs }: Reader,
  statements: ListedStatements,
): Promise<StatementFailure | undefined> {
  const { connectionId } = feed;
  const begunAt = feed.begunAt ?? feed.now;
  const reach = feed.readAt ? statements.lagMs + hourMs : firstReachMs;
  const since = feed.since ?? new Date((feed.readAt ?? begunAt).getTime() - reach);
  const call = { credentials, timeoutMs: followUpTimeoutMs, signal: closing };
  const place = placeIn(feed.page);
  let next: Place | undefined;
  if (place.stage === "payouts") {
    const payoutsSince = new Date(begunAt.getTime() - (feed.readAt ? payoutsReachMs : firstReachMs));
    const page = await statements.readPayouts!(call, { since: payoutsSince, page: place.page });
    if (page.type !== "page") return page;
    for (const payout of page.records) await recordPayout(core, connectionId, payout);
    next = page.next === undefined ? await nextIncomplete(core, connectionId) : { ...place, page: page.next };
  } else {
    const payout = place.stage === "of" ? place.payout : undefined;
    const page = await statements.readLines(call, { since, until: begunAt, payout, page: place.page });
    if (page.type !== "page") return page;
    const payouts = new Map<string, PayoutId>();
    const id = payout && (await payoutIdOf(core, connectionId, payout));
    if (payout && id) payouts.set(payout, id);
    await recordLines(core, connectionId, { lines: page.records, payouts });
    if (page.next !== undefined) next = { ...place, page: page.next };
    else if (payout === undefined) next = statements.readPayouts && { stage: "payouts", payout: "", page: undefined };
    else {
      if (id) await recordComplete(core, id);
      next = await nextIncomplete(core, connectionId, payout);
    }
  }
  if (next !== undefined) {
    await updateFeed(core, feed, { nextInMs: 0, under: { begunAt, since, page: textOf(next), isPartial: false } });
    return undefined;
  }
  await updateFigures(core, connectionId);
  await updateFeed(core, feed, { nextInMs: everyMs * jitter(core), readAt: begunAt, readWholeAt: begunAt });
  return undefined;
}

/** Counts again the usual delay, and the lines that are overdue by it. */
async function updateFigures(core: Core, connectionId: ConnectionId): Promise<void> {
  await core.database.query(updateDelay, [connectionId]);
  await core.database.query(updateOverdue, [connectionId]);
}

async function nextIncomplete(core: Core, connectionId: ConnectionId, after?: string): Promise<Place | undefined> {
  type Row = { gatewayReference: string };
  const [row] = await core.database.query<Row>(selectIncomplete, [connectionId, after ?? null]);
  return row && { stage: "of", payout: row.gatewayReference, page: undefined };
}

async function payoutIdOf(core: Core, connectionId: ConnectionId, reference: string): Promise<PayoutId | undefined> {
  const [row] = await core.database.query<{ id: PayoutId }>(selectPayout, [connectionId, reference]);
  return row?.id;
}

// Batches are numbered without gaps, so a notification shows which ones never arrived, or were lost by a restore.
// Reports before the first one are from a time when the account was not connected.
const batchPattern = "^settlement_detail_report_batch_([0-9]{1,9})[.]csv$";
const missedMax = 100;
const insertReport: Statement = {
  name: "insert_settlement_report",
  text: `
    WITH announced AS (
      SELECT connection_id, modification_reference AS name, substring(modification_reference FROM '${batchPattern}')::int AS batch
      FROM gateway_notification WHERE connection_id = $1 AND notification_id = $2 AND modification_reference IS NOT NULL),
    before AS (
      SELECT a.batch, max(substring(r.name FROM '${batchPattern}')::int) AS known FROM announced a
      JOIN settlement_report r ON r.connection_id = a.connection_id AND substring(r.name FROM '${batchPattern}')::int < a.batch GROUP BY 1)
    INSERT INTO settlement_report (connection_id, name, is_announced)
    SELECT $1, 'settlement_detail_report_batch_' || missed || '.csv', false
    FROM before, generate_series(greatest(known + 1, batch - ${missedMax}), batch - 1) missed
    UNION ALL SELECT connection_id, name, true FROM announced
    ON CONFLICT (connection_id, name) DO UPDATE
    SET is_announced = true, read_at = CASE WHEN NOT settlement_report.is_missing THEN settlement_report.read_at END
    WHERE excluded.is_announced AND NOT settlement_report.is_announced`,
};

/** Has a report read that a signed notification announces, under its signed name, and the missed ones before it. */
export async function recordReportNotice(
  core: Pick<Core, "database">,
  { connectionId, notificationId }: { readonly connectionId: ConnectionId; readonly notificationId: string },
): Promise<undefined> {
  await core.database.query(insertReport, [connectionId, notificationId]);
  await hurryFeed(core.database, connectionId, "settlement");
}

// The report that was read in part comes first: the end of any report completes all payouts that were begun.
const selectUnread: Statement = {
  name: "select_unread_report",
  text: `
    SELECT name, rows_read AS "rowsRead", is_announced AS "isAnnounced" FROM settlement_report
    WHERE connection_id = $1 AND read_at IS NULL ORDER BY rows_read = 0, is_missing OR NOT is_announced, queued_at, name LIMIT 1`,
};
const updateRowsRead: Statement = {
  name: "update_settlement_report",
  text: "UPDATE settlement_report SET rows_read = $3 WHERE connection_id = $1 AND name = $2",
};
// A report that was not read to its end goes behind the others.
const endReading: Statement = {
  name: "end_reading_of_report",
  text: `
    UPDATE settlement_report SET queued_at = app.clock(), read_at = CASE WHEN $3 THEN app.clock() END, is_missing = $4
    WHERE connection_id = $1 AND name = $2`,
};
const completeAll: Statement = {
  name: "complete_payouts_of_report",
  text: "UPDATE payout SET complete_at = app.clock() WHERE connection_id = $1 AND complete_at IS NULL",
};

/** Reads the report that waits longest, from the row where an earlier reading stopped. One that cannot be begun goes behind the others. */
async function readReport(
  core: Core,
  reader: Reader,
  statements: ReportedStatements,
): Promise<StatementFailure | undefined> {
  const { feed, credentials, everyMs } = reader;
  const { connectionId } = feed;
  if (!statements.canRead(credentials)) {
    // The feed looks as if it had never been read: an account without such credentials has no statements.
    await postponeFeed(core, feed, everyMs);
    return undefined;
  }
  const [report] = await core.database.query<WaitingReport>(selectUnread, [connectionId]);
  if (report === undefined) {
    await updateFigures(core, connectionId);
    await updateFeed(core, feed, { nextInMs: everyMs * jitter(core), readAt: feed.now, readWholeAt: feed.now });
    return undefined;
  }
  const failure = await readRows(core, { ...reader, report }, statements).catch(failureIn);
  if (failure === undefined) return undefined;
  // The report was not announced, or the rest of it will not come.
  const isMissing = failure.type === "missing";
  const isGivenUp = isMissing && (!report.isAnnounced || report.rowsRead > 0);
  await core.database.query(endReading, [connectionId, report.name, isGivenUp, isMissing]);
  if (failure.type !== "refused") await updateFigures(core, connectionId);
  if (!isGivenUp) return failure;
  await updateFeed(core, feed, { nextInMs: 0 });
  return undefined;
}

type WaitingReport = { readonly name: string; readonly rowsRead: number; readonly isAnnounced: boolean };

async function readRows(
  core: Core,
  { feed, credentials, closing, report }: Reader & { readonly report: WaitingReport },
  statements: ReportedStatements,
): Promise<StatementFailure | undefined> {
  const { connectionId } = feed;
  const { name, rowsRead } = report;
  const opened = await statements.openReport(
    { credentials, timeoutMs: reportTimeoutMs, signal: closing },
    { name, fromRow: rowsRead },
  );
  if (opened.type !== "report") return opened;
  const stopsAtMs = performance.now() + Math.min(reportTimeoutMs, feedLeaseMs - minuteMs);
  const payouts = new Map<string, PayoutId>();
  let rows: ReportRow[] = [];
  let read = rowsRead;
  const record = async () => {
    await recordRows(core, connectionId, { rows, payouts });
    read = (rows.at(-1)?.row ?? read - 1) + 1;
    await core.database.query(updateRowsRead, [connectionId, name, read]);
    rows = [];
  };
  for await (const row of opened.rows) {
    rows.push(row);
    if (rows.length < rowsAtOnce) continue;
    await record();
    if (performance.now() < stopsAtMs) {
      await core.sleep(restMs, closing);
      continue;
    }
    // Goes on at its row in another turn, under another lease.
    await updateFeed(core, feed, { nextInMs: 0 });
    return undefined;
  }
  await record();
  await core.database.query(completeAll, [connectionId]);
  await core.database.query(endReading, [connectionId, name, true, false]);
  await updateFeed(core, feed, { nextInMs: 0, readAt: feed.now, readWholeAt: feed.now });
  return undefined;
}

async function recordRows(
  core: Core,
  connectionId: ConnectionId,
  { rows, payouts }: { readonly rows: readonly ReportRow[]; readonly payouts: Map<string, PayoutId> },
): Promise<void> {
  for (const { line, payout } of rows) {
    const { payoutReference, settled } = line;
    if (payout) payouts.set(payout.gatewayReference, await recordPayout(core, connectionId, payout));
    if (payouts.has(payoutReference) || settled === undefined) continue;
    const known = await payoutIdOf(core, connectionId, payoutReference);
    // The amount is 0 until the row that has the payout.
    const begun = { gatewayReference: payoutReference, amountMinor: 0, currency: settled.currency };
    const id = known ?? (await recordPayout(core, connectionId, { ...begun, status: "PENDING", isComplete: false }));
    payouts.set(payoutReference, id);
  }
  await recordLines(core, connectionId, { lines: rows.map(({ line }) => line), payouts });
}
