/** A demo of a test file's own: every role as a process, on free ports, with nothing left of it at the end. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { inject } from "vitest";
import { type Demo, startDemo } from "../demo/demo.ts";
import { addressesFrom } from "../demo/ports.ts";
import { startPrivatePostgres } from "../demo/private-postgres.ts";
import { readRoleLogs, requireCleanOutput, secretsUnder } from "../testing/clean-output.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { SandboxControl } from "../testing/sandbox-control.ts";
import { testStateFolder } from "../testing/test-run.ts";

/** A running demo, and a way to look behind its pretend acquirers. */
export type TestDemo = Demo & {
  readonly sandbox: SandboxControl;
  readonly stateFolder: string;
  /** The PostgreSQL of its databases, as their owner. */
  readonly postgresUrl: string;
  /** Where that PostgreSQL keeps its files, the write-ahead log among them. */
  readonly postgresDataFolder: string;
  /** A statement on the accounts database, as its owner. */
  accountsQuery(text: string): Promise<void>;
};

/**
 * Starts a demo. What its roles have written is searched when they end, and a card or a secret in it fails the test that
 * closes the demo. Its servers are on record with the test run, which ends them should this process die. Of `settings` a role
 * takes what is there when it starts.
 */
export async function startTestDemo(
  settings: Readonly<Record<string, string>> = {},
  { dashboard = false, isDurable = false }: { dashboard?: boolean; isDurable?: boolean } = {},
): Promise<TestDemo> {
  const name = `${inject("testRunName")}-demo-${process.pid}`;
  const stateFolder = join(testStateFolder, name);
  const postgres = await startPrivatePostgres({
    stateFolder: testStateFolder,
    dataName: `${name}-postgres`,
    forTests: !isDurable,
  });
  const port = await freePortRange(Object.keys(addressesFrom(0).ports).length);
  const demo = await startDemo({
    state: stateFolder,
    port,
    postgres: postgres.ownerUrl,
    quiet: true,
    dashboard,
    settings,
  });
  const outputsOf = (role = "") => readRoleLogs(stateFolder).filter(({ where }) => where.startsWith(role));
  return {
    ...demo,
    sandbox: new SandboxControl(addressesFrom(port).sandboxOrigin),
    stateFolder,
    postgresUrl: postgres.ownerUrl,
    postgresDataFolder: postgres.dataFolder,
    async accountsQuery(text) {
      const url = Object.assign(new URL(postgres.ownerUrl), { pathname: "/switchyard_accounts" }).href;
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(text).finally(() => client.end());
    },
    async restart(role) {
      // Its log begins anew.
      requireCleanOutput(outputsOf(role), secretsUnder(stateFolder));
      await demo.restart(role);
    },
    async close() {
      await demo.close();
      const [outputs, secrets] = [outputsOf(), secretsUnder(stateFolder)];
      await postgres.stop({ removeData: true });
      await rm(stateFolder, { recursive: true, force: true });
      requireCleanOutput(outputs, secrets);
    },
  };
}
