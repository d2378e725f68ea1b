/** Reads the disputes of the accounts whose gateways list them, page by page. */
import type { BoundConnector, Core } from "../core/core.ts";
import { type GatewayDisputes, gateways } from "../gateways/connector.ts";
import type { DisputePage } from "../gateways/dispute-readings.ts";
import { jitter, postponeFeed, type Reading, type TakenFeed, takeFeed, updateFeed } from "../gateways/feed-rows.ts";
import { followUpTimeoutMs } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import { askedAtOf, recordDisputeReading } from "./dispute-readings.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const readEveryMs = 10 * minuteMs;
// A reading begins before the last one began: clocks differ, and a capture may be recorded after its dispute is listed.
const overlapMs = hourMs;
// "Must be within the last 180 days": `update_time_after` of the OpenAPI file of PayPal's disputes (2024).
const reachMs = 179 * dayMs;
// The time between readings of ended disputes too, and of disputes of payments that a restore brought back.
const wholeEveryMs = dayMs;
const blockedMs = dayMs;

/** Reads one page of one account that is due. Returns true if there was one. */
export async function readFeedOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  const readable = gateways.filter((gateway) => core.connectorOf(gateway)?.disputes !== undefined);
  const feed = await takeFeed(core, "disputes", readable);
  if (feed === undefined) return false;
  const bound = await core.bind(feed.connectionId, feed.gateway, feed.credentialVersion);
  const disputes = bound?.connector.disputes;
  if (bound === undefined || disputes === undefined) await postponeFeed(core, feed, readEveryMs);
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
    return postponeFeed(core, feed, readEveryMs);
  }
  if (page.type === "refused") {
    core.log.warn({ reason: `${account}: ${page.reason}` }, "a gateway refuses to list disputes");
    return updateFeed(core, feed, { nextInMs: blockedMs, blockedReason: page.reason.slice(0, 200) });
  }
  const { notOurs, isPartial } = await recordPage(core, feed, page);
  const counted = reading.isWhole ? (feed.begunAt ? feed.notOurs : 0) + notOurs : feed.notOurs;
  if (page.next !== undefined && page.next !== feed.page) {
    return updateFeed(core, feed, { nextInMs: 0, under: { ...reading, page: page.next, isPartial }, notOurs: counted });
  }
  // A partial reading does not count: the records that could not be stored are read again.
  const ended = isPartial ? {} : { readAt: reading.begunAt, ...(reading.isWhole && { readWholeAt: reading.begunAt }) };
  return updateFeed(core, feed, { nextInMs: readEveryMs * jitter(core), ...ended, notOurs: counted });
}

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
      const result = await recordDisputeReading(core, { connectionId, reading, askedAt });
      if (result === "notOurs") notOurs++;
      // Its capture may be recorded hours later, when no list that begins now would have it.
      if (result === "later") hasFailed = true;
    } catch (err) {
      core.log.error({ err, reason: encodeId("gc", connectionId) }, "a dispute that was read could not be recorded");
      hasFailed = true;
    }
  }
  return { notOurs, isPartial: hasFailed };
}
