/** Turns of a loop that works on due rows side by side, so that a silent gateway delays no work at another one. */
import type { Turn } from "../../platform/loop.ts";
import type { Core } from "../core.ts";
import { type Called, type Full, GatewaySlots } from "./gateway-slots.ts";

/** Takes the next due row, of none of these connections and gateways, and moves its time ahead. */
type Take<Taken> = (full: Full) => Promise<Taken | undefined>;

// Rows that one turn takes up.
const batch = 32;
// A few at each account, and several silent accounts before their gateway takes no more; each waits for up to 20 s.
const bounds = { connection: 4, gateway: 16 };
// Time after which a turn ends that waits for gateways: the next one looks for rows that have become due.
const lookAgainMs = 1_000;

/**
 * Returns the turns of a loop that works on due rows side by side. A turn begins the due work, and waits until a part
 * of the work has ended, for a second at most. It returns true while there may be more or work is in progress, also
 * after one that has begun work, and throws the first failure since the last turn. An orderly stop waits for
 * `core.inFlight`.
 */
export function createGatewayTurn<Taken extends Called>(
  core: Core,
  { take, work }: { take: Take<Taken>; work: (taken: Taken) => Promise<void> },
): Turn {
  const slots = new GatewaySlots(bounds);
  const failures: unknown[] = [];

  function begin(taken: Taken): void {
    const working = slots.occupy(
      taken,
      work(taken).catch((error) => void failures.push(error)),
    );
    core.inFlight.add(working);
    void working.then(() => core.inFlight.delete(working));
  }

  return async (closing) => {
    let isMore = true;
    let hasBegun = false;
    for (let count = 0; isMore && count < batch && !closing.aborted; count++) {
      const taken = await take(slots.full());
      if (taken === undefined) isMore = false;
      else {
        begin(taken);
        hasBegun = true;
      }
    }
    const { running } = slots;
    if (running.length > 0) await Promise.race([...running, core.sleep(lookAgainMs, closing)]);
    const [failure] = failures.splice(0);
    if (failure !== undefined) throw failure;
    // A row may be due again once its step has ended, even if the step ended while no other row was found.
    return isMore || hasBegun || running.length > 0;
  };
}
