/** The harness of widget benchmarks: the whole demo with its own PostgreSQL, a merchant's page, Chromium. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { type Demo, startDemo } from "../../demo/demo.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { removePostgresHome } from "../../demo/postgres-home.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { openGround, type TroubleGround } from "../e2e/trouble-runs.ts";
import { launchFullBrowser } from "../testing/browser.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { SandboxControl } from "../testing/sandbox-control.ts";

/** Close it at the end of the run, which removes everything. */
export type WidgetHarness = TroubleGround & {
  readonly stateFolder: string;
  close(): Promise<void>;
};

export async function startWidgetHarness(): Promise<WidgetHarness> {
  const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-widget-bench-"));
  const undo: (() => Promise<unknown>)[] = [
    () => rm(stateFolder, { recursive: true, force: true }),
    () => removePostgresHome(stateFolder),
  ];
  const close = async () => {
    for (const stop of undo.splice(0).toReversed()) await stop();
  };
  try {
    const postgres = await startPrivatePostgres({ stateFolder, dataName: "bench-postgres", forTests: true });
    undo.push(() => postgres.stop({ removeData: true }));
    const port = await freePortRange(Object.keys(addressesFrom(0).ports).length);
    const demo: Demo = await startDemo({
      state: stateFolder,
      port,
      postgres: postgres.ownerUrl,
      quiet: true,
      dashboard: false,
    });
    undo.push(() => demo.close());
    const sandbox = new SandboxControl(addressesFrom(port).sandboxOrigin);
    const browser: Browser = await launchFullBrowser();
    undo.push(() => browser.close());
    const ground = await openGround({ ...demo, sandbox }, browser);
    undo.push(() => ground.close());
    return { ...ground, stateFolder, close };
  } catch (error) {
    await close();
    throw error;
  }
}
