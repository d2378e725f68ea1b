import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Role } from "../../../config/checked-config.ts";
import { CannotStart } from "../../../demo/detached-server.ts";
import type { RoleProcess } from "../../../demo/roles.ts";
import { RoleKeeper } from "./role-keeper.ts";
import { Tally } from "./tally.ts";

const logFolder = mkdtempSync(join(tmpdir(), "role-keeper-"));
const started: RoleProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.close()));
  rmSync(logFolder, { recursive: true });
});

async function startIdle(role: Role): Promise<RoleProcess> {
  const child = spawn("sleep", ["3600"]);
  const ended = once(child, "exit").then(() => undefined);
  const close = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const one = { role, pid: child.pid!, ended, exitCode: () => child.exitCode, close };
  started.push(one);
  return one;
}

describe("RoleKeeper", () => {
  it("starts one process after two kills at the same moment", async () => {
    const tally = new Tally();
    const keeper = new RoleKeeper({ name: "edge", role: "edge", variables: {}, logFolder, tally }, startIdle);
    await keeper.start();
    const [first] = started;
    keeper.kill(0);
    // The end of the first process is not reported yet.
    keeper.kill(0);
    // Timers of one length end in the order in which they began: every start of the keeper has been ordered by then.
    await first!.ended.then(() => pause(0));
    expect(started).toHaveLength(2);
    expect(tally.of("kill edge")).toBe(1);
    await keeper.end();
  });

  it("gives up a role that has never run, with the reason, and not one that has run", async () => {
    let runs = 0;
    const start = async (role: Role) => {
      if (++runs <= 10) throw new CannotStart("no such file");
      return startIdle(role);
    };
    const keeper = () =>
      new RoleKeeper({ name: "vault", role: "vault", variables: {}, logFolder, tally: new Tally() }, start, 0);
    await expect(keeper().start()).rejects.toThrow("no such file");
    expect(runs).toBe(10);
    const kept = keeper();
    await kept.start();
    runs = 0;
    kept.kill(0);
    await expect.poll(() => started.length).toBe(2);
    expect(runs).toBe(11);
    await kept.end();
  });
});
