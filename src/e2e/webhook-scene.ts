/** A stage for deaths on a webhook's way: real servers and workers, gates between them, and one check at the end of each act. */
import { join } from "node:path";
import { Pool } from "pg";
import { expect, inject } from "vitest";
import type { RoleProcess } from "../demo/roles.ts";
import { sha256 } from "../platform/secrets.ts";
import { type Arrival, checkArrivals } from "../simulation/webhooks/check-arrivals.ts";
import { readToldEvents } from "../simulation/webhooks/told-events.ts";
import { type SiteEndpoint, WebhookSite, webhookSitePorts } from "../simulation/webhooks/webhook-site.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { TcpGate } from "../testing/tcp-gate.ts";
import { testStateFolder } from "../testing/test-run.ts";

// Several processes start and connect anew on a busy machine.
const patience = { timeout: 40_000, interval: 50 };

/** One merchant with one endpoint, and what came there. */
export class Act {
  readonly merchantId: string;
  readonly endpoint: SiteEndpoint;
  readonly #scene: WebhookScene;
  readonly #path: string;

  constructor(scene: WebhookScene, of: { merchantId: string; endpoint: SiteEndpoint; path: string }) {
    this.#scene = scene;
    this.merchantId = of.merchantId;
    this.endpoint = of.endpoint;
    this.#path = of.path;
  }

  /** A session with two events, the last of which is its end. */
  settle(): Promise<string> {
    return this.#scene.site.settle(this.merchantId, { events: 2 });
  }

  /** Whether a request came to this endpoint, with this text if one is given. */
  isHere(request: ReceivedRequest, text = ""): boolean {
    const isTest = request.body.includes('"webhook_endpoint.test"');
    return request.path === this.#path && !isTest && request.body.includes(text);
  }

  /** Nothing is sent here until the result is called: a worker leaves a locked endpoint to whoever holds it. */
  async lock(): Promise<() => Promise<void>> {
    const client = await this.#scene.asOwner.connect();
    await client.query("BEGIN");
    await client.query("SELECT FROM endpoint WHERE id = $1 FOR NO KEY UPDATE", [this.endpoint.endpointId]);
    return async () => {
      await client.query("ROLLBACK");
      client.release();
    };
  }

  /** What came so far. */
  arrivals(): Arrival[] {
    const { publicId, secret } = this.endpoint;
    return this.#scene.receiver.requests
      .filter((request) => this.isHere(request))
      .map((request) => ({
        endpoint: publicId,
        eventId: String(request.headers["webhook-id"]),
        bodyHash: sha256(request.body).toString("hex"),
        isGenuine: objectionsTo(request, [secret], []).length === 0,
      }));
  }

  /**
   * Waits until every delivery is taken and recorded, after which nothing can come any more. Then every event of every
   * session has come, genuine, with its own bytes and without a gap; and again only those that `mayRepeat` names.
   * `arrivals` are those of a receiver of the test's own. Gives what came again.
   */
  async expectAllCame(
    mayRepeat: (eventId: string) => boolean = () => false,
    arrivals?: readonly Arrival[],
  ): Promise<readonly string[]> {
    await expect.poll(() => this.#open(), patience).toEqual([]);
    const told = await readToldEvents((sql, values) => this.#scene.site.query(sql, values), this.merchantId);
    expect(told.length).toBeGreaterThan(0);
    const { violations, repeated } = checkArrivals(told, arrivals ?? this.arrivals(), mayRepeat);
    expect(violations).toEqual([]);
    return repeated;
  }

  /** Sessions that have not settled, and events without a delivery that was taken. */
  async #open(): Promise<unknown[]> {
    return this.#scene.site
      .query(
        `SELECT s.id::text, 'not settled' AS because FROM payment_session s
         WHERE s.merchant_id = $1 AND (s.settled_at IS NULL OR NOT EXISTS (SELECT FROM outbox_event o WHERE o.session_id = s.id))
         UNION ALL SELECT o.id::text, coalesce(d.status, 'no delivery') FROM outbox_event o
         LEFT JOIN delivery d ON d.event_id = o.id WHERE o.merchant_id = $1 AND d.status IS DISTINCT FROM 'SUCCEEDED'`,
        [this.merchantId],
      )
      .catch((error: Error) => [error.message]);
  }
}

/** Servers, gates and one receiver for a file of tests. */
export class WebhookScene {
  readonly site: WebhookSite;
  readonly receiver: Receiver;
  /** Between every worker and NATS; absent where there is a cluster. */
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

  static async open({ natsServers }: { natsServers: 1 | 3 }): Promise<WebhookScene> {
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
    return new WebhookScene({ site, receiver, natsGate });
  }

  /** A worker whose way to NATS leads through the gate. */
  startWorker(): Promise<RoleProcess> {
    const { natsGate } = this;
    return this.site.startWorker(natsGate && { SWITCHYARD_TEST_NATS_SERVERS: `127.0.0.1:${natsGate.port}` });
  }

  /** A new merchant with a verified endpoint, at another URL than the receiver's if one is given. */
  async begin(url?: string): Promise<Act> {
    const path = `/webhooks/${++this.#acts}`;
    const merchantId = this.site.environment.core.entropy.uuid();
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

/** Kills a process as the kernel or a power cut would, unless that is done, and resolves when it is gone. */
export async function killNow(victim: RoleProcess): Promise<void> {
  if (!killed.has(victim)) process.kill(victim.pid, "SIGKILL");
  killed.add(victim);
  await victim.ended;
}
