/** The people of the dashboard, and their roles for each merchant. sign-ins.ts has their authentication. */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MemberId, MerchantId } from "../platform/ids.ts";

/** The roles of a member for a merchant; each includes the rights of those before it. */
export const memberRoles = ["VIEWER", "SUPPORT", "DEVELOPER", "OWNER"] as const;
export type MemberRole = (typeof memberRoles)[number];

export const liveRoles = ["NONE", ...memberRoles] as const;
export type LiveRole = (typeof liveRoles)[number];

export type Roles = {
  /** The role in test, and for the settings that test and live share. */
  readonly role: MemberRole;
  /** An owner is one in both. */
  readonly liveRole: LiveRole;
};

export const asOwner: Roles = { role: "OWNER", liveRole: "OWNER" };

/** Returns the role that counts for a call: that of the environment that the call names. */
export function roleFor({ role, liveRole }: Roles, environment: "test" | "live" | undefined): LiveRole {
  return environment === "live" ? liveRole : role;
}

export type Member = { readonly id: MemberId; readonly email: string; readonly name: string };

export type MerchantMember = Member &
  Roles & {
    /** `INVITATION`, or the identity provider that sets the roles. */
    readonly source: string;
    readonly hasTotp: boolean;
    readonly hasPasskey: boolean;
    readonly lastSeenAt: Date | null;
  };

const emailPattern = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;

/** Returns an address as it is stored and compared; undefined if it is none. */
export function normalizeEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return emailPattern.test(email) ? email : undefined;
}

const insert: Statement = {
  name: "insert_member",
  text: "INSERT INTO member (id, email, name, password_hash) VALUES ($1, $2, $3, $4) ON CONFLICT (email) DO NOTHING RETURNING id",
};

/** Adds a person, without a password if they sign in by a provider; false if the address is taken. */
export async function insertMember(
  queryable: Queryable,
  member: Member,
  passwordHash: string | null,
): Promise<boolean> {
  return (await queryable.query(insert, [member.id, member.email, member.name, passwordHash])).length > 0;
}

const selectByEmail: Statement = {
  name: "select_member_by_email",
  text: `SELECT id, email, name, password_hash AS "passwordHash", totp_sealed AS "totpSealed", totp_last_step AS "totpLastStep",
           proof_version AS "proofVersion", is_break_glass AS "isBreakGlass"
         FROM member WHERE email = $1`,
};

export type MemberProofs = Member & {
  readonly passwordHash: string | null;
  readonly isBreakGlass: boolean;
  readonly totpSealed: string | null;
  readonly totpLastStep: number | null;
  /** Increments with each new password and app. */
  readonly proofVersion: number;
};

/** Returns the person with an address, which is in the form of `normalizeEmail`. */
export async function findMemberByEmail(queryable: Queryable, email: string): Promise<MemberProofs | undefined> {
  return (await queryable.query<MemberProofs>(selectByEmail, [email]))[0];
}

const updatePassword: Statement = {
  name: "update_member_password",
  text: `WITH ended AS (
           UPDATE password_reset SET ended_at = clock_timestamp() WHERE member_id = $1 AND ended_at IS NULL
         )
         UPDATE member SET password_hash = $2, proof_version = proof_version + 1 WHERE id = $1
         RETURNING proof_version AS "proofVersion"`,
};

/**
 * Replaces the password and ends an open link for a new one; the caller ends the other sign-ins in the same
 * transaction. Proofs by the old one start no further sign-in. Returns the new version of proofs.
 */
export async function changePassword(tx: Tx, memberId: MemberId, passwordHash: string): Promise<number> {
  const [changed] = await tx.query<Pick<MemberProofs, "proofVersion">>(updatePassword, [memberId, passwordHash]);
  if (changed === undefined) throw new Error("a member whose password is changed exists");
  return changed.proofVersion;
}

const upsertMembership: Statement = {
  name: "upsert_membership",
  text: `INSERT INTO membership (merchant_id, member_id, role, live_role) VALUES ($1, $2, $3, $4)
         ON CONFLICT (merchant_id, member_id) DO UPDATE SET role = excluded.role, live_role = excluded.live_role
         WHERE membership.source = 'INVITATION' RETURNING 1`,
};

/** Sets a member's roles. Throws `state_conflict` if an identity provider sets them. */
export async function grantRoles(
  tx: Tx,
  merchantId: MerchantId,
  memberId: MemberId,
  { role, liveRole }: Roles,
): Promise<void> {
  const written = await tx.query(upsertMembership, [merchantId, memberId, role, liveRole]);
  if (written.length > 0) return;
  const detail = "The roles of this member come from their company's identity provider. Change them there.";
  throw new DomainError("state_conflict", detail);
}

const countOwnerships: Statement = {
  name: "count_ownerships",
  text: "SELECT count(*)::int AS count FROM membership WHERE member_id = $1 AND role = 'OWNER'",
};

export async function countOwned(queryable: Queryable, memberId: MemberId): Promise<number> {
  const [row] = await queryable.query<{ count: number }>(countOwnerships, [memberId]);
  return row!.count;
}

const deleteMembership: Statement = {
  name: "delete_membership",
  text: "DELETE FROM membership WHERE merchant_id = $1 AND member_id = $2",
};

export async function removeMembership(tx: Tx, merchantId: MerchantId, memberId: MemberId): Promise<void> {
  await tx.query(deleteMembership, [merchantId, memberId]);
}

const lockMemberships: Statement = {
  name: "lock_memberships",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('membership ' || $1, 0))",
};

/** Serializes changes of a merchant's team, so that two changes cannot both remove the last owner. */
export async function lockTeam(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(lockMemberships, [merchantId]);
}

const selectTeam: Statement = {
  name: "select_team",
  text: `SELECT m.id, m.email, m.name, s.role, s.live_role AS "liveRole", s.source, m.totp_sealed IS NOT NULL AS "hasTotp",
           EXISTS (SELECT FROM passkey WHERE member_id = m.id) AS "hasPasskey",
           (SELECT max(last_seen_at) FROM sign_in WHERE member_id = m.id) AS "lastSeenAt"
         FROM membership s JOIN member m ON m.id = s.member_id
         WHERE s.merchant_id = $1 ORDER BY s.created_at, m.id`,
};

/** Returns the merchant's members, in the order in which they joined. */
export async function listTeam(queryable: Queryable, merchantId: MerchantId): Promise<MerchantMember[]> {
  return queryable.query<MerchantMember>(selectTeam, [merchantId]);
}
