/** Starts the pretend acquirers on a loopback port: the `sandbox` role, the demo and tests. */
import type { AddressInfo } from "node:net";
import { createAcquirer } from "./acquirer.ts";
import type { Delays } from "./issuer.ts";

/** Where the acquirers listen, and how long their slow answers take. */
export type SandboxOptions = Partial<Delays> & {
  /** 0 takes any free port. */
  readonly port: number;
  readonly host?: string | undefined;
};

/** The pretend acquirers as they run, and where. */
export type Sandbox = { readonly origin: string; close(): Promise<void> };

// Longer than the flow waits for an attempt (10 s), so that "late" and "slow" happen after it gave up.
// A submission has 45 s: after a minute of capturing the merchant has been told that it takes longer.
// Stripe's search is usually less than a minute behind; a demo has less patience.
const usualDelays: Delays = {
  silenceMs: 30_000,
  lateMs: 15_000,
  slowCaptureMs: 15_000,
  overdueCaptureMs: 60_000,
  searchLagMs: 5_000,
};

/** Resolves once requests are accepted. Rejects when the port is taken. */
export async function startSandbox({ port, host = "127.0.0.1", ...delays }: SandboxOptions): Promise<Sandbox> {
  const acquirer = createAcquirer({ ...usualDelays, ...delays });
  await new Promise<void>((resolve, reject) => {
    acquirer.server.once("error", reject).listen(port, host, resolve);
  });
  const address = acquirer.server.address() as AddressInfo;
  return { origin: `http://${host}:${address.port}`, close: acquirer.close };
}
