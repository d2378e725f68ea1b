/** The audit trail of one environment, or of the accounts: who did what to which merchant, how it was before and is after. Rows never change. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";

/** What happened. `before` and `after` never hold a secret. */
export type AuditFact = {
  /** Undefined for what concerns no single merchant. */
  readonly merchantId: string | undefined;
  /** Whose own account it is about, where the member is to read it. */
  readonly memberId?: string | undefined;
  /** Who, such as `demo (op_…)`. */
  readonly actor: string;
  /** The rpc's name. */
  readonly action: string;
  /** The public id of what was changed or looked at. */
  readonly subject: string;
  readonly before?: object | undefined;
  readonly after?: object | undefined;
  readonly requestId: string;
};

/** A fact as it is kept. */
export type AuditEntry = {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly requestId: string | null;
  readonly createdAt: Date;
};

// The one of an environment has no members.
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

/** Adds a row; give it the transaction of the change, so that there is none without the other. */
export async function recordAudit(queryable: Queryable, id: string, fact: AuditFact): Promise<void> {
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

/** Adds a row about a member's own account, which they read, and one for each of their merchants, whose owners do. */
export async function recordMemberAudit(
  tx: Tx,
  entropy: Pick<Entropy, "uuid">,
  { memberId, ...fact }: Omit<AuditFact, "merchantId"> & { readonly memberId: string },
): Promise<void> {
  await recordAudit(tx, entropy.uuid(), { ...fact, memberId, merchantId: undefined });
  for (const { merchantId } of await tx.query<{ merchantId: string }>(selectMerchants, [memberId])) {
    await recordAudit(tx, entropy.uuid(), { ...fact, merchantId });
  }
}

// Not before any id: where a list begins.
const uuidLast = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const selectEntries: Statement = {
  name: "select_audit_entries",
  text: `SELECT id, actor, action, subject, before, after, request_id AS "requestId", created_at AS "createdAt"
         FROM audit_entry WHERE merchant_id = $1 AND id < coalesce($3::uuid, '${uuidLast}') ORDER BY id DESC LIMIT $2`,
};
const selectOwnEntries: Statement = {
  name: "select_audit_entries_of_member",
  text: `SELECT id, actor, action, subject, before, after, request_id AS "requestId", created_at AS "createdAt"
         FROM audit_entry WHERE member_id = $1 ORDER BY id DESC LIMIT $2`,
};

/** The entries about a merchant, newest first: from the newest one on, or from the one after `after`. */
export async function listAudit(
  queryable: Queryable,
  { merchantId, after, count }: { merchantId: string; after: string | undefined; count: number },
): Promise<AuditEntry[]> {
  return queryable.query<AuditEntry>(selectEntries, [merchantId, count, after ?? null]);
}

/** The newest entries about a member's own account, newest first. */
export async function listOwnAudit(accounts: Queryable, memberId: string, count: number): Promise<AuditEntry[]> {
  return accounts.query<AuditEntry>(selectOwnEntries, [memberId, count]);
}
