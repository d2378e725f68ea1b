/**
 * First attempts, straight from JetStream: an event is in hand from its message until its first attempts are recorded,
 * and only then is the message acknowledged. What cannot begin at once, takes longer than a moment or fails becomes a row
 * for the delivery pool.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { JsMsg } from "nats";
import type { Statement } from "../platform/database.ts";
import type { EndpointId } from "../platform/ids.ts";
import type { ClaimedDelivery, DeliverContext } from "./deliver.ts";
import { type DeliveryPool, isOfThisMonth, type UnleasedDelivery } from "./delivery-pool.ts";
import { type EventPosition, endEvents, type FirstAttempt } from "./end-events.ts";
import { windowMax } from "./endpoint-health.ts";
import { parseEvent } from "./outbox.ts";
import { type AttemptRecorder, recordEndpoints } from "./record-delivery.ts";

// The most events in hand, over all workers. Ten seconds after its event the sweep takes over, so later events are left
// to the pool.
const inHandMax = 256;
const freshForMs = 5_000;
// Endpoints answer within milliseconds. A longer post continues under a lease, and its event is no longer in hand.
const lingerMs = 2_000;
// The shorter wait while no more fit in hand: a few endpoints that begin to hang must not delay the others.
const hurriedLingerMs = 250;
// The time between the arrival of a webhook's answer and its recording, so that simultaneous ones are recorded
// together.
const gatherMs = 5;
const batchEvents = 100;
// The first collects while the second commits.
const writersMax = 2;

type EventInHand = EventPosition & {
  readonly messages: JsMsg[];
  readonly sinceMs: number;
  /** Deliveries whose post has not ended. */
  readonly posting: Set<ClaimedDelivery>;
  readonly firsts: Map<ClaimedDelivery, FirstAttempt & { readonly slow?: boolean }>;
  /** The time at which it was recorded; undefined when another process has recorded it. */
  readonly recorded: PromiseWithResolvers<Date | undefined>;
  lingering?: NodeJS.Timeout;
  isOver: boolean;
};

/**
 * Everything about an event is read here, because any publisher may publish any message, and messages outlive a restore.
 * An endpoint is not named when its first attempt must not begin now: the event is late, or an earlier one of its session
 * is not that far; or the endpoint is not a healthy one. Of an endpoint with due deliveries half the window is theirs.
 */
const readEvents: Statement = {
  name: "read_events_of_messages",
  partitionKey: 1,
  text: `WITH event AS MATERIALIZED (
           SELECT o.*, todo.is_fresh FROM unnest($1::uuid[], $2::int[]) AS named (session_id, sequence)
           CROSS JOIN LATERAL (
             SELECT t.created_at > (SELECT app.clock()) - interval '${freshForMs} ms' AND (t.sequence = 1 OR NOT EXISTS (
               SELECT FROM event_todo p WHERE p.session_id = t.session_id AND p.sequence < t.sequence AND NOT p.fanned_out)) AS is_fresh
             FROM event_todo t WHERE t.session_id = named.session_id AND t.sequence = named.sequence AND NOT t.fanned_out OFFSET 0
           ) todo CROSS JOIN LATERAL (
             SELECT o.session_id, o.sequence, o.id, o.type, o.merchant_id, o.body, o.created_at FROM outbox_event o
             WHERE o.session_id = named.session_id AND o.sequence = named.sequence OFFSET 0
           ) o
         ), target AS MATERIALIZED (
           SELECT e.*, (e.in_flight_max - (SELECT count(*) FROM delivery u WHERE u.endpoint_id = e.id AND u.lease_token IS NOT NULL
                                                                              AND u.next_at > (SELECT app.clock()))::int)
             / CASE WHEN EXISTS (SELECT FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING'
                                                           AND d.next_at <= (SELECT app.clock())) THEN 2 ELSE 1 END AS room
           FROM endpoint e
           WHERE e.merchant_id = ANY (ARRAY(SELECT merchant_id FROM event)) AND e.status = 'ENABLED' AND e.failures_in_row = 0
         )
         SELECT event.session_id AS "sessionId", event.sequence, event.id AS "eventId", event.merchant_id AS "merchantId",
           event.body, event.created_at AS "emittedAt", e.id AS "endpointId", e.url, e.secret_sealed AS "secretSealed",
           CASE WHEN e.previous_until > app.clock() THEN e.previous_sealed END AS "previousSealed", e.room AS "window",
           e.in_flight_max < ${windowMax} AS "mayWiden"
         FROM event LEFT JOIN target e ON event.is_fresh AND e.merchant_id = event.merchant_id
           AND (e.event_types IS NULL OR event.type = ANY (e.event_types))
           AND (event.sequence = 1 OR NOT EXISTS (
             SELECT FROM delivery p WHERE p.session_id = event.session_id AND p.endpoint_id = e.id
               AND p.sequence < event.sequence AND p.status = 'PENDING' AND p.tries = 0))`,
};

type Row = EventPosition &
  Omit<UnleasedDelivery, "endpointId" | "tries" | "leaseToken" | "lastAttemptFailed" | "isProbe"> & {
    readonly endpointId: EndpointId | null;
    readonly mayWiden: boolean;
  };

type First = UnleasedDelivery & { readonly mayWiden: boolean };

export class FirstAttempts {
  readonly #context: DeliverContext;
  readonly #pool: DeliveryPool;
  readonly #workers: () => number;
  readonly #inHand = new Map<string, EventInHand>();
  #over: EventInHand[] = [];
  #writers = 0;

  /** `workers` counts those that share the messages. */
  constructor(context: DeliverContext, pool: DeliveryPool, workers: () => number) {
    this.#context = context;
    this.#pool = pool;
    this.#workers = workers;
  }

  /**
   * Takes messages in hand and begins their first attempts; waits while no more fit. Messages that are not ours, and
   * those of events that are recorded or unknown, are acknowledged: a redelivery would not change them.
   */
  async take(messages: readonly JsMsg[]): Promise<void> {
    await this.#makeRoom();
    const fresh = new Map<string, EventInHand>();
    for (const message of messages) {
      const position = parseEvent(message.data);
      if (position === undefined) {
        message.ack();
        continue;
      }
      const key = keyOf(position);
      const known = this.#inHand.get(key) ?? fresh.get(key);
      if (known === undefined) fresh.set(key, holdEvent(position, message));
      else known.messages.push(message);
    }
    const positions = [...fresh.values()];
    const rows = await this.#context.database.query<Row>(readEvents, [
      positions.map(({ sessionId }) => sessionId),
      positions.map(({ sequence }) => sequence),
    ]);
    const rowsOf = Map.groupBy(rows, keyOf);
    const isAdmitted = this.#pool.admission(this.#workers());
    for (const [key, event] of fresh) {
      const ofEvent = rowsOf.get(key);
      if (ofEvent === undefined) for (const message of event.messages) message.ack();
      else this.#begin(key, event, ofEvent.flatMap((row) => this.#firstOf(row)).filter(isAdmitted));
    }
  }

  /** Resolves when no event is in hand. */
  async close(): Promise<void> {
    while (this.#inHand.size > 0 || this.#writers > 0) await pause(gatherMs);
  }

  async #makeRoom(): Promise<void> {
    while (this.#inHand.size >= inHandMax / this.#workers()) {
      const hurriedMs = performance.now() - hurriedLingerMs;
      for (const event of this.#inHand.values()) if (event.sinceMs < hurriedMs) this.#end(event);
      await pause(gatherMs);
    }
  }

  #firstOf({ endpointId, ...row }: Row): First[] {
    if (endpointId === null) return [];
    const leaseToken = this.#context.runtime.uuid();
    return [{ ...row, endpointId, leaseToken, tries: 0, lastAttemptFailed: false, isProbe: false }];
  }

  #begin(key: string, event: EventInHand, firsts: readonly First[]): void {
    this.#inHand.set(key, event);
    for (const first of firsts) {
      event.posting.add(first);
      event.firsts.set(first, { claimed: first });
    }
    for (const first of firsts) this.#pool.attempt(first, this.#recorderOf(event));
    if (firsts.length === 0) this.#end(event);
    else event.lingering = setTimeout(() => this.#end(event), lingerMs);
  }

  #recorderOf(event: EventInHand): AttemptRecorder["record"] {
    return async (claimed, attempt, verdict) => {
      const first = claimed as First;
      const isAtOnce = verdict.type === "succeeded" && !event.isOver;
      if (isAtOnce) event.firsts.set(first, { claimed, accepted: attempt, slow: verdict.slow });
      event.posting.delete(first);
      if (event.posting.size === 0) this.#end(event);
      const acceptedAt = await event.recorded.promise;
      if (!isAtOnce) return this.#pool.recorder.record(claimed, attempt, verdict);
      return { recorded: acceptedAt !== undefined, disabledReason: null, acceptedAt: acceptedAt ?? null };
    };
  }

  /** Ends the time in hand of an event: every post has ended, or continues under a lease. */
  #end(event: EventInHand): void {
    if (event.isOver) return;
    event.isOver = true;
    clearTimeout(event.lingering);
    this.#over.push(event);
    if (this.#writers < writersMax) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#writers += 1;
    await pause(gatherMs);
    while (this.#over.length > 0) {
      const batch = this.#over.splice(0, batchEvents);
      await this.#write(batch).catch((error: unknown) => {
        // Their messages are not acknowledged, and the sweep takes them.
        this.#context.log.error({ err: error }, "events could not be recorded");
        for (const event of batch) {
          this.#inHand.delete(keyOf(event));
          event.recorded.reject(error);
        }
      });
    }
    this.#writers -= 1;
  }

  async #write(batch: readonly EventInHand[]): Promise<void> {
    const firsts = batch.flatMap((event) => [...event.firsts.values()]);
    const ended = await endEvents(this.#context.database, batch, { firsts });
    const byKey = new Map(ended.map((event) => [keyOf(event), event]));
    for (const { claimed, accepted } of firsts) if (accepted === undefined) this.#pool.leased(claimed);
    for (const event of batch) {
      this.#inHand.delete(keyOf(event));
      const endedAt = byKey.get(keyOf(event))?.endedAt;
      if (endedAt !== undefined) for (const message of event.messages) message.ack();
      event.recorded.resolve(endedAt);
    }
    const dueAt = new Set(ended.flatMap((event) => event.dueAt));
    const everywhere = ended.some((event) => event.dueAt.length > 0 && !isOfThisMonth(this.#context, event.sessionId));
    this.#pool.catchUp([...dueAt], { everywhere });
    await this.#recordHealth(firsts);
  }

  /** Endpoints at their best stay as they are: a healthy endpoint's row is not written for every webhook. */
  async #recordHealth(firsts: readonly (FirstAttempt & { readonly slow?: boolean })[]): Promise<void> {
    const changing = firsts
      .filter(({ accepted, slow, claimed }) => accepted !== undefined && (slow || (claimed as First).mayWiden))
      .map(({ claimed, slow = false }) => ({ claimed, slow }));
    if (changing.length > 0) await this.#context.database.transaction((tx) => recordEndpoints(tx, changing));
  }
}

function holdEvent(position: EventPosition, message: JsMsg): EventInHand {
  const recorded = Promise.withResolvers<Date | undefined>();
  // An event without a post has no reader of this promise, so its rejection is ignored here.
  recorded.promise.catch(() => {});
  return {
    ...position,
    messages: [message],
    sinceMs: performance.now(),
    posting: new Set(),
    firsts: new Map(),
    recorded,
    isOver: false,
  };
}

function keyOf({ sessionId, sequence }: EventPosition): string {
  return `${sessionId}/${sequence}`;
}
