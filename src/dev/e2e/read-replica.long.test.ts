/** A primary with a real replica: lists come from it while it keeps up, all else from the primary. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { openEnvironmentTo } from "../../accounts/issue-keys.ts";
import { createMerchant } from "../../accounts/merchants.ts";
import { readConfig } from "../../config/config.ts";
import { prepareDatabases } from "../../demo/databases.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { roleVariables } from "../../demo/role-variables.ts";
import { Database, type Statement } from "../../platform/database.ts";
import { createLogger } from "../../platform/log.ts";
import { ReadReplica } from "../../platform/read-replica.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Environment } from "../../processes/environment.ts";
import { type Installation, openInstallation, startEdge } from "../../processes/installation.ts";
import { openDatabase } from "../../processes/open-database.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { type PostgresPair, startPostgresPair } from "../testing/postgres-replica.ts";
import { testStateFolder } from "../testing/test-run.ts";

const stack = new AsyncDisposableStack();
const [authority, stranger] = ["Ours", "Somebody else's"].map((name) => new TestAuthority(name)) as [
  TestAuthority,
  TestAuthority,
];
stack.defer(() => [authority, stranger].forEach((one) => void one.close()));
const verifiedBy = ({ certFile }: TestAuthority, url: string) => `${url}?sslmode=verify-full&sslrootcert=${certFile}`;
let pair: PostgresPair;
let environment: Environment;
let replica: ReadReplica;
let sessionsUrl: string;
let authorization: string;
let testDatabaseUrl: string;
let variables: Record<string, string>;
beforeAll(async () => {
  const name = `${inject("testRunName")}-replica`;
  const folder = join(testStateFolder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  stack.defer(() => rm(folder, { recursive: true }));
  const certificate = authority.issue("replica");
  pair = await startPostgresPair({ stateFolder: testStateFolder, dataName: `${name}-postgres`, certificate });
  stack.defer(() => pair.stop());
  const databases = await prepareDatabases(pair.primary.ownerUrl, folder);
  testDatabaseUrl = databases.test;
  // A commit is on its way to the replica when it is answered, as in any installation.
  const owner = new Client({ connectionString: pair.primary.ownerUrl });
  await owner.connect();
  await owner.query("ALTER DATABASE switchyard_test SET synchronous_commit = on").finally(() => owner.end());
  const addresses = addressesFrom(await freePortRange(Object.keys(addressesFrom(0).ports).length));
  const unknown = { servers: "127.0.0.1:1", user: "nobody", pass: "nothing" };
  variables = {
    ...roleVariables(folder, addresses, { databases, nats: { test: unknown, live: unknown } }),
    SWITCHYARD_ENVIRONMENTS: "test",
    SWITCHYARD_TEST_DATABASE_READ_URL: verifiedBy(authority, pair.replicaUrl(databases.test)),
  };
  const installation = await open();
  stack.defer(() => installation.close());
  environment = installation.environments[0]!;
  replica = environment.replica!;
  const edge = await startEdge(installation);
  stack.defer(() => edge.close());
  const merchant = { id: systemRuntime.uuid(), name: "Roundhouse" };
  await createMerchant(installation.accounts, merchant);
  const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
  const { secretKey } = await environment.database.transaction((tx) => openEnvironmentTo(tx, maker, merchant.id));
  authorization = `Bearer ${secretKey.expose()}`;
  sessionsUrl = `${addresses.apiOrigin}/api/v1/payment-sessions`;
  // Two servers, four databases: takes seconds, and more on a busy machine.
}, 120_000);
afterAll(() => stack.disposeAsync());

function open(): Promise<Installation> {
  const config = readConfig(["edge"], variables);
  const log = createLogger({ name: "edge", level: "silent" });
  return openInstallation({ ...config, service: config.service! }, log);
}

async function answer(path = "", body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization, "content-type": "application/json" };
  const post = body && { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(sessionsUrl + path, { headers, ...post });
  expect(response.ok).toBe(true);
  return (await response.json()) as Record<string, unknown>;
}

async function create(orderRef: string): Promise<string> {
  const { sessionId } = await answer("", { amountMinor: 4900, currency: "EUR", orderRef });
  return String(sessionId);
}

async function listed(): Promise<string[]> {
  const { paymentSessions = [] } = (await answer()) as { paymentSessions?: { orderRef: string }[] };
  return paymentSessions.map(({ orderRef }) => orderRef).sort();
}

const stateOf = (of: ReadReplica) => async () => {
  await of.checkOnce();
  return of.state;
};

describe("an environment with a read replica", () => {
  it("lists from the replica, and reads what was just made from the primary", async () => {
    await expect.poll(stateOf(replica)).toBe("in_use");
    await create("before");
    await expect.poll(listed).toEqual(["before"]);
    await pair.pauseReplay();
    const sessionId = await create("after");
    expect(await listed()).toEqual(["before"]);
    expect(await answer(`/${sessionId}`)).toMatchObject({ orderRef: "after", status: "CREATED" });
    await pair.replay();
    await expect.poll(listed).toEqual(["after", "before"]);
  });

  it("stops using a replica that has fallen behind, reports it, and uses it again later", async () => {
    const log = { warn: vi.fn() };
    let nowMs = 0;
    const watched = new ReadReplica({
      primary: environment.database,
      replica: replica.database,
      log,
      nowMs: () => nowMs,
    });
    await expect.poll(stateOf(watched)).toBe("in_use");
    await pair.pauseReplay();
    await create("unseen");
    await watched.checkOnce();
    nowMs += 30_000;
    await watched.checkOnce();
    expect(watched.state).toBe("in_use");
    nowMs += 1_000;
    await watched.checkOnce();
    expect([watched.state, watched.lagMs]).toEqual(["behind", 31_000]);
    expect(log.warn.mock.lastCall?.[0]).toEqual({ kind: "behind", reason: "it is 31 s behind" });
    const count = { name: "count_sessions", text: "SELECT count(*)::int FROM payment_session" };
    expect(await watched.query(count, [])).toEqual([{ count: 3 }]);
    await pair.replay();
    await expect.poll(stateOf(watched)).toBe("in_use");
    expect(watched.lagMs).toBe(0);
  });

  it("does not read from a replica that is ahead of its database and lacks what was written there", async () => {
    // After a restore a database begins again at an earlier position than the replica has that followed it before.
    class Restored extends Database {
      override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
        const earlier = { name: "earlier_position", text: "SELECT '0/1' AS position" };
        return super.query<Row>(statement.name === "select_wal_position" ? earlier : statement, values);
      }
    }
    await pair.pauseReplay();
    const primary = new Restored(environment.database.pool);
    const { database } = replica;
    const watched = new ReadReplica({ primary, replica: database, log: { warn: () => {} }, nowMs: () => 0 });
    await watched.checkOnce();
    expect(watched.state).toBe("no_replica");
    await pair.replay();
  });

  it("connects to the replica over TLS, and to none that its authority has not certified", async () => {
    const isPrivate = { name: "is_private", text: "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()" };
    expect(await replica.database.query(isPrivate, [])).toEqual([{ ssl: true }]);
    const otherwise = openDatabase(new Secret(verifiedBy(stranger, pair.replicaUrl(testDatabaseUrl))));
    onTestFinished(() => otherwise.close());
    await expect(otherwise.database.query(isPrivate, [])).rejects.toThrow(/self.signed|unable to (get|verify)/);
  });

  it("lists from the primary while the replica is gone, and starts without it", async () => {
    await pair.stopReplica();
    await create("without");
    expect(await listed()).toContain("without");
    expect(replica.state).toBe("unreachable");
    const started = await open();
    const [another] = started.environments;
    const count = { name: "count_sessions", text: "SELECT count(*)::int FROM payment_session" };
    expect(await another!.reads.query(count, [])).toEqual([{ count: 4 }]);
    await started.close();
  });
});
