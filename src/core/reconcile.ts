/** Takes up sessions whose worker is gone, or whose time to try again has come. */
import { submissionsInFlightMax } from "../limits.ts";
import type { Core } from "./core.ts";
import { takeOverSession } from "./lease.ts";
import { startProcessing } from "./submit-payment.ts";

/**
 * Takes over lapsed sessions and starts to work on them, as many as this process can hold; `core.inFlight` tells when
 * they wait or have ended. Returns how many it took.
 */
export async function reconcileOnce(core: Core): Promise<number> {
  let taken = 0;
  while (core.inFlight.size < submissionsInFlightMax) {
    const lease = await takeOverSession(core.database);
    if (lease === undefined) break;
    void startProcessing(core, lease);
    taken++;
  }
  return taken;
}
