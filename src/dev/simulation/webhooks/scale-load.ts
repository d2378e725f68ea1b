/** Writes many settled sessions with their events in batches, at once or by rate: the outbox of a busy installation. */
import { writeEventBody } from "../../../events/outbox.ts";
import { encodeId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { sha256 } from "../../../platform/secrets.ts";
import type { EmittedEvent } from "./check-arrivals.ts";
import type { ScaleMerchant } from "./scale-endpoints.ts";
import type { WebhookSite } from "./webhook-site.ts";

const type = "payment_session.expired";

export type PreparedSession = { readonly id: string; readonly merchant: ScaleMerchant };

export class ScaleLoad {
  readonly emitted: (EmittedEvent & { readonly merchant: ScaleMerchant; readonly emittedAtMs: number })[] = [];
  readonly #site: WebhookSite;
  readonly #merchants: readonly ScaleMerchant[];
  /** The product's own data of a session. */
  readonly #data: object;
  readonly #eventsOfSession: number;
  #sessions = 0;

  private constructor(site: WebhookSite, merchants: readonly ScaleMerchant[], data: object, eventsOfSession: number) {
    this.#site = site;
    this.#merchants = merchants;
    this.#data = data;
    this.#eventsOfSession = eventsOfSession;
  }

  /** Settles one session by the product, for a merchant without endpoints; the events of the others copy its data. */
  static async open(site: WebhookSite, merchants: readonly ScaleMerchant[], eventsOfSession = 2): Promise<ScaleLoad> {
    const merchantId = systemRuntime.uuid();
    await site.settle(merchantId, { events: 1 });
    const [row] = await site.query<{ body: Buffer }>("SELECT body FROM outbox_event WHERE merchant_id = $1", [
      merchantId,
    ]);
    return new ScaleLoad(site, merchants, JSON.parse(row!.body.toString()).data, eventsOfSession);
  }

  /** Writes sessions that have ended, and whose events are still to be added. */
  async prepare(count: number): Promise<PreparedSession[]> {
    const sessions = Array.from({ length: count }, () => ({
      id: systemRuntime.uuid(),
      merchant: this.#merchants[this.#sessions++ % this.#merchants.length]!,
    }));
    await this.#site.query(insertSessions, [
      sessions.map(({ id }) => id),
      sessions.map(({ merchant }) => merchant.merchantId),
    ]);
    return sessions;
  }

  /**
   * Settles sessions with this many events in all (rounded up to whole sessions) in one commit, then publishes them.
   * Returns the emitted events.
   */
  async add(events: number): Promise<ScaleLoad["emitted"]> {
    return this.settle(await this.prepare(Math.ceil(events / this.#eventsOfSession)));
  }

  /** Adds the events of prepared sessions in one commit, then publishes them. Returns the emitted events. */
  async settle(sessions: readonly PreparedSession[]): Promise<ScaleLoad["emitted"]> {
    const rows = sessions.flatMap(({ id, merchant }) =>
      Array.from({ length: this.#eventsOfSession }, (_, index) => this.#event(id, merchant, index + 1)),
    );
    const createdAt = await this.#site.environment.database.transaction(async (tx) => {
      const [written] = await tx.query<{ now: Date }>(insertEvents, [
        rows.map((row) => row.sessionId),
        rows.map((row) => row.id),
        rows.map((row) => row.sequence),
        rows.map((row) => row.merchant.merchantId),
        rows.map((row) => row.body),
      ]);
      return written!.now;
    });
    const emittedAtMs = performance.timeOrigin + performance.now();
    for (const { id, merchant, ...row } of rows) {
      const { merchantId } = merchant;
      this.#site.environment.core.outbox.publish({ ...row, eventId: id, type, merchantId, createdAt });
    }
    const emitted = rows.map(({ sessionId, id, sequence, merchant, body }) => ({
      eventId: encodeId("evt", id),
      sessionId: encodeId("ps", sessionId),
      sequence,
      bodyHash: sha256(body).toString("hex"),
      endpoints: merchant.endpoints.filter(({ manner }) => manner === "healthy").map((endpoint) => endpoint.id),
      merchant,
      emittedAtMs,
    }));
    for (const event of emitted) this.emitted.push(event);
    return emitted;
  }

  #event(sessionId: string, merchant: ScaleMerchant, sequence: number) {
    const id = systemRuntime.uuid();
    const timestamp = systemRuntime.now().toISOString();
    const envelope = { id: encodeId("evt", id), type, timestamp, environment: "test" } as const;
    const data = { ...this.#data, sequence, sessionId: encodeId("ps", sessionId) };
    return { sessionId, id, sequence, merchant, body: Buffer.from(writeEventBody(envelope, data)) };
  }
}

const insertSessions = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at,
    status, phase, settled_at)
  SELECT id, merchant, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes', 'EXPIRED', 'DONE', app.clock()
  FROM unnest($1::uuid[], $2::uuid[]) AS s (id, merchant)`;
const insertEvents = {
  name: "scale_insert_events",
  text: `WITH event AS MATERIALIZED (
           SELECT *, app.clock() AS now
           FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::bytea[]) AS e (session, id, sequence, merchant, body)
         ), todo AS (
           INSERT INTO event_todo (session_id, sequence, created_at, due_at)
           SELECT session, sequence, now, now + interval '10 seconds' FROM event
         ), emitted AS (
           INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
           SELECT session, id, sequence, '${type}', merchant, body, now FROM event
         )
         SELECT max(now) AS now FROM event`,
};
