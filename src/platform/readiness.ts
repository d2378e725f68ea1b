/** Whether this process wants traffic: its databases answer, and it has not been asked to stop. */
import { readinessFreshMs } from "../limits.ts";

/** What a server's surfaces watch while the process lives and while it stops. */
export class Readiness {
  /** Aborts when balancers are to look elsewhere; calls are still served. */
  readonly draining: AbortSignal;
  /** Aborts when servers close: whoever only waits for an outcome is answered now. */
  readonly stopping: AbortSignal;
  readonly #draining = new AbortController();
  readonly #stopping = new AbortController();
  readonly #probe: () => Promise<boolean>;
  #last: { readonly at: number; readonly answer: Promise<boolean> } | undefined;

  constructor(probe: () => Promise<boolean>) {
    this.#probe = probe;
    this.draining = this.#draining.signal;
    this.stopping = this.#stopping.signal;
  }

  /** However many ask, the databases are asked once a second. */
  async isReady(): Promise<boolean> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at >= readinessFreshMs) {
      this.#last = { at: now, answer: this.#probe().catch(() => false) };
    }
    const answer = await this.#last.answer;
    return answer && !this.draining.aborted;
  }

  drain(): void {
    this.#draining.abort();
  }

  stop(): void {
    this.drain();
    this.#stopping.abort();
  }
}
