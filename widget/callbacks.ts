/** Calls the page's callbacks. */

/**
 * Calls one callback. An error that it throws is the page's own bug: it is reported as such and cannot stop a payment.
 */
export function emit<Args extends unknown[]>(callback: ((...args: Args) => void) | undefined, ...args: Args): void {
  try {
    callback?.(...args);
  } catch (error) {
    reportError(error);
  }
}

/** The page's callbacks are called by this. */
export type Emit = typeof emit;
