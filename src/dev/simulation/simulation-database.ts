/** The database of a simulation: the product's own schema on real PostgreSQL, with another source for its clock. */
import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import type { AuthenticationPolicy, RoutingCases } from "../../core/rows/entities.ts";
import type { AcquirerData } from "../../gateways/authentication-provider.ts";
import { recordConnection, recordVerified, setAcquirerData, stageCredentials } from "../../gateways/connections.ts";
import { Database, type Queryable } from "../../platform/database.ts";
import { accounts, type Schedule } from "./schedule.ts";
import { removeFromSchema, type SchemaRemoval } from "./schema-removals.ts";
import { removeOpenSessions } from "./session-backup.ts";
import { sealing } from "./simulated-core.ts";
import { runOn, simulationTemplate } from "./simulation-template.ts";
import { SqlServer } from "./sql-server.ts";

/** A migrated database with a merchant and its connections, for any number of runs, one after the other. */
export type SimulationDatabase = {
  readonly server: SqlServer;
  readonly merchantId: string;
  /** The connections, indexed like `accounts`. */
  readonly connectionIds: readonly string[];
  /** Answers which partitions there are, and the functions of a payment that each has a copy of. */
  readonly partitions: Queryable;
  /** Makes a schedule's plan the merchant's newest routing rule, and removes open work of earlier runs. */
  begin(
    schedule: Pick<Schedule, "plan" | "failoverOn" | "authentication" | "defaultPlan" | "retry" | "rival" | "wallet">,
  ): Promise<void>;
  /** Removes the feeds that earlier runs have read of accounts. */
  forgetFeeds(): Promise<void>;
  /** Makes the second credentials of every account those in use; `begin` makes it the first again. */
  rotateCredentials(): Promise<void>;
  /** Start time of the next run: so much later that the rows before it are too old for any window. */
  nextEpochMs(): number;
  readonly runs: number;
  /** Removes the sessions that are not done. Other rows stay, and so do the plans of statements, which `clear` discards. */
  removeOpen(): Promise<void>;
  clear(): Promise<void>;
  drop(): Promise<void>;
};

const firstEpochMs = Date.UTC(2026, 0, 1);
// The last of the accounts that connectAccounts makes.
const providerId = fixedId(accounts.length + 1);
const noPolicy: AuthenticationPolicy = { exemptions: [], stopsIfUnavailable: false, forbidsSecondChallenge: false };
const betweenEpochsMs = 3 * 24 * 3_600_000;

/**
 * Creates a copy of the server's template without the given objects. The run sets its `app.clock()`. The server's processes
 * run on `core`, if it is given.
 */
export async function createSimulationDatabase(
  serverUrl: string,
  { withoutInSchema = [], core }: { withoutInSchema?: readonly SchemaRemoval[]; core?: number | undefined } = {},
): Promise<SimulationDatabase> {
  const name = `simulation_${randomBytes(6).toString("hex")}`;
  const url = Object.assign(new URL(serverUrl), { pathname: name }).href;
  // A copy has not the template's own settings.
  const planOnce = `ALTER DATABASE ${name} SET plan_cache_mode = force_generic_plan`;
  await runOn(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${simulationTemplate} STRATEGY file_copy`, planOnce);
  await removeFromSchema(url, withoutInSchema);
  const server = await SqlServer.connect(url, core);
  const merchantId = fixedId(0);
  const connectionIds = await connectAccounts(url, merchantId);
  const { rows: sets } = await server.observe(onlyRest);
  let runs = 0;
  return {
    server,
    merchantId,
    connectionIds,
    partitions: { query: async () => sets },
    async begin({ plan, failoverOn, authentication, defaultPlan, retry, rival, wallet }) {
      const idsOf = (indexes: readonly number[]) => indexes.map((index) => connectionIds[index]!);
      const { provider, demand } = authentication ?? {};
      const policy = demand
        ? { ...noPolicy, ...provider?.policy, withoutBrowser: demand.withoutBrowser }
        : provider?.policy;
      await server.observe({
        name: "begin",
        text: `WITH slices AS (DELETE FROM reconciliation_slice),
                 credentials AS (UPDATE connection SET credential_version = 1 WHERE credential_version <> 1), passes AS (DELETE FROM reconciliation_run),
                 settings AS (INSERT INTO merchant_settings AS m (merchant_id, session_lifetime_ms, publishable_key, repeated_orders, repeated_orders_at)
                   VALUES ($1, 1800000, 'pk', $9, app.clock())
                   ON CONFLICT (merchant_id) DO UPDATE SET repeated_orders = $9, repeated_orders_at = app.clock()),
                 notifications AS (DELETE FROM gateway_notification WHERE processed_at IS NULL)
               INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on, authentication, provider_id, policy, cases,
                 retries_same_gateway, cryptogram_resend)
               SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $10 FROM routing_rule WHERE merchant_id = $1`,
        values: [
          merchantId,
          idsOf(defaultPlan ?? plan),
          failoverOn,
          demand ? "ALWAYS" : (provider?.rule ?? "AS_NEEDED"),
          provider && providerId,
          policy ? JSON.stringify(policy) : null,
          defaultPlan ? JSON.stringify(casesWith(idsOf(plan), idsOf(defaultPlan))) : null,
          retry !== undefined,
          rival ? "REFUSE" : "WARN",
          wallet?.resend ?? "UNANSWERED",
        ],
      });
    },
    async forgetFeeds() {
      await server.observe(
        "WITH feeds AS (DELETE FROM gateway_feed), lines AS (DELETE FROM payout_line), costs AS (DELETE FROM analytics_cost) DELETE FROM payout",
      );
    },
    async rotateCredentials() {
      await server.observe("UPDATE connection SET credential_version = 2 WHERE acquirer IS NOT NULL");
    },
    nextEpochMs: () => firstEpochMs + runs++ * betweenEpochsMs,
    get runs() {
      return runs;
    },
    removeOpen: () => removeOpenSessions(server),
    async clear() {
      await server.observe(
        "TRUNCATE payment_session, attempt, outbox_event, event_todo, gateway_notification, reconciliation_run, card_submission, tested_payment, tested_cards, braking, braking_hold, alert CASCADE",
      );
    },
    async drop() {
      await server.close();
      await runOn(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

// The only set, in the form in which app.partition_sets has that of a month (src/platform/partition-names.ts).
const onlyRest = `
  SELECT '_rest' AS suffix, 0 AS "fromMs", 2::float8 ^ 48 AS "untilMs",
    ARRAY(SELECT parent FROM app.partitioned WHERE kind = 'payments') AS tables, ARRAY(SELECT name FROM app.payment_functions) AS functions`;

/**
 * Returns a case that never applies, because no vault of a simulation knows a card's type, and one that always does.
 */
function casesWith(plan: readonly string[], other: readonly string[]): RoutingCases {
  const unknown = { name: "unknown", conditions: { cardTypes: ["DEBIT" as const] }, connectionIds: other };
  return {
    list: [unknown, { name: "known", conditions: { currencies: ["EUR"] }, connectionIds: plan }],
    cardRanges: [],
  };
}

/** The merchant at each acquirer. */
const acquirer: AcquirerData = {
  mcc: "5411",
  country: "DE",
  merchantName: "Acme",
  networks: { visa: { acquirerBin: "438309", acquirerMerchantId: "1" } },
  exemptions: [{ kind: "LOW_VALUE", currency: "EUR", amountMinor: 4_900 }],
};

async function connectAccounts(url: string, merchantId: string): Promise<string[]> {
  const pool = new Pool({ connectionString: url, max: 1, pipeline: true });
  const database = new Database(pool);
  try {
    const connectionIds: string[] = [];
    const all = [...accounts, { gateway: "SANDBOX_3DS", account: "first" }];
    for (const [index, { gateway, account }] of all.entries()) {
      const id = fixedId(index + 1);
      await database.transaction(async (tx) => {
        await recordConnection(tx, { id, merchantId, gateway, account });
        const credentials = { connectionId: id };
        const credentialVersion = await stageCredentials(tx, sealing, { connectionId: id, credentials });
        await recordVerified(tx, { connectionId: id, credentialVersion });
        if (id === providerId) return;
        await setAcquirerData(tx, id, acquirer);
        await stageCredentials(tx, sealing, { connectionId: id, credentials: { ...credentials, version: "2" } });
      });
      connectionIds.push(id);
    }
    return connectionIds;
  } finally {
    await pool.end();
  }
}

/** Attempts are named after their connections, and a seed must play the same names again. */
function fixedId(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}
