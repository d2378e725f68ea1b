/** The audit trail of one environment: who did what to which merchant, how it was before and is after. Rows never change. */
import type { Queryable, Statement } from "../platform/database.ts";

/** What happened. `before` and `after` never hold a secret. */
export type AuditFact = {
  /** Undefined for what concerns no single merchant. */
  readonly merchantId: string | undefined;
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

const insertEntry: Statement = {
  name: "insert_audit_entry",
  text: `INSERT INTO audit_entry (id, merchant_id, actor, action, subject, before, after, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** Adds a row; give it the transaction of the change, so that there is none without the other. */
export async function recordAudit(queryable: Queryable, id: string, fact: AuditFact): Promise<void> {
  const { merchantId, actor, action, subject, before, after, requestId } = fact;
  await queryable.query(insertEntry, [
    id,
    merchantId ?? null,
    actor,
    action,
    subject,
    before === undefined ? null : JSON.stringify(before),
    after === undefined ? null : JSON.stringify(after),
    requestId,
  ]);
}

const selectEntries: Statement = {
  name: "select_audit_entries",
  text: `SELECT id, actor, action, subject, before, after, request_id AS "requestId", created_at AS "createdAt"
         FROM audit_entry WHERE merchant_id = $1 ORDER BY id DESC LIMIT $2`,
};

/** The newest entries about a merchant, newest first. */
export async function listAudit(queryable: Queryable, merchantId: string, count: number): Promise<AuditEntry[]> {
  return queryable.query<AuditEntry>(selectEntries, [merchantId, count]);
}
