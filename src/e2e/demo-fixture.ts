/** A demo of a test file's own: every role as a process, on free ports, with nothing left of it at the end. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import { type Demo, startDemo } from "../demo/demo.ts";
import { CannotStart } from "../demo/detached-server.ts";
import { addressesFrom, requireFreePorts } from "../demo/ports.ts";
import { startPrivatePostgres } from "../demo/private-postgres.ts";
import { SandboxControl } from "../testing/sandbox-control.ts";
import { testStateFolder } from "../testing/test-run.ts";

/** A running demo, and a way to look behind its pretend acquirers. */
export type TestDemo = Demo & { readonly sandbox: SandboxControl; readonly stateFolder: string };

// Below the ports that the system hands out by itself (from 32768 on Linux), which others may take at any moment.
const portsFrom = 20_000;
const portsStep = 10;
const rangesMax = 1_200;

/** Starts a demo. Its servers are on record with the test run, which ends them should this process die. */
export async function startTestDemo(): Promise<TestDemo> {
  const name = `${inject("testRunName")}-demo-${process.pid}`;
  const stateFolder = join(testStateFolder, name);
  const postgres = await startPrivatePostgres({
    stateFolder: testStateFolder,
    dataName: `${name}-postgres`,
    forTests: true,
  });
  const port = await freeRange();
  const demo = await startDemo({ state: stateFolder, port, postgres: postgres.ownerUrl, quiet: true });
  return {
    ...demo,
    sandbox: new SandboxControl(addressesFrom(port).sandboxOrigin),
    stateFolder,
    async close() {
      await demo.close();
      await postgres.stop({ removeData: true });
      await rm(stateFolder, { recursive: true, force: true });
    },
  };
}

/** The first of six free ports in a row. Each test worker begins to look at a place of its own. */
async function freeRange(): Promise<number> {
  for (let range = 0; range < rangesMax; range++) {
    const port = portsFrom + ((process.pid + range) % rangesMax) * portsStep;
    try {
      await requireFreePorts(addressesFrom(port).ports);
      return port;
    } catch (error) {
      if (!(error instanceof CannotStart)) throw error;
    }
  }
  throw new Error("there are no six free ports in a row");
}
