/** Invitations to a merchant's dashboard: a link for one address, which works once and for a week. Kept as a hash. */
import { invitationLifetimeMs } from "../limits/sign-in.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { MemberRole } from "./members.ts";

const tokenBytes = 32;

/** One that nobody has accepted yet. */
export type Invitation = {
  readonly id: string;
  readonly merchantId: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
};

const columns = `id, merchant_id AS "merchantId", email, role, invited_by AS "invitedBy", created_at AS "createdAt", expires_at AS "expiresAt"`;

const endEarlier: Statement = {
  name: "end_earlier_invitation",
  text: "UPDATE invitation SET ended_at = clock_timestamp() WHERE merchant_id = $1 AND email = $2 AND ended_at IS NULL",
};
const insert: Statement = {
  name: "insert_invitation",
  text: `INSERT INTO invitation (id, merchant_id, email, role, token_hash, invited_by, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 millisecond') RETURNING ${columns}`,
};

/** Invites an address, in place of an earlier invitation of the same address. */
export async function invite(
  tx: Tx,
  entropy: Pick<Entropy, "randomBytes" | "uuid">,
  whom: Pick<Invitation, "merchantId" | "email" | "role" | "invitedBy">,
): Promise<{ invitation: Invitation; token: Secret }> {
  const { merchantId, email, role, invitedBy } = whom;
  const token = new Secret(Buffer.from(entropy.randomBytes(tokenBytes)).toString("base64url"));
  await tx.query(endEarlier, [merchantId, email]);
  const values = [entropy.uuid(), merchantId, email, role, sha256(token.expose()), invitedBy, invitationLifetimeMs];
  const [invitation] = await tx.query<Invitation>(insert, values);
  return { invitation: invitation!, token };
}

const countOfADay: Statement = {
  name: "count_invitations_of_a_day",
  text: `SELECT count(*)::integer AS count FROM invitation
         WHERE merchant_id = $1 AND created_at > clock_timestamp() - interval '1 day'`,
};

/** How many invitations the merchant has made within a day, taken back or not. */
export async function countInvitationsOfADay(tx: Tx, merchantId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(countOfADay, [merchantId]);
  return row?.count ?? 0;
}

const accept: Statement = {
  name: "accept_invitation",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() RETURNING ${columns}`,
};

/** Uses an invitation up, in the transaction that makes the membership; undefined when it is unknown, ended or expired. */
export async function acceptInvitation(tx: Tx, token: Secret): Promise<Invitation | undefined> {
  return (await tx.query<Invitation>(accept, [sha256(token.expose())]))[0];
}

const selectByToken: Statement = {
  name: "select_invitation_by_token",
  text: `SELECT ${columns} FROM invitation WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()`,
};

/** The invitation behind a link, without using it up. */
export async function findInvitation(queryable: Queryable, token: Secret): Promise<Invitation | undefined> {
  return (await queryable.query<Invitation>(selectByToken, [sha256(token.expose())]))[0];
}

const selectOpen: Statement = {
  name: "select_open_invitations",
  text: `SELECT ${columns} FROM invitation
         WHERE merchant_id = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY id DESC LIMIT 100`,
};

/** The merchant's open invitations, newest first, a hundred at most. */
export async function listInvitations(queryable: Queryable, merchantId: string): Promise<Invitation[]> {
  return queryable.query<Invitation>(selectOpen, [merchantId]);
}

const revoke: Statement = {
  name: "revoke_invitation",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE id = $1 AND merchant_id = $2 AND ended_at IS NULL RETURNING ${columns}`,
};

/** Takes an invitation back; undefined when the merchant has no such open one. */
export async function revokeInvitation(tx: Tx, merchantId: string, id: string): Promise<Invitation | undefined> {
  return (await tx.query<Invitation>(revoke, [id, merchantId]))[0];
}

const revokeAllOf: Statement = {
  name: "revoke_invitations_of",
  text: `UPDATE invitation SET ended_at = clock_timestamp()
         WHERE merchant_id = $1 AND invited_by = $2 AND ended_at IS NULL RETURNING id`,
};

/** Takes back what somebody has invited to who may invite no more: a way back in would be among it. */
export async function revokeInvitationsOf(tx: Tx, merchantId: string, invitedBy: string): Promise<void> {
  await tx.query(revokeAllOf, [merchantId, invitedBy]);
}
