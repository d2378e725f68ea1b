/** A demo for one test file: every role as a process, on free ports; everything is removed at the end. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import { type Demo, startDemo } from "../../demo/demo.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { readRoleLogs, requireCleanOutput, secretsUnder } from "../testing/clean-output.ts";
import { startDemoPostgres } from "../testing/demo-postgres.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { SandboxControl } from "../testing/sandbox-control.ts";
import { compileCache, testStateFolder } from "../testing/test-run.ts";
import { withClient } from "../testing/with-client.ts";

/** A running demo, with access to the records of its sandbox gateways. */
export type TestDemo = Demo & {
  readonly sandbox: SandboxControl;
  readonly stateFolder: string;
  readonly postgresUrl: string;
  /** The folder of that PostgreSQL's files, with the write-ahead log. */
  readonly postgresDataFolder: string;
  accountsQuery(text: string): Promise<void>;
};

/**
 * Starts a demo. The output of its roles is searched when they end, and a card or a secret in it fails the test that
 * closes the demo. Its servers are on record with the test run, which ends them if this process dies. A role reads
 * `settings` when it starts.
 */
export async function startTestDemo(
  settings: Readonly<Record<string, string>> = {},
  { dashboard = false, isDurable = false }: { dashboard?: boolean; isDurable?: boolean } = {},
): Promise<TestDemo> {
  const name = `${inject("testRunName")}-demo-${process.pid}`;
  const stateFolder = join(testStateFolder, name);
  const postgres = await startDemoPostgres({ dataName: `${name}-postgres`, stateFolder, forTests: !isDurable });
  const port = await freePortRange(Object.keys(addressesFrom(0).ports).length);
  const demo = await startDemo({
    state: stateFolder,
    port,
    postgres: postgres.ownerUrl,
    quiet: true,
    dashboard,
    // This is the same object: a test may change what a role starts with next.
    settings: Object.assign(settings, compileCache),
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
      await withClient(url, (client) => client.query(text));
    },
    async restart(role) {
      // Its log begins again.
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
