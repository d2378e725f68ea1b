/** The second person in live: what a merchant wants one for, and the calls that wait for one. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { ApprovalId, MemberId, MerchantId } from "../platform/ids.ts";
import type { Member, MemberRole, Roles } from "./members.ts";

/** Classes of calls, each of which an owner switches on. */
export const approvalClasses = ["routing", "credentials", "endpoints", "refunds"] as const;
export type ApprovalClass = (typeof approvalClasses)[number];

export type ApprovalPolicy = Readonly<Record<ApprovalClass, boolean>> & {
  /**
   * The most that the refunds of a payment may add up to, in minor units by currency. A currency that is left out: 0.
   */
  readonly refundsAbove: Readonly<Record<string, number>>;
};

const nothingWaits: ApprovalPolicy = {
  ...{ routing: false, credentials: false, endpoints: false, refunds: false },
  refundsAbove: {},
};

const selectPolicy: Statement = {
  name: "select_approval_policy",
  text: `SELECT routing, credentials, endpoints, refunds, refunds_above AS "refundsAbove" FROM approval_policy
         WHERE merchant_id = $1`,
};

export async function loadPolicy(accounts: Queryable, merchantId: MerchantId): Promise<ApprovalPolicy> {
  const [policy] = await accounts.query<ApprovalPolicy>(selectPolicy, [merchantId]);
  return policy ?? nothingWaits;
}

const upsertPolicy: Statement = {
  name: "upsert_approval_policy",
  text: `INSERT INTO approval_policy (merchant_id, routing, credentials, endpoints, refunds, refunds_above)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (merchant_id) DO UPDATE SET routing = excluded.routing, credentials = excluded.credentials,
           endpoints = excluded.endpoints, refunds = excluded.refunds, refunds_above = excluded.refunds_above`,
};

export async function savePolicy(tx: Tx, merchantId: MerchantId, policy: ApprovalPolicy): Promise<void> {
  const { routing, credentials, endpoints, refunds, refundsAbove } = policy;
  await tx.query(upsertPolicy, [merchantId, routing, credentials, endpoints, refunds, JSON.stringify(refundsAbove)]);
}

/** A call as it is stored. */
export type StoredCall = {
  readonly id: ApprovalId;
  readonly merchantId: MerchantId;
  /** A method name such as `dashboard.v1.RoutingRuleService/SetRoutingRule`. */
  readonly method: string;
  readonly cell: number;
  /** The role that requester and approver need in live. */
  readonly role: MemberRole;
  readonly revision: string;
  readonly sentences: readonly string[];
  readonly requestedBy: MemberId;
};

type ApprovalStatus = "PENDING" | "APPROVED" | "REJECTED" | "WITHDRAWN" | "EXPIRED" | "OUTDATED";

export type Approval = StoredCall & {
  /** Null once it is closed. */
  readonly sealedRequest: string | null;
  readonly status: ApprovalStatus;
  readonly requester: string;
  readonly decider: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly endedAt: Date | null;
  readonly ranAt: Date | null;
};

const insert: Statement = {
  name: "insert_approval",
  text: `INSERT INTO approval (id, merchant_id, method, cell, role, sealed_request, revision, sentences, requested_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

export async function insertApproval(tx: Tx, call: StoredCall & { readonly sealedRequest: string }): Promise<void> {
  const { id, merchantId, method, cell, role, sealedRequest, revision, sentences, requestedBy } = call;
  await tx.query(insert, [id, merchantId, method, cell, role, sealedRequest, revision, sentences, requestedBy]);
}

// An approval that is past its end counts as closed before the sweep closes it.
const columns = `a.id, a.merchant_id AS "merchantId", a.method, a.cell, a.role, a.revision, a.sentences,
  a.requested_by AS "requestedBy", a.created_at AS "createdAt", a.expires_at AS "expiresAt",
  CASE WHEN a.status = 'PENDING' AND a.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE a.status END AS status,
  CASE WHEN a.expires_at > clock_timestamp() THEN a.sealed_request END AS "sealedRequest",
  coalesce(a.ended_at, CASE WHEN a.expires_at <= clock_timestamp() THEN a.expires_at END) AS "endedAt", a.ran_at AS "ranAt",
  r.email AS requester, d.email AS decider`;
const from = "approval a JOIN member r ON r.id = a.requested_by LEFT JOIN member d ON d.id = a.decided_by";

const selectPending: Statement = {
  name: "select_pending_approvals",
  text: `SELECT ${columns} FROM ${from}
         WHERE a.merchant_id = $1 AND a.status = 'PENDING' AND a.expires_at > clock_timestamp() ORDER BY a.id`,
};

/** Returns the calls that wait, oldest first. */
export async function listPending(accounts: Queryable, merchantId: MerchantId): Promise<Approval[]> {
  return accounts.query<Approval>(selectPending, [merchantId]);
}

const selectClosed: Statement = {
  name: "select_closed_approvals",
  text: `SELECT ${columns} FROM ${from}
         WHERE a.merchant_id = $1 AND (a.status <> 'PENDING' OR a.expires_at <= clock_timestamp()) ORDER BY a.id DESC LIMIT $2`,
};

/** Returns the newest of those that wait no more. */
export async function listClosed(accounts: Queryable, merchantId: MerchantId, count: number): Promise<Approval[]> {
  return accounts.query<Approval>(selectClosed, [merchantId, count]);
}

const selectOne: Statement = {
  name: "select_approval",
  text: `SELECT ${columns} FROM ${from} WHERE a.merchant_id = $1 AND a.id = $2`,
};

export async function findApproval(
  accounts: Queryable,
  merchantId: MerchantId,
  id: ApprovalId,
): Promise<Approval | undefined> {
  return (await accounts.query<Approval>(selectOne, [merchantId, id]))[0];
}

// The row's trigger locks both memberships, and refuses where one of them has lost the role.
const approve: Statement = {
  name: "approve_call",
  text: `UPDATE approval SET status = 'APPROVED', decided_by = $2, decision = $3, ended_at = clock_timestamp(), sealed_request = NULL
         WHERE id = $1 AND status = 'PENDING' AND expires_at > clock_timestamp() RETURNING 1`,
};
const selectDecision: Statement = { name: "select_decision", text: "SELECT decision FROM approval WHERE id = $1" };

/**
 * Closes a waiting call as approved; undefined if it no longer waits. `decision` is the request that runs it: it may be
 * repeated, because the answer to its commit may have been lost.
 */
export async function approveCall(
  tx: Tx,
  { id, decidedBy, decision }: { id: ApprovalId; decidedBy: MemberId; decision: string },
): Promise<"approved" | "repeated" | undefined> {
  if ((await tx.query(approve, [id, decidedBy, decision])).length > 0) return "approved";
  const [row] = await tx.query<{ decision: string | null }>(selectDecision, [id]);
  return row?.decision === decision ? "repeated" : undefined;
}

const close: Statement = {
  name: "close_approval",
  text: `UPDATE approval SET status = $2, decided_by = $3, ended_at = clock_timestamp(), sealed_request = NULL
         WHERE id = $1 AND status = 'PENDING' RETURNING 1`,
};

/** Closes a waiting call without running it; false if it no longer waits. */
export async function closeCall(
  queryable: Queryable,
  id: ApprovalId,
  status: "REJECTED" | "WITHDRAWN" | "OUTDATED",
  decidedBy?: MemberId,
): Promise<boolean> {
  return (await queryable.query(close, [id, status, decidedBy ?? null])).length > 0;
}

const markRun: Statement = {
  name: "mark_approval_run",
  text: "UPDATE approval SET ran_at = clock_timestamp() WHERE id = $1 AND status = 'APPROVED' AND ran_at IS NULL",
};

/** Records that the approved call has ended. */
export async function noteRun(accounts: Queryable, id: ApprovalId): Promise<void> {
  await accounts.query(markRun, [id]);
}

const lockRoles: Statement = {
  name: "lock_roles_of_approval",
  text: `SELECT member_id FROM membership WHERE merchant_id = $1 AND member_id = ANY ($2::uuid[])
           AND role_rank(live_role) >= role_rank($3) ORDER BY member_id FOR NO KEY UPDATE`,
};

/** Locks the memberships of two members until the transaction ends; false unless both have the role in live. */
export async function lockBoth(
  tx: Tx,
  { merchantId, members, role }: { merchantId: MerchantId; members: readonly [MemberId, MemberId]; role: MemberRole },
): Promise<boolean> {
  return (await tx.query(lockRoles, [merchantId, members, role])).length === 2;
}

const selectHolders: Statement = {
  name: "select_members_with_live_role",
  text: `SELECT m.id, m.email, m.name, s.role, s.live_role AS "liveRole" FROM membership s JOIN member m ON m.id = s.member_id
         WHERE s.merchant_id = $1 AND role_rank(s.live_role) >= role_rank($2) ORDER BY m.id`,
};

/** Returns the members who have the role in live. */
export async function listHolders(
  accounts: Queryable,
  merchantId: MerchantId,
  role: MemberRole,
): Promise<(Member & Roles)[]> {
  return accounts.query<Member & Roles>(selectHolders, [merchantId, role]);
}

const expire: Statement = {
  name: "expire_approvals",
  text: `UPDATE approval SET status = 'EXPIRED', ended_at = expires_at, sealed_request = NULL WHERE id IN (
           SELECT id FROM approval WHERE status = 'PENDING' AND expires_at <= clock_timestamp()
           LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};

/** Closes calls whose time to be decided is over, at most `count`. Returns their number. */
export async function expireApprovals(accounts: Queryable, count: number): Promise<number> {
  return (await accounts.query(expire, [count])).length;
}

const expireAll: Statement = {
  name: "expire_every_approval",
  text: `UPDATE approval SET status = 'EXPIRED', ended_at = clock_timestamp(), sealed_request = NULL WHERE status = 'PENDING' RETURNING 1`,
};

/** Closes every waiting call of a restored backup: it may have been decided about since. Returns their number. */
export async function expireEveryApproval(tx: Tx): Promise<number> {
  return (await tx.query(expireAll, [])).length;
}
