/** The database of a simulation: the product's own schema on real PostgreSQL, with another source for its clock. */
import { randomBytes } from "node:crypto";
import { Client, escapeIdentifier, Pool } from "pg";
import { recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { migrate } from "../../migrations/migrate.ts";
import { Database } from "../../platform/database.ts";
import { accounts, type Schedule } from "./schedule.ts";
import { removeFromSchema, type SchemaRemoval } from "./schema-removals.ts";
import { sealing } from "./simulated-core.ts";
import { SqlServer } from "./sql-server.ts";

/** A migrated database with a merchant and its connections, for any number of runs, one after the other. */
export type SimulationDatabase = {
  readonly server: SqlServer;
  readonly merchantId: string;
  /** By index of `accounts`. */
  readonly connectionIds: readonly string[];
  /** Makes a schedule's plan the merchant's newest routing rule, and removes open work of earlier runs. */
  begin(schedule: Pick<Schedule, "plan" | "failoverOn">): Promise<void>;
  /**
   * Start time of the next run: long after the one before, whose rows are then too old for any of the product's
   * windows.
   */
  nextEpochMs(): number;
  /** Removes the rows of all runs. */
  clear(): Promise<void>;
  drop(): Promise<void>;
};

// A sequence is visible to every transaction at once; no table is.
const simulatedClock = `
  CREATE SEQUENCE app.simulated_clock;
  CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT timestamptz ''epoch'' + last_value * interval ''1 ms'' FROM app.simulated_clock'`;

const firstEpochMs = Date.UTC(2026, 0, 1);
const betweenEpochsMs = 3 * 24 * 3_600_000;

/** Creates a separate migrated database without the given objects. The run sets its `app.clock()`. */
export async function createSimulationDatabase(
  serverUrl: string,
  withoutInSchema: readonly SchemaRemoval[] = [],
): Promise<SimulationDatabase> {
  const name = `simulation_${randomBytes(6).toString("hex")}`;
  const url = Object.assign(new URL(serverUrl), { pathname: name }).href;
  await runOn(serverUrl, `CREATE DATABASE ${name}`, `CREATE ROLE ${name}`);
  await migrate({ ownerUrl: url, kind: "environment", runtimeRole: name });
  await runOn(url, simulatedClock);
  await removeFromSchema(url, withoutInSchema);
  const server = await SqlServer.connect(url);
  const merchantId = fixedId(0);
  const connectionIds = await connectAccounts(url, merchantId);
  let runs = 0;
  return {
    server,
    merchantId,
    connectionIds,
    async begin({ plan, failoverOn }) {
      await server.observe({
        name: "begin",
        text: `WITH slices AS (DELETE FROM reconciliation_slice), passes AS (DELETE FROM reconciliation_run),
                 notifications AS (DELETE FROM gateway_notification WHERE processed_at IS NULL)
               INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on)
               SELECT $1, coalesce(max(version), 0) + 1, $2, $3 FROM routing_rule WHERE merchant_id = $1`,
        values: [merchantId, plan.map((index) => connectionIds[index]), failoverOn],
      });
    },
    nextEpochMs: () => firstEpochMs + runs++ * betweenEpochsMs,
    async clear() {
      await server.observe(
        "TRUNCATE payment_session, attempt, outbox_event, gateway_notification, reconciliation_run CASCADE",
      );
    },
    async drop() {
      await server.close();
      await runOn(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${escapeIdentifier(name)}`);
    },
  };
}

async function connectAccounts(url: string, merchantId: string): Promise<string[]> {
  const pool = new Pool({ connectionString: url, max: 1 });
  const database = new Database(pool);
  try {
    const connectionIds: string[] = [];
    for (const [index, { gateway, account }] of accounts.entries()) {
      const id = fixedId(index + 1);
      await database.transaction(async (tx) => {
        await recordConnection(tx, { id, merchantId, gateway, account });
        const credentials = { connectionId: id };
        const credentialVersion = await stageCredentials(tx, sealing, { connectionId: id, credentials });
        await recordVerified(tx, { connectionId: id, credentialVersion });
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

async function runOn(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
