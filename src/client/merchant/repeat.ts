/** Repeats a request when that may help and cannot do harm. It knows neither REST nor gRPC. */
import { setTimeout as pause } from "node:timers/promises";
import { ApiError } from "./api-error.ts";

/** Bounds on the duration of a call and on the number of its requests. */
export type Patience = {
  /** The limit of one request, in milliseconds. */
  readonly tryTimeoutMs: number;
  /** The limit of the whole call, pauses included, in milliseconds. */
  readonly timeoutMs: number;
  /** The most requests of a call; 1 sends it once. */
  readonly triesMax: number;
};

/**
 * The default bounds. One request: the service answers within seconds, and a repeat that waits for its first request
 * answers within five. The whole call: a customer looks at a spinner all that time.
 */
const defaultPatience: Patience = { tryTimeoutMs: 15_000, timeoutMs: 45_000, triesMax: 4 };

/** The default for one request that waits for a gateway: the service answers after 20 s, even if the gateway has not. */
export const gatewayTryTimeoutMs = 25_000;

// The first pause gives a restarting server time to return; all pauses together stay within the time that a customer
// waits.
const pauseFirstMs = 250;
const pauseLongestMs = 5_000;
// If the service asks to wait longer than this, the caller does better to return the error.
const retryAfterMsMax = 10_000;

/**
 * Returns the given bounds, with defaults for those that are missing. Throws RangeError for a value that cannot be a
 * bound.
 */
export function patienceOf(given: { readonly [Bound in keyof Patience]?: number | undefined }): Patience {
  const { tryTimeoutMs = defaultPatience.tryTimeoutMs, timeoutMs = defaultPatience.timeoutMs } = given;
  const { triesMax = defaultPatience.triesMax } = given;
  for (const [name, value] of Object.entries({ tryTimeoutMs, timeoutMs, triesMax })) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`${name} must be a whole number, 1 or more.`);
  }
  return { tryTimeoutMs, timeoutMs, triesMax };
}

/**
 * Calls `send` until it succeeds, fails permanently, or the bounds are reached; the last failure then has the number of
 * requests. `send` must be safe to repeat. Rejects with the signal's reason as soon as it is aborted.
 */
export async function sendUntilAnswered<Answer>(
  send: (timeoutMs: number) => Promise<Answer>,
  options: Patience & { readonly signal?: AbortSignal | undefined },
): Promise<Answer> {
  const { signal, triesMax } = options;
  const endsAt = performance.now() + options.timeoutMs;
  const leftMs = () => Math.ceil(endsAt - performance.now());
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted();
    try {
      return await send(Math.min(options.tryTimeoutMs, Math.max(leftMs(), 1)));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ApiError)) throw error;
      error.tries = tries;
      const pauseMs = planPauseMs(error, tries, Math.random());
      if (pauseMs === undefined || tries >= triesMax || pauseMs >= leftMs()) throw error;
      await pause(pauseMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

/**
 * Returns the pause after the failed request number `tries` (1 for the first), or undefined when another one is of no
 * use. Full jitter, so that clients that failed together do not return together; never shorter than the service asked
 * for.
 */
function planPauseMs(error: ApiError, tries: number, random: number): number | undefined {
  const { isTemporary, retryAfterMs = 0 } = error;
  if (!isTemporary || retryAfterMs > retryAfterMsMax) return undefined;
  return retryAfterMs + Math.round(random * Math.min(pauseLongestMs, pauseFirstMs * 2 ** (tries - 1)));
}
