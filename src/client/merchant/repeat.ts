/** Sends a request again when that may help and cannot harm. It knows neither REST nor gRPC. */
import { setTimeout as pause } from "node:timers/promises";
import { ApiError } from "./api-error.ts";

/** How long a call may take, and how often it may be sent. */
export type Patience = {
  /** For one try. */
  readonly tryTimeoutMs: number;
  /** For the whole call, pauses included. */
  readonly timeoutMs: number;
  /** 1 sends once. */
  readonly triesMax: number;
};

/**
 * A try: the service answers within seconds, and a repeat that waits for its first request within five.
 * The whole: a customer looks at a spinner all that time.
 */
export const usualPatience: Patience = { tryTimeoutMs: 15_000, timeoutMs: 45_000, triesMax: 4 };

// The first pause lets a restarting server come back; all together they stay within the time that a customer waits.
const pauseFirstMs = 250;
const pauseLongestMs = 5_000;
// Who is asked to wait longer than this does better to tell its own caller.
const retryAfterMsMax = 10_000;

/** Patience as given, with the usual in place of what is not. Throws RangeError for what cannot be waited or counted. */
export function patienceOf(given: { readonly [Bound in keyof Patience]?: number | undefined }): Patience {
  const { tryTimeoutMs = usualPatience.tryTimeoutMs, timeoutMs = usualPatience.timeoutMs } = given;
  const { triesMax = usualPatience.triesMax } = given;
  for (const [name, value] of Object.entries({ tryTimeoutMs, timeoutMs, triesMax })) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`${name} must be a whole number, 1 or more.`);
  }
  return { tryTimeoutMs, timeoutMs, triesMax };
}

/**
 * Calls `send` until it succeeds, fails for good, or patience ends; the last failure then says how many tries there were.
 * `send` must be safe to repeat. Rejects with the signal's reason as soon as it is aborted.
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
 * How long to wait after the failed try number `tries` (1 for the first), or undefined when there is no use in another.
 * Full jitter, so that clients that failed together do not come back together; never before the service asked for.
 */
export function planPauseMs(error: ApiError, tries: number, random: number): number | undefined {
  const { isTemporary, retryAfterMs = 0 } = error;
  if (!isTemporary || retryAfterMs > retryAfterMsMax) return undefined;
  return retryAfterMs + Math.round(random * Math.min(pauseLongestMs, pauseFirstMs * 2 ** (tries - 1)));
}
