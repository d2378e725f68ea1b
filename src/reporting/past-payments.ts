/** Reads the outcomes of a merchant's past payments, newest first, without customer data. */

import { noCardBeginnings } from "../core/decide/because.ts";
import type { PaymentFacts } from "../core/decide/routing-cases.ts";
import { drawOf } from "../core/record/routing-rules.ts";
import type { Arm, CardFacts, FailureKind, PlannedConnection, SessionStatus, Stop } from "../core/rows/entities.ts";
import type { PayingWallet } from "../core/wallets/plan-wallet.ts";
import { allowsAgain } from "../gateways/allows-again.ts";
import type { WalletCredential, WalletName } from "../platform/card-token.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { ConnectionId, MerchantId, SessionId } from "../platform/ids.ts";
import { isChallenged, isReleased, takenMinor } from "./analytics/counted-facts.ts";
import type { FollowedArm } from "./measured-plans.ts";
import type { PastAnswer, PastAttempt } from "./what-if.ts";

/** Largest difference between the clock of ids and the clock of rows. */
export const clockSkewMs = 5 * 60_000;

/** A past session. Without an end or a submission it is not yet a payment. */
export type PastSession = {
  readonly id: SessionId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: SessionStatus;
  readonly submitted: boolean;
  readonly createdAt: Date;
  readonly customerAsked: boolean;
  /** True if a gateway approved it, and its hold was then released: its status is DECLINED. */
  readonly released: boolean;
  readonly attempts: readonly PastAttempt[];
  /** The recorded facts, for the conditions of cases. */
  readonly facts: PaymentFacts;
  /** Absent if a card paid. */
  readonly wallet?: PayingWallet | undefined;
  /** Absent if its plan was not split. */
  readonly followed?: FollowedArm | undefined;
};

type AttemptRow = {
  connectionId: ConnectionId;
  gateway: string;
  status: string;
  failureKind: FailureKind | null;
  stop: Stop | null;
  captureRefusalCode: string | null;
  nextBecause: string | null;
  gatewayCode: string | null;
  round: number;
};

type PastRow = Omit<PastSession, "attempts" | "facts" | "followed" | "wallet"> & {
  ruleVersion: number | null;
  arm: Arm | null;
  caseName: string | null;
  plan: readonly PlannedConnection[] | null;
  attempts: AttemptRow[];
  orderedMinor: number;
  submittedAt: Date | null;
  cardBrand: string | null;
  country: string | null;
  metadata: Readonly<Record<string, string>> | null;
  card: CardFacts | null;
  walletName: WalletName | null;
  walletCredential: WalletCredential | null;
};

// Reads by the merchant's index from the newest id down; each session's attempts by their key. The work depends on the
// request, not on the number of sessions.
const selectPast: Statement = {
  name: "select_past_sessions",
  text: `
    SELECT s.id, (${takenMinor}) AS "amountMinor", s.amount_minor AS "orderedMinor", s.currency, s.status,
      s.submitted_at IS NOT NULL AS submitted, s.created_at AS "createdAt", ${isChallenged} AS "customerAsked", ${isReleased} AS released, s.plan,
      s.wallet AS "walletName", s.wallet_credential AS "walletCredential",
      s.submitted_at AS "submittedAt", s.card_brand AS "cardBrand", s.routed_by->'card' AS card,
      s.rule_version AS "ruleVersion", s.routed_by->'split'->>'arm' AS arm, s.routed_by->>'case' AS "caseName",
      s.details->'billingAddress'->>'country' AS country, s.details->'metadata' AS metadata,
      coalesce(t.attempts, '[]') AS attempts
    FROM (
      SELECT * FROM payment_session
      WHERE merchant_id = $1 AND amount_minor > 0 AND id >= $2 AND id < coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') ORDER BY id DESC LIMIT $4) s
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object(
        'connectionId', a.connection_id, 'gateway', a.gateway, 'status', a.status, 'failureKind', a.failure_kind,
        'stop', a.stop, 'captureRefusalCode', a.capture_refusal_code, 'nextBecause', a.next_because, 'gatewayCode', a.gateway_code, 'round', a.round) ORDER BY a.sequence) AS attempts
      FROM attempt a WHERE a.session_id = s.id) t ON true
    ORDER BY s.id DESC`,
};

/** Lists sessions created since a given time, newest first, and before the session `before` if one is given. */
export async function listPastSessions(
  queryable: Queryable,
  options: { merchantId: MerchantId; since: Date; before?: string | undefined; count: number },
): Promise<PastSession[]> {
  const values = [options.merchantId, firstIdAt(options.since), options.before ?? null, options.count];
  const rows = await queryable.query<PastRow>(selectPast, values);
  return rows.map((whole) => {
    const { plan, customerAsked, orderedMinor, submittedAt, cardBrand, country, metadata, card, ...rest } = whole;
    const { ruleVersion, arm, caseName, walletName, walletCredential: credential, ...row } = rest;
    const brand = cardBrand && cardBrand !== "unknown" ? cardBrand : undefined;
    return {
      ...row,
      ...(arm && ruleVersion && { followed: { ruleVersion, arm, case: caseName ?? undefined } }),
      ...(credential && { wallet: { credential, name: walletName ?? undefined, network: brand } }),
      facts: {
        amountMinor: orderedMinor,
        currency: row.currency,
        at: submittedAt ?? row.createdAt,
        draw: drawOf(row.id),
        billingCountry: country ?? undefined,
        metadata: metadata ?? undefined,
        card: { ...(brand && { brand }), ...card },
      },
      // A repeat with authentication counts as a challenge, even if the customer was not needed.
      customerAsked: customerAsked || row.attempts.some(({ round }) => round === 1),
      attempts: row.attempts.map((attempt) => ({
        connectionId: attempt.connectionId,
        gateway: attempt.gateway,
        answer: answerOf(attempt, row),
        isRetry: attempt.round === 2,
        authentication: plan?.find(({ connectionId }) => connectionId === attempt.connectionId)?.authentication,
      })),
    };
  });
}

/**
 * Returns the lowest id that can be generated at this time: ids begin with their time in milliseconds (RFC 9562,
 * UUIDv7).
 */
export function firstIdAt(moment: Date): string {
  const time = Math.max(moment.getTime(), 0).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

/**
 * Derives the gateway's answer. An attempt with a recorded next step failed at first, even if its hold was found and
 * adopted later; but of a released payment, it is the release that followed the hold.
 */
function answerOf(attempt: AttemptRow, { released }: Pick<PastSession, "released">): PastAnswer {
  const { status, failureKind, stop, captureRefusalCode, nextBecause, gateway, gatewayCode } = attempt;
  if (noCardBeginnings.some((beginning) => nextBecause?.startsWith(beginning))) return undefined;
  if (captureRefusalCode !== null) return { type: "failed", kind: "GATEWAY_ERROR", captureRefused: true };
  if (failureKind !== null) {
    const again = !stop && status === "DECLINED" && allowsAgain(gateway, gatewayCode);
    const mayHaveActed = (failureKind === "TIMEOUT" || failureKind === "GATEWAY_ERROR") && status !== "FAILED";
    return {
      type: "failed",
      kind: failureKind,
      mayHaveActed,
      ...(stop && { stop }),
      ...(again && { allowsAgain: true }),
    };
  }
  if (released && (status === "VOIDING" || status === "VOIDED")) return { type: "held" };
  const isHeld = status === "CAPTURED" || status === "AUTHORIZED";
  return isHeld && nextBecause === null ? { type: "held" } : undefined;
}
