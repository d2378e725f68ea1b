/** Resumes sessions whose worker is gone or whose next step is due. */
import { submissionsInFlightMax } from "../limits.ts";
import type { Core } from "./core.ts";
import { takeOverSession } from "./lease.ts";
import { startProcessing } from "./submit-payment.ts";

/**
 * Takes over lapsed sessions and starts to work on them, as many as this process can hold. `core.inFlight` contains
 * them until they wait or have ended. Returns the number of sessions taken over.
 */
export async function recoverSessionsOnce(core: Core): Promise<number> {
  let taken = 0;
  while (core.inFlight.size < submissionsInFlightMax) {
    const lease = await takeOverSession(core.database);
    if (lease === undefined) break;
    void startProcessing(core, { lease });
    taken++;
  }
  return taken;
}
