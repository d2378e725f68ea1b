/** What benchmarks of webhooks run on: PostgreSQL, NATS, worker processes, a receiver, and merchants with an endpoint each. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { registerEndpoint } from "../events/endpoints.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import { WebhookSite, webhookSitePorts } from "../simulation/webhooks/webhook-site.ts";
import { Child } from "../testing/child-process.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { databaseCpuMs } from "./database-cpu.ts";
import type { WorkerUsage } from "./worker-process.ts";

// An endpoint that has answered well for a while (record-delivery.ts).
const fullWindow = 64;

const selectBackend = { name: "select_backend", text: "SELECT pg_backend_pid() AS pid" };

/** Where CPU profiles of workers go; without it none are made, which they are faster without. */
export type WebhookBedOptions = { readonly natsServers: 1 | 3; readonly profileFolder: string | undefined };

/** Close it at the run's end; nothing of it stays. */
export class WebhookBed {
  readonly site: WebhookSite;
  readonly receiver: Child;
  /** Where the receiver listens. */
  readonly origin: string;
  readonly #options: WebhookBedOptions;
  readonly #workers: Child[] = [];
  readonly #others: Child[] = [];

  private constructor(site: WebhookSite, receiver: Child, origin: string, options: WebhookBedOptions) {
    this.site = site;
    this.receiver = receiver;
    this.origin = origin;
    this.#options = options;
  }

  /** No worker runs yet. */
  static async open(options: WebhookBedOptions): Promise<WebhookBed> {
    const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-bench-"));
    const firstPort = await freePortRange(webhookSitePorts);
    const site = await WebhookSite.open({ stateFolder, firstPort, natsServers: options.natsServers });
    const receiver = Child.start(join(import.meta.dirname, "webhook-receiver.ts"));
    return new WebhookBed(site, receiver, await receiver.ask<string>("listen"), options);
  }

  /** Another process of the run, which ends with it. */
  start(file: string): Child {
    const child = Child.start(join(import.meta.dirname, file));
    this.#others.push(child);
    return child;
  }

  /** Starts workers until there are so many. */
  async growTo(workers: number): Promise<void> {
    // Of endpoints that are bad on purpose it would only warn.
    const variables = { ...this.site.variables, SWITCHYARD_LOG_LEVEL: "error" };
    while (this.#workers.length < workers) {
      const child = Child.start(join(import.meta.dirname, "worker-process.ts"), variables, this.#profiling());
      this.#workers.push(child);
      await child.ask("start");
    }
  }

  /** Of each worker. */
  usage(): Promise<WorkerUsage[]> {
    return Promise.all(this.#workers.map((worker) => worker.ask<WorkerUsage>("usage")));
  }

  /** Of the database so far; undefined where nobody knows. */
  async databaseCpuMs(): Promise<number | undefined> {
    const [row] = await this.site.environment.database.query<{ pid: number }>(selectBackend, []);
    return databaseCpuMs(row!.pid);
  }

  /** A merchant whose endpoint is enabled, with the window of one that has been healthy until now. */
  async addMerchant(url: string, manner: "healthy" | "failing" = "healthy"): Promise<ScaleMerchant> {
    const merchantId = systemEntropy.uuid();
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

  /** Nothing more is posted to these merchants' endpoints; what waits for them stays. */
  async pause(merchants: readonly ScaleMerchant[]): Promise<void> {
    const ids = merchants.map(({ merchantId }) => merchantId);
    await this.site.query("UPDATE endpoint SET status = 'PAUSED' WHERE merchant_id = ANY ($1) AND status = 'ENABLED'", [
      ids,
    ]);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers, ...this.#others, this.receiver].map((child) => child.close()));
    await this.site.close();
  }

  #profiling(): string[] {
    const { profileFolder } = this.#options;
    if (profileFolder === undefined) return [];
    const name = `worker-${this.#workers.length + 1}-${this.#options.natsServers}.cpuprofile`;
    return ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=${name}`];
  }
}
