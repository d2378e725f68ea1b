/** The daily limits (UTC) of refunds by members: each role's, and the check within a refund's transaction. */
import type { MemberRole } from "../accounts/members.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId, type MemberId, type MerchantId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";

export const refundingRoles = ["DEVELOPER", "OWNER"] as const satisfies readonly MemberRole[];
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

// The end of `made_by` is the member's id, so a new e-mail address changes nothing.
const selectRefundedToday: Statement = {
  name: "select_refunded_today",
  text: `
    SELECT coalesce(sum(amount_minor), 0)::float8 AS "refundedMinor" FROM refund
    WHERE merchant_id = $1 AND created_at >= date_trunc('day', app.clock() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
      AND right(made_by, length($2)) = $2 AND currency = $3 AND status <> 'FAILED'`,
};

/**
 * Throws `role_not_allowed` if a member has refunded more today than the role may. Call it after the refund was
 * recorded, in its transaction, under the lock of the merchant's configuration: so each refund counts those before it.
 */
export async function requireWithinLimit(
  tx: Tx,
  made: {
    merchantId: MerchantId;
    memberId: MemberId;
    role: MemberRole | undefined;
    currency: string;
    amountMinor: number;
  },
): Promise<void> {
  const { merchantId, memberId, role, currency, amountMinor } = made;
  const limits: Partial<Record<MemberRole, Readonly<Record<string, number>>>> = await loadRefundLimits(tx, merchantId);
  const limitMinor = role && limits[role]?.[currency];
  if (limitMinor === undefined) return;
  const values = [merchantId, `(${encodeId("mbr", memberId)})`, currency];
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
