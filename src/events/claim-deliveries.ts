/** Claims due deliveries for this worker, as far as each endpoint's window, breaker and order of events allow. */
import { deliveryLeaseMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";

/** A delivery that only this worker may attempt until its lease ends. */
export type ClaimedDelivery = {
  readonly session_id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  /** Delivery attempts recorded before this one. */
  readonly tries: number;
  readonly url: string;
  readonly secret_sealed: string;
  readonly previous_sealed: string | null;
  readonly body: Buffer;
  readonly lease_token: string;
  readonly merchant_id: string;
  /** True when the endpoint's last delivery attempt failed. */
  readonly is_failing: boolean;
  /** True when the endpoint's breaker is open: this is the probe. */
  readonly is_probe: boolean;
  /** Time at which the event was written. */
  readonly reported_at: Date;
};

/**
 * One claimer per endpoint at a time, so the count of deliveries in progress holds until the claim commits. An endpoint
 * at which another worker claims or records is left to it; a recording worker looks for more there afterwards. The
 * clock is read in a subselect, because an index cannot be searched by a volatile function.
 */
const lockReadyEndpoints: Statement = {
  name: "lock_ready_endpoints",
  text: `SELECT e.id FROM endpoint e
         WHERE e.status = 'ENABLED'
           AND ($1::uuid[] IS NULL OR e.id = ANY ($1) OR e.merchant_id = ANY ($2))
           AND (e.probe_at IS NULL OR e.probe_at <= (SELECT app.clock()))
           AND EXISTS (SELECT FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING'
                                                AND d.next_at <= (SELECT app.clock()))
         ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED`,
};

/**
 * `free`: the window minus the deliveries in progress; with an open breaker, one probe in all. No more rows of an
 * endpoint are read than it could get among so many, so the cost follows the limit and not the backlog. A first attempt
 * waits only for the first attempts of the session's earlier events. Endpoints of a merchant take turns, and so do
 * merchants, beginning with the one that has the fewest deliveries in progress here: neither a backlog nor many
 * endpoints give one an advantage.
 */
const claimDue: Statement = {
  name: "claim_due_deliveries",
  text: `WITH room AS (
           SELECT e.id, e.merchant_id, e.failures_in_row > 0 OR e.id = ANY ($8::uuid[]) AS is_failing,
             least(CASE WHEN e.probe_at IS NULL THEN e.in_flight_max ELSE 1 END -
               (SELECT count(*) FROM delivery u WHERE u.endpoint_id = e.id AND u.lease_token IS NOT NULL
                                                  AND u.next_at > (SELECT app.clock())),
               greatest(4, 2 * $2::int / cardinality($1::uuid[]))) AS free
           FROM endpoint e WHERE e.id = ANY ($1::uuid[])
         ), waiting AS (
           SELECT d.*, room.merchant_id, room.is_failing,
             row_number() OVER (PARTITION BY room.id ORDER BY d.next_at, d.sequence) AS turn
           FROM room CROSS JOIN LATERAL (
             SELECT d.session_id, d.event_id, d.endpoint_id, d.next_at, d.sequence FROM delivery d
             WHERE d.endpoint_id = room.id AND d.status = 'PENDING' AND d.next_at <= (SELECT app.clock())
               AND (d.tries > 0 OR NOT EXISTS (
                 SELECT FROM delivery p WHERE p.session_id = d.session_id AND p.endpoint_id = d.endpoint_id
                   AND p.sequence < d.sequence AND p.status = 'PENDING' AND p.tries = 0))
             ORDER BY d.next_at, d.sequence LIMIT greatest(room.free, 0) FOR UPDATE SKIP LOCKED
           ) d
         ), in_turn AS (
           SELECT w.*, coalesce(under_way.count, 0) +
               row_number() OVER (PARTITION BY w.merchant_id ORDER BY w.turn, w.next_at) AS of_merchant,
             row_number() OVER (PARTITION BY w.is_failing ORDER BY w.turn, w.next_at) AS of_class
           FROM waiting w LEFT JOIN unnest($4::uuid[], $5::int[]) AS under_way (merchant_id, count) USING (merchant_id)
         ), due AS (
           SELECT session_id, event_id, endpoint_id FROM in_turn
           WHERE of_merchant <= $6 AND (NOT is_failing OR of_class <= $7)
           ORDER BY of_merchant, next_at LIMIT $2
         )
         UPDATE delivery d SET lease_token = $3, next_at = app.clock() + ${deliveryLeaseMs} * interval '1 millisecond'
         FROM due, endpoint e, outbox_event o
         WHERE d.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND d.session_id = due.session_id
           AND d.event_id = due.event_id AND d.endpoint_id = due.endpoint_id AND e.id = d.endpoint_id
           AND o.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND o.session_id = d.session_id AND o.id = d.event_id
         RETURNING d.session_id, d.event_id, d.endpoint_id, e.merchant_id, e.failures_in_row > 0 AS is_failing, d.tries, d.lease_token, e.url, e.secret_sealed,
           CASE WHEN e.previous_until > app.clock() THEN e.previous_sealed END AS previous_sealed, o.body,
           e.probe_at IS NOT NULL AS is_probe, o.created_at AS reported_at`,
};

/** A request for deliveries, with those that the claimer already has in progress. */
export type Claim = {
  readonly leaseToken: string;
  readonly limit: number;
  /** Restricts the claim to these endpoints and to the endpoints of these merchants; undefined for all. */
  readonly where?: { readonly endpointIds: readonly string[]; readonly merchantIds: readonly string[] } | undefined;
  /**
   * Bounds within the limit: of one merchant with its deliveries in progress, and of endpoints that hang or whose last
   * attempt failed.
   */
  readonly shares?: {
    readonly underWay: ReadonlyMap<string, number>;
    readonly ofMerchant: number;
    readonly ofFailing: number;
    /** Endpoints at which a post has waited for long. */
    readonly hanging?: ReadonlySet<string>;
  };
};

/** Claims up to `limit` due deliveries under a lease of their own. Merchants and their endpoints take turns. */
export async function claimDeliveries(database: Database, claim: Claim): Promise<ClaimedDelivery[]> {
  const { limit, where } = claim;
  const {
    underWay,
    ofMerchant,
    ofFailing,
    hanging = new Set(),
  }: NonNullable<Claim["shares"]> = claim.shares ?? {
    underWay: new Map(),
    ofMerchant: limit,
    ofFailing: limit,
  };
  return database.transaction(async (tx) => {
    const places = [where?.endpointIds ?? null, where?.merchantIds ?? null];
    const ready = await tx.query<{ id: string }>(lockReadyEndpoints, places);
    if (ready.length === 0) return [];
    return tx.query<ClaimedDelivery>(claimDue, [
      ready.map((row) => row.id),
      limit,
      claim.leaseToken,
      [...underWay.keys()],
      [...underWay.values()],
      ofMerchant,
      ofFailing,
      [...hanging],
    ]);
  });
}
