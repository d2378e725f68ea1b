/**
 * The straight payment: service, vault and webhook worker written by hand, with the durability of ours and without its
 * walls. It shares PostgreSQL, the sandbox gateways and the webhook receiver with ours.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { v7 } from "uuid";
import { nodeFlags } from "../../../../demo/roles.ts";
import { sha256 } from "../../../../platform/secrets.ts";
import { Child } from "../../../testing/child-process.ts";
import { freePortRange } from "../../../testing/free-port-range.ts";
import { withClient } from "../../../testing/with-client.ts";
import type { PaymentSite, SiteDoors } from "../../payment-site.ts";
import type { GatewayAccount } from "./gateways.ts";
import type { ServiceOptions } from "./service-process.ts";
import type { VaultOptions } from "./vault-process.ts";

/** Begins the names of its processes among those of a site. */
export const peerPrefix = "peer ";

const straightProcesses = ["service", "vault", "worker"] as const;
type StraightProcess = (typeof straightProcesses)[number];

const database = "straight";
const account = "test_straight";
const accounts: readonly GatewayAccount[] = [
  { gateway: "SANDBOX_A", account },
  { gateway: "SANDBOX_B", account },
];

export class StraightPeer {
  readonly doors: SiteDoors;
  readonly signingSecret = `whsec_${randomBytes(32).toString("base64")}`;
  readonly #site: PaymentSite;
  readonly #options: Omit<ServiceOptions & VaultOptions, "port" | "databaseUrl">;
  readonly #ports: { readonly service: number; readonly vault: number };
  readonly #children = new Map<StraightProcess, Child>();

  private constructor(site: PaymentSite, firstPort: number) {
    this.#site = site;
    this.#ports = { service: firstPort, vault: firstPort + 1 };
    const key = () => randomBytes(32).toString("hex");
    const vaultOrigin = `http://127.0.0.1:${firstPort + 1}`;
    this.doors = { apiOrigin: `http://127.0.0.1:${firstPort}`, vaultOrigin, secretKey: `straight_sk_${key()}` };
    this.#options = {
      accounts,
      vaultOrigin,
      sandboxOrigin: site.sandboxOrigin,
      notificationKey: key(),
      clientKey: key(),
      grantKey: key(),
      serviceKey: key(),
      sealingKey: randomBytes(32).toString("base64"),
    };
  }

  /** Creates its database with one merchant; `start` starts its processes. */
  static async open(site: PaymentSite): Promise<StraightPeer> {
    const peer = new StraightPeer(site, await freePortRange(2));
    await peer.#createDatabase();
    await peer.#receiveNotifications();
    return peer;
  }

  /**
   * Starts or restarts its processes. If they are counted, the statements of service and vault pass the gate, which costs
   * some time; those of the worker, which also polls, do not.
   */
  async start({ counted = false } = {}): Promise<void> {
    await this.close();
    for (const name of straightProcesses) {
      const url = urlOf(this.#site, database);
      const databaseUrl = counted && name !== "worker" ? await this.#site.gatedUrl(`${peerPrefix}${name}`, url) : url;
      const child = Child.start(join(import.meta.dirname, `${name}-process.ts`), {}, nodeFlags);
      this.#children.set(name, child);
      const port = name === "worker" ? 0 : this.#ports[name];
      await child.ask("start", { ...this.#options, databaseUrl, port });
      this.#site.measure(`${peerPrefix}${name}`, child);
    }
  }

  async close(): Promise<void> {
    for (const child of [...this.#children.values()].toReversed()) await child.close();
    this.#children.clear();
  }

  async #createDatabase(): Promise<void> {
    await withClient(this.#site.ownerUrl, (client) => client.query(`CREATE DATABASE ${database}`));
    await withClient(urlOf(this.#site, database), async (client) => {
      await client.query(createTables);
      const merchantId = v7();
      await client.query("INSERT INTO api_key VALUES ($1, $2)", [sha256(this.doors.secretKey), merchantId]);
      await client.query("INSERT INTO endpoint VALUES ($1, $2, $3)", [
        ...[merchantId, this.#site.webhookUrl, this.signingSecret.slice("whsec_".length)],
      ]);
    });
  }

  async #receiveNotifications(): Promise<void> {
    const settings = {
      account,
      notificationUrl: `${this.doors.apiOrigin}/notifications`,
      hmacKey: this.#options.notificationKey,
    };
    const answer = await fetch(`${this.#site.sandboxOrigin}/admin/accounts`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(settings),
    });
    if (!answer.ok) throw new Error(`the sandbox did not accept the peer's notification address (${answer.status})`);
  }
}

function urlOf({ ownerUrl }: PaymentSite, name: string): string {
  return Object.assign(new URL(ownerUrl), { pathname: `/${name}` }).href;
}

/** Creates the tables of service, worker and vault in an empty database. */
export const createTables = `
  CREATE TABLE api_key (hash bytea PRIMARY KEY, merchant_id uuid NOT NULL, revoked_at timestamptz);
  CREATE TABLE session (
    id uuid PRIMARY KEY, merchant_id uuid NOT NULL, amount_minor bigint NOT NULL, currency text NOT NULL,
    order_ref text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
    token_hash bytea, vault_token text, submitted_at timestamptz, winner_attempt_id uuid, capture_ordered_at timestamptz,
    card_brand text, card_last4 text, captured_via text, capture_confirmed boolean, failover boolean,
    decline_code text, settled_at timestamptz);
  CREATE INDEX session_by_merchant ON session (merchant_id, created_at);
  CREATE INDEX session_processing ON session (submitted_at) WHERE status = 'PROCESSING';
  CREATE TABLE attempt (
    id uuid PRIMARY KEY, session_id uuid NOT NULL, sequence int NOT NULL, gateway text NOT NULL, status text NOT NULL,
    gateway_reference text, decline_code text, started_at timestamptz NOT NULL, answered_at timestamptz,
    completed_at timestamptz);
  CREATE INDEX attempt_by_session ON attempt (session_id);
  CREATE TABLE idempotency (
    merchant_id uuid NOT NULL, key text NOT NULL, request_hash bytea NOT NULL, session_id uuid NOT NULL,
    expires_at timestamptz NOT NULL, PRIMARY KEY (merchant_id, key));
  CREATE TABLE notification (
    reference text NOT NULL, event_code text NOT NULL, body text NOT NULL, received_at timestamptz NOT NULL,
    PRIMARY KEY (reference, event_code));
  CREATE TABLE endpoint (merchant_id uuid PRIMARY KEY, url text NOT NULL, secret text NOT NULL);
  CREATE TABLE webhook (
    id uuid PRIMARY KEY, merchant_id uuid NOT NULL, session_id uuid NOT NULL, type text NOT NULL, body text NOT NULL,
    status text NOT NULL, tries int NOT NULL, next_at timestamptz NOT NULL, created_at timestamptz NOT NULL,
    delivered_at timestamptz);
  CREATE INDEX webhook_pending ON webhook (next_at) WHERE status = 'PENDING';
  CREATE TABLE webhook_attempt (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, webhook_id uuid NOT NULL, started_at timestamptz NOT NULL,
    duration_ms int NOT NULL, status_code int NOT NULL);
  CREATE TABLE card (
    token_hash bytea PRIMARY KEY, session_id text NOT NULL, sealed bytea NOT NULL, uses_left int NOT NULL,
    expires_at timestamptz NOT NULL);
  CREATE INDEX card_by_session ON card (session_id);`;
