/** Counts the webhook workers of one environment, which notice each other over NATS. */
import type { NatsConnection } from "nats";

const tellEveryMs = 1_000;
// A worker that has not been heard for so long is gone.
const forgetAfterMs = 3_500;

export class WorkerCount {
  readonly #id: string;
  readonly #heardMs = new Map<string, number>();

  constructor(id: string) {
    this.#id = id;
  }

  count(): number {
    const sinceMs = performance.now() - forgetAfterMs;
    for (const [id, heardMs] of this.#heardMs) if (heardMs < sinceMs) this.#heardMs.delete(id);
    return 1 + this.#heardMs.size;
  }

  /** Tells the others of this one and listens to them until `end()`; a newcomer learns of all at once. */
  begin(connection: NatsConnection, subject: string): { end(): void } {
    const tell = () => {
      if (!connection.isClosed()) connection.publish(subject, this.#id);
    };
    const subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        const id = error === null ? message.string() : this.#id;
        if (id === this.#id) return;
        if (!this.#heardMs.has(id)) tell();
        this.#heardMs.set(id, performance.now());
      },
    });
    tell();
    const telling = setInterval(tell, tellEveryMs);
    return {
      end: () => {
        clearInterval(telling);
        if (!connection.isClosed()) subscription.unsubscribe();
      },
    };
  }
}
