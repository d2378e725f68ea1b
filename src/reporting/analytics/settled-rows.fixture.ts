/**
 * Settled payments as rows with timestamps of a test's choice, written by the tables' owner, who may bypass their
 * guards.
 */
import { v7 } from "uuid";
import type {
  Arm,
  AttemptStatus,
  AuthenticationStatus,
  FailureKind,
  SessionStatus,
  Stop,
} from "../../core/rows/entities.ts";
import { switchGuards } from "../../migrations/switch-guards.ts";
import type { WalletCredential, WalletName } from "../../platform/card-token.ts";

/** A payment. By default it succeeded at the attempt that is captured. */
export type SettledRow = {
  readonly settledAt: string;
  readonly status?: Exclude<SessionStatus, "CREATED">;
  readonly amountMinor?: number;
  readonly currency?: string;
  /** The code of a DECLINED payment, if it is not `card_declined`. */
  readonly declineCode?: "capture_cancelled" | "capture_expired";
  /** The known facts of the card. */
  readonly card?: { readonly brand?: string; readonly country?: string };
  /** Time from submission to outcome. */
  readonly seconds?: number;
  readonly attempts: readonly {
    readonly gateway: string;
    readonly status: AttemptStatus;
    readonly kind?: FailureKind;
    readonly code?: string;
    readonly ms?: number;
    readonly stop?: Stop;
    readonly round?: number;
    /** The authentication within the attempt; `shownMs` is how long the customer was at the bank. */
    readonly asked?: { readonly status: AuthenticationStatus; readonly shownMs?: number };
    /** True if it got the proof of the provider's authentication. */
    readonly imported?: boolean;
  }[];
  /** The wallet that paid in place of a card; without a name if the vault did not answer with it. */
  readonly wallet?: { readonly credential: WalletCredential; readonly name?: WalletName };
  /** The provider's authentication, before the attempts. */
  readonly provided?: Provided;
  /** The arm of a split, and the version of the rule, by which it was planned. */
  readonly followed?: { readonly arm: Arm; readonly ruleVersion: number; readonly case?: string };
};

type Provided = {
  readonly status: AuthenticationStatus;
  readonly flow: "FRICTIONLESS" | "CHALLENGE";
  readonly shownMs?: number;
  readonly issuerLiable?: boolean;
};

export type Owner = { query(text: string, values?: unknown[]): Promise<unknown> };

// Foreign keys of both tables are checked at the end of the statement.
const insert = `
  WITH session AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, status, phase, lease_epoch,
      lease_until, submit_deadline, winner_attempt_id, captured_via, capture_confirmed, failover, decline_code, created_at,
      expires_at, submitted_at, settled_at, card_brand, routed_by, authentications, rule_version)
    SELECT $1, $2, $3, $4, 'o-' || gen_random_uuid(), 1, $5, CASE WHEN w.is_done THEN 'DONE' ELSE 'PROCESSING' END, $6::int, $7, $7, $8, $9, w.captured,
      $10, $11, $7::timestamptz - interval '1 hour', $7, CASE WHEN $6::int = 1 THEN $7::timestamptz - $12 * interval '1 s' END, $7,
      $14::jsonb->>'brand', nullif(coalesce(CASE WHEN $14::jsonb ? 'country' THEN jsonb_build_object('card', $14::jsonb) END, '{}') || coalesce($16::jsonb, '{}'), '{}'),
      (SELECT count(*) FROM jsonb_to_recordset($13) AS a(asked jsonb) WHERE a.asked IS NOT NULL), $15
    FROM (SELECT $8::uuid IS NOT NULL OR NULL AS captured,
            NOT EXISTS (SELECT FROM jsonb_to_recordset($13) AS a(status text) WHERE status = 'VOIDING') AS is_done) w)
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor,
    currency, status, failure_kind, stop, decline_code, gateway_reference, void_kind, capture_ordered_at, latest_execution_at,
    started_at, answered_at, completed_at, round, captured_amount_minor)
  SELECT $1, a.id, a.sequence, a.gateway, $1, 1, a.sequence, 'why', $3, $4, a.status, a.kind, coalesce(a.stop, CASE a.kind WHEN 'FRAUD' THEN 'fraud' END),
    a.code, CASE a.status WHEN 'CAPTURED' THEN a.id::text END, CASE a.status WHEN 'VOIDED' THEN 'VOIDED' END,
    CASE a.status WHEN 'CAPTURED' THEN $7::timestamptz END, $7, $7::timestamptz - a.ms * interval '1 ms', $7,
    CASE WHEN a.status <> 'VOIDING' THEN $7::timestamptz END, coalesce(a.round, 0),
    CASE a.status WHEN 'CAPTURED' THEN $3::bigint END
  FROM jsonb_to_recordset($13)
    AS a(id uuid, sequence int, gateway text, status text, kind text, code text, ms int, stop text, round int)`;

const setWallet = "UPDATE payment_session SET wallet_credential = $2, wallet = $3 WHERE id = $1";

// The provider took its last three seconds before the customer was shown anything.
const insertProvided = `
  WITH authentication AS (
    INSERT INTO authentication (session_id, id, sequence, provider, connection_id, credential_version, because, flow, status,
      holds_only_when_asked, action_life_ms, deadline_at, started_at, shown_at, answered_at, completed_at, liability)
    SELECT s.id, s.id, 100, 'SANDBOX_3DS', s.id, 1, 'why', $2::text, $3::text, true, 0, s.settled_at,
      s.settled_at - ($4::int + 3000) * interval '1 ms', CASE WHEN $4::int > 0 THEN s.settled_at - $4::int * interval '1 ms' END,
      CASE WHEN $4::int > 0 THEN s.settled_at END, s.settled_at, $5::text
    FROM payment_session s WHERE s.id = $1),
  counted AS (UPDATE payment_session SET authentications = authentications + 1 WHERE id = $1)
  UPDATE attempt SET authentication_id = $1 WHERE session_id = $1 AND sequence = ANY ($6::int[])`;

// The customer had a minute in all, and answered at the moment of the end.
const insertAsked = `
  INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, status, holds_only_when_asked,
    action_life_ms, deadline_at, started_at, shown_at, answered_at, completed_at)
  SELECT a.session_id, gen_random_uuid(), a.sequence, a.id, gen_random_uuid(), 'why', $3::text, true, 0, a.completed_at, a.completed_at - interval '1 min',
    a.completed_at - $4::int * interval '1 ms', CASE WHEN $3::text NOT IN ('CANCELLED', 'ABANDONED') THEN a.completed_at END, a.completed_at
  FROM attempt a WHERE a.session_id = $1 AND a.sequence = $2::int`;

/** Resets the counts, because rows of the past are inserted after that time was counted. */
export async function forgetCounts(owner: Owner): Promise<void> {
  const tables = ["payment", "attempt", "decline", "authentication", "card", "renewal", "wallet", "arm", "arm_cost"];
  const empty = tables.map((each) => `DELETE FROM analytics_${each}`);
  await owner.query([...empty, "UPDATE analytics_walk SET counted_until = '-infinity'"].join(";"));
}

export async function storeSettled(owner: Owner, merchantId: string, rows: readonly SettledRow[]): Promise<void> {
  await owner.query(switchGuards("DISABLE"));
  for (const { settledAt, status = "SUCCEEDED", amountMinor = 100, currency = "EUR", seconds = 1, ...row } of rows) {
    const attempts = row.attempts.map((attempt, index) => ({ id: v7(), sequence: index + 1, ms: 1, ...attempt }));
    const winner = attempts.find((attempt) => attempt.status === "CAPTURED");
    const declineCode = {
      SUCCEEDED: null,
      EXPIRED: null,
      DECLINED: row.declineCode ?? "card_declined",
      DEGRADED: "processing_unavailable",
    };
    const id = v7();
    const { followed } = row;
    const routedBy = followed && { case: followed.case, split: { arm: followed.arm, percent: 50, draw: 50 } };
    await owner.query(insert, [
      ...[id, merchantId, amountMinor, currency, status, status === "EXPIRED" ? 0 : 1, settledAt, winner?.id ?? null],
      ...[winner?.gateway ?? null, (winner?.sequence ?? 1) > 1, declineCode[status], seconds, JSON.stringify(attempts)],
      JSON.stringify(row.card ?? {}),
      ...[row.followed?.ruleVersion ?? null, routedBy && JSON.stringify(routedBy)],
    ]);
    if (row.wallet) await owner.query(setWallet, [id, row.wallet.credential, row.wallet.name ?? null]);
    if (row.provided) {
      const { flow, status: end, shownMs = 0, issuerLiable } = row.provided;
      const importing = attempts.filter(({ imported }) => imported).map(({ sequence }) => sequence);
      await owner.query(insertProvided, [id, flow, end, shownMs, issuerLiable ? "ISSUER" : null, importing]);
    }
    for (const { asked, sequence } of attempts)
      if (asked) await owner.query(insertAsked, [id, sequence, asked.status, asked.shownMs ?? null]);
  }
  await owner.query(switchGuards("ENABLE"));
}
