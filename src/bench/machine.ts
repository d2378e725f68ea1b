/** Where a benchmark ran: hardware, and versions of what took part. */
import { arch, cpus, platform, totalmem } from "node:os";
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
