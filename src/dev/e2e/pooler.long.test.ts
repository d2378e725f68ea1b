/** Two edges, a worker and a vault over five server connections a database: every payment goes through. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Role } from "../../config/checked-config.ts";
import { type DemoDatabases, prepareDatabases } from "../../demo/databases.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { startPrivateNats } from "../../demo/private-nats.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { roleVariables } from "../../demo/role-variables.ts";
import { type RoleProcess, startRole } from "../../demo/roles.ts";
import { sessionLimits } from "../../platform/session-limits.ts";
import { seedSite } from "../simulation/chaos/site-merchant.ts";
import { Child } from "../testing/child-process.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { type PgBouncer, startPgBouncer } from "../testing/pgbouncer.ts";
import { Receiver } from "../testing/receiver.ts";
import { testStateFolder } from "../testing/test-run.ts";
import { withClient } from "../testing/with-client.ts";

const serverConnectionsMax = 5;
const customersAtOnce = 24;
const seconds = 20;
const portsOfDemo = Object.keys(addressesFrom(0).ports).length;

const stack = new AsyncDisposableStack();
let pooler: PgBouncer;
let databases: DemoDatabases;
let ownerUrl: string;
let doors: { apiOrigin: string; vaultOrigin: string; secretKey: string };
let otherApiOrigin: string;
let receiver: Receiver;
beforeAll(async () => {
  const name = `${inject("testRunName")}-pooler`;
  const folder = join(testStateFolder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startPrivatePostgres({ stateFolder: testStateFolder, dataName: `${name}-postgres` });
  stack.defer(() => postgres.stop({ removeData: true }));
  const nats = await startPrivateNats({ stateFolder: folder });
  stack.defer(() => nats.stop());
  databases = await prepareDatabases(postgres.ownerUrl, folder);
  ownerUrl = Object.assign(new URL(postgres.ownerUrl), { pathname: new URL(databases.test).pathname }).href;
  pooler = await startPgBouncer({
    logFile: join(folder, "pgbouncer.log"),
    postgresDataFolder: postgres.dataFolder,
    urls: Object.values(databases),
    serverConnectionsMax,
  });
  stack.defer(() => pooler.stop());
  const pooled = Object.fromEntries(
    Object.entries(databases).map(([of, url]) => [of, pooler.pooledUrl(url)]),
  ) as DemoDatabases;
  const firstPort = await freePortRange(2 * portsOfDemo);
  const [addresses, others] = [addressesFrom(firstPort), addressesFrom(firstPort + portsOfDemo)];
  const variables = {
    ...roleVariables(folder, addresses, { databases: pooled, nats: nats.urls }),
    SWITCHYARD_DATABASE_POOLER: "transaction",
    SWITCHYARD_RATE_LIMIT_PER_SECOND: "off",
  };
  const start = async (role: Role, number: number, own: Record<string, string> = {}) => {
    const logFile = join(folder, `${role}-${number}.log`);
    const running: RoleProcess = await startRole(role, { variables: { ...variables, ...own }, logFile });
    stack.defer(() => running.close());
  };
  await start("sandbox", 1);
  await start("vault", 1);
  await start("edge", 1);
  const { public: publicPort, grpc } = others.ports;
  await start("edge", 2, { SWITCHYARD_PUBLIC_PORT: String(publicPort), SWITCHYARD_GRPC_PORT: String(grpc) });
  otherApiOrigin = others.apiOrigin;
  receiver = await Receiver.start();
  stack.defer(() => receiver.close());
  const { secretKey } = await seedSite({ variables, addresses, stateFolder: folder }, `${receiver.url}/webhooks`);
  await start("worker", 1);
  doors = { apiOrigin: addresses.apiOrigin, vaultOrigin: addresses.vaultOrigin, secretKey };
}, 120_000);
afterAll(() => stack.disposeAsync(), 60_000);

async function ask<Row extends object>(url: string, sql: string): Promise<Row[]> {
  return (await withClient(url, (client) => client.query<Row>(sql))).rows;
}

describe("payments through a pooler in transaction mode", () => {
  it("all succeed, with their webhooks, over fewer server connections than any one process holds", async () => {
    const load = join(import.meta.dirname, "..", "bench", "payment-load.ts");
    const shops = [doors.apiOrigin, otherApiOrigin].map(async (apiOrigin) => {
      const child = Child.start(load);
      stack.defer(() => child.close());
      const order = { doors: { ...doors, apiOrigin }, card: "4242424242424242", status: "SUCCEEDED" };
      return child.ask<{ payments: number; failures: number }>("pay", { ...order, seconds, atOnce: customersAtOnce });
    });
    const paid = await Promise.all(shops);
    const payments = paid.reduce((sum, shop) => sum + shop.payments, 0);
    expect(paid.map(({ failures }) => failures)).toEqual([0, 0]);
    expect(payments).toBeGreaterThan(100);

    const clients = (await pooler.show("CLIENTS")).filter(({ database }) => database === "switchyard_test");
    const servers = await ask(ownerUrl, "SELECT FROM pg_stat_activity WHERE usename = 'switchyard_test'");
    console.info(`${payments} payments, ${clients.length} clients over ${servers.length} server connections`);
    expect(clients.length).toBeGreaterThan(2 * serverConnectionsMax);
    expect(servers.length).toBeLessThanOrEqual(serverConnectionsMax);

    const ended = await ask(ownerUrl, "SELECT status, count(*)::int FROM payment_session GROUP BY status");
    expect(ended).toEqual([{ status: "SUCCEEDED", count: payments }]);
    const unsent = () =>
      ask(ownerUrl, "SELECT FROM delivery WHERE status <> 'SUCCEEDED' UNION ALL SELECT FROM event_todo");
    await expect.poll(async () => (await unsent()).length, { timeout: 120_000 }).toBe(0);
    expect(new Set(receiver.requests.map(({ headers }) => headers["webhook-id"])).size).toBeGreaterThanOrEqual(
      payments,
    );
    expect(await ask(ownerUrl, "SELECT rule FROM app.audit()")).toEqual([]);
  });

  it("have the limits of their role on every server connection", async () => {
    const limits = Object.keys(sessionLimits).map((name) => `current_setting('${name}')::interval AS ${name}`);
    const [row] = await ask<Record<string, { seconds: number }>>(pooler.pooledUrl(databases.test), `SELECT ${limits}`);
    const found = Object.entries(row!).map(([name, interval]) => [name, interval.seconds * 1_000]);
    expect(Object.fromEntries(found)).toEqual(sessionLimits);
  });
});
