/** The event rpcs of merchants' backends and internal services: proto ↔ the feed of each cell. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type EventService,
  type ListEventsRequest,
  ListEventsResponseSchema,
  WatchEventsResponse_Ending_Reason as Reason,
  type WatchEventsRequest,
  type WatchEventsResponse,
  WatchEventsResponseSchema,
} from "../../gen/payments/v1/event_pb.ts";
import { FeedReader } from "../events/feed/feed-reader.ts";
import { FeedTail } from "../events/feed/feed-tail.ts";
import type { FeedEvent, FeedScope } from "../events/feed/read-feed.ts";
import { type FeedMessage, watchFeed } from "../events/feed/watch-feed.ts";
import { eventTypes } from "../events/outbox.ts";
import { requireCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId } from "../platform/ids.ts";
import { type Caller, callerKey, type EdgeEnvironment, hangUpKey, invalidKeyDetail, momentOf } from "./caller.ts";

// Proxies close a connection that is silent for a minute; clients notice a lost one as soon.
const heartbeatMs = 10_000;
// Connections end after 30 minutes (limits.ts). A stream ends before, at a different time each, so that not all resume
// at once.
const ageMs = 20 * 60_000;
const ageSpread = 0.1;
// A client that takes nothing for this time is gone, or will not catch up.
const idleMs = 60_000;
const streamsMax = { credential: 10, edge: 200 } as const;
// Pages that one list reads in search of a wanted event: some milliseconds each.
const pagesMax = 10;

export type StreamTiming = { readonly heartbeatMs: number; readonly ageMs: number; readonly idleMs: number };

/** Creates the event rpcs. Streams end when `draining` aborts. */
export function createEventService(
  { draining }: { readonly draining: AbortSignal },
  timing: StreamTiming = { heartbeatMs, ageMs, idleMs },
): ServiceImpl<typeof EventService> {
  const tails = new Map<unknown, FeedTail>();
  const streams = new Map<string, number>();

  function tailOf({ database }: EdgeEnvironment): FeedTail {
    const known = tails.get(database) ?? new FeedTail(database);
    tails.set(database, known);
    return known;
  }

  async function open(request: ListEventsRequest | WatchEventsRequest, readable: Readable) {
    const { cursor, since } = request;
    if (cursor !== undefined && since !== undefined) {
      throw new DomainError("invalid_parameter", "since must be left out with a cursor.", { field: "since" });
    }
    const cells = readable.cells.map((cell) => ({ cell: cell.cell, database: cell.database, tail: tailOf(cell) }));
    return FeedReader.open(cells, scopeOf(request, readable), { cursor, since: momentOf("since", since) });
  }

  /** Counts a stream. Returns what counts it as ended. */
  function begin(credential: string): () => void {
    const own = streams.get(credential) ?? 0;
    const all = [...streams.values()].reduce((sum, count) => sum + count, 0);
    if (own >= streamsMax.credential || all >= streamsMax.edge) {
      const whose = own >= streamsMax.credential ? `A key or service has at most ${own}` : "This server has too many";
      throw new DomainError("rate_limited", `${whose} streams of events at once.`);
    }
    streams.set(credential, own + 1);
    return () => {
      const count = streams.get(credential)! - 1;
      if (count === 0) streams.delete(credential);
      else streams.set(credential, count);
    };
  }

  return {
    async listEvents(request, { values }) {
      const reader = await open(request, readableOf(values.get(callerKey)));
      const events = await readEvents(reader);
      return create(ListEventsResponseSchema, {
        events: events.map(eventMessage),
        nextCursor: reader.cursor,
        caughtUp: reader.isCaughtUp,
        ...(reader.oldestKept && { oldestKept: timestampFromDate(reader.oldestKept) }),
      });
    },

    async *watchEvents(request, { values, signal }) {
      const caller = values.get(callerKey);
      const readable = readableOf(caller);
      const end = begin(readable.credential);
      const idle = new IdleClock(timing.idleMs, values.get(hangUpKey));
      try {
        const reader = await open(request, readable);
        const spread = 1 + ageSpread * (2 * Math.random() - 1);
        const isSame = async () => nameOf(readableOf(await againOf(caller))) === nameOf(readable);
        const watching = { signal, draining, ageMs: timing.ageMs * spread, heartbeatMs: timing.heartbeatMs, isSame };
        for await (const message of watchFeed(reader, watching)) {
          idle.begin();
          yield streamMessage(message, reader);
          idle.end();
        }
      } finally {
        idle.stop();
        end();
      }
      if (signal.reason instanceof DomainError) throw signal.reason;
    },
  };
}

/** Hangs up on a client that takes nothing. */
class IdleClock {
  #since: number | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(idleMs: number, hangUp: () => void) {
    this.#timer = setInterval(() => {
      if (this.#since !== undefined && performance.now() - this.#since >= idleMs) hangUp();
    }, idleMs / 6).unref();
  }

  begin(): void {
    this.#since = performance.now();
  }

  end(): void {
    this.#since = undefined;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The merchants that a caller may read. */
type Readable = {
  readonly credential: string;
  readonly cells: readonly EdgeEnvironment[];
  /** Null means every merchant of the environment. */
  readonly merchants: readonly MerchantId[] | null;
};

function readableOf(caller: Caller): Readable {
  if (caller.type === "service") {
    const { environment, service } = caller;
    return {
      credential: `service ${service.kid}`,
      cells: [...(environment.cells?.values() ?? [environment])],
      merchants: service.merchants === "*" ? null : service.merchants,
    };
  }
  if (caller.type !== "merchant") throw new DomainError("invalid_key", invalidKeyDetail);
  const { environment, holder } = caller;
  return {
    credential: holder.keyId ?? `service ${holder.keyName}`,
    cells: [environment, ...holder.formerCells.map((cell) => requireCell(environment, cell))],
    merchants: [holder.merchantId],
  };
}

function nameOf({ cells, merchants }: Readable): string {
  return JSON.stringify([cells.map(({ cell }) => cell), merchants]);
}

async function againOf(caller: Caller): Promise<Caller> {
  return "again" in caller && caller.again ? caller.again() : caller;
}

function scopeOf(request: ListEventsRequest | WatchEventsRequest, { merchants }: Readable): FeedScope {
  const { eventTypes: types, merchantIds } = request;
  const unknown = types.find((type) => !eventTypes.some((known) => known === type));
  if (unknown !== undefined) {
    throw new DomainError("invalid_parameter", "eventTypes must be types of events.", { field: "eventTypes" });
  }
  const wanted = merchantIds.map((id) => decodeId("mer", id));
  if (!wanted.every((id) => id !== undefined && (merchants === null || merchants.includes(id)))) {
    const rule = "merchantIds must be merchants whose events this key or service may read.";
    throw new DomainError("invalid_parameter", rule, { field: "merchantIds" });
  }
  return {
    merchants: wanted.length > 0 ? (wanted as MerchantId[]) : merchants,
    types: types.length > 0 ? types : null,
  };
}

/** Returns the next wanted events, of one cell. */
async function readEvents({ cells }: FeedReader): Promise<readonly FeedEvent[]> {
  // Another cell first each time: one that always has events must not hide the others.
  const first = Math.floor(Math.random() * cells.length);
  const inTurn = [...cells.slice(first), ...cells.slice(0, first)];
  for (let pages = 0; pages < pagesMax; pages++) {
    const cell = inTurn.find(({ isCaughtUp }) => !isCaughtUp);
    if (cell === undefined) return [];
    const events = await cell.next();
    for (const event of events) cell.pass(event);
    const wanted = events.filter(({ body }) => body !== null);
    if (wanted.length > 0) return wanted;
  }
  return [];
}

function streamMessage({ cursor, ...message }: FeedMessage, { oldestKept }: FeedReader): WatchEventsResponse {
  const of = (content: WatchEventsResponse["message"]) =>
    create(WatchEventsResponseSchema, { cursor, message: content });
  if (message.type === "event") return of({ case: "event", value: eventMessage(message.event) as never });
  if (message.type === "ending") return of({ case: "ending", value: { reason: Reason[message.reason] } as never });
  const { settledAt, caughtUp, delayed } = message;
  const heartbeat = {
    caughtUp,
    delayed,
    ...(settledAt && { settledAt: timestampFromDate(settledAt) }),
    ...(oldestKept && { oldestKept: timestampFromDate(oldestKept) }),
  };
  return of({ case: "heartbeat", value: heartbeat as never });
}

function eventMessage({ sessionId, eventId, sequence, type, merchantId, createdAt, body }: FeedEvent) {
  return {
    eventId: encodeId("evt", eventId),
    type,
    merchantId: encodeId("mer", merchantId),
    sessionId: encodeId("ps", sessionId),
    sequence,
    occurredAt: timestampFromDate(createdAt),
    body: body!.toString(),
  };
}
