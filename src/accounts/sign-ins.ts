/** Browsers that are signed in: each has a token, kept as a hash, which ends by itself, by its member or with a new password. */
import { freshSignInMs, lastSeenEveryMs, signInIdleMs, signInLifetimeMs } from "../limits/sign-in.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { Member, MemberRole } from "./members.ts";

// Beyond guessing, as any key of 256 bits.
const tokenBytes = 32;
// What the rows have room for.
const userAgentCharactersMax = 500;
const addressCharactersMax = 64;

/** From where somebody signs in, as they see it in their list. */
export type Browser = { readonly userAgent: string; readonly address: string };

const insert: Statement = {
  name: "insert_sign_in",
  text: `INSERT INTO sign_in (id, member_id, token_hash, user_agent, address, expires_at)
         VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond')`,
};

/** Signs a member in, durably where `queryable` is no transaction; the token is told this once. */
export async function startSignIn(
  queryable: Queryable,
  entropy: Pick<Entropy, "randomBytes" | "uuid">,
  { memberId, userAgent, address }: Browser & { readonly memberId: string },
): Promise<{ id: string; token: Secret }> {
  const id = entropy.uuid();
  const token = new Secret(Buffer.from(entropy.randomBytes(tokenBytes)).toString("base64url"));
  await queryable.query(insert, [
    id,
    memberId,
    sha256(token.expose()),
    userAgent.slice(0, userAgentCharactersMax),
    address.slice(0, addressCharactersMax),
    signInLifetimeMs,
  ]);
  return { id, token };
}

/** Who is signed in by a token, and what they may do now. */
export type SignIn = {
  readonly id: string;
  readonly member: Member & { readonly hasTotp: boolean };
  readonly memberships: readonly {
    readonly merchantId: string;
    readonly merchantName: string;
    readonly role: MemberRole;
  }[];
  /** Whether the proof of who they are is recent enough for what is dangerous. */
  readonly isFresh: boolean;
  readonly expiresAt: Date;
};

// In one statement, as every call of a page asks it.
const select: Statement = {
  name: "select_sign_in",
  text: `WITH found AS (
           SELECT id, member_id, proved_at, expires_at, last_seen_at FROM sign_in
           WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
             AND last_seen_at > clock_timestamp() - $2 * interval '1 millisecond'
         ), seen AS (
           UPDATE sign_in SET last_seen_at = clock_timestamp() FROM found
           WHERE sign_in.id = found.id AND found.last_seen_at < clock_timestamp() - $3 * interval '1 millisecond'
         )
         SELECT found.id, found.expires_at AS "expiresAt",
           found.proved_at > clock_timestamp() - $4 * interval '1 millisecond' AS "isFresh",
           jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name, 'hasTotp', m.totp_sealed IS NOT NULL) AS member,
           coalesce((
             SELECT jsonb_agg(jsonb_build_object('merchantId', s.merchant_id, 'merchantName', t.name, 'role', s.role)
                              ORDER BY t.name, t.id)
             FROM membership s JOIN merchant t ON t.id = s.merchant_id WHERE s.member_id = m.id
           ), '[]') AS memberships
         FROM found JOIN member m ON m.id = found.member_id`,
};

/** Who a token stands for at this moment; undefined for one that is unknown, idle for too long, expired or ended. */
export async function findSignIn(queryable: Queryable, token: string): Promise<SignIn | undefined> {
  const values = [sha256(token), signInIdleMs, lastSeenEveryMs, freshSignInMs];
  return (await queryable.query<SignIn>(select, values))[0];
}

const prove: Statement = {
  name: "prove_sign_in",
  text: "UPDATE sign_in SET proved_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL",
};

/** Notes that the member has just proved again who they are. */
export async function noteProof(queryable: Queryable, signInId: string): Promise<void> {
  await queryable.query(prove, [signInId]);
}

const end: Statement = {
  name: "end_sign_in",
  text: `UPDATE sign_in SET ended_at = clock_timestamp() WHERE id = $1 AND member_id = $2 AND ended_at IS NULL RETURNING id`,
};

/** Refuses the token from now on; false when there was nothing of this member's to end. */
export async function endSignIn(queryable: Queryable, memberId: string, signInId: string): Promise<boolean> {
  return (await queryable.query(end, [signInId, memberId])).length > 0;
}

const endOthers: Statement = {
  name: "end_other_sign_ins",
  text: `UPDATE sign_in SET ended_at = clock_timestamp()
         WHERE member_id = $1 AND ended_at IS NULL AND id IS DISTINCT FROM $2::uuid RETURNING id`,
};

/** Refuses every token of a member but one, or all; returns how many were open. */
export async function endOtherSignIns(queryable: Queryable, memberId: string, keptId?: string): Promise<number> {
  return (await queryable.query(endOthers, [memberId, keptId ?? null])).length;
}

/** One row of a member's list. */
export type ListedSignIn = Browser & { readonly id: string; readonly createdAt: Date; readonly lastSeenAt: Date };

const selectOpen: Statement = {
  name: "select_open_sign_ins",
  text: `SELECT id, user_agent AS "userAgent", address, created_at AS "createdAt", last_seen_at AS "lastSeenAt" FROM sign_in
         WHERE member_id = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
           AND last_seen_at > clock_timestamp() - $2 * interval '1 millisecond'
         ORDER BY created_at DESC, id LIMIT 100`,
};

/** Where a member is signed in, newest first, a hundred at most. */
export async function listSignIns(queryable: Queryable, memberId: string): Promise<ListedSignIn[]> {
  return queryable.query<ListedSignIn>(selectOpen, [memberId, signInIdleMs]);
}
