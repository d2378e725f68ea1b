/** Payments as rows, made by hand with the times and outcomes that a test wants to see. */
import { v7 } from "uuid";
import type { DisputeStage, DisputeStatus } from "../../../core/rows/disputes.ts";
import type { DashboardFixture } from "../../../dashboard/dashboard.fixture.ts";
import { switchGuards } from "../../../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";

type MadeAttempt = {
  readonly gateway: string;
  /** CAPTURING: its capture is ordered and unanswered. */
  readonly became: "CAPTURED" | "CAPTURING" | "DECLINED" | "VOIDED" | "VOIDING";
  readonly gatewayReference?: string;
};

/** The fields of a payment to make; the rest is the same for all. */
export type MadePayment = {
  readonly orderRef?: string;
  readonly status?: "CREATED" | "SUCCEEDED" | "DECLINED" | "DEGRADED" | "EXPIRED";
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly createdAt?: Date;
  readonly attempts?: readonly MadeAttempt[];
  /** The merchant's own id; the fixture's merchant when absent. */
  readonly merchantUuid?: string;
  readonly processing?: boolean;
  readonly requestUuid?: string;
  readonly submitRequestUuid?: string;
};

/** Permits rows that no flow could make; the foreign keys still apply. */
export async function openTables({ rows }: DashboardFixture): Promise<void> {
  await rows(switchGuards("DISABLE"));
}

// A single statement lets a session name its winner: the keys are checked at its end.
const insertPayment = `
  WITH attempts AS (
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because,
      amount_minor, currency, status, failure_kind, decline_code, gateway_code, gateway_reference, next_action,
      next_because, void_kind, capture_ordered_at, latest_execution_at, started_at, answered_at, completed_at)
    SELECT $1, a.id, a.sequence, a.gateway, a."connectionId", 1, a.sequence, 'first of rule version 3', $3, $4,
      CASE a.became WHEN 'CAPTURING' THEN 'AUTHORIZED' ELSE a.became END,
      CASE a.became WHEN 'DECLINED' THEN 'HARD_DECLINE' WHEN 'VOIDED' THEN 'TIMEOUT' WHEN 'VOIDING' THEN 'TIMEOUT' END,
      CASE a.became WHEN 'DECLINED' THEN 'insufficient_funds' END, CASE a.became WHEN 'DECLINED' THEN '51' END,
      a."gatewayReference", CASE WHEN a.became NOT LIKE 'CAPTUR%' THEN 'failover' END,
      CASE WHEN a.became NOT LIKE 'CAPTUR%' THEN 'Rule version 3 fails over.' END,
      CASE a.became WHEN 'VOIDED' THEN 'VOIDED' END, CASE WHEN a.became LIKE 'CAPTUR%' THEN $6::timestamptz + interval '8 s' END,
      $6::timestamptz + interval '1 h', $6::timestamptz + a.sequence * interval '1 s',
      $6::timestamptz + a.sequence * interval '1 s' + interval '500 ms',
      CASE WHEN a.became NOT LIKE '%ING' THEN $6::timestamptz + interval '9 s' END
    FROM jsonb_to_recordset($12::jsonb)
      AS a (id uuid, sequence int, gateway text, "connectionId" uuid, became text, "gatewayReference" text)
  )
  INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at,
    status, phase, lease_epoch, lease_until, submit_deadline, rule_version, submitted_at, settled_at, winner_attempt_id,
    captured_via, capture_confirmed, failover, decline_code, card_brand, card_last4, create_request_id,
    submit_request_id)
  VALUES ($1, $2, $3, $4, $5, 1, $6, $6::timestamptz + interval '30 min', $7, $8, $9, $6, $6,
    CASE WHEN $9 = 1 THEN 3 END, CASE WHEN $9 = 1 THEN $6::timestamptz END,
    CASE WHEN $7 <> 'CREATED' THEN $6::timestamptz + interval '9 s' END, $10::uuid,
    CASE WHEN $10::uuid IS NOT NULL THEN $11 END, CASE WHEN $10::uuid IS NOT NULL THEN true END,
    $10::uuid IS NOT NULL AND jsonb_array_length($12::jsonb) > 1,
    CASE WHEN $7 IN ('DECLINED', 'DEGRADED') THEN 'insufficient_funds' END,
    CASE WHEN $9 = 1 THEN 'visa' END, CASE WHEN $9 = 1 THEN '4242' END, $13, $14)`;

/** Stores a payment, and returns its public ids. Call `openTables` first. */
export async function makePayment(dashboard: DashboardFixture, made: MadePayment) {
  const { status = "SUCCEEDED", createdAt = new Date(), processing = false } = made;
  const wasSubmitted = processing || !["CREATED", "EXPIRED"].includes(status);
  const byDefault: MadeAttempt[] = [{ gateway: "SANDBOX_A", became: status === "SUCCEEDED" ? "CAPTURED" : "DECLINED" }];
  const attempts = (made.attempts ?? (wasSubmitted && !processing ? byDefault : [])).map((attempt, index) => ({
    ...attempt,
    id: v7(),
    sequence: index + 1,
    connectionId: v7(),
    gatewayReference: attempt.gatewayReference ?? (attempt.became.startsWith("CAPTUR") ? v7() : null),
  }));
  const winner = attempts.find(({ became }) => became.startsWith("CAPTUR"));
  const id = v7({ msecs: createdAt.getTime() });
  const phase = processing ? "PROCESSING" : status === "CREATED" ? "IDLE" : "DONE";
  await dashboard.rows(insertPayment, [
    id,
    made.merchantUuid ?? decodeId("mer", dashboard.merchantId),
    made.amountMinor ?? 4900,
    made.currency ?? "EUR",
    made.orderRef ?? "order-1042",
    createdAt,
    status,
    phase,
    wasSubmitted ? 1 : 0,
    winner?.id ?? null,
    winner?.gateway ?? null,
    JSON.stringify(attempts),
    made.requestUuid ?? null,
    made.submitRequestUuid ?? null,
  ]);
  return {
    sessionId: encodeId("ps", id),
    sessionUuid: id,
    attemptIds: attempts.map((attempt) => encodeId("att", attempt.id)),
  };
}

/** Stores a payment that is held until its merchant captures it, and returns its public id. The guards stay off. */
export async function makeHeld(dashboard: DashboardFixture, made: MadePayment = {}): Promise<string> {
  await openTables(dashboard);
  const attempts = [{ gateway: "SANDBOX_A", became: "CAPTURING" }, ...(made.attempts ?? [])] as const;
  const { sessionId, sessionUuid } = await makePayment(dashboard, {
    ...made,
    status: "CREATED",
    processing: true,
    attempts,
  });
  await dashboard.rows("UPDATE attempt SET capture_ordered_at = NULL WHERE session_id = $1", [sessionUuid]);
  await dashboard.rows(
    `UPDATE payment_session SET captured_via = NULL, capture_confirmed = NULL, manual_capture = true, held_at = now(), held_until = now() + interval '5 days',
       failover = false WHERE id = $1`,
    [sessionUuid],
  );
  return sessionId;
}

type Rows = { readonly rows: (text: string, values: unknown[]) => Promise<unknown> };
type MadeDispute = {
  readonly stage?: DisputeStage;
  readonly status?: DisputeStatus;
  readonly amountMinor?: number;
  readonly respondBy?: Date | undefined;
};

/** Records a dispute of a captured payment. The guards must be on: they count it. */
export async function makeDispute({ rows }: Rows, sessionId: string, made: MadeDispute = {}): Promise<void> {
  const { stage = "CHARGEBACK", status = "NEEDS_RESPONSE", amountMinor = 4000, respondBy } = made;
  await rows(
    `SELECT FROM app.record_dispute($1, $2, (SELECT winner_attempt_id FROM payment_session WHERE id = $1),
       (SELECT connection_id FROM attempt WHERE session_id = $1 AND status = 'CAPTURED'), 'SANDBOX_A', $3, $4, $5, $6, 'EUR', 'not_received', '13.1', 'visa', $7, '[]', NULL, NULL)`,
    [decodeId("ps", sessionId), v7(), `D-${v7()}`, stage, status, amountMinor, respondBy ?? null],
  );
}

type MadeCard = {
  readonly customerRef?: string;
  /** The fingerprint of the card and of each other card of its number. */
  readonly fingerprint?: string;
  readonly stoppedBecause?: string;
  readonly expYear?: number;
  /**
   * The network's name of the agreement's chain; without it, only SANDBOX_A could continue the chain of its own
   * account.
   */
  readonly networkTransactionId?: string | null;
};

/** Stores a card with an agreement, and returns their ids. */
export async function makeStoredCard(dashboard: DashboardFixture, made: MadeCard = {}) {
  const { customerRef = "customer-7", fingerprint = v7(), stoppedBecause, networkTransactionId = "9876" } = made;
  const [methodId, agreementId, sessionId] = [v7(), v7(), v7()];
  const merchantId = decodeId("mer", dashboard.merchantId);
  // The guards are off: they require the payment that has stored the card.
  await dashboard.rows(`
    SET session_replication_role = replica;
    INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
    VALUES ('${methodId}', '${merchantId}', '${customerRef}', 'visa', '4242', 3, ${made.expYear ?? 2099}, '${fingerprint}', 'sealed', sha256('${methodId}'), '${sessionId}');
    INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, every_days, ends_on, max_amount_minor, status, session_id,
      consented_at, network, network_transaction_id)
    VALUES ('${agreementId}', '${merchantId}', '${customerRef}', '${methodId}', 'RECURRING', '49.00 EUR each month until you cancel.', 'EUR', 28, '2099-12-31', 9900, 'ACTIVE',
      '${sessionId}', now(), 'visa', ${networkTransactionId === null ? "NULL" : `'${networkTransactionId}'`});
    INSERT INTO card_state (merchant_id, fingerprint, stopped_at, stopped_because)
    SELECT '${merchantId}', '${fingerprint}', now(), '${stoppedBecause}' WHERE ${stoppedBecause !== undefined};
    SET session_replication_role = origin`);
  return {
    customerRef,
    methodUuid: methodId,
    agreementUuid: agreementId,
    fingerprint,
    paymentMethodId: encodeId("pm", methodId),
    agreementId: encodeId("agr", agreementId),
  };
}
