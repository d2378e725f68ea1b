/**
 * A harness for failures during a webhook's delivery: real servers and workers, gates between them, and one check at
 * the end of each act.
 */
import { join } from "node:path";
import { Pool } from "pg";
import { expect, inject } from "vitest";
import type { RoleProcess } from "../../demo/roles.ts";
import { sha256 } from "../../platform/secrets.ts";
import { type Arrival, checkArrivals } from "../simulation/webhooks/check-arrivals.ts";
import { readEmittedEvents } from "../simulation/webhooks/emitted-events.ts";
import { type SiteEndpoint, WebhookSite, webhookSitePorts } from "../simulation/webhooks/webhook-site.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { TcpGate } from "../testing/tcp-gate.ts";
import { testStateFolder } from "../testing/test-run.ts";

// Several processes start and reconnect on a busy machine.
const patience = { timeout: 40_000, interval: 50 };

export class Act {
  readonly merchantId: string;
  readonly endpoint: SiteEndpoint;
  readonly #fixture: WebhookFixture;
  readonly #path: string;

  constructor(fixture: WebhookFixture, of: { merchantId: string; endpoint: SiteEndpoint; path: string }) {
    this.#fixture = fixture;
    this.merchantId = of.merchantId;
    this.endpoint = of.endpoint;
    this.#path = of.path;
  }

  /** A session with two events by default, the last of which is its end. */
  settle(as: { events?: number; isSilent?: boolean } = {}): Promise<string> {
    return this.#fixture.site.settle(this.merchantId, { events: 2, ...as });
  }

  /** True if a request came to this endpoint, with this text if one is given. */
  isHere(request: ReceivedRequest, text = ""): boolean {
    const isTest = request.body.includes('"webhook_endpoint.test"');
    return request.path === this.#path && !isTest && request.body.includes(text);
  }

  /**
   * Holds all deliveries to this endpoint but first attempts, until the result is called: a worker leaves a locked endpoint
   * to the lock's holder.
   */
  async lock(): Promise<() => Promise<void>> {
    const client = await this.#fixture.asOwner.connect();
    await client.query("BEGIN");
    await client.query("SELECT FROM endpoint WHERE id = $1 FOR NO KEY UPDATE", [this.endpoint.endpointId]);
    return async () => {
      await client.query("ROLLBACK");
      client.release();
    };
  }

  arrivals(): Arrival[] {
    const { publicId, secret } = this.endpoint;
    return this.#fixture.receiver.requests
      .filter((request) => this.isHere(request))
      .map((request) => ({
        endpoint: publicId,
        eventId: String(request.headers["webhook-id"]),
        bodyHash: sha256(request.body).toString("hex"),
        isGenuine: objectionsTo(request, [secret], []).length === 0,
      }));
  }

  /**
   * Waits until every delivery is accepted and recorded, after which no more can arrive. Then checks that every event
   * of every session has arrived, genuine, with its own bytes and without a gap; and repeatedly only those that
   * `mayRepeat` names. `arrivals` are those of a receiver of the test's own. Returns the repeated ones.
   */
  async expectAllCame(
    mayRepeat: (eventId: string) => boolean = () => false,
    arrivals?: readonly Arrival[],
  ): Promise<readonly string[]> {
    await expect.poll(() => this.#open(), patience).toEqual([]);
    const emitted = await readEmittedEvents((sql, values) => this.#fixture.site.query(sql, values), this.merchantId);
    expect(emitted.length).toBeGreaterThan(0);
    const { violations, repeated } = checkArrivals(emitted, arrivals ?? this.arrivals(), mayRepeat);
    expect(violations).toEqual([]);
    return repeated;
  }

  /** Returns sessions that have not settled, and events without an accepted delivery. */
  async #open(): Promise<unknown[]> {
    return this.#fixture.site
      .query(
        `SELECT s.id::text, 'not settled' AS problem FROM payment_session s
         WHERE s.merchant_id = $1 AND (s.settled_at IS NULL OR NOT EXISTS (SELECT FROM outbox_event o WHERE o.session_id = s.id))
         UNION ALL SELECT o.id::text, coalesce(d.status, 'no delivery') FROM outbox_event o
         LEFT JOIN delivery d ON d.event_id = o.id WHERE o.merchant_id = $1 AND d.status IS DISTINCT FROM 'SUCCEEDED'`,
        [this.merchantId],
      )
      .catch((error: Error) => [error.message]);
  }
}

export class WebhookFixture {
  readonly site: WebhookSite;
  readonly receiver: Receiver;
  /** Between every worker and NATS; absent if there is a cluster. */
  readonly natsGate: TcpGate | undefined;
  readonly asOwner: Pool;
  #acts = 0;

  private constructor(parts: { site: WebhookSite; receiver: Receiver; natsGate: TcpGate | undefined }) {
    this.site = parts.site;
    this.receiver = parts.receiver;
    this.natsGate = parts.natsGate;
    this.asOwner = new Pool({ connectionString: parts.site.ownerUrl, max: 4 });
    // PostgreSQL goes down in some of the tests.
    this.asOwner.on("error", () => {});
  }

  static async open({ natsServers }: { natsServers: 1 | 3 }): Promise<WebhookFixture> {
    const name = `${inject("testRunName")}-webhooks-${process.pid}`;
    const site = await WebhookSite.open({
      stateFolder: join(testStateFolder, name),
      firstPort: await freePortRange(webhookSitePorts),
      natsServers,
      postgres: { stateFolder: testStateFolder, dataName: `${name}-postgres` },
    });
    const receiver = await Receiver.start();
    const [host = "", port] = site.variables.SWITCHYARD_TEST_NATS_SERVERS!.split(":");
    const natsGate = natsServers === 1 ? await TcpGate.open({ host, port: Number(port) }) : undefined;
    return new WebhookFixture({ site, receiver, natsGate });
  }

  /** Starts a worker whose connection to NATS leads through the gate. */
  startWorker(): Promise<RoleProcess> {
    const { natsGate } = this;
    return this.site.startWorker(natsGate && { SWITCHYARD_TEST_NATS_SERVERS: `127.0.0.1:${natsGate.port}` });
  }

  /** Creates a merchant with a verified endpoint, at the receiver's URL by default. */
  async begin(url?: string): Promise<Act> {
    const path = `/webhooks/${++this.#acts}`;
    const merchantId = this.site.environment.core.runtime.uuid();
    const endpoint = await this.site.addEndpoint(merchantId, url ?? this.receiver.url + path);
    return new Act(this, { merchantId, endpoint, path });
  }

  async close(): Promise<void> {
    await this.asOwner.end();
    await this.site.close();
    await this.natsGate?.close();
    await this.receiver.close();
  }
}

const killed = new WeakSet<RoleProcess>();

/** Kills a process, as the kernel or a power cut would, unless it is dead already, and resolves when it is gone. */
export async function killNow(victim: RoleProcess): Promise<void> {
  if (!killed.has(victim)) process.kill(victim.pid, "SIGKILL");
  killed.add(victim);
  await victim.ended;
}
