/** Members' accounts at identity providers, found by issuer and subject and never by an e-mail address. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MemberId, MerchantId } from "../platform/ids.ts";
import type { Roles } from "./members.ts";
import type { Proved } from "./prove-member.ts";

export type Identity = { readonly issuer: string; readonly subject: string };

const selectMember: Statement = {
  name: "select_member_of_identity",
  text: `SELECT m.proof_version AS "proofVersion", jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name) AS member
         FROM identity i JOIN member m ON m.id = i.member_id WHERE i.issuer = $1 AND i.subject = $2`,
};

/** Returns the member with an account at a provider. */
export async function findByIdentity(
  queryable: Queryable,
  { issuer, subject }: Identity,
): Promise<Omit<Proved, "secondFactor"> | undefined> {
  return (await queryable.query<Proved>(selectMember, [issuer, subject]))[0];
}

const insert: Statement = {
  name: "insert_identity",
  text: `INSERT INTO identity (issuer, subject, member_id, email) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING 1`,
};

/** Links an account to a member; false if either has another one at this issuer. */
export async function linkIdentity(
  tx: Tx,
  { issuer, subject }: Identity,
  { memberId, email }: { memberId: MemberId; email: string | undefined },
): Promise<boolean> {
  return (await tx.query(insert, [issuer, subject, memberId, email?.slice(0, 254) ?? null])).length > 0;
}

export type LinkedIdentity = Identity & { readonly email: string | null; readonly createdAt: Date };

const selectOfMember: Statement = {
  name: "select_identities_of_member",
  text: `SELECT issuer, subject, email, created_at AS "createdAt" FROM identity WHERE member_id = $1 ORDER BY created_at`,
};

export async function listIdentities(queryable: Queryable, memberId: MemberId): Promise<LinkedIdentity[]> {
  return queryable.query<LinkedIdentity>(selectOfMember, [memberId]);
}

const remove: Statement = {
  name: "remove_identity",
  text: `DELETE FROM identity WHERE member_id = $1 AND issuer = $2 RETURNING issuer, subject`,
};

/** Unlinks a member's account at an issuer; undefined if there is none. */
export async function unlinkIdentity(tx: Tx, memberId: MemberId, issuer: string): Promise<Identity | undefined> {
  return (await tx.query<Identity>(remove, [memberId, issuer]))[0];
}

const selectGranted: Statement = {
  name: "select_memberships_of_source",
  text: `SELECT merchant_id AS "merchantId", role, live_role AS "liveRole" FROM membership WHERE member_id = $1 AND source = $2`,
};

export type GrantedRoles = Roles & { readonly merchantId: MerchantId };

/** Returns the roles that a provider has given a member. */
export async function listGranted(queryable: Queryable, memberId: MemberId, source: string): Promise<GrantedRoles[]> {
  return queryable.query<GrantedRoles>(selectGranted, [memberId, source]);
}

// Grants nothing for a merchant that does not exist, and does not change a membership of another source.
const grant: Statement = {
  name: "grant_roles_by_provider",
  text: `INSERT INTO membership (merchant_id, member_id, role, live_role, source)
         SELECT id, $2, $3, $4, $5 FROM merchant WHERE id = $1
         ON CONFLICT (merchant_id, member_id) DO UPDATE SET role = excluded.role, live_role = excluded.live_role
         WHERE membership.source = excluded.source RETURNING 1`,
};

/** Writes the roles that a provider gives; false if they come from elsewhere, or there is no such merchant. */
export async function grantByProvider(
  tx: Tx,
  memberId: MemberId,
  { merchantId, role, liveRole }: GrantedRoles,
  source: string,
): Promise<boolean> {
  return (await tx.query(grant, [merchantId, memberId, role, liveRole, source])).length > 0;
}

const withdraw: Statement = {
  name: "withdraw_roles_of_provider",
  text: "DELETE FROM membership WHERE merchant_id = $1 AND member_id = $2 AND source = $3",
};

/** Ends a membership that a provider has given. */
export async function withdrawByProvider(
  tx: Tx,
  memberId: MemberId,
  merchantId: MerchantId,
  source: string,
): Promise<void> {
  await tx.query(withdraw, [merchantId, memberId, source]);
}

const useToken: Statement = {
  name: "use_logout_token",
  text: `INSERT INTO logout_token (issuer, jti, expires_at) VALUES ($1, $2, clock_timestamp() + interval '1 day')
         ON CONFLICT DO NOTHING RETURNING 1`,
};

/** Notes a logout token; false if it was used before. */
export async function useLogoutToken(tx: Tx, issuer: string, jti: string): Promise<boolean> {
  return (await tx.query(useToken, [issuer, jti])).length > 0;
}

const markBreakGlass: Statement = {
  name: "mark_break_glass",
  text: "UPDATE member SET is_break_glass = $2 WHERE id = $1",
};

export async function setBreakGlass(tx: Tx, memberId: MemberId, isBreakGlass: boolean): Promise<void> {
  await tx.query(markBreakGlass, [memberId, isBreakGlass]);
}

const selectCoOwners: Statement = {
  name: "select_owners_beside",
  text: `SELECT DISTINCT m.email FROM membership mine
         JOIN membership s ON s.merchant_id = mine.merchant_id AND s.role = 'OWNER' JOIN member m ON m.id = s.member_id
         WHERE mine.member_id = $1 ORDER BY m.email LIMIT 100`,
};

/** Returns the addresses of all owners of a member's merchants. */
export async function listOwnersBeside(queryable: Queryable, memberId: MemberId): Promise<string[]> {
  return (await queryable.query<{ email: string }>(selectCoOwners, [memberId])).map(({ email }) => email);
}

const countWays: Statement = {
  name: "count_ways_to_sign_in",
  text: `SELECT (m.password_hash IS NOT NULL)::int + (SELECT count(*) FROM passkey WHERE member_id = m.id)::int
           + (SELECT count(*) FROM identity WHERE member_id = m.id)::int AS count
         FROM member m WHERE m.id = $1`,
};

/** Counts a member's ways to sign in: password, passkeys, accounts at providers. */
export async function countWaysIn(queryable: Queryable, memberId: MemberId): Promise<number> {
  const [row] = await queryable.query<{ count: number }>(countWays, [memberId]);
  return row!.count;
}
