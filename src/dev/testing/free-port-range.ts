/** Consecutive ports for a demo or an installation of a test. */
import { CannotStart } from "../../demo/detached-server.ts";
import { requireFreePorts } from "../../demo/ports.ts";

// Below the ports that the system assigns by itself (from 32768 on Linux), which other processes may use at any moment.
const portsFrom = 20_000;
const portsStep = 20;
const rangesMax = 600;

/** Returns the first of `count` consecutive free ports, at most 20. Each process begins elsewhere. */
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
