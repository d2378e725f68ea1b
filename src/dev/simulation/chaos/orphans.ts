/** Stops the servers of a run that was itself killed: no other process would stop them. */
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CannotStart } from "../../../demo/detached-server.ts";
import { clearOrphan, loadRecord } from "../../../demo/server-record.ts";
import { sitePrefix } from "./site.ts";

/** Stops them. Their data stays for inspection. */
export async function stopOrphans(): Promise<void> {
  const runs = (await readdir(tmpdir())).filter((name) => name.startsWith(sitePrefix));
  for (const run of runs) {
    for (const [name, signal] of [
      ["postgres", "SIGINT"],
      ["nats", "SIGTERM"],
    ] as const) {
      const record = loadRecord(join(tmpdir(), run, `${name}.json`));
      if (record !== undefined) await clearOrphan(name, record, signal).catch(leaveRunning);
    }
  }
}

function leaveRunning(error: unknown): void {
  if (!(error instanceof CannotStart)) throw error;
}
