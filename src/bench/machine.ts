/** Where a benchmark ran: hardware, and versions of what took part. */
import { execFile } from "node:child_process";
import { arch, cpus, platform, totalmem } from "node:os";
import { promisify } from "node:util";
import { findNatsServer } from "../demo/private-nats.ts";
import { version } from "../version.ts";

/** What a figure is worth nothing without. `servers` are the versions of what runs beside us. */
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

/** The version of the nats-server that benchmarks start. */
export async function natsVersion(): Promise<string> {
  const { stdout } = await promisify(execFile)(await findNatsServer(), ["--version"]);
  return /v?([\d.]+)/.exec(stdout)![1]!;
}

/** Tells from now on how much of all processors' time was not idle, from 0 to 1. */
export function watchProcessors(): () => number {
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
