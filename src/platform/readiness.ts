/** Readiness of this process for traffic: its databases answer, and its shutdown has not begun. */
import { readinessFreshMs } from "../limits.ts";

/** State that a server's surfaces observe while the process lives and while it stops. */
export class Readiness {
  /** Aborts when balancers should use other processes; calls are still served. */
  readonly draining: AbortSignal;
  /** Aborts when servers close: calls that only wait for an outcome are answered now. */
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

  /** Reports readiness; the databases are queried at most once a second, however many callers there are. */
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
