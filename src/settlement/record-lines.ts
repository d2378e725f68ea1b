/** Records the lines of a statement, each once, with the movement that it pays. */
import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import { capturedOf } from "../core/rows/payment.ts";
import { recordNotice } from "../disputes/dispute-rows.ts";
import type { LineKind, LineNames, StatementLine, StatementPayout } from "../gateways/statements.ts";
import { gatewayReferenceCharactersMax } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import { type ConnectionId, decodeId, encodeId, type PayoutId, type SessionId } from "../platform/ids.ts";
import { sha256 } from "../platform/secrets.ts";
import { recordListed } from "../refunds/listed-refunds.ts";
import { findNamedEntries } from "./find-entries.ts";
import { type LineMatch, matchLines } from "./match-line.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Time for which the movement of a line is looked for: a notification may be late, or a restore bring it back. */
const lookedForMs = 7 * dayMs;
const lookedForEveryMs = 30 * minuteMs;
// Gateways repeat a notification for days until it is taken.
const noticeLostMs = 3 * dayMs;

const selectKnown: Statement = {
  name: "select_known_lines",
  text: `
    SELECT line_id AS "lineId", encode(digest, 'hex') AS digest, payout_id AS "payoutId"
    FROM payout_line WHERE connection_id = $1 AND line_id = ANY ($2)`,
};
const insertLines: Statement = {
  name: "insert_payout_lines",
  text: `
    INSERT INTO payout_line (connection_id, line_id, digest, merchant_id, gateway, payout_id, kind, status, reason, gross_minor, currency, settled_gross_minor,
      fee_minor, net_minor, settlement_currency, gateway_type, gateway_reference, names, session_id, entry_type, entry_id, entry_ordinal, entry_at, next_try_at)
    SELECT $1, line_id, decode(digest, 'hex'), '00000000-0000-0000-0000-000000000000', '', payout_id, kind, status, reason, gross_minor, currency,
      settled_gross_minor, fee_minor, net_minor, settlement_currency, gateway_type, gateway_reference, names, session_id, entry_type, entry_id, entry_ordinal,
      entry_at, CASE WHEN is_looked_for THEN app.clock() + $3 * interval '1 ms' END
    FROM jsonb_to_recordset($2::jsonb) AS line (line_id text, digest text, payout_id uuid, kind text, status text, reason text, gross_minor bigint, currency text,
      settled_gross_minor bigint, fee_minor bigint, net_minor bigint, settlement_currency text, gateway_type text, gateway_reference text, names jsonb,
      session_id uuid, entry_type text, entry_id uuid, entry_ordinal int, entry_at timestamptz, is_looked_for boolean)`,
};
const assignPayout: Statement = {
  name: "assign_lines_to_payout",
  text: `
    UPDATE payout_line SET payout_id = given.payout FROM unnest($2::text[], $3::uuid[]) AS given (line, payout)
    WHERE connection_id = $1 AND line_id = given.line AND payout_id IS NULL`,
};

/** Thrown if a line has different content when it is read again; nothing is overwritten. */
export class LineChanged extends Error {}

/**
 * Records lines of an account. `payouts` has the ids of those that the lines name. Durable on return. Throws `LineChanged` if one of them is
 * recorded with other amounts.
 */
export async function recordLines(
  core: Core,
  connectionId: ConnectionId,
  { lines, payouts }: { readonly lines: readonly StatementLine[]; readonly payouts: ReadonlyMap<string, PayoutId> },
): Promise<void> {
  // A list that changes while it is read may have a line twice.
  const given = [...new Map(lines.map((line) => [line.lineId, { ...line, digest: digestOf(line) }])).values()];
  if (given.length === 0) return;
  type Known = { lineId: string; digest: string; payoutId: PayoutId | null };
  const ids = given.map(({ lineId }) => lineId);
  const known = new Map(
    (await core.database.query<Known>(selectKnown, [connectionId, ids])).map((row) => [row.lineId, row]),
  );
  const payoutOf = ({ payoutReference }: StatementLine) =>
    payoutReference === undefined ? undefined : payouts.get(payoutReference);
  for (const line of given) {
    const before = known.get(line.lineId);
    if (before && before.digest !== line.digest)
      throw new LineChanged(`the line ${line.lineId.slice(0, 100)} says something else than before`);
  }
  const assigned = given.filter((line) => known.get(line.lineId)?.payoutId === null && payoutOf(line) !== undefined);
  if (assigned.length > 0) {
    const values = [assigned.map(({ lineId }) => lineId), assigned.map(payoutOf)];
    await core.database.query(assignPayout, [connectionId, ...values]);
  }
  // rule:line-once
  const added = given.filter(({ lineId }) => !known.has(lineId));
  if (added.length === 0) return;
  const matches = await matchAgain(core, connectionId, added);
  const rows = added.map((line, place) => rowOf(line, { match: matches[place]!, payoutId: payoutOf(line) }));
  await insertRows(core, connectionId, rows);
}

// Class 23 of PostgreSQL's error codes: a rule refuses the row. A movement that was only taken meanwhile, 23505, is
// matched again with the next reading.
const isRefused = (error: unknown) => /^23(?!505)/.test(String((error as { code?: unknown }).code));

/**
 * Inserts lines together. If a rule refuses the batch, inserts each line alone: a refused line is listed, and holds up
 * no other one.
 */
async function insertRows(core: Core, connectionId: ConnectionId, rows: readonly LineRow[]): Promise<void> {
  const insert = (some: readonly LineRow[]) =>
    core.database.query(insertLines, [connectionId, JSON.stringify(some), lookedForEveryMs]);
  try {
    await insert(rows);
  } catch (error) {
    if (!isRefused(error)) throw error;
    if (rows.length > 1) {
      for (const row of rows) await insertRows(core, connectionId, [row]);
      return;
    }
    const [row] = rows as [LineRow];
    core.log.warn({ err: error, reason: encodeId("gc", connectionId) }, "a line of a statement is refused by a rule");
    const none = { session_id: null, entry_type: null, entry_id: null, entry_ordinal: null, entry_at: null };
    const refused = {
      ...row,
      ...none,
      status: "UNMATCHED",
      reason: "unreadable",
      is_looked_for: false,
      payout_id: null,
    };
    await insert([refused]);
  }
}

type LineRow = ReturnType<typeof rowOf>;

/** Matches lines; a refund that no row explains is recorded first, as made at the gateway. */
async function matchAgain(
  core: Core,
  connectionId: ConnectionId,
  lines: readonly StatementLine[],
): Promise<readonly LineMatch[]> {
  const matches = matchLines(lines, await findNamedEntries(core.database, connectionId, lines));
  const unexplained = lines.filter((line, place) => isUnexplainedRefund(line, matches[place]!));
  if (unexplained.length === 0) return matches;
  let isRecorded = false;
  for (const [place, line] of lines.entries()) {
    const match = matches[place]!;
    if (match.status !== "UNMATCHED" || match.sessionId === undefined || !isUnexplainedRefund(line, match)) continue;
    isRecorded = (await recordRefund(core, match.sessionId, line)) || isRecorded;
  }
  return isRecorded ? matchLines(lines, await findNamedEntries(core.database, connectionId, lines)) : matches;
}

function isUnexplainedRefund({ kind, names }: StatementLine, match: LineMatch): boolean {
  const isMissing = match.status === "UNMATCHED" && match.reason === "not_found" && match.sessionId !== undefined;
  return isMissing && kind === "REFUND" && names.refund !== undefined;
}

/** Records a refund that a statement has, of a captured payment of ours. Returns true if that added or moved a row. */
async function recordRefund(core: Core, sessionId: SessionId, { names, gross }: StatementLine): Promise<boolean> {
  if (gross === undefined || gross.amountMinor >= 0 || names.refund === undefined) return false;
  const refund = {
    amountMinor: -gross.amountMinor,
    currency: gross.currency,
    gatewayReference: names.refund,
    refundReference: names.ourRefund,
    status: "succeeded",
  } as const;
  return core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, sessionId);
    const captured = loaded && capturedOf(loaded);
    const isForeign =
      (names.payment ?? captured?.gatewayReference) !== captured?.gatewayReference ||
      (names.capture ?? captured?.captureReference ?? undefined) !== (captured?.captureReference ?? names.capture);
    if (!loaded || !captured || isForeign) return false;
    // A failed refund stays failed: money that the bank returns has its own line.
    const ours = decodeId("ref", names.ourRefund ?? "");
    if (loaded.refunds.some(({ id, gatewayReference }) => gatewayReference === names.refund || id === ours))
      return false;
    return recordListed(tx, core, { loaded, captured, traits: { canRead: false }, listed: [refund] });
  });
}

function rowOf(
  line: StatementLine & { readonly digest: string },
  { match, payoutId }: { readonly match: LineMatch; readonly payoutId: PayoutId | undefined },
) {
  const { lineId, digest, kind, names, gross, settled } = line;
  return {
    ...{ line_id: lineId, digest, payout_id: payoutId ?? null, kind, names },
    ...{ gross_minor: gross?.amountMinor, currency: gross?.currency },
    ...{ settled_gross_minor: settled?.grossMinor, fee_minor: settled?.feeMinor, net_minor: settled?.netMinor },
    settlement_currency: settled?.currency,
    gateway_type: line.gatewayType.slice(0, gatewayReferenceCharactersMax),
    gateway_reference: line.gatewayReference.slice(0, gatewayReferenceCharactersMax),
    ...columnsOf(match),
    is_looked_for: isLookedFor(match),
  };
}

// A line that looks paid already may be a movement of the same amount that is not recorded yet: a second chargeback.
function isLookedFor(match: LineMatch): boolean {
  return match.status === "UNMATCHED" && (match.reason === "not_found" || match.reason === "already_paid");
}

function columnsOf(match: LineMatch): Readonly<Record<string, unknown>> {
  if (match.status === "ACCOUNT") return { status: match.status };
  if (match.status === "UNMATCHED") {
    return { status: match.status, reason: match.reason, session_id: match.sessionId ?? null };
  }
  const { sessionId, type, id, ordinal, at } = match.entry;
  const entry = { entry_type: type, entry_id: id, entry_ordinal: ordinal, entry_at: at };
  return { status: match.status, session_id: sessionId, ...entry };
}

/** Hashes the money of a line: its state at the gateway may change from one reading to the next. */
function digestOf({ kind, gatewayType, gatewayReference, gross, settled }: StatementLine): string {
  const said = [
    kind,
    gatewayType,
    gatewayReference,
    gross?.amountMinor,
    gross?.currency,
    settled?.grossMinor,
    settled?.feeMinor,
  ];
  return sha256(JSON.stringify([...said, settled?.netMinor, settled?.currency])).toString("hex");
}

const upsertPayout: Statement = {
  name: "upsert_payout",
  text: `
    INSERT INTO payout AS p (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency, arrives_on, lines_known)
    VALUES ($1, '00000000-0000-0000-0000-000000000000', $2, '', $3, $4, $5, $6, $7, $8)
    ON CONFLICT (connection_id, gateway_reference) DO UPDATE
      SET status = EXCLUDED.status, arrives_on = EXCLUDED.arrives_on, lines_known = p.lines_known OR EXCLUDED.lines_known,
        amount_minor = CASE WHEN p.complete_at IS NULL THEN EXCLUDED.amount_minor ELSE p.amount_minor END
    RETURNING id`,
};
const completePayout: Statement = {
  name: "complete_payout",
  text: "UPDATE payout SET complete_at = app.clock() WHERE id = $1 AND complete_at IS NULL",
};

/** Records a payout as it stands, and returns its id. */
export async function recordPayout(core: Core, connectionId: ConnectionId, payout: StatementPayout): Promise<PayoutId> {
  const { gatewayReference, status, amountMinor, currency, arrivesOn = null, isComplete } = payout;
  const values = [connectionId, gatewayReference, status, amountMinor, currency, arrivesOn, isComplete];
  const [row] = await core.database.query<{ id: PayoutId }>(upsertPayout, [core.runtime.uuid(), ...values]);
  return row!.id;
}

/** Fixes the lines of a payout. */
export async function recordComplete(core: Core, payoutId: PayoutId): Promise<void> {
  await core.database.query(completePayout, [payoutId]);
}

const takeUnmatched: Statement = {
  name: "take_lines_to_match",
  text: `
    UPDATE payout_line SET next_try_at = CASE WHEN recorded_at > app.clock() - $2 * interval '1 ms' THEN app.clock() + $1 * interval '1 ms' END
    WHERE (connection_id, line_id) IN (
      SELECT connection_id, line_id FROM payout_line WHERE next_try_at <= (SELECT app.clock()) ORDER BY next_try_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING connection_id AS "connectionId", line_id AS "lineId", kind, names, gateway_type AS "gatewayType", gateway_reference AS "gatewayReference",
      gross_minor::float8 AS "grossMinor", currency, settled_gross_minor::float8 AS "settledMinor", fee_minor::float8 AS "feeMinor",
      net_minor::float8 AS "netMinor", settlement_currency AS "settlementCurrency", gateway, recorded_at AS "recordedAt",
      recorded_at < app.clock() - $4 * interval '1 ms' AS "isOld"`,
};
const matchLater: Statement = {
  name: "match_payout_line",
  text: `
    UPDATE payout_line
    SET status = 'MATCHED', reason = NULL, next_try_at = NULL, session_id = $3, entry_type = $4, entry_id = $5, entry_ordinal = $6, entry_at = $7
    WHERE connection_id = $1 AND line_id = $2 AND status = 'UNMATCHED'`,
};
const explainLater: Statement = {
  name: "explain_payout_line",
  text: `
    UPDATE payout_line SET reason = $3, session_id = $4, next_try_at = CASE WHEN $5 THEN next_try_at END
    WHERE connection_id = $1 AND line_id = $2 AND status = 'UNMATCHED'`,
};

const retriedAtOnce = 100;

type Unmatched = {
  readonly connectionId: ConnectionId;
  readonly lineId: string;
  readonly kind: LineKind;
  readonly names: LineNames;
  readonly gatewayType: string;
  readonly gatewayReference: string;
  readonly grossMinor: number;
  readonly currency: string;
  readonly settledMinor: number;
  readonly feeMinor: number;
  readonly netMinor: number;
  readonly settlementCurrency: string;
  readonly gateway: string;
  readonly recordedAt: Date;
  readonly isOld: boolean;
};

/**
 * Records a chargeback that a statement has and no notification has reported for days, where the gateway's disputes cannot be read: the
 * notification is lost.
 */
async function recordChargeback(core: Core, row: Unmatched, { kind, names, gross }: StatementLine): Promise<void> {
  const isOfDispute = kind === "CHARGEBACK" || kind === "CHARGEBACK_REVERSED";
  if (!isOfDispute || names.dispute === undefined || !gross || core.connectorOf(row.gateway)?.disputes) return;
  const gatewayReference = names.dispute;
  const [found] = await findNamedEntries(core.database, row.connectionId, [{ kind, names }]);
  if (found?.sessionId === undefined || found.entries.length > 0) return;
  const { sessionId } = found;
  await core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, sessionId);
    const captured = loaded && capturedOf(loaded);
    if (!loaded || !captured || captured.gatewayReference !== names.payment) return;
    const notice = {
      event: kind === "CHARGEBACK" ? ("charged" as const) : ("returned" as const),
      amountMinor: Math.abs(gross.amountMinor),
      currency: gross.currency,
      id: `statement ${row.lineId}`,
      at: row.recordedAt.toISOString(),
    };
    await recordNotice(tx, core, { loaded, captured, gatewayReference, notice });
  });
}

/** Looks once more for the movements of lines that named one of ours. Returns true if there may be more to look for. */
export async function matchLinesOnce(core: Core): Promise<boolean> {
  const taken = await core.database.query<Unmatched>(takeUnmatched, [
    lookedForEveryMs,
    lookedForMs,
    retriedAtOnce,
    noticeLostMs,
  ]);
  for (const row of taken) {
    const { connectionId, lineId, grossMinor, currency, settledMinor, feeMinor, netMinor } = row;
    const settled = { grossMinor: settledMinor, feeMinor, netMinor, currency: row.settlementCurrency };
    const line: StatementLine = { ...row, gross: { amountMinor: grossMinor, currency }, settled };
    if (row.isOld) await recordChargeback(core, row, line);
    const [match] = await matchAgain(core, connectionId, [line]);
    if (match?.status === "MATCHED") {
      const { sessionId, type, id, ordinal, at } = match.entry;
      await core.database.query(matchLater, [connectionId, lineId, sessionId, type, id, ordinal, at]);
    } else if (match?.status === "UNMATCHED") {
      const values = [connectionId, lineId, match.reason, match.sessionId ?? null, isLookedFor(match)];
      await core.database.query(explainLater, values);
    }
  }
  return taken.length === retriedAtOnce;
}
