/**
 * The audit trail of one environment, or of the accounts: actor, action, merchant, and the state before and after. Rows
 * never change.
 */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { AuditId, MemberId, MerchantId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";

/** An audited event. `before` and `after` never hold a secret. */
export type AuditFact = {
  /** Undefined for events that concern no single merchant. */
  readonly merchantId: MerchantId | undefined;
  /** The member whose own account it concerns, if they may read it. */
  readonly memberId?: MemberId | undefined;
  /** The actor, such as `demo (op_…)`. */
  readonly actor: string;
  readonly action: string;
  /** The public id of the changed or viewed object. */
  readonly subject: string;
  readonly before?: object | undefined;
  readonly after?: object | undefined;
  readonly requestId: string;
};

export type AuditEntry = {
  readonly id: AuditId;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly requestId: string | null;
  readonly createdAt: Date;
};

// An environment's trail has no members.
const insertOwnEntry: Statement = {
  name: "insert_audit_entry_of_member",
  text: `INSERT INTO audit_entry (id, merchant_id, actor, action, subject, before, after, request_id, member_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};
const insertEntry: Statement = {
  name: "insert_audit_entry",
  text: `INSERT INTO audit_entry (id, merchant_id, actor, action, subject, before, after, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** Adds a row; call it in the transaction of the change, so that neither exists without the other. */
export async function recordAudit(queryable: Queryable, id: AuditId, fact: AuditFact): Promise<void> {
  const { merchantId, memberId, actor, action, subject, before, after, requestId } = fact;
  await queryable.query(memberId === undefined ? insertEntry : insertOwnEntry, [
    id,
    merchantId ?? null,
    actor,
    action,
    subject,
    before === undefined ? null : JSON.stringify(before),
    after === undefined ? null : JSON.stringify(after),
    requestId,
    ...(memberId === undefined ? [] : [memberId]),
  ]);
}

const selectMerchants: Statement = {
  name: "select_merchants_of_member",
  text: `SELECT merchant_id AS "merchantId" FROM membership WHERE member_id = $1`,
};

/** Adds a row about a member's own account, which they read, and one for each of their merchants' owners. */
export async function recordMemberAudit(
  tx: Tx,
  runtime: Pick<Runtime, "uuid">,
  { memberId, ...fact }: Omit<AuditFact, "merchantId"> & { readonly memberId: MemberId },
): Promise<void> {
  await recordAudit(tx, runtime.uuid(), { ...fact, memberId, merchantId: undefined });
  for (const { merchantId } of await tx.query<{ merchantId: MerchantId }>(selectMerchants, [memberId])) {
    await recordAudit(tx, runtime.uuid(), { ...fact, merchantId });
  }
}

// The largest id, where a list begins.
const uuidLast = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const selectEntries: Statement = {
  name: "select_audit_entries",
  text: `SELECT id, actor, action, subject, before, after, request_id AS "requestId", created_at AS "createdAt"
         FROM audit_entry
         WHERE merchant_id = $1 AND id < coalesce($3::uuid, '${uuidLast}') AND action <> ALL ($4::text[])
           AND ($5::text IS NULL OR strpos(lower(actor), lower($5)) > 0) AND ($6::text IS NULL OR action = $6)
           AND ($7::text IS NULL OR subject = $7 OR starts_with(subject, $7 || '/'))
           AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
         ORDER BY id DESC LIMIT $2`,
};
const selectOwnEntries: Statement = {
  name: "select_audit_entries_of_member",
  text: `SELECT id, actor, action, subject, before, after, request_id AS "requestId", created_at AS "createdAt"
         FROM audit_entry WHERE member_id = $1 ORDER BY id DESC LIMIT $2`,
};

/** The entries to list; undefined for any. */
export type AuditFilter = {
  readonly without: readonly string[];
  /** A part of the actor's text, in any case. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** An id, alone or before a slash: `we_…` is also the endpoint of `we_…/evt_…`. */
  readonly subject?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
};

/** Returns the entries about a merchant, newest first: from the newest one on, or from the one after `after`. */
export async function listAudit(
  queryable: Queryable,
  page: { merchantId: MerchantId; filter: AuditFilter; after: string | undefined; count: number },
): Promise<AuditEntry[]> {
  const { without, actor, action, subject, createdAfter, createdBefore } = page.filter;
  return queryable.query<AuditEntry>(selectEntries, [
    ...[page.merchantId, page.count, page.after ?? null, without],
    ...[actor ?? null, action ?? null, subject ?? null, createdAfter ?? null, createdBefore ?? null],
  ]);
}

/** Returns the newest entries about a member's own account, newest first. */
export async function listOwnAudit(accounts: Queryable, memberId: MemberId, count: number): Promise<AuditEntry[]> {
  return accounts.query<AuditEntry>(selectOwnEntries, [memberId, count]);
}
