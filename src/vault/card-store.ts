/** Stores cards: sealed under their own token, counted per session, deleted when used up, forgotten or expired. */
import { callOf } from "../platform/batches.ts";
import { type CardFingerprint, makeCardToken } from "../platform/card-token.ts";
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { deriveKey, hasKeyFor, hmacSha256, type KeyRing, Secret, seal, sha256, unseal } from "../platform/secrets.ts";
import type { SessionGrant } from "../platform/service-token.ts";
import { beginningOf, type Card } from "./card.ts";
import type { VaultEnvironment } from "./vault-config.ts";
import {
  cardLifetimeMs,
  sessionCountLifetimeMs,
  sweepRowsMax,
  tokensPerSession,
  usesPerToken,
} from "./vault-limits.ts";

/** A card's token and the time from which it is no longer valid. */
export type KeptCard = { readonly token: Secret; readonly expiresAt: Date };

/**
 * A card released for one use, or why there is none. A foreign session's token is `not_found`, like one that was never
 * made.
 */
export type TakenCard =
  | { readonly type: "card"; readonly card: Card }
  | { readonly type: "not_found" | "expired" | "used_up" };

type Fingerprinted = { readonly fingerprint?: CardFingerprint | undefined };

const keepCall = callOf(
  "keep_card",
  ["text", "text", "bytea", "text", "int", "int", "int", "int"],
  `r AS "expiresAt"`,
  "public",
);

const sessionOverStatement: Statement = {
  name: "vault_session_over",
  text: "SELECT over FROM card_session WHERE environment = $1 AND session_id = $2",
};

const takeCall = callOf("take_card", ["bytea", "text", "text"], "r AS sealed", "public");

const readStatement: Statement = {
  name: "vault_read_card",
  text: `SELECT expires_at <= clock_timestamp() AS expired, uses_left < $4 AS used, sealed FROM card
    WHERE token_hash = $1 AND environment = $2 AND session_id = $3`,
};
type ReadCard = { readonly expired: boolean; readonly used: boolean; readonly sealed: string };

// In one order, so that no two calls deadlock.
const endSessionsStatement: Statement = {
  name: "vault_end_sessions",
  text: `INSERT INTO card_session (environment, session_id, tokens_made, over, expires_at)
    SELECT $1, id, 0, true, clock_timestamp() + $3::int * interval '1 ms'
    FROM (SELECT DISTINCT unnest($2::text[]) AS id ORDER BY id) ended
    ON CONFLICT (environment, session_id) DO UPDATE SET over = true, expires_at = excluded.expires_at`,
};

const forgetStatement: Statement = {
  name: "vault_forget",
  text: "DELETE FROM card WHERE environment = $1 AND session_id = ANY ($2)",
};

/**
 * Seals a card for one session and counts it there. Only the caller ever has the token. Throws `session_ended` once the
 * session was forgotten, `rate_limited` from its eleventh card on.
 */
export async function keepCard(
  database: Queryable,
  vault: VaultEnvironment,
  { session: sessionId, profile }: Pick<SessionGrant, "session" | "profile">,
  card: Card,
): Promise<KeptCard> {
  const { environment, ring, cardToken } = vault;
  const fingerprint = fingerprintOf(vault, { profile, number: card.number });
  const facts = { ...beginningOf(card), expiresAt: new Date(Date.now() + cardLifetimeMs), fingerprint };
  const token = makeCardToken(cardToken, { environment, sessionId }, facts);
  const sealed = seal(
    ringOfToken(ring, token),
    placeOf(environment, sessionId),
    JSON.stringify({ ...card, fingerprint }),
  );
  const [kept] = await database.query<{ expiresAt: Date }>(keepCall, [
    ...[sessionId, environment, sha256(token), sealed],
    ...[cardLifetimeMs, sessionCountLifetimeMs, tokensPerSession, usesPerToken],
  ]);
  if (kept !== undefined) return { token: new Secret(token), expiresAt: kept.expiresAt };
  const [session] = await database.query<{ over: boolean }>(sessionOverStatement, [environment, sessionId]);
  if (session?.over) throw new DomainError("session_ended", "This payment session is over. Start a new one.");
  throw new DomainError("rate_limited", "Too many cards were entered for this payment session. Start a new one.");
}

/** Consumes one use of the token, durably, and opens its card. */
export async function takeCard(
  database: Database,
  { environment, ring }: VaultEnvironment,
  sessionId: string,
  token: string,
): Promise<TakenCard> {
  const key = [sha256(token), environment, sessionId];
  const [taken] = await database.query<{ sealed: string }>(takeCall, key);
  if (taken !== undefined) {
    // Sealed by a key that has been dropped: it cannot be opened any more, and nothing was sent.
    if (!hasKeyFor(ring, taken.sealed)) return { type: "not_found" };
    const { fingerprint: _, ...card } = openCard(ring, taken.sealed, token, placeOf(environment, sessionId));
    return { type: "card", card };
  }
  const [left] = await database.query<ReadCard>(readStatement, [...key, usesPerToken]);
  if (left === undefined) return { type: "not_found" };
  return { type: left.expired ? "expired" : "used_up" };
}

/** The state of a token before it is paid with: `used` from its first use on. */
export type TokenState = "unused" | "not_found" | "expired" | "used";

/**
 * Returns the state of a token in a session, with the beginning and the fingerprint of an unused one's card; uses nothing
 * up. A foreign session's token is `not_found`, like one that was never made.
 */
export async function checkToken(
  database: Database,
  { environment, ring }: VaultEnvironment,
  sessionId: string,
  token: string,
): Promise<{ readonly state: TokenState; readonly card?: ReturnType<typeof beginningOf> & Fingerprinted }> {
  const key = [sha256(token), environment, sessionId, usesPerToken];
  const [card] = await database.query<ReadCard>(readStatement, key);
  if (card === undefined || !hasKeyFor(ring, card.sealed)) return { state: "not_found" };
  if (card.used) return { state: "used" };
  if (card.expired) return { state: "expired" };
  const opened = openCard(ring, card.sealed, token, placeOf(environment, sessionId));
  return { state: "unused", card: { ...beginningOf(opened), fingerprint: opened.fingerprint } };
}

function openCard(ring: KeyRing, sealed: string, token: string, associatedData: string): Card & Fingerprinted {
  return JSON.parse(unseal(ringOfToken(ring, token), associatedData, sealed).expose()) as Card & Fingerprinted;
}

/**
 * Deletes the cards of sessions and accepts no more for them, in one round trip. Idempotent. Two statements: the second sees
 * the cards of every `keepCard` for which the first has waited, while one statement would see only those from before.
 */
export async function forgetSessions(
  database: Database,
  { environment }: VaultEnvironment,
  sessionIds: readonly string[],
): Promise<void> {
  await database.transaction(async (tx) => {
    tx.send(endSessionsStatement, [environment, sessionIds, sessionCountLifetimeMs]);
    tx.send(forgetStatement, [environment, sessionIds]);
  });
}

// Counting this many takes some milliseconds; a larger number adds no information.
const countedCardsMax = 10_000;

const countStatement: Statement = {
  name: "vault_count_cards",
  text: `SELECT environment, count(*)::int AS cards FROM (SELECT environment FROM card LIMIT ${countedCardsMax}) c GROUP BY environment`,
};

/** Returns the number of cards in each environment that has any, counting at most 10 000 in all. */
export async function countCards(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ environment: string; cards: number }>(countStatement, []);
  return new Map(rows.map(({ environment, cards }) => [environment, cards]));
}

const sweeps: readonly Statement[] = [
  sweep("card", "token_hash", "expires_at"),
  sweep("card_session", "environment, session_id", "expires_at"),
  sweep("vault_copy", "id", "expires_at"),
];

/**
 * Deletes expired rows, cards past their fifteen minutes among them: at most `sweepRowsMax` rows a
 * table. Returns the number deleted. Any number of vault processes may run it at once.
 */
export async function expireOnce(database: Database): Promise<number> {
  let deleted = 0;
  for (const statement of sweeps) {
    const [{ rows } = { rows: 0 }] = await database.query<{ rows: number }>(statement, [sweepRowsMax]);
    deleted += rows;
  }
  return deleted;
}

function sweep(table: string, key: string, endColumn: string): Statement {
  return {
    name: `vault_sweep_${table}`,
    text: `WITH gone AS (
      DELETE FROM ${table} WHERE (${key}) IN (
        SELECT ${key} FROM ${table} WHERE ${endColumn} <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) AS rows FROM gone`,
  };
}

/** Derives the ring of one token: without the token or without the ring nothing opens. */
function ringOfToken(ring: KeyRing, token: string): KeyRing {
  const keys = Object.entries(ring.keys).map(([kid, master]) => [kid, deriveKey(master, `vault card ${token}`)]);
  return { current: ring.current, keys: Object.fromEntries(keys) };
}

function placeOf(environment: string, sessionId: string): string {
  return `card ${environment} ${sessionId}`;
}

// Of the 32 bytes: no two of a merchant's cards share 16 by chance, and a token stays short.
const fingerprintBytes = 16;

/**
 * Returns the fingerprint of a number for the merchant of this profile: by the current key and, during its rotation, by
 * the other one. PCI DSS 3.5.1.1 permits a hash of a number that is keyed.
 */
export function fingerprintOf(
  { environment, fingerprint: ring, countedCards }: VaultEnvironment,
  { profile, number }: { readonly profile: string; readonly number: string },
): CardFingerprint | undefined {
  if (ring === undefined) return undefined;
  const { [ring.current]: current, ...others } = ring.keys;
  const versions = [current!, ...Object.values(others)].map((key) =>
    hmacSha256(key, `card ${environment} ${profile} ${number}`).subarray(0, fingerprintBytes).toString("hex"),
  );
  return { versions, isCounted: countedCards?.has(number) ?? true };
}
