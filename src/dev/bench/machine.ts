/** Describes the machine of a benchmark: its hardware, and the versions of the software that took part. */
import { execFile } from "node:child_process";
import { arch, cpus, platform, totalmem } from "node:os";
import { promisify } from "node:util";
import { version } from "../../version.ts";

/** Returns the facts without which a figure means nothing. `servers` are the versions of the other servers. */
export function describeMachine(servers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return {
    processor: `${cpus().length} × ${cpus()[0]?.model.trim() ?? arch()}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${platform()} ${arch()}`,
    node: process.version,
    ...servers,
    switchyard: version,
  };
}

export async function natsVersion(): Promise<string> {
  const { findNatsServer } = await import("../../demo/private-nats.ts");
  const { stdout } = await promisify(execFile)(await findNatsServer(), ["--version"]);
  return /v?([\d.]+)/.exec(stdout)![1]!;
}

/** Returns a function that measures the busy share of all processors from now on, from 0 to 1. */
export function measureProcessors(): () => number {
  const look = () => {
    const times = cpus().map(({ times: { idle, ...busy } }) => [idle, Object.values(busy)] as const);
    const idle = times.reduce((sum, [one]) => sum + one, 0);
    const busy = times.reduce((sum, [, parts]) => sum + parts.reduce((all, part) => all + part, 0), 0);
    return { idle, busy };
  };
  const before = look();
  return () => {
    const now = look();
    const busy = now.busy - before.busy;
    return busy / Math.max(1, busy + now.idle - before.idle);
  };
}
