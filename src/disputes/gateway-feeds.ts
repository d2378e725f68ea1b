/** Reads the disputes of the accounts whose gateways list them, page by page. */
import type { BoundConnector, Core } from "../core/core.ts";
import { type GatewayDisputes, gateways } from "../gateways/connector.ts";
import type { DisputePage } from "../gateways/dispute-readings.ts";
import { followUpTimeoutMs } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import { type ConnectionId, encodeId } from "../platform/ids.ts";
import { askedAtOf, recordDisputeReading } from "./dispute-readings.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

// A page takes at most a dozen requests, each within its time limit.
const feedLeaseMs = 5 * minuteMs;
const readEveryMs = 10 * minuteMs;
// A reading begins before the last one began: clocks differ, and a capture may be recorded after its dispute is listed.
const overlapMs = hourMs;
// "Must be within the last 180 days": `update_time_after` of the OpenAPI file of PayPal's disputes (2024).
const reachMs = 179 * dayMs;
// Of those that are over, and of payments that a restore brought back.
const wholeEveryMs = dayMs;
const blockedMs = dayMs;

const isDue = (version: string) => `
  (f.next_read_at <= app.clock() OR f.blocked_reason IS NOT NULL AND f.credential_version IS DISTINCT FROM ${version})`;

// A paused account is read too: its payments can still be disputed.
const takeFeed: Statement = {
  name: "take_due_feed",
  text: `
    WITH due AS (
      SELECT c.id, c.credential_version FROM connection c LEFT JOIN gateway_feed f ON f.connection_id = c.id AND f.kind = 'disputes'
      WHERE c.gateway = ANY ($1) AND c.credential_version IS NOT NULL AND (f.connection_id IS NULL OR ${isDue("c.credential_version")})
      ORDER BY f.next_read_at NULLS FIRST LIMIT 1),
    taken AS (
      INSERT INTO gateway_feed AS f (connection_id, kind, next_read_at, lease_token, credential_version)
      SELECT id, 'disputes', app.clock() + $3 * interval '1 ms', $2, credential_version FROM due
      ON CONFLICT (connection_id, kind) DO UPDATE
        SET next_read_at = EXCLUDED.next_read_at, lease_token = EXCLUDED.lease_token, credential_version = EXCLUDED.credential_version
        WHERE ${isDue("EXCLUDED.credential_version")}
      RETURNING *)
    SELECT t.connection_id AS "connectionId", c.gateway, t.credential_version AS "credentialVersion", t.lease_token AS "leaseToken", t.page, t.since,
      t.begun_at AS "begunAt", t.is_partial AS "isPartial", t.read_at AS "readAt", t.read_whole_at AS "readWholeAt", t.not_ours AS "notOurs",
      app.clock() AS now,
      (SELECT min(d.opened_at) FROM dispute d WHERE d.closed_at IS NULL AND d.connection_id = t.connection_id) AS "oldestOpenAt"
    FROM taken t JOIN connection c ON c.id = t.connection_id`,
};

type TakenFeed = {
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

const updateFeed: Statement = {
  name: "update_feed",
  text: `
    UPDATE gateway_feed
    SET next_read_at = app.clock() + $3 * interval '1 ms', lease_token = NULL, begun_at = $4, since = $5, page = $6, is_partial = $7, read_at = $8,
      read_whole_at = $9, not_ours = $10, blocked_reason = $11, blocked_at = CASE WHEN $11::text IS NOT NULL THEN coalesce(blocked_at, app.clock()) END
    WHERE connection_id = $1 AND kind = 'disputes' AND lease_token = $2`,
};
// What stays of a reading that failed: the next one begins anew.
const postponeFeed: Statement = {
  name: "postpone_feed",
  text: `
    UPDATE gateway_feed SET next_read_at = app.clock() + $3 * interval '1 ms', lease_token = NULL, begun_at = NULL, since = NULL, page = NULL, is_partial = false
    WHERE connection_id = $1 AND kind = 'disputes' AND lease_token = $2`,
};

const hurry: Statement = {
  name: "hurry_feed",
  text: `
    UPDATE gateway_feed SET next_read_at = app.clock()
    WHERE connection_id = $1 AND kind = 'disputes' AND lease_token IS NULL AND blocked_reason IS NULL AND next_read_at > app.clock()`,
};

/** Lets an account be read at once. */
export async function hurryFeed(core: Core, connectionId: ConnectionId): Promise<void> {
  await core.database.query(hurry, [connectionId]);
}

/** Reads one page of one account that is due. Returns true if there was one. */
export async function readFeedOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  const readable = gateways.filter((gateway) => core.connectorOf(gateway)?.disputes !== undefined);
  const [feed] = await core.database.query<TakenFeed>(takeFeed, [readable, core.runtime.uuid(), feedLeaseMs]);
  if (feed === undefined) return false;
  const bound = await core.bind(feed.connectionId, feed.gateway, feed.credentialVersion);
  const disputes = bound?.connector.disputes;
  if (bound === undefined || disputes === undefined) await postpone(core, feed);
  else await readPage(core, feed, { disputes, credentials: bound.credentials, closing });
  return true;
}

type Reader = {
  readonly disputes: GatewayDisputes;
  readonly credentials: BoundConnector["credentials"];
  readonly closing: AbortSignal | undefined;
};

async function readPage(core: Core, feed: TakenFeed, { disputes, credentials, closing }: Reader): Promise<void> {
  const { connectionId } = feed;
  const reading = readingOf(feed, disputes.listedBy);
  const page = await disputes.listDisputes(
    { credentials, timeoutMs: followUpTimeoutMs, signal: closing },
    {
      since: reading.since,
      page: feed.page ?? undefined,
      askedAt: (gatewayReference) => askedAtOf(core, connectionId, gatewayReference),
    },
  );
  const account = encodeId("gc", connectionId);
  if (page.type === "unknown") {
    core.log.warn({ reason: `${account}: ${page.reason}` }, "the disputes of an account could not be read");
    return postpone(core, feed);
  }
  if (page.type === "refused") {
    core.log.warn({ reason: `${account}: ${page.reason}` }, "a gateway refuses to list disputes");
    return update(core, feed, { nextInMs: blockedMs, blockedReason: page.reason.slice(0, 200) });
  }
  const { notOurs, isPartial } = await recordPage(core, feed, page);
  const counted = reading.isWhole ? (feed.begunAt ? feed.notOurs : 0) + notOurs : feed.notOurs;
  if (page.next !== undefined && page.next !== feed.page) {
    return update(core, feed, { nextInMs: 0, under: { ...reading, page: page.next, isPartial }, notOurs: counted });
  }
  // What could not be recorded is read again: this reading counts for nothing.
  const ended = isPartial ? {} : { readAt: reading.begunAt, ...(reading.isWhole && { readWholeAt: reading.begunAt }) };
  return update(core, feed, { nextInMs: readEveryMs * jitter(core), ...ended, notOurs: counted });
}

type Reading = { readonly begunAt: Date; readonly since: Date; readonly isWhole: boolean };

/** Returns the reading that is under way, or a new one. */
function readingOf(feed: TakenFeed, listedBy: GatewayDisputes["listedBy"]): Reading {
  const { readAt, readWholeAt, oldestOpenAt } = feed;
  const begunAt = feed.begunAt ?? feed.now;
  const isWhole = !readAt || !readWholeAt || begunAt.getTime() - readWholeAt.getTime() >= wholeEveryMs;
  const recent = (readAt ?? begunAt).getTime() - overlapMs;
  const oldest = listedBy === "opened" && oldestOpenAt ? oldestOpenAt.getTime() : recent;
  const sinceMs = isWhole ? Math.min(begunAt.getTime() - reachMs, oldest) : Math.min(recent, oldest);
  return { begunAt, isWhole, since: feed.since ?? new Date(sinceMs) };
}

/** Records a page. One dispute that cannot be recorded holds up no other one. */
async function recordPage(
  core: Core,
  { connectionId, now: askedAt, isPartial }: TakenFeed,
  { disputes }: Extract<DisputePage, { type: "page" }>,
): Promise<{ readonly notOurs: number; readonly isPartial: boolean }> {
  let notOurs = 0;
  let hasFailed = isPartial;
  for (const reading of disputes) {
    try {
      if ((await recordDisputeReading(core, { connectionId, reading, askedAt })) === "notOurs") notOurs++;
    } catch (err) {
      core.log.error({ err, reason: encodeId("gc", connectionId) }, "a dispute that was read could not be recorded");
      hasFailed = true;
    }
  }
  return { notOurs, isPartial: hasFailed };
}

type FeedChange = {
  readonly nextInMs: number;
  readonly under?: Reading & { readonly page: string; readonly isPartial: boolean };
  readonly readAt?: Date;
  readonly readWholeAt?: Date;
  readonly notOurs?: number;
  readonly blockedReason?: string;
};

async function update(
  core: Core,
  feed: TakenFeed,
  { nextInMs, under, blockedReason, ...ended }: FeedChange,
): Promise<void> {
  const { readAt = feed.readAt, readWholeAt = feed.readWholeAt, notOurs = feed.notOurs } = ended;
  await core.database.query(updateFeed, [
    ...[feed.connectionId, feed.leaseToken, Math.round(nextInMs)],
    ...[under?.begunAt ?? null, under?.since ?? null, under?.page ?? null, under?.isPartial ?? false],
    ...[readAt, readWholeAt, notOurs, blockedReason ?? null],
  ]);
}

async function postpone(core: Core, { connectionId, leaseToken }: TakenFeed): Promise<void> {
  await core.database.query(postponeFeed, [connectionId, leaseToken, Math.round(readEveryMs * jitter(core))]);
}

// Within 10 %, so that accounts that were connected together are not read together.
function jitter({ runtime }: Pick<Core, "runtime">): number {
  return 0.9 + (0.2 * runtime.randomBytes(1)[0]!) / 255;
}
