/**
 * Rows of the feeds that are read page by page from accounts: the disputes, and the statements. One worker reads an
 * account at a time.
 */
import type { Database, Statement } from "../platform/database.ts";
import type { ConnectionId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";

export type FeedKind = "disputes" | "settlement";

// A page takes at most a dozen requests, each within its time limit.
export const feedLeaseMs = 5 * 60_000;

type FeedParts = { readonly database: Pick<Database, "query">; readonly runtime: Runtime };

const isDue = (version: string) => `
  (f.next_read_at <= app.clock() OR f.blocked_reason IS NOT NULL AND f.credential_version IS DISTINCT FROM ${version})`;

// A paused account is read too: its payments can still be disputed.
const takeRow: Statement = {
  name: "take_due_feed",
  text: `
    WITH due AS (
      SELECT c.id, c.credential_version FROM connection c LEFT JOIN gateway_feed f ON f.connection_id = c.id AND f.kind = $4
      WHERE c.gateway = ANY ($1) AND c.credential_version IS NOT NULL AND (f.connection_id IS NULL OR ${isDue("c.credential_version")})
      ORDER BY f.next_read_at NULLS FIRST LIMIT 1),
    taken AS (
      INSERT INTO gateway_feed AS f (connection_id, kind, next_read_at, lease_token, credential_version)
      SELECT id, $4, app.clock() + $3 * interval '1 ms', $2, credential_version FROM due
      ON CONFLICT (connection_id, kind) DO UPDATE
        SET next_read_at = EXCLUDED.next_read_at, lease_token = EXCLUDED.lease_token, credential_version = EXCLUDED.credential_version
        WHERE ${isDue("EXCLUDED.credential_version")}
      RETURNING *)
    SELECT t.kind, t.connection_id AS "connectionId", c.gateway, t.credential_version AS "credentialVersion", t.lease_token AS "leaseToken", t.page, t.since,
      t.begun_at AS "begunAt", t.is_partial AS "isPartial", t.read_at AS "readAt", t.read_whole_at AS "readWholeAt", t.not_ours AS "notOurs",
      app.clock() AS now,
      (SELECT min(d.opened_at) FROM dispute d WHERE d.closed_at IS NULL AND d.connection_id = t.connection_id) AS "oldestOpenAt"
    FROM taken t JOIN connection c ON c.id = t.connection_id`,
};

export type TakenFeed = {
  readonly kind: FeedKind;
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly credentialVersion: number;
  readonly leaseToken: string;
  readonly page: string | null;
  readonly since: Date | null;
  readonly begunAt: Date | null;
  readonly isPartial: boolean;
  readonly readAt: Date | null;
  readonly readWholeAt: Date | null;
  readonly notOurs: number;
  readonly now: Date;
  readonly oldestOpenAt: Date | null;
};

const updateRow: Statement = {
  name: "update_feed",
  text: `
    UPDATE gateway_feed
    SET next_read_at = app.clock() + $3 * interval '1 ms', lease_token = NULL, begun_at = $4, since = $5, page = $6, is_partial = $7, read_at = $8,
      read_whole_at = $9, not_ours = $10, blocked_reason = $11, blocked_at = CASE WHEN $11::text IS NOT NULL THEN coalesce(blocked_at, app.clock()) END
    WHERE connection_id = $1 AND kind = $12 AND lease_token = $2`,
};
// Resets a reading that failed: the next one starts from the beginning.
const postponeRow: Statement = {
  name: "postpone_feed",
  text: `
    UPDATE gateway_feed SET next_read_at = app.clock() + $3 * interval '1 ms', lease_token = NULL, begun_at = NULL, since = NULL, page = NULL, is_partial = false
    WHERE connection_id = $1 AND kind = $4 AND lease_token = $2`,
};

const hurry: Statement = {
  name: "hurry_feed",
  text: `
    UPDATE gateway_feed SET next_read_at = app.clock()
    WHERE connection_id = $1 AND kind = $2 AND lease_token IS NULL AND blocked_reason IS NULL AND next_read_at > app.clock()`,
};

/** Lets an account be read at once. */
export async function hurryFeed(
  database: Pick<Database, "query">,
  connectionId: ConnectionId,
  kind: FeedKind,
): Promise<void> {
  await database.query(hurry, [connectionId, kind]);
}

/** Takes an account of one of these gateways that is due. */
export async function takeFeed(
  parts: FeedParts,
  kind: FeedKind,
  gateways: readonly string[],
): Promise<TakenFeed | undefined> {
  const [feed] = await parts.database.query<TakenFeed>(takeRow, [gateways, parts.runtime.uuid(), feedLeaseMs, kind]);
  return feed;
}

/** A reading: when it began, and what it goes back to. */
export type Reading = { readonly begunAt: Date; readonly since: Date; readonly isWhole: boolean };

export type FeedChange = {
  readonly nextInMs: number;
  readonly under?: Pick<Reading, "begunAt" | "since"> & { readonly page: string; readonly isPartial: boolean };
  readonly readAt?: Date;
  readonly readWholeAt?: Date;
  readonly notOurs?: number;
  readonly blockedReason?: string;
};

export async function updateFeed(
  { database }: FeedParts,
  feed: TakenFeed,
  { nextInMs, under, blockedReason, ...ended }: FeedChange,
): Promise<void> {
  const { readAt = feed.readAt, readWholeAt = feed.readWholeAt, notOurs = feed.notOurs } = ended;
  await database.query(updateRow, [
    ...[feed.connectionId, feed.leaseToken, Math.round(nextInMs)],
    ...[under?.begunAt ?? null, under?.since ?? null, under?.page ?? null, under?.isPartial ?? false],
    ...[readAt, readWholeAt, notOurs, blockedReason ?? null, feed.kind],
  ]);
}

/** Begins the reading anew, after a pause. */
export async function postponeFeed(
  parts: FeedParts,
  { connectionId, leaseToken, kind }: TakenFeed,
  pauseMs: number,
): Promise<void> {
  await parts.database.query(postponeRow, [connectionId, leaseToken, Math.round(pauseMs * jitter(parts)), kind]);
}

// Within 10 %, so that accounts that were connected together are not read together.
export function jitter({ runtime }: Pick<FeedParts, "runtime">): number {
  return 0.9 + (0.2 * runtime.randomBytes(1)[0]!) / 255;
}
