/** Browsers that are signed in: each has a token, kept as a hash, which ends by itself, by its member or with a new password. */
import { earlierTokenMs, freshSignInMs, lastSeenEveryMs, signInIdleMs, signInLifetimeMs } from "../limits/sign-in.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
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

// The share waits for a new password that is being set, and then sees its version.
const insert: Statement = {
  name: "insert_sign_in",
  text: `INSERT INTO sign_in (id, member_id, token_hash, user_agent, address, expires_at)
         SELECT $1, id, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond'
         FROM member WHERE id = $2 AND proof_version = $7 FOR SHARE RETURNING id`,
};

/**
 * Signs a member in; the token is told this once. Undefined when the password or the app has changed since the proof:
 * a change ends every sign-in that was there, and none begins by the old one after it.
 */
export async function startSignIn(
  tx: Tx,
  entropy: Pick<Entropy, "randomBytes" | "uuid">,
  {
    memberId,
    proofVersion,
    userAgent,
    address,
  }: Browser & { readonly memberId: string; readonly proofVersion: number },
): Promise<Secret | undefined> {
  const token = newToken(entropy);
  const begun = await tx.query(insert, [
    entropy.uuid(),
    memberId,
    sha256(token.expose()),
    userAgent.slice(0, userAgentCharactersMax),
    address.slice(0, addressCharactersMax),
    signInLifetimeMs,
    proofVersion,
  ]);
  return begun.length > 0 ? token : undefined;
}

function newToken({ randomBytes }: Pick<Entropy, "randomBytes">): Secret {
  return new Secret(Buffer.from(randomBytes(tokenBytes)).toString("base64url"));
}

/** Who is signed in by a token, and what they may do now. */
export type SignIn = {
  readonly id: string;
  readonly member: Member & { readonly hasTotp: boolean; readonly hasPasskey: boolean };
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
           SELECT id, member_id, proved_at, expires_at, last_seen_at, token_hash = $1 AS is_newest FROM sign_in
           WHERE (token_hash = $1 OR earlier_token_hash = $1
                  AND token_replaced_at > clock_timestamp() - $5 * interval '1 millisecond')
             AND ended_at IS NULL AND expires_at > clock_timestamp()
             AND last_seen_at > clock_timestamp() - $2 * interval '1 millisecond'
         ), seen AS (
           UPDATE sign_in SET last_seen_at = clock_timestamp() FROM found
           WHERE sign_in.id = found.id AND found.last_seen_at < clock_timestamp() - $3 * interval '1 millisecond'
         )
         SELECT found.id, found.expires_at AS "expiresAt",
           found.is_newest AND found.proved_at > clock_timestamp() - $4 * interval '1 millisecond' AS "isFresh",
           jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name, 'hasTotp', m.totp_sealed IS NOT NULL,
             'hasPasskey', EXISTS (SELECT 1 FROM passkey WHERE member_id = m.id)) AS member,
           coalesce((
             SELECT jsonb_agg(jsonb_build_object('merchantId', s.merchant_id, 'merchantName', t.name, 'role', s.role)
                              ORDER BY t.name, t.id)
             FROM membership s JOIN merchant t ON t.id = s.merchant_id WHERE s.member_id = m.id
           ), '[]') AS memberships
         FROM found JOIN member m ON m.id = found.member_id`,
};

/** Who a token stands for at this moment; undefined for one that is unknown, idle for too long, expired or ended. */
export async function findSignIn(queryable: Queryable, token: string): Promise<SignIn | undefined> {
  const values = [sha256(token), signInIdleMs, lastSeenEveryMs, freshSignInMs, earlierTokenMs];
  return (await queryable.query<SignIn>(select, values))[0];
}

const prove: Statement = {
  name: "prove_sign_in",
  text: `UPDATE sign_in SET proved_at = clock_timestamp(), token_hash = $2,
           earlier_token_hash = token_hash, token_replaced_at = clock_timestamp()
         WHERE id = $1 AND ended_at IS NULL RETURNING id`,
};

/**
 * Notes that the member has just proved again who they are, and gives the browser another token: one that was seen before
 * is not fresh with it. Undefined when the sign-in has ended.
 */
export async function noteProof(
  tx: Tx,
  entropy: Pick<Entropy, "randomBytes">,
  signInId: string,
): Promise<Secret | undefined> {
  const token = newToken(entropy);
  const proved = await tx.query(prove, [signInId, sha256(token.expose())]);
  return proved.length > 0 ? token : undefined;
}

const endByToken: Statement = {
  name: "end_sign_in_by_token",
  text: "UPDATE sign_in SET ended_at = clock_timestamp() WHERE token_hash = $1 AND ended_at IS NULL",
};

/** Refuses a token from now on, of whomever it is: its browser is given another one. */
export async function endSignInByToken(tx: Tx, token: string): Promise<void> {
  await tx.query(endByToken, [sha256(token)]);
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
