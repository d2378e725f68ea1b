/** The browser's time for the state machine. */

import type { Clock } from "./checkout.ts";

/** The page's own clock, with waits that can be cancelled. */
export const browserClock: Clock = {
  // Date.now is unsuitable: a customer's clock may jump while a payment waits.
  now: () => performance.now(),
  wait: (durationMs, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const timer = setTimeout(stop, durationMs);
      signal.addEventListener("abort", stop);
    }),
};
