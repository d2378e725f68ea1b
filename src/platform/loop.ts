/** Runs one kind of background work turn by turn: at an interval, sooner on a hint, and never concurrently. */
import type { Logger } from "./log.ts";

export type Loop = {
  /** Runs a turn soon; if one is running, another one after it. Never throws and costs nothing to repeat. */
  wake(): void;
  /** Starts no further turn; resolves when the running one has ended. */
  close(): Promise<void>;
};

/** Returns true if there is certainly more to do. The signal ends a turn that waits for something. */
export type Turn = (closing: AbortSignal) => Promise<boolean>;

/** Receives the end of each turn of one loop. Must not throw. */
export type LoopObserver = (end: "ended" | "failed") => void;

/** Varies the intervals by this share, so that processes do not all query the database simultaneously. */
const jitter = 0.1;
const idleGrowth = 1.5;

/**
 * Starts a loop. `turn` returns true if there is certainly more to do, and is then called again at once. A turn that
 * throws is logged, and after it the loop rests a whole interval, whatever hints arrive, so that a broken dependency is
 * not overloaded. The signal ends a turn that waits for something. With `idleMs` the rests between turns with nothing
 * more to do grow from the interval to it, and a hint makes them short again.
 */
export function runLoop(options: {
  name: string;
  intervalMs: number;
  idleMs?: number | undefined;
  log: Pick<Logger, "error">;
  turn: Turn;
  observer?: LoopObserver | undefined;
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
    const { intervalMs, idleMs = intervalMs } = options;
    let idleRestMs = intervalMs;
    while (!closing.signal.aborted) {
      rest.forgetHints();
      const result = await turn();
      options.observer?.(result === "failed" ? "failed" : "ended");
      const nextMs = result === "failed" ? intervalMs : idleRestMs;
      idleRestMs = result === "rest" ? Math.min(idleRestMs * idleGrowth, idleMs) : intervalMs;
      if (result === "again") continue;
      const restMs = nextMs * (1 + jitter * (2 * Math.random() - 1));
      const isHinted = await rest.wait({ restMs, hintsEndIt: result === "rest", closing: closing.signal });
      if (isHinted) idleRestMs = intervalMs;
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

/** The pause between two turns, which a hint ends early, also one that arrived during the turn before. */
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

  /** Returns true if a hint ended it, or arrived before. */
  async wait(options: { restMs: number; hintsEndIt: boolean; closing: AbortSignal }): Promise<boolean> {
    if (options.closing.aborted || (options.hintsEndIt && this.#hinted)) return this.#hinted;
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
    return this.#hinted;
  }
}
