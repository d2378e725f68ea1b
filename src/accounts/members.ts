/** The people of the dashboard, and what each may do for which merchant. How they prove who they are is in sign-ins.ts. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";

/** What a member may do for a merchant; each may do what those before it may. */
export const memberRoles = ["VIEWER", "DEVELOPER", "OWNER"] as const;
/** One of them. */
export type MemberRole = (typeof memberRoles)[number];

/** A person. */
export type Member = { readonly id: string; readonly email: string; readonly name: string };

/** A person's part in a merchant. */
export type MerchantMember = Member & {
  readonly role: MemberRole;
  readonly hasTotp: boolean;
  readonly lastSeenAt: Date | null;
};

const emailPattern = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;

/** An address as it is kept and compared; undefined when it is none. */
export function normalizeEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return emailPattern.test(email) ? email : undefined;
}

const insert: Statement = {
  name: "insert_member",
  text: "INSERT INTO member (id, email, name, password_hash) VALUES ($1, $2, $3, $4) ON CONFLICT (email) DO NOTHING RETURNING id",
};

/** Adds a person; false when somebody has the address already. */
export async function insertMember(queryable: Queryable, member: Member, passwordHash: string): Promise<boolean> {
  return (await queryable.query(insert, [member.id, member.email, member.name, passwordHash])).length > 0;
}

const selectByEmail: Statement = {
  name: "select_member_by_email",
  text: `SELECT id, email, name, password_hash AS "passwordHash", totp_sealed AS "totpSealed", totp_last_step AS "totpLastStep",
           proof_version AS "proofVersion"
         FROM member WHERE email = $1`,
};

/** A person with what proves who they are. */
export type MemberProofs = Member & {
  readonly passwordHash: string;
  readonly totpSealed: string | null;
  readonly totpLastStep: number | null;
  /** Goes up with each new password and app. */
  readonly proofVersion: number;
};

/** The person with an address, which is in the form of `normalizeEmail`. */
export async function findMemberByEmail(queryable: Queryable, email: string): Promise<MemberProofs | undefined> {
  return (await queryable.query<MemberProofs>(selectByEmail, [email]))[0];
}

const updatePassword: Statement = {
  name: "update_member_password",
  text: "UPDATE member SET password_hash = $2, proof_version = proof_version + 1 WHERE id = $1",
};

/** Replaces the password; the caller ends the other sign-ins in the same transaction. Proofs of the old one begin none any more. */
export async function changePassword(tx: Tx, memberId: string, passwordHash: string): Promise<void> {
  await tx.query(updatePassword, [memberId, passwordHash]);
}

const upsertMembership: Statement = {
  name: "upsert_membership",
  text: `INSERT INTO membership (merchant_id, member_id, role) VALUES ($1, $2, $3)
         ON CONFLICT (merchant_id, member_id) DO UPDATE SET role = excluded.role`,
};

/** Gives a member this role for the merchant, in place of any other. */
export async function grantRole(tx: Tx, merchantId: string, memberId: string, role: MemberRole): Promise<void> {
  await tx.query(upsertMembership, [merchantId, memberId, role]);
}

const deleteMembership: Statement = {
  name: "delete_membership",
  text: "DELETE FROM membership WHERE merchant_id = $1 AND member_id = $2",
};

/** Takes a merchant away from a member. */
export async function removeMembership(tx: Tx, merchantId: string, memberId: string): Promise<void> {
  await tx.query(deleteMembership, [merchantId, memberId]);
}

const lockMemberships: Statement = {
  name: "lock_memberships",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('membership ' || $1, 0))",
};

/** Lets one change of a merchant's team after another, so that the last owner cannot be removed twice over. */
export async function lockTeam(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockMemberships, [merchantId]);
}

const selectTeam: Statement = {
  name: "select_team",
  text: `SELECT m.id, m.email, m.name, s.role, m.totp_sealed IS NOT NULL AS "hasTotp",
           (SELECT max(last_seen_at) FROM sign_in WHERE member_id = m.id) AS "lastSeenAt"
         FROM membership s JOIN member m ON m.id = s.member_id
         WHERE s.merchant_id = $1 ORDER BY s.created_at, m.id`,
};

/** The merchant's members, in the order in which they came. */
export async function listTeam(queryable: Queryable, merchantId: string): Promise<MerchantMember[]> {
  return queryable.query<MerchantMember>(selectTeam, [merchantId]);
}
