/** Reads the records of a run from the database and the acquirers, for the checker. */
import { currencies as currenciesOfAdyen } from "../../../gateways/adyen/currencies.ts";
import { type CurrencyTable, toGatewayAmount } from "../../../gateways/amounts.ts";
import type { Gateway } from "../../../gateways/connector.ts";
import { currencies as currenciesOfPayPal } from "../../../gateways/paypal/currencies.ts";
import { currencies as currenciesOfA } from "../../../gateways/sandbox/a/currencies.ts";
import { currencies as currenciesOfB } from "../../../gateways/sandbox/b/currencies.ts";
import { currencies as currenciesOfStripe } from "../../../gateways/stripe/currencies.ts";
import { encodeId } from "../../../platform/ids.ts";
import type { Authorization } from "../../../sandbox/ledger.ts";
import type { SandboxControl } from "../../testing/sandbox-control.ts";
import type {
  AttemptRecord,
  AuthenticationRecord,
  EventRecord,
  Records,
  RefundRecord,
  SessionRecord,
} from "./records.ts";
import { withDatabase } from "./site-database.ts";

type Row<Fields extends string> = Record<Fields, string> & Record<"sequence" | "amountMinor", number>;

const currenciesAt: Readonly<Record<Gateway, CurrencyTable>> = {
  STRIPE: currenciesOfStripe,
  ADYEN: currenciesOfAdyen,
  PAYPAL: currenciesOfPayPal,
  SANDBOX_A: currenciesOfA,
  SANDBOX_B: currenciesOfB,
};

const selectSessions = `
  SELECT id, order_ref AS "orderRef", order_ref || coalesce(details -> 'metadata' ->> 'tab', '') AS key,
         allow_repeated_order AS "allowsRepeat", status, phase, winner_attempt_id AS "winnerAttemptId",
         submitted_at AS "submittedAt", settled_at AS "settledAt",
         EXISTS (SELECT FROM attempt a WHERE a.session_id = s.id AND a.capture_ordered_at IS NOT NULL) AS "hasCapture",
         manual_capture AS "isManual", held_at AS "heldAt", decline_code AS "declineCode", expired_because AS "expiredBecause", lease_epoch AS "leaseEpoch",
         (SELECT concat_ws(' ', p.agreement_id, p.renewal_ref) FROM stored_payment p WHERE p.session_id = s.id AND p.role = 'RENEWAL') AS renewal
  FROM payment_session s`;
const selectAuthentications = `
  SELECT session_id AS "sessionId", status, deadline_at AS "deadlineAt", coalesce(answered_at, completed_at) AS "endedAt"
  FROM authentication WHERE flow <> 'FRICTIONLESS'`;
const selectAttempts = `
  SELECT session_id AS "sessionId", id, sequence, round, connection_id AS "connectionId", gateway, status, failure_kind AS "failureKind", stop,
         void_kind AS "voidKind", started_at AS "startedAt", completed_at AS "completedAt", latest_execution_at AS "latestExecutionAt", amount_minor::float8 AS "amountMinor",
         coalesce(ordered_amount_minor, captured_amount_minor)::float8 AS "capturedMinor", currency
  FROM attempt`;
const selectEvents = `
  SELECT session_id AS "sessionId", id, sequence, type, encode(sha256(body), 'hex') AS body FROM outbox_event`;
const selectRefunds = `
  SELECT session_id AS "sessionId", id, attempt_id AS "attemptId", status, origin, failure_code AS "failureCode", gateway, currency, amount_minor::float8 AS "amountMinor", sends, keys FROM refund`;
const selectDisputed = `
  SELECT d.attempt_id AS "attemptId", d.gateway, m.currency, sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END)::float8 AS "amountMinor"
  FROM dispute d JOIN dispute_movement m ON m.session_id = d.session_id AND m.dispute_id = d.id GROUP BY 1, 2, 3`;
const selectAudit = `SELECT rule, session_id AS "sessionId" FROM app.audit()`;
const selectWorkItems = `
  SELECT session_id AS "sessionId", kind, detail, resolved_at IS NOT NULL AS resolved FROM work_item`;

type Seen = "webhooks" | "orders" | "clockMovedAt" | "outages";
type Stored = Omit<Records, Seen | "authorizations" | "keptErrors">;

/** Reads the records of the service and the acquirers, from one snapshot of each cell's database. */
export async function readRecords(
  databaseUrls: readonly string[],
  acquirers: SandboxControl,
): Promise<Omit<Records, Seen>> {
  const cells = await Promise.all(databaseUrls.map(readCell));
  return {
    sessions: cells.flatMap(({ sessions }) => sessions),
    attempts: cells.flatMap(({ attempts }) => attempts),
    authentications: cells.flatMap(({ authentications }) => authentications),
    events: cells.flatMap(({ events }) => events),
    refunds: cells.flatMap(({ refunds }) => refunds),
    disputed: cells.flatMap(({ disputed }) => disputed),
    audit: cells.flatMap(({ audit }) => audit),
    workItems: cells.flatMap(({ workItems }) => workItems),
    // This is read after the rows, because each is recorded before a gateway is called.
    authorizations: (await acquirers.authorizations()).map(inBooks),
    keptErrors: await acquirers.keptErrors(),
  };
}

function readCell(databaseUrl: string): Promise<Stored> {
  return withDatabase(databaseUrl, async (client) => {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const sessions = (await client.query(selectSessions)).rows.map(toSession);
    const attempts = (await client.query(selectAttempts)).rows.map(toAttempt);
    const authentications = (await client.query(selectAuthentications)).rows.map(toAuthentication);
    const events = (await client.query(selectEvents)).rows.map(toEvent);
    const refunds = (await client.query(selectRefunds)).rows.map(toRefund);
    const disputed = (await client.query(selectDisputed)).rows.map(toDisputed);
    const audit = (await client.query(selectAudit)).rows.map(ofSession);
    const workItems = (await client.query(selectWorkItems)).rows.map(ofSession);
    return { sessions, attempts, authentications, events, refunds, disputed, audit, workItems };
  });
}

function toSession(
  row: Row<
    | "id"
    | "orderRef"
    | "key"
    | "status"
    | "phase"
    | "winnerAttemptId"
    | "submittedAt"
    | "settledAt"
    | "heldAt"
    | "declineCode"
    | "expiredBecause"
    | "renewal"
  > & { hasCapture: boolean; isManual: boolean; allowsRepeat: boolean; leaseEpoch: number },
): SessionRecord {
  return {
    ...row,
    sessionId: encodeId("ps", row.id),
    winnerAttemptId: row.winnerAttemptId ? encodeId("att", row.winnerAttemptId) : undefined,
    submittedAt: row.submittedAt ? momentOf(row.submittedAt) : undefined,
    settledAt: row.settledAt ? momentOf(row.settledAt) : undefined,
    heldAt: row.heldAt ? momentOf(row.heldAt) : undefined,
    declineCode: row.declineCode ?? undefined,
    expiredBecause: row.expiredBecause ?? undefined,
    renewal: row.renewal ?? undefined,
  };
}

function toAuthentication(row: Row<"sessionId" | "status" | "deadlineAt" | "endedAt">): AuthenticationRecord {
  return {
    ...row,
    sessionId: encodeId("ps", row.sessionId),
    deadlineAt: momentOf(row.deadlineAt),
    endedAt: row.endedAt ? momentOf(row.endedAt) : undefined,
  };
}

function toAttempt(
  row: Row<
    | "sessionId"
    | "id"
    | "connectionId"
    | "gateway"
    | "status"
    | "failureKind"
    | "stop"
    | "voidKind"
    | "startedAt"
    | "completedAt"
    | "latestExecutionAt"
    | "currency"
  > & { round: number; capturedMinor: number | null },
): AttemptRecord {
  const orderedMinor = row.capturedMinor ?? undefined;
  return {
    ...row,
    sessionId: encodeId("ps", row.sessionId),
    attemptId: encodeId("att", row.id),
    failureKind: row.failureKind ?? undefined,
    stop: row.stop ?? undefined,
    voidKind: row.voidKind ?? undefined,
    startedAt: momentOf(row.startedAt),
    completedAt: row.completedAt ? momentOf(row.completedAt) : undefined,
    latestExecutionAt: momentOf(row.latestExecutionAt),
    value: valueAt(row, row.amountMinor),
    orderedMinor,
    orderedValue: orderedMinor === undefined ? undefined : valueAt(row, orderedMinor),
  };
}

/** Returns an amount in the gateway's own unit; NaN if it has none for it. */
function valueAt({ gateway, currency }: Record<"gateway" | "currency", string>, amountMinor: number): number {
  const amount = toGatewayAmount(currenciesAt[gateway as Gateway], { amountMinor, currency });
  return amount.type === "exact" ? amount.value : Number.NaN;
}

function inBooks(authorization: Authorization): Records["authorizations"][number] {
  const { acquirer } = authorization;
  return { ...authorization, gateway: acquirer === "A" || acquirer === "B" ? `SANDBOX_${acquirer}` : acquirer };
}

function toEvent(row: Row<"sessionId" | "id" | "type" | "body">): EventRecord {
  return { ...row, sessionId: encodeId("ps", row.sessionId), eventId: encodeId("evt", row.id) };
}

function toRefund({
  id,
  ...row
}: Row<"id" | "sessionId" | "attemptId" | "status" | "origin" | "failureCode" | "gateway" | "currency"> & {
  sends: number;
  keys: number;
}): RefundRecord {
  return {
    ...row,
    failureCode: row.failureCode ?? undefined,
    value: valueAt(row, row.amountMinor),
    sessionId: encodeId("ps", row.sessionId),
    refundId: encodeId("ref", id),
    attemptId: encodeId("att", row.attemptId),
  };
}

function toDisputed(row: Row<"attemptId" | "gateway" | "currency">): Records["disputed"][number] {
  return { attemptId: encodeId("att", row.attemptId), value: valueAt(row, row.amountMinor) };
}

/** Replaces a row's session id by the session's public id. */
function ofSession<Named extends { readonly sessionId: string }>(row: Named): Named {
  return { ...row, sessionId: encodeId("ps", row.sessionId) };
}

function momentOf(timestamp: string): string {
  return new Date(timestamp).toISOString();
}
