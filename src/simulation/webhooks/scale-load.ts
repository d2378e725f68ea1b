/** Many settled sessions with their events, written in batches: what a busy installation's outbox gets, at once or by rate. */
import { writeEventBody } from "../../events/outbox.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import { sha256 } from "../../platform/secrets.ts";
import type { ToldEvent } from "./check-arrivals.ts";
import type { ScaleMerchant } from "./scale-endpoints.ts";
import type { WebhookSite } from "./webhook-site.ts";

const type = "payment_session.expired";

/** Writes events and remembers what was told to whom. */
export class ScaleLoad {
  readonly told: (ToldEvent & { readonly merchant: ScaleMerchant; readonly toldAtMs: number })[] = [];
  readonly #site: WebhookSite;
  readonly #merchants: readonly ScaleMerchant[];
  /** What the product itself says of a session. */
  readonly #data: object;
  readonly #eventsOfSession: number;
  #sessions = 0;

  private constructor(site: WebhookSite, merchants: readonly ScaleMerchant[], data: object, eventsOfSession: number) {
    this.#site = site;
    this.#merchants = merchants;
    this.#data = data;
    this.#eventsOfSession = eventsOfSession;
  }

  /** One session is settled by the product, to a merchant without endpoints; the others are told of in its words. */
  static async open(site: WebhookSite, merchants: readonly ScaleMerchant[], eventsOfSession = 2): Promise<ScaleLoad> {
    const merchantId = systemEntropy.uuid();
    await site.settle(merchantId, { events: 1 });
    const [row] = await site.query<{ body: Buffer }>("SELECT body FROM outbox_event WHERE merchant_id = $1", [
      merchantId,
    ]);
    return new ScaleLoad(site, merchants, JSON.parse(row!.body.toString()).data, eventsOfSession);
  }

  /**
   * Settles sessions with so many events in all (rounded up to whole sessions) in one commit, then tells the relays.
   * Gives what it has told.
   */
  async add(events: number): Promise<ScaleLoad["told"]> {
    const sessions = Array.from({ length: Math.ceil(events / this.#eventsOfSession) }, () => ({
      id: systemEntropy.uuid(),
      merchant: this.#merchants[this.#sessions++ % this.#merchants.length]!,
    }));
    const rows = sessions.flatMap(({ id, merchant }) =>
      Array.from({ length: this.#eventsOfSession }, (_, index) => this.#event(id, merchant, index + 1)),
    );
    await this.#site.environment.database.transaction(async (tx) => {
      await tx.query(insertSessions, [
        sessions.map(({ id }) => id),
        sessions.map(({ merchant }) => merchant.merchantId),
      ]);
      await tx.query(insertEvents, [
        rows.map((row) => row.sessionId),
        rows.map((row) => row.id),
        rows.map((row) => row.sequence),
        rows.map((row) => row.merchant.merchantId),
        rows.map((row) => row.body),
      ]);
    });
    const toldAtMs = performance.timeOrigin + performance.now();
    this.#site.environment.core.outbox.hintRelay();
    const told = rows.map(({ sessionId, id, sequence, merchant, body }) => ({
      eventId: encodeId("evt", id),
      sessionId: encodeId("ps", sessionId),
      sequence,
      bodyHash: sha256(body).toString("hex"),
      endpoints: merchant.endpoints.filter(({ manner }) => manner === "healthy").map((endpoint) => endpoint.id),
      merchant,
      toldAtMs,
    }));
    for (const event of told) this.told.push(event);
    return told;
  }

  #event(sessionId: string, merchant: ScaleMerchant, sequence: number) {
    const id = systemEntropy.uuid();
    const timestamp = systemEntropy.now().toISOString();
    const envelope = { id: encodeId("evt", id), type, timestamp, environment: "test" } as const;
    const data = { ...this.#data, sequence, sessionId: encodeId("ps", sessionId) };
    return { sessionId, id, sequence, merchant, body: Buffer.from(writeEventBody(envelope, data)) };
  }
}

const insertSessions = {
  name: "scale_insert_sessions",
  text: `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at,
           status, phase, settled_at)
         SELECT id, merchant, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes', 'EXPIRED', 'DONE',
           app.clock() FROM unnest($1::uuid[], $2::uuid[]) AS s (id, merchant)`,
};
const insertEvents = {
  name: "scale_insert_events",
  text: `INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, publish_at)
         SELECT session, id, sequence, '${type}', merchant, body, now, now
         FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::bytea[]) AS e (session, id, sequence, merchant, body),
           app.clock() AS now`,
};
