/** The harness of webhook benchmarks: PostgreSQL, NATS, workers, a receiver, merchants with an endpoint. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removePostgresHome } from "../../demo/postgres-home.ts";
import { registerEndpoint } from "../../events/endpoints.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import { WebhookSite, webhookSitePorts } from "../simulation/webhooks/webhook-site.ts";
import { Child, type Usage } from "../testing/child-process.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { databaseCpuMs } from "./database-cpu.ts";

// The window of an endpoint that has been healthy for a while (record-delivery.ts).
const fullWindow = 64;

const selectBackend = { name: "select_backend", text: "SELECT pg_backend_pid() AS pid" };

/** Close it at the end of the run, which removes everything. */
export class WebhookHarness {
  readonly site: WebhookSite;
  readonly receiver: Child;
  readonly origin: string;
  readonly #stateFolder: string;
  readonly #workers: Child[] = [];
  readonly #others: Child[] = [];

  private constructor(site: WebhookSite, receiver: Child, origin: string, stateFolder: string) {
    this.site = site;
    this.receiver = receiver;
    this.origin = origin;
    this.#stateFolder = stateFolder;
  }

  /** Opens the harness without a worker. */
  static async open(natsServers: 1 | 3): Promise<WebhookHarness> {
    const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-bench-"));
    const firstPort = await freePortRange(webhookSitePorts);
    const site = await WebhookSite.open({ stateFolder, firstPort, natsServers });
    const receiver = Child.start(join(import.meta.dirname, "webhook-receiver.ts"));
    return new WebhookHarness(site, receiver, await receiver.ask<string>("listen"), stateFolder);
  }

  start(file: string): Child {
    const child = Child.start(join(import.meta.dirname, file));
    this.#others.push(child);
    return child;
  }

  async growTo(workers: number): Promise<void> {
    // It would only warn about endpoints that are intentionally bad.
    const variables = { ...this.site.variables, SWITCHYARD_LOG_LEVEL: "error" };
    while (this.#workers.length < workers) {
      const child = Child.start(join(import.meta.dirname, "worker-process.ts"), variables);
      this.#workers.push(child);
      await child.ask("start");
    }
  }

  usage(): Promise<Usage[]> {
    return Promise.all(this.#workers.map((worker) => worker.ask<Usage>("usage")));
  }

  /** Returns the CPU time of the database so far; undefined if it is not available. */
  async databaseCpuMs(): Promise<number | undefined> {
    const [row] = await this.site.environment.database.query<{ pid: number }>(selectBackend, []);
    return databaseCpuMs(row!.pid);
  }

  /** Creates a merchant with an enabled endpoint, whose window is that of an endpoint healthy until now. */
  async addMerchant(url: string, manner: "healthy" | "failing" = "healthy"): Promise<ScaleMerchant> {
    const merchantId = systemRuntime.uuid();
    const { endpoint, signingSecret } = await registerEndpoint(this.site.environment.endpoints, { merchantId, url });
    await this.site.query(
      "UPDATE endpoint SET status = 'ENABLED', verified_at = app.clock(), in_flight_max = $2 WHERE id = $1",
      [endpoint.id, fullWindow],
    );
    const { pathname: path } = new URL(url);
    return {
      merchantId,
      endpoints: [{ id: encodeId("we", endpoint.id), path, manner, secret: signingSecret.expose() }],
    };
  }

  /** Pauses these merchants' endpoints; their pending deliveries stay. */
  async pause(merchants: readonly ScaleMerchant[]): Promise<void> {
    const ids = merchants.map(({ merchantId }) => merchantId);
    await this.site.query("UPDATE endpoint SET status = 'PAUSED' WHERE merchant_id = ANY ($1) AND status = 'ENABLED'", [
      ids,
    ]);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers, ...this.#others, this.receiver].map((child) => child.close()));
    await this.site.close();
    await removePostgresHome(this.#stateFolder);
  }
}
