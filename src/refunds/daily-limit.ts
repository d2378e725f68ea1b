/** The daily limits (UTC) of refunds by members and by restricted keys, and their checks within a refund's transaction. */
import type { RefundCap } from "../accounts/api-keys.ts";
import type { LiveRole, MemberRole } from "../accounts/members.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import {
  type DisputeResponseId,
  encodeId,
  type KeyId,
  type MemberId,
  type MerchantId,
  type RefundId,
  type SessionId,
} from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";

export const refundingRoles = ["SUPPORT", "DEVELOPER", "OWNER"] as const satisfies readonly MemberRole[];
export type RefundingRole = (typeof refundingRoles)[number];

/** Minor units by role and currency. A currency without an amount has no limit. */
export type RefundLimits = { readonly [Role in RefundingRole]?: Readonly<Record<string, number>> };

const selectLimits: Statement = {
  name: "select_refund_limits",
  text: "SELECT refund_limits AS limits FROM merchant_settings WHERE merchant_id = $1",
};

export async function loadRefundLimits(queryable: Queryable, merchantId: MerchantId): Promise<RefundLimits> {
  const [row] = await queryable.query<{ limits: RefundLimits }>(selectLimits, [merchantId]);
  return row?.limits ?? {};
}

const replaceLimits: Statement = {
  name: "replace_refund_limits",
  text: "UPDATE merchant_settings SET refund_limits = $2 WHERE merchant_id = $1",
};

export async function recordRefundLimits(tx: Tx, merchantId: MerchantId, limits: RefundLimits): Promise<void> {
  await tx.query(replaceLimits, [merchantId, JSON.stringify(limits)]);
}

/** SQL: the sum that a person has paid back on the day, by refunds and by accepting disputes. */
function givenBackSum(merchant: string, { at, by, currency }: { at: string; by: string; currency: string }): string {
  const sum = (table: string, counts: string) => `
    (SELECT coalesce(sum(d.amount_minor), 0)::float8 FROM ${table} d
     WHERE d.merchant_id = ${merchant} AND d.created_at >= date_trunc('day', ${at} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
       AND right(d.made_by, length(${by})) = ${by} AND d.currency = ${currency} AND ${counts})`;
  return `${sum("refund", "d.status <> 'FAILED'")} + ${sum("dispute_response", "d.type = 'ACCEPT' AND d.status <> 'REFUSED'")}`;
}

// The end of `made_by` is the member's id, so a new e-mail address changes nothing.
const selectRefundedToday: Statement = {
  name: "select_refunded_today",
  text: `SELECT ${givenBackSum("$1", { at: "$4::timestamptz", by: "$2", currency: "$3" })} AS "refundedMinor"`,
};

const lockRefunder: Statement = {
  name: "lock_refund_cap",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('refund cap ' || $1, 0))",
};

/**
 * Makes the refunds of one member or key take turns, until the transaction ends. Take it before the session's lock.
 * Renewals continue, unlike under the configuration's lock.
 */
export async function lockCap(tx: Tx, id: MemberId | KeyId): Promise<void> {
  await tx.query(lockRefunder, [id]);
}

/**
 * Throws `role_not_allowed` if a member has refunded more on the refund's day than the role may. Call it after the refund
 * was recorded, in its transaction, under `lockCap`: so each refund counts those before it.
 */
export async function requireWithinLimit(
  tx: Tx,
  made: {
    merchantId: MerchantId;
    memberId: MemberId;
    role: LiveRole | undefined;
    currency: string;
    amountMinor: number;
    createdAt: Date;
  },
): Promise<void> {
  const { merchantId, memberId, role, currency, amountMinor, createdAt } = made;
  const limits: Partial<Record<LiveRole, Readonly<Record<string, number>>>> = await loadRefundLimits(tx, merchantId);
  const limitMinor = role && limits[role]?.[currency];
  if (limitMinor === undefined) return;
  const values = [merchantId, `(${encodeId("mbr", memberId)})`, currency, createdAt];
  const [row] = await tx.query<{ refundedMinor: number }>(selectRefundedToday, values);
  const refundedMinor = row?.refundedMinor ?? 0;
  if (refundedMinor <= limitMinor) return;
  const left = amountInWords(Math.max(0, limitMinor - (refundedMinor - amountMinor)), currency);
  throw new DomainError(
    "role_not_allowed",
    `Your role may refund at most ${amountInWords(limitMinor, currency)} per day (UTC), and ${left} of it is left today. An owner can change the limit in the settings.`,
    { field: "amountMinor" },
  );
}

/** The daily limit of a key, and of those that a roll makes of it. */
export type KeyCap = { readonly keyId: KeyId; readonly amounts: RefundCap };

const selectRefundedByKey: Statement = {
  name: "select_refunded_by_key",
  text: `
    SELECT r.currency, r.amount_minor::float8 AS "amountMinor", ${givenBackSum("r.merchant_id", { at: "r.created_at", by: "$3", currency: "r.currency" })} AS "refundedMinor"
    FROM (SELECT merchant_id, currency, amount_minor, created_at FROM refund WHERE session_id = $1 AND id = $2
          UNION ALL SELECT merchant_id, currency, amount_minor, created_at FROM dispute_response WHERE session_id = $1 AND id = $2) r`,
};

/**
 * Throws `refund_cap_exceeded` if a key has refunded more on the day of a refund, or of an accepted dispute, than its cap allows. Call it after that was recorded, in
 * its transaction, under `lockCap`.
 */
export async function requireWithinCap(
  tx: Tx,
  { keyId, amounts }: KeyCap,
  { sessionId, id }: { sessionId: SessionId; id: RefundId | DisputeResponseId },
): Promise<void> {
  const values = [sessionId, id, `(${encodeId("key", keyId)})`];
  const [row] = await tx.query<Record<"refundedMinor" | "amountMinor", number> & { currency: string }>(
    selectRefundedByKey,
    values,
  );
  if (row === undefined) throw new Error("the refund was not recorded");
  const { currency, amountMinor, refundedMinor } = row;
  const capMinor = amounts[currency] ?? 0;
  if (refundedMinor <= capMinor) return;
  const left = amountInWords(Math.max(0, capMinor - (refundedMinor - amountMinor)), currency);
  throw new DomainError(
    "refund_cap_exceeded",
    `This key may refund at most ${amountInWords(capMinor, currency)} per day (UTC), and ${left} of it is left today.`,
    { field: "amountMinor" },
  );
}
