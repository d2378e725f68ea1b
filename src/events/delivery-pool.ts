/**
 * Runs many deliveries of a worker at once. No delivery waits for another, and there are never more than the worker can
 * hold. They are the first attempts that first-attempts.ts offers, and the due deliveries that the pool claims.
 */
import { deliveryLeaseMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { type EndpointId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { type Loop, type LoopObserver, runLoop } from "../platform/loop.ts";
import { type ClaimedDelivery, type DeliverContext, deliver } from "./deliver.ts";
import { AttemptRecorder, type LeasedDelivery } from "./record-delivery.ts";

// A delivery in progress is a socket, a body of a few KiB and a timer.
const underWayMax = 512;
// Endpoints answer within milliseconds. A post that has waited this long hangs, most likely until its deadline, and no
// longer takes the room of quick ones. As many again may hang, so all endpoints of a big host may begin to hang at
// once.
const quickMs = 2_000;
const hangingMax = 512;
// A merchant's endpoints are often one server and hang together: two at their full window leave room for the others.
const underWayOfMerchantMax = 128;
// A suspect endpoint hangs, or its last attempt failed: it may take 15 s each time. However many there are, half of the
// pool is for the others.
const underWayOfSuspectsMax = 256;
// Retries fall due without a hint; a second is little compared with their schedule.
const lookEverywhereMs = 1_000;

/** A delivery from its claim until it is recorded. `postingSinceMs` is set until its post has ended. */
type UnderWay = { readonly claimed: ClaimedDelivery; postingSinceMs: number };

/** A delivery that no process has a lease of: only its event's message has led here. */
export type UnleasedDelivery = ClaimedDelivery & {
  /** Its endpoint's window, less the leased deliveries. */
  readonly window: number;
};

export class DeliveryPool {
  readonly #context: DeliverContext;
  readonly recorder: AttemptRecorder;
  readonly #loop: Loop;
  readonly #underWay = new Map<Promise<void>, UnderWay>();
  /** The deliveries under way without a lease, which no claim of this or another worker can see. */
  readonly #unleased = new Set<LeasedDelivery>();
  /** Endpoints that have something due that was not posted at once. */
  readonly #behind = new Set<EndpointId>();
  #workers = 1;
  #hinted = new Set<EndpointId>();
  #hintedMerchants = new Set<MerchantId>();
  #lookedEverywhereAt = Number.NEGATIVE_INFINITY;

  constructor(context: DeliverContext, observerOf?: (intervalMs: number) => LoopObserver | undefined) {
    this.#context = context;
    this.recorder = new AttemptRecorder(context.database);
    this.#loop = runLoop({
      name: "deliveries",
      intervalMs: lookEverywhereMs,
      idleMs: context.idleMs,
      log: context.log,
      turn: () => this.#claimOnce(),
      observer: observerOf?.(lookEverywhereMs),
    });
  }

  /**
   * Looks for deliveries of these endpoints at once, because they have something new or have room again; in all months if
   * the new deliveries are not all of this month's sessions.
   */
  hint(endpointIds: readonly EndpointId[], options: { readonly everywhere?: boolean } = {}): void {
    if (endpointIds.length === 0) return;
    if (options.everywhere) this.#lookedEverywhereAt = Number.NEGATIVE_INFINITY;
    for (const id of endpointIds) this.#hinted.add(id);
    this.#loop.wake();
  }

  /**
   * Returns a function that decides which of several first attempts may begin at once: those for which their endpoint's
   * window and every share have room. The worker stays within its part of the windows, because other workers cannot see
   * what it posts before it has a lease. An attempt that is not admitted becomes a due delivery.
   */
  admission(workers: number): (first: UnleasedDelivery) => boolean {
    this.#workers = workers;
    const { limit, shares } = this.#room();
    const { underWay, unleased, hanging } = shares;
    let left = limit;
    return ({ merchantId, endpointId, window }) => {
      const [ofMerchant, ofEndpoint] = [underWay.get(merchantId) ?? 0, unleased.get(endpointId) ?? 0];
      const hasRoom = left > 0 && ofMerchant < underWayOfMerchantMax && ofEndpoint < Math.floor(window / workers);
      if (!hasRoom || hanging.has(endpointId)) return false;
      left -= 1;
      underWay.set(merchantId, ofMerchant + 1);
      unleased.set(endpointId, ofEndpoint + 1);
      return true;
    };
  }

  /** Attempts a delivery that was admitted. `record` is called when its post has ended. */
  attempt(first: UnleasedDelivery, record: AttemptRecorder["record"]): void {
    this.#unleased.add(first);
    this.#start({ claimed: first, postingSinceMs: performance.now() }, record);
  }

  /** Reports that a delivery has a row with its lease from now on. */
  leased(first: LeasedDelivery): void {
    this.#unleased.delete(first);
  }

  /** Looks everywhere at once. */
  wake(): void {
    this.#loop.wake();
  }

  /** Looks for deliveries that were not posted at once, now and when more have ended at their endpoints. */
  catchUp(endpointIds: readonly EndpointId[], options: { readonly everywhere: boolean }): void {
    for (const id of endpointIds) this.#behind.add(id);
    this.hint(endpointIds, options);
  }

  /** Stops claiming. Resolves when the deliveries in progress are recorded: after at most one post's time. */
  async close(): Promise<void> {
    await this.#loop.close();
    await Promise.all(this.#underWay.keys());
  }

  async #claimOnce(): Promise<boolean> {
    const { limit, shares } = this.#room();
    // Every delivery that ends gives a hint, so a full pool is woken when there is room; otherwise the next look finds
    // it.
    if (limit === 0) return false;
    const where = this.#whereToLook();
    const claimed = await claimDeliveries(this.#context.database, {
      leaseToken: this.#context.runtime.uuid(),
      limit,
      where,
      shares,
      ofThisMonth: where !== undefined,
    });
    const { recorder } = this;
    for (const one of claimed) {
      this.#start({ claimed: one, postingSinceMs: performance.now() }, (...ended) => recorder.record(...ended));
    }
    return false;
  }

  /** Returns the hinted endpoints, or everything once a second, however many hints there are. */
  #whereToLook(): Claim["where"] {
    const where = { endpointIds: [...this.#hinted], merchantIds: [...this.#hintedMerchants] };
    this.#hinted = new Set();
    this.#hintedMerchants = new Set();
    const everywhere = performance.now() - this.#lookedEverywhereAt >= lookEverywhereMs;
    if (where.endpointIds.length > 0 && !everywhere) return where;
    this.#lookedEverywhereAt = performance.now();
    return undefined;
  }

  /** Returns how many more deliveries fit, and the shares of merchants and of suspect endpoints. */
  #room() {
    const quickFromMs = performance.now() - quickMs;
    const underWay = new Map<MerchantId, number>();
    const unleased = new Map<EndpointId, number>();
    const hanging = new Set<EndpointId>();
    let hangingPosts = 0;
    let ofSuspects = 0;
    for (const { claimed, postingSinceMs } of this.#underWay.values()) {
      const { endpointId, merchantId, lastAttemptFailed } = claimed;
      underWay.set(merchantId, (underWay.get(merchantId) ?? 0) + 1);
      if (this.#unleased.has(claimed)) unleased.set(endpointId, (unleased.get(endpointId) ?? 0) + 1);
      const hangs = postingSinceMs < quickFromMs;
      if (hangs) hanging.add(endpointId);
      if (hangs) hangingPosts += 1;
      if (hangs || lastAttemptFailed) ofSuspects += 1;
    }
    const limit = Math.max(0, underWayMax - this.#underWay.size + Math.min(hangingPosts, hangingMax));
    const shares = {
      underWay,
      unleased,
      workers: this.#workers,
      ofMerchant: underWayOfMerchantMax,
      ofSuspects: Math.max(0, underWayOfSuspectsMax - ofSuspects),
      hanging,
    };
    return { limit, shares };
  }

  #start(underWay: UnderWay, record: AttemptRecorder["record"]): void {
    const { claimed } = underWay;
    const recordEnd: AttemptRecorder["record"] = (...ended) => {
      underWay.postingSinceMs = Number.POSITIVE_INFINITY;
      return record(...ended);
    };
    const done = deliver(this.#context, claimed, { record: recordEnd })
      .then(
        () => {},
        // Its lease runs out and another claim retries it. Network failures do not end here.
        (error: unknown) => {
          const [endpoint, event] = [encodeId("we", claimed.endpointId), encodeId("evt", claimed.eventId)];
          const stage = underWay.postingSinceMs === Number.POSITIVE_INFINITY ? "recording" : "signing";
          this.#context.log.error(
            { endpoint, event, stage, err: error },
            "a delivery could not be attempted or recorded",
          );
        },
      )
      .finally(() => {
        // Its merchant was at its limit: another of its endpoints may be next.
        let ofMerchant = 0;
        for (const other of this.#underWay.values())
          if (other.claimed.merchantId === claimed.merchantId) ofMerchant += 1;
        const isFull = ofMerchant === underWayOfMerchantMax;
        if (isFull) this.#hintedMerchants.add(claimed.merchantId);
        this.#underWay.delete(done);
        // A first attempt that was accepted at once leaves nothing to look for, except what could not begin beside it.
        const wasUnleased = this.#unleased.delete(claimed);
        if (wasUnleased && !isFull && !this.#behind.delete(claimed.endpointId)) return;
        this.hint([claimed.endpointId], { everywhere: !isOfThisMonth(this.#context, claimed.sessionId) });
      });
    this.#underWay.set(done, underWay);
  }
}

type Shares = {
  readonly underWay: ReadonlyMap<MerchantId, number>;
  /** Deliveries of one merchant at most, with those in progress. */
  readonly ofMerchant: number;
  /** Deliveries to all suspect endpoints at most. */
  readonly ofSuspects: number;
  readonly hanging?: ReadonlySet<EndpointId>;
  /** The posts of the claimer that have no lease yet, by endpoint. */
  readonly unleased?: ReadonlyMap<EndpointId, number>;
  /** The workers that may have such posts. */
  readonly workers?: number;
};

type Claim = {
  /** A UUIDv7. */
  readonly leaseToken: string;
  readonly limit: number;
  /** Restricts the claim to these endpoints and to the endpoints of these merchants; undefined for all. */
  readonly where?:
    | { readonly endpointIds: readonly EndpointId[]; readonly merchantIds: readonly MerchantId[] }
    | undefined;
  readonly shares?: Shares;
  /** Restricts the claim to deliveries of this month's sessions. */
  readonly ofThisMonth?: boolean;
};

/** SQL: endpoints with deliveries that are due, as `e`. */
export const readyEndpoints = `endpoint e
         WHERE e.status = 'ENABLED'
           AND (e.probe_at IS NULL OR e.probe_at <= (SELECT app.clock()))
           AND EXISTS (SELECT FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING'
                                                AND d.next_at <= (SELECT app.clock()))`;

/**
 * Only one worker claims for an endpoint at a time, so the count of deliveries in progress stays exact until the claim
 * commits. An endpoint at which another worker claims or records is left to it; a recording worker looks for more there
 * afterwards. The clock is read in a subselect, because an index cannot be searched by a volatile function. A claim
 * that is restricted to this month counts only its deliveries, so in the first minutes of a month an endpoint may get a
 * few more than its window.
 */
const lockReadyEndpoints: Statement = {
  name: "lock_ready_endpoints",
  text: `SELECT e.id FROM ${readyEndpoints}
           AND ($1::uuid[] IS NULL OR e.id = ANY ($1) OR e.merchant_id = ANY ($2))
         ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED`,
};

/**
 * `free`: the window minus the deliveries in progress; with an open breaker, one probe in all. No more rows of an
 * endpoint are read than it could get among so many, so the cost follows the limit and not the backlog. A first attempt
 * waits only for the first attempts of the session's earlier events. Endpoints of a merchant take turns, and so do
 * merchants, beginning with the one that has the fewest deliveries in progress here: neither a backlog nor many
 * endpoints give one an advantage. $1 endpoints, $2 limit, $3 lease, $4 and $5 the deliveries in progress by merchant,
 * $6 and $7 the shares of a merchant and of suspect endpoints, $8 hanging endpoints, $9 and $10 posts without a lease by
 * endpoint, $11 workers: each of the others may have its part of a healthy endpoint's window. An earlier event in
 * `event_todo` may be in its first attempt, at another worker.
 */
const claimDue: Statement = {
  name: "claim_due_deliveries",
  text: `WITH room AS (
           SELECT e.id, e.merchant_id, e.failures_in_row > 0 OR e.id = ANY ($8::uuid[]) AS is_suspect,
             least(CASE WHEN e.probe_at IS NULL THEN e.in_flight_max ELSE 1 END -
               (SELECT count(*) FROM delivery u WHERE u.endpoint_id = e.id AND u.lease_token IS NOT NULL
                                                  AND u.next_at > (SELECT app.clock())) -
               coalesce((SELECT p.count FROM unnest($9::uuid[], $10::int[]) AS p (id, count) WHERE p.id = e.id), 0) -
               CASE WHEN e.failures_in_row = 0 THEN ($11::int - 1) * (e.in_flight_max / $11) ELSE 0 END,
               greatest(4, 2 * $2::int / cardinality($1::uuid[]))) AS free
           FROM endpoint e WHERE e.id = ANY ($1::uuid[])
         ), waiting AS (
           SELECT d.*, room.merchant_id, room.is_suspect,
             row_number() OVER (PARTITION BY room.id ORDER BY d.next_at, d.sequence) AS turn
           FROM room CROSS JOIN LATERAL (
             SELECT d.session_id, d.event_id, d.endpoint_id, d.next_at, d.sequence FROM delivery d
             WHERE d.endpoint_id = room.id AND d.status = 'PENDING' AND d.next_at <= (SELECT app.clock())
               AND (d.tries > 0 OR NOT EXISTS (
                 SELECT FROM delivery p WHERE p.session_id = d.session_id AND p.endpoint_id = d.endpoint_id
                   AND p.sequence < d.sequence AND p.status = 'PENDING' AND p.tries = 0)
                 AND (d.sequence = 1 OR NOT EXISTS (
                   SELECT FROM event_todo t WHERE t.session_id = d.session_id AND t.sequence < d.sequence AND NOT t.fanned_out)))
             ORDER BY d.next_at, d.sequence LIMIT greatest(room.free, 0) FOR UPDATE SKIP LOCKED
           ) d
         ), in_turn AS (
           SELECT w.*, coalesce(under_way.count, 0) +
               row_number() OVER (PARTITION BY w.merchant_id ORDER BY w.turn, w.next_at) AS of_merchant,
             row_number() OVER (PARTITION BY w.is_suspect ORDER BY w.turn, w.next_at) AS of_class
           FROM waiting w LEFT JOIN unnest($4::uuid[], $5::int[]) AS under_way (merchant_id, count) USING (merchant_id)
         ), due AS (
           SELECT session_id, event_id, endpoint_id FROM in_turn
           WHERE of_merchant <= $6 AND (NOT is_suspect OR of_class <= $7)
           ORDER BY of_merchant, next_at LIMIT $2
         )
         UPDATE delivery d SET lease_token = $3, next_at = app.clock() + ${deliveryLeaseMs} * interval '1 millisecond'
         FROM due, endpoint e, outbox_event o
         WHERE d.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND d.session_id = due.session_id
           AND d.event_id = due.event_id AND d.endpoint_id = due.endpoint_id AND e.id = d.endpoint_id
           AND o.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND o.session_id = d.session_id AND o.id = d.event_id
         RETURNING d.session_id AS "sessionId", d.event_id AS "eventId", d.endpoint_id AS "endpointId",
           e.merchant_id AS "merchantId", d.tries, d.lease_token AS "leaseToken", e.url, e.secret_sealed AS "secretSealed",
           CASE WHEN e.previous_until > app.clock() THEN e.previous_sealed END AS "previousSealed", o.body,
           o.created_at AS "emittedAt", e.failures_in_row > 0 AS "lastAttemptFailed",
           e.probe_at IS NOT NULL AS "isProbe"`,
};

/** Reports whether a session's deliveries are in the partition of those that are created now. */
export function isOfThisMonth(
  { database, runtime }: Pick<DeliverContext, "database" | "runtime">,
  sessionId: SessionId,
): boolean {
  const among = (id: string) => database.inPartitionOf(id, claimDue);
  return among(sessionId) === among(runtime.uuid());
}

/** Claims up to `limit` due deliveries under one lease. Merchants and their endpoints take turns. */
export async function claimDeliveries(database: Database, claim: Claim): Promise<ClaimedDelivery[]> {
  const { leaseToken, limit, where, ofThisMonth } = claim;
  const shares: Shares = claim.shares ?? { underWay: new Map(), ofMerchant: limit, ofSuspects: limit };
  const among = (statement: Statement) => (ofThisMonth ? database.inPartitionOf(leaseToken, statement) : statement);
  return database.transaction(async (tx) => {
    const wanted = [where?.endpointIds ?? null, where?.merchantIds ?? null];
    const ready = await tx.query<{ id: EndpointId }>(among(lockReadyEndpoints), wanted);
    if (ready.length === 0) return [];
    return tx.query<ClaimedDelivery>(among(claimDue), [
      ready.map((row) => row.id),
      limit,
      leaseToken,
      [...shares.underWay.keys()],
      [...shares.underWay.values()],
      shares.ofMerchant,
      shares.ofSuspects,
      [...(shares.hanging ?? [])],
      [...(shares.unleased?.keys() ?? [])],
      [...(shares.unleased?.values() ?? [])],
      shares.workers ?? 1,
    ]);
  });
}
