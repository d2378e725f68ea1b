/** Starts the sandbox acquirers on a loopback port: for the `sandbox` role, the demo and tests. */
import type { AddressInfo } from "node:net";
import { createAcquirer } from "./acquirer.ts";
import type { Delays } from "./issuer.ts";

/** The acquirers' address, and the durations of their slow answers. */
export type SandboxOptions = Partial<Delays> & {
  /** 0 picks any free port. */
  readonly port: number;
  readonly host?: string | undefined;
  /** The file of the gateways' records; without it they are in memory alone, and a stop forgets them. */
  readonly recordsFile?: string | undefined;
  /** The time between two payouts; a day if absent. */
  readonly payoutEveryMs?: number | undefined;
};

export type Sandbox = { readonly origin: string; close(): Promise<void> };

// Longer than the flow waits for an attempt (10 s), so that "late" and "slow" happen after it has given up. A
// submission has 45 s: after a minute of capturing the merchant has been notified that it takes longer. Stripe's search
// is usually less than a minute behind; a demo uses less.
const defaultDelays: Delays = {
  silenceMs: 30_000,
  lateMs: 15_000,
  slowCaptureMs: 15_000,
  overdueCaptureMs: 60_000,
  slowRefundMs: 5_000,
  searchLagMs: 5_000,
};

/** Starts the acquirers; resolves once requests are accepted. Rejects if the port is taken. */
export async function startSandbox({
  port,
  host = "127.0.0.1",
  recordsFile,
  payoutEveryMs,
  ...delays
}: SandboxOptions): Promise<Sandbox> {
  const acquirer = createAcquirer({ ...defaultDelays, ...delays }, { recordsFile, payoutEveryMs });
  await new Promise<void>((resolve, reject) => {
    acquirer.server.once("error", reject).listen(port, host, resolve);
  });
  const address = acquirer.server.address() as AddressInfo;
  return { origin: `http://${host}:${address.port}`, close: acquirer.close };
}
