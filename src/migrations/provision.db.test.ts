import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testPostgresUrl } from "../dev/testing/postgres.ts";
import { sessionLimits } from "../platform/session-limits.ts";
import { migrate } from "./migrate.ts";
import { type ProvisionedDatabase, provision } from "./provision.ts";

const suffix = randomBytes(4).toString("hex");
const wanted: ProvisionedDatabase[] = ["test", "live"].map((name) => ({
  database: `isolated_${name}_${suffix}`,
  role: `isolated_${name}_${suffix}`,
  password: `secret-${name}`,
}));
const [test, live] = wanted as [ProvisionedDatabase, ProvisionedDatabase];

let ownerUrl: string;
beforeAll(async () => {
  ownerUrl = await testPostgresUrl();
  await provision(ownerUrl, wanted);
});
afterAll(async () => {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  for (const { database, role } of wanted) {
    await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await client.query(`DROP ROLE ${role}`);
  }
  await client.end();
});

function urlOf(database: string, { role, password }: ProvisionedDatabase): string {
  const url = new URL(ownerUrl);
  Object.assign(url, { pathname: `/${database}`, username: role, password });
  return url.href;
}

async function connects(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}

describe("provision()", () => {
  it("lets each role into its own database and into no other, the server's own included", async () => {
    expect(await connects(urlOf(test.database, test))).toBe(true);
    for (const database of [live.database, "postgres", "template1"]) {
      expect([database, await connects(urlOf(database, test))]).toEqual([database, false]);
    }
  });

  it("may be repeated, and then sets the new password", async () => {
    const changed = { ...test, password: "another" };
    await provision(ownerUrl, [changed]);
    expect(await connects(urlOf(test.database, test))).toBe(false);
    expect(await connects(urlOf(test.database, changed))).toBe(true);
    await provision(ownerUrl, [test]);
  });
});

describe("migrate()", () => {
  it("applies everything once, and gives the runtime role rows but no tables", async () => {
    const url = new URL(ownerUrl);
    url.pathname = `/${live.database}`;
    const options = { ownerUrl: url.href, kind: "environment", runtimeRole: live.role } as const;
    expect(await migrate(options)).toEqual(["001-baseline"]);
    expect(await migrate(options)).toEqual([]);
    const client = new Client({ connectionString: urlOf(live.database, live) });
    await client.connect();
    await client.query("SELECT 1 FROM payment_session");
    // As a connection finds it that brings none along.
    const { rows: limits } = await client.query(
      "SELECT name, setting::int AS ms FROM pg_settings WHERE name = ANY ($1)",
      [Object.keys(sessionLimits)],
    );
    expect(Object.fromEntries(limits.map(({ name, ms }) => [name, ms]))).toEqual(sessionLimits);
    expect((await client.query("SELECT name FROM applied_migration")).rows).toEqual([{ name: "001-baseline" }]);
    for (const forbidden of [
      "DROP TABLE attempt",
      "ALTER TABLE attempt DISABLE TRIGGER ALL",
      "DELETE FROM outbox_event",
      "CREATE TABLE mine ()",
      "SELECT 1 FROM migration",
      "INSERT INTO applied_migration VALUES ('999-mine')",
    ]) {
      await expect(client.query(forbidden), forbidden).rejects.toThrow(/must be owner|permission denied/);
    }
    await client.end();
  });
});
