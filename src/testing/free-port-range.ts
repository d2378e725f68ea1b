/** Ports in a row for a demo or an installation of a test's own. */
import { CannotStart } from "../demo/detached-server.ts";
import { requireFreePorts } from "../demo/ports.ts";

// Below the ports that the system hands out by itself (from 32768 on Linux), which others may take at any moment.
const portsFrom = 20_000;
const portsStep = 20;
const rangesMax = 600;

/** The first of `count` free ports in a row, at most 20. Each process begins to look at a place of its own. */
export async function freePortRange(count: number): Promise<number> {
  for (let range = 0; range < rangesMax; range++) {
    const first = portsFrom + ((process.pid + range) % rangesMax) * portsStep;
    const ports = Array.from({ length: count }, (_, offset) => [`number ${offset + 1}`, first + offset]);
    try {
      await requireFreePorts(Object.fromEntries(ports));
      return first;
    } catch (error) {
      if (!(error instanceof CannotStart)) throw error;
    }
  }
  throw new Error(`there are no ${count} free ports in a row`);
}
