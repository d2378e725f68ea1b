/** Runs one kind of background work turn by turn: on an interval, sooner on a hint, and never twice at once. */
import type { Logger } from "./log.ts";

/** A kind of background work that is running. */
export type Loop = {
  /** Runs a turn soon; while one is running, another one after it. Never throws and costs nothing to repeat. */
  wake(): void;
  /** Starts no further turn; resolves when the running one has ended. */
  close(): Promise<void>;
};

/** True when there is certainly more to do. The signal ends a turn that waits for something. */
export type Turn = (closing: AbortSignal) => Promise<boolean>;

/** Told of each turn of one loop when it is over. Must not throw. */
export type LoopWatch = (end: "ended" | "failed") => void;

/** Copies of the service must not all ask the database in the same moment. */
const jitter = 0.1;

/**
 * Starts a loop. `turn` answers true when there is certainly more to do, and is then called again at once.
 * A turn that throws is logged, and after it the loop rests a whole interval, or `failedRestMs` where that is longer,
 * whatever is hinted: what is broken is not hammered. The signal ends a turn that waits for something.
 */
export function runLoop(options: {
  name: string;
  intervalMs: number;
  failedRestMs?: number | undefined;
  log: Pick<Logger, "error">;
  turn: Turn;
  watch?: LoopWatch | undefined;
}): Loop {
  const closing = new AbortController();
  const rest = new Rest();

  async function turn(): Promise<"again" | "rest" | "failed"> {
    try {
      return (await options.turn(closing.signal)) ? "again" : "rest";
    } catch (error) {
      if (!closing.signal.aborted) options.log.error({ loop: options.name, err: error }, "a turn failed");
      return "failed";
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      rest.forgetHints();
      const result = await turn();
      options.watch?.(result === "failed" ? "failed" : "ended");
      if (result === "again") continue;
      const leastMs = result === "failed" ? (options.failedRestMs ?? 0) : 0;
      const restMs = Math.max(options.intervalMs, leastMs) * (1 + jitter * (2 * Math.random() - 1));
      await rest.wait({ restMs, hintsEndIt: result === "rest", closing: closing.signal });
    }
  }

  const running = run();
  return {
    wake: () => rest.hint(),
    close: () => {
      closing.abort();
      rest.end();
      return running;
    },
  };
}

/** The pause between two turns, which a hint ends early, also one that came during the turn before. */
class Rest {
  #hinted = false;
  #hintsEndIt = false;
  #end: (() => void) | undefined;

  forgetHints(): void {
    this.#hinted = false;
  }

  hint(): void {
    this.#hinted = true;
    if (this.#hintsEndIt) this.end();
  }

  end(): void {
    this.#end?.();
  }

  async wait(options: { restMs: number; hintsEndIt: boolean; closing: AbortSignal }): Promise<void> {
    if (options.closing.aborted || (options.hintsEndIt && this.#hinted)) return;
    this.#hintsEndIt = options.hintsEndIt;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, options.restMs);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hintsEndIt = false;
    this.#end = undefined;
  }
}
