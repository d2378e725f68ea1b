/** Monitors one environment's stream while a worker runs: repairs it, and reports its state. */
import type { Logger } from "../platform/log.ts";
import type { NatsLink } from "../platform/nats.ts";
import { StreamRefused } from "./stream-refused.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/**
 * The state of a stream. `unreachable`: there is no connection to NATS, and the sweep sends webhooks. `refused`: there
 * is a connection, but a person has to change the configuration of NATS; until then the sweep sends webhooks.
 */
export type StreamState = "unchecked" | "unreachable" | "in_order" | "refused";

export const streamStates: readonly StreamState[] = ["unchecked", "unreachable", "in_order", "refused"];

export class StreamWatch {
  readonly #nats: NatsLink;
  readonly #stream: EventStream;
  readonly #log: Pick<Logger, "warn" | "error">;
  #state: StreamState = "unchecked";
  #problem: string | undefined;

  constructor(options: { nats: NatsLink; stream: EventStream; log: Pick<Logger, "warn" | "error"> }) {
    this.#nats = options.nats;
    this.#stream = options.stream;
    this.#log = options.log;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** The remedy for a refused stream; undefined in any other state. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Verifies stream and consumer and repairs what it can. Logs repairs and remaining problems. Never throws. */
  async checkOnce(): Promise<void> {
    try {
      const repairs = await ensureEventStream(this.#nats.connection(), this.#stream);
      if (repairs.length > 0) this.#log.warn({ stream: this.#stream.name, repairs }, "the event stream was repaired");
      this.#become("in_order");
    } catch (error) {
      if (error instanceof StreamRefused) {
        this.#become("refused", error.message);
        this.#log.error({ stream: this.#stream.name, problem: error.message }, "NATS refuses the event stream");
      } else {
        this.#become("unreachable");
        this.#log.warn({ stream: this.#stream.name, err: error }, "the event stream could not be verified");
      }
    }
  }

  #become(state: StreamState, problem?: string): void {
    this.#state = state;
    this.#problem = problem;
  }
}
