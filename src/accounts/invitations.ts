/** Invitations to a merchant's dashboard: a link for one address, which works once and for a week. Stored as a hash. */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { InvitationId, MerchantId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { Roles } from "./members.ts";

// Lifetime of an invitation: over a week of holidays.
const invitationLifetimeMs = 7 * 24 * 60 * 60_000;

const tokenBytes = 32;

export type Invitation = Roles & {
  readonly id: InvitationId;
  readonly merchantId: MerchantId;
  readonly email: string;
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
};

const columns = `id, merchant_id AS "merchantId", email, role, live_role AS "liveRole", invited_by AS "invitedBy", created_at AS "createdAt", expires_at AS "expiresAt"`;

const endEarlier: Statement = {
  name: "end_earlier_invitation",
  text: "UPDATE invitation SET ended_at = clock_timestamp() WHERE merchant_id = $1 AND email = $2 AND ended_at IS NULL",
};
const insert: Statement = {
  name: "insert_invitation",
  text: `INSERT INTO invitation (id, merchant_id, email, role, live_role, token_hash, invited_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8 * interval '1 millisecond') RETURNING ${columns}`,
};

/** Invites an address and replaces an earlier invitation of the same address. */
export async function invite(
  tx: Tx,
  runtime: Pick<Runtime, "randomBytes" | "uuid">,
  whom: Pick<Invitation, "merchantId" | "email" | "role" | "liveRole" | "invitedBy">,
): Promise<{ invitation: Invitation; token: Secret }> {
  const { merchantId, email, role, liveRole, invitedBy } = whom;
  const token = new Secret(Buffer.from(runtime.randomBytes(tokenBytes)).toString("base64url"));
  await tx.query(endEarlier, [merchantId, email]);
  const hash = sha256(token.expose());
  const values = [runtime.uuid(), merchantId, email, role, liveRole, hash, invitedBy, invitationLifetimeMs];
  const [invitation] = await tx.query<Invitation>(insert, values);
  return { invitation: invitation!, token };
}

const countOfADay: Statement = {
  name: "count_invitations_of_a_day",
  text: `SELECT count(*)::integer AS count, (count(*) FILTER (WHERE email = $2))::integer AS "ofAddress" FROM invitation
         WHERE merchant_id = $1 AND created_at > clock_timestamp() - interval '1 day'`,
};

/** Counts the invitations that the merchant has made within a day, revoked or not, and those of them to one address. */
export async function countInvitationsOfADay(
  tx: Tx,
  merchantId: MerchantId,
  email: string,
): Promise<{ count: number; ofAddress: number }> {
  const [row] = await tx.query<{ count: number; ofAddress: number }>(countOfADay, [merchantId, email]);
  return row!;
}

const accept: Statement = {
  name: "accept_invitation",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() RETURNING ${columns}`,
};

/** Consumes an invitation in the transaction of the membership; undefined if it is unknown, ended or expired. */
export async function acceptInvitation(tx: Tx, token: Secret): Promise<Invitation | undefined> {
  return (await tx.query<Invitation>(accept, [sha256(token.expose())]))[0];
}

const selectByToken: Statement = {
  name: "select_invitation_by_token",
  text: `SELECT ${columns} FROM invitation WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()`,
};

/** Returns the invitation of a link, without consuming it. */
export async function findInvitation(queryable: Queryable, token: Secret): Promise<Invitation | undefined> {
  return (await queryable.query<Invitation>(selectByToken, [sha256(token.expose())]))[0];
}

const selectOpen: Statement = {
  name: "select_open_invitations",
  text: `SELECT ${columns} FROM invitation
         WHERE merchant_id = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY id DESC LIMIT 100`,
};

/** Returns the merchant's open invitations, newest first, at most a hundred. */
export async function listInvitations(queryable: Queryable, merchantId: MerchantId): Promise<Invitation[]> {
  return queryable.query<Invitation>(selectOpen, [merchantId]);
}

const revoke: Statement = {
  name: "revoke_invitation",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE id = $1 AND merchant_id = $2 AND ended_at IS NULL RETURNING ${columns}`,
};

/** Revokes an invitation; undefined if the merchant has no such open one. */
export async function revokeInvitation(
  queryable: Queryable,
  merchantId: MerchantId,
  id: InvitationId,
): Promise<Invitation | undefined> {
  return (await queryable.query<Invitation>(revoke, [id, merchantId]))[0];
}

const revokeAllToLive: Statement = {
  name: "revoke_invitations_to_live",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE merchant_id = $1 AND live_role <> 'NONE' AND ended_at IS NULL RETURNING id`,
};

/** Revokes the invitations that give a role in live. */
export async function revokeInvitationsToLive(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(revokeAllToLive, [merchantId]);
}

const revokeAllOf: Statement = {
  name: "revoke_invitations_of",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE merchant_id = $1 AND invited_by = $2 AND ended_at IS NULL RETURNING id`,
};

/** Revokes the invitations of a member who may no longer invite: one of them could be their own way back in. */
export async function revokeInvitationsOf(tx: Tx, merchantId: MerchantId, invitedBy: string): Promise<void> {
  await tx.query(revokeAllOf, [merchantId, invitedBy]);
}
