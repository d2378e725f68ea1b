/** Signed-in browsers: each has a token, stored as a hash, which expires or is ended by its member. */

import { signInLifetimeMs } from "../limits.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MemberId, MerchantId, SignInId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { Member, Roles } from "./members.ts";

const minute = 60_000;

// Longest idle time of a sign-in: a page idle over a long lunch is still signed in, one idle over an afternoon is not.
const signInIdleMs = 3 * 60 * 60_000;
// Longest time of a sign-in by an identity provider: a working day. Roles are read from the provider at each one.
const providerSignInLifetimeMs = 12 * 60 * 60_000;
// Longest age of the proof of identity for changes of keys, gateways and roles: the length of one task.
const freshSignInMs = 15 * minute;
// Precision of a sign-in's last use: a write for every call would not be more useful.
const lastSeenEveryMs = minute;
// Time for which the previous token is still accepted after a proof, for calls that were in progress when it was
// replaced.
const earlierTokenMs = 10_000;

// Beyond guessing, as any key of 256 bits.
const tokenBytes = 32;
// The size limit of the rows.
const userAgentCharactersMax = 500;
const addressCharactersMax = 64;

/** The proof of a second factor: a passkey, the code of an app beside the password, or an identity provider. */
export type SecondFactor = "PASSKEY" | "CODE" | "PROVIDER";

/** The account at an identity provider by which a sign-in began. */
export type ProviderSession = {
  readonly providerId: string;
  readonly issuer: string;
  readonly subject: string;
  /** The provider's own session (`sid`), if it names one. */
  readonly session: string | undefined;
};

export type Browser = { readonly userAgent: string; readonly address: string };

// The share lock waits for a new password that is being set, and then sees its version.
const insert: Statement = {
  name: "insert_sign_in",
  text: `INSERT INTO sign_in (id, member_id, token_hash, user_agent, address, expires_at, second_factor,
           provider_id, issuer, subject, provider_session, proved_at)
         SELECT $1, id, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond', $8, $9, $10, $11, $12,
           CASE WHEN $9::text IS NULL THEN clock_timestamp() ELSE '-infinity' END
         FROM member WHERE id = $2 AND proof_version = $7 FOR SHARE RETURNING id`,
};

/**
 * Signs a member in and returns the token, which is not stored. Undefined if the password or the app has changed since
 * the proof: a change ends every earlier sign-in, and no sign-in begins with the old credentials after it.
 */
export async function startSignIn(
  tx: Tx,
  runtime: Pick<Runtime, "randomBytes" | "uuid">,
  {
    memberId,
    proofVersion,
    userAgent,
    address,
    secondFactor,
    provider,
  }: Browser & {
    readonly memberId: MemberId;
    readonly proofVersion: number;
    readonly secondFactor: SecondFactor | undefined;
    /** Set for a sign-in by a company, which is shorter, and not fresh: the provider's own session may be old. */
    readonly provider?: ProviderSession;
  },
): Promise<Secret | undefined> {
  const token = newToken(runtime);
  const inserted = await tx.query(insert, [
    runtime.uuid(),
    memberId,
    sha256(token.expose()),
    userAgent.slice(0, userAgentCharactersMax),
    address.slice(0, addressCharactersMax),
    provider === undefined ? signInLifetimeMs : providerSignInLifetimeMs,
    proofVersion,
    secondFactor ?? null,
    provider?.providerId ?? null,
    provider?.issuer ?? null,
    provider?.subject ?? null,
    provider?.session ?? null,
  ]);
  return inserted.length > 0 ? token : undefined;
}

function newToken({ randomBytes }: Pick<Runtime, "randomBytes">): Secret {
  return new Secret(Buffer.from(randomBytes(tokenBytes)).toString("base64url"));
}

export type SignIn = {
  readonly id: SignInId;
  readonly member: Member & { readonly hasTotp: boolean; readonly hasPasskey: boolean };
  readonly memberships: readonly ({ readonly merchantId: MerchantId; readonly merchantName: string } & Roles)[];
  /** True if the proof of identity is recent enough for dangerous actions. */
  readonly isFresh: boolean;
  readonly secondFactor: SecondFactor | null;
  /** The identity provider by which it began, and its issuer. */
  readonly providerId: string | null;
  readonly issuer: string | null;
  /** True if the provider serves single merchants: the sign-in has no others, and cannot change how the member signs in. */
  readonly isConfined?: boolean;
  readonly expiresAt: Date;
};

// A single statement, because every call of a page runs it.
const select: Statement = {
  name: "select_sign_in",
  text: `WITH found AS (
           SELECT id, member_id, proved_at, expires_at, last_seen_at, second_factor, provider_id, issuer,
             token_hash = $1 AS is_newest FROM sign_in
           WHERE (token_hash = $1 OR earlier_token_hash = $1
                  AND token_replaced_at > clock_timestamp() - $5 * interval '1 millisecond')
             AND ended_at IS NULL AND expires_at > clock_timestamp()
             AND last_seen_at > clock_timestamp() - $2 * interval '1 millisecond'
         ), seen AS (
           UPDATE sign_in SET last_seen_at = clock_timestamp() FROM found
           WHERE sign_in.id = found.id AND found.last_seen_at < clock_timestamp() - $3 * interval '1 millisecond'
         )
         SELECT found.id, found.expires_at AS "expiresAt", found.second_factor AS "secondFactor",
           found.provider_id AS "providerId", found.issuer,
           found.is_newest AND found.proved_at > clock_timestamp() - $4 * interval '1 millisecond' AS "isFresh",
           jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name, 'hasTotp', m.totp_sealed IS NOT NULL,
             'hasPasskey', EXISTS (SELECT 1 FROM passkey WHERE member_id = m.id)) AS member,
           coalesce((
             SELECT jsonb_agg(jsonb_build_object('merchantId', s.merchant_id, 'merchantName', t.name, 'role', s.role,
                                'liveRole', s.live_role) ORDER BY t.name, t.id)
             FROM membership s JOIN merchant t ON t.id = s.merchant_id WHERE s.member_id = m.id
           ), '[]') AS memberships
         FROM found JOIN member m ON m.id = found.member_id`,
};

/** Returns the current sign-in of a token; undefined if it is unknown, idle for too long, expired or ended. */
export async function findSignIn(queryable: Queryable, token: string): Promise<SignIn | undefined> {
  const values = [sha256(token), signInIdleMs, lastSeenEveryMs, freshSignInMs, earlierTokenMs];
  return (await queryable.query<SignIn>(select, values))[0];
}

// Locked before its sign-ins, as a new password does: this serializes changes of one account.
const lockMember: Statement = {
  name: "lock_member_of_sign_in",
  text: "SELECT 1 FROM member WHERE id = $1 FOR NO KEY UPDATE",
};
const lockOpen: Statement = {
  name: "lock_open_sign_in",
  text: `SELECT token_hash = $2 AS "isNewest", second_factor AS "secondFactor" FROM sign_in
         WHERE id = $1 AND (token_hash = $2 OR earlier_token_hash = $2) AND ended_at IS NULL FOR NO KEY UPDATE`,
};
const lockMembership: Statement = {
  name: "lock_membership",
  text: `SELECT role, live_role AS "liveRole" FROM membership WHERE member_id = $1 AND merchant_id = $2 FOR NO KEY UPDATE`,
};

/**
 * Reads a sign-in's current state again, with the member's roles for one merchant: neither can be revoked until the
 * transaction ends. Undefined if it has ended. A sign-in whose token was replaced is no longer fresh; the time since
 * its proof counts from the beginning of the call. The locks are exclusive, so that overlapping calls cannot delay a
 * revocation without end.
 */
export async function lockSignIn(
  tx: Tx,
  { signIn, token, merchantId }: { signIn: SignIn; token: string; merchantId: MerchantId | undefined },
): Promise<SignIn | undefined> {
  const memberId = signIn.member.id;
  const [, [open], [membership]] = await Promise.all([
    tx.query(lockMember, [memberId]),
    tx.query<{ isNewest: boolean; secondFactor: SecondFactor | null }>(lockOpen, [signIn.id, sha256(token)]),
    tx.query<Roles>(lockMembership, [memberId, merchantId ?? null]),
  ]);
  if (open === undefined) return undefined;
  const memberships = signIn.memberships.flatMap((each) =>
    each.merchantId === merchantId && membership !== undefined ? [{ ...each, ...membership }] : [],
  );
  const { isNewest, secondFactor } = open;
  return { ...signIn, memberships, isFresh: signIn.isFresh && isNewest, secondFactor };
}

const prove: Statement = {
  name: "prove_sign_in",
  text: `UPDATE sign_in SET proved_at = clock_timestamp(), token_hash = $2,
           earlier_token_hash = token_hash, token_replaced_at = clock_timestamp(), second_factor = coalesce($3, second_factor)
         WHERE id = $1 AND ended_at IS NULL RETURNING id`,
};

/**
 * Records that the member has just proved their identity again, and replaces the browser's token: the old token is not
 * fresh. Undefined if the sign-in has ended.
 */
export async function noteProof(
  tx: Tx,
  runtime: Pick<Runtime, "randomBytes">,
  signInId: SignInId,
  secondFactor: SecondFactor | undefined,
): Promise<Secret | undefined> {
  const token = newToken(runtime);
  const proved = await tx.query(prove, [signInId, sha256(token.expose()), secondFactor ?? null]);
  return proved.length > 0 ? token : undefined;
}

const markFactor: Statement = {
  name: "mark_second_factor",
  text: "UPDATE sign_in SET second_factor = $2 WHERE id = $1",
};

/** Records that a sign-in has just proved a second factor, by adding it. */
export async function noteSecondFactor(tx: Tx, signInId: SignInId, secondFactor: SecondFactor): Promise<void> {
  await tx.query(markFactor, [signInId, secondFactor]);
}

const unmarkFactor: Statement = {
  name: "unmark_second_factor",
  text: "UPDATE sign_in SET second_factor = NULL WHERE member_id = $1 AND second_factor = $2",
};

/** Ends what a removed app, or the last passkey, has proved in the member's sign-ins. */
export async function forgetSecondFactor(tx: Tx, memberId: MemberId, secondFactor: SecondFactor): Promise<void> {
  await tx.query(unmarkFactor, [memberId, secondFactor]);
}

const lockById: Statement = {
  name: "lock_sign_in_by_id",
  text: `SELECT 1 FROM sign_in WHERE id = $1 AND member_id = $2 AND ended_at IS NULL AND expires_at > clock_timestamp()
         FOR NO KEY UPDATE`,
};

/** Locks an open sign-in of a member until the transaction ends; false if it is over. */
export async function lockSignInById(tx: Tx, memberId: MemberId, signInId: SignInId): Promise<boolean> {
  return (await tx.query(lockById, [signInId, memberId])).length > 0;
}

const endOfIdentity: Statement = {
  name: "end_sign_ins_of_identity",
  text: `UPDATE sign_in SET ended_at = clock_timestamp()
         WHERE issuer = $1 AND ($2::text IS NULL OR subject = $2) AND ($3::text IS NULL OR provider_session = $3)
           AND ended_at IS NULL RETURNING member_id AS "memberId"`,
};

/** Ends the sign-ins by an account at an identity provider, by one of its sessions, or by both together. */
export async function endSignInsOfIdentity(
  tx: Tx,
  { issuer, subject, session }: { issuer: string; subject?: string | undefined; session?: string | undefined },
): Promise<MemberId[]> {
  if (subject === undefined && session === undefined) throw new Error("a logout names an account or a session");
  const rows = await tx.query<{ memberId: MemberId }>(endOfIdentity, [issuer, subject ?? null, session ?? null]);
  return rows.map(({ memberId }) => memberId);
}

const endByToken: Statement = {
  name: "end_sign_in_by_token",
  text: "UPDATE sign_in SET ended_at = clock_timestamp() WHERE token_hash = $1 AND ended_at IS NULL",
};

/** Refuses a token from now on, of any member: its browser receives another one. */
export async function endSignInByToken(tx: Tx, token: string): Promise<void> {
  await tx.query(endByToken, [sha256(token)]);
}

const end: Statement = {
  name: "end_sign_in",
  text: `UPDATE sign_in SET ended_at = clock_timestamp() WHERE id = $1 AND member_id = $2 AND ended_at IS NULL RETURNING id`,
};

/** Refuses the token from now on; false if the member has no such open sign-in. */
export async function endSignIn(queryable: Queryable, memberId: MemberId, signInId: SignInId): Promise<boolean> {
  return (await queryable.query(end, [signInId, memberId])).length > 0;
}

const endOthers: Statement = {
  name: "end_other_sign_ins",
  text: `UPDATE sign_in SET ended_at = clock_timestamp()
         WHERE member_id = $1 AND ended_at IS NULL AND id IS DISTINCT FROM $2::uuid RETURNING id`,
};

/** Refuses every token of a member but one, or all; returns the number of open ones. */
export async function endOtherSignIns(queryable: Queryable, memberId: MemberId, keptId?: SignInId): Promise<number> {
  return (await queryable.query(endOthers, [memberId, keptId ?? null])).length;
}

export type ListedSignIn = Browser & { readonly id: SignInId; readonly createdAt: Date; readonly lastSeenAt: Date };

const selectOpen: Statement = {
  name: "select_open_sign_ins",
  text: `SELECT id, user_agent AS "userAgent", address, created_at AS "createdAt", last_seen_at AS "lastSeenAt" FROM sign_in
         WHERE member_id = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
           AND last_seen_at > clock_timestamp() - $2 * interval '1 millisecond'
         ORDER BY created_at DESC, id LIMIT 100`,
};

/** Returns a member's sign-ins, newest first, at most a hundred. */
export async function listSignIns(queryable: Queryable, memberId: MemberId): Promise<ListedSignIn[]> {
  return queryable.query<ListedSignIn>(selectOpen, [memberId, signInIdleMs]);
}
