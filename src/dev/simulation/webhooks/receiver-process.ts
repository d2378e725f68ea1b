/** A merchant's server in a separate process, as its parent controls it: configured, queried and killed. */
import { join } from "node:path";
import { Child } from "../../testing/child-process.ts";

/** A receiver's behaviour at one path, and the signing secret of the endpoint that posts there. */
export type Route = { readonly secret: string; readonly manner: "accept" | "refuse" | "hang" };

export type ReceivedWebhook = {
  readonly path: string;
  readonly eventId: string;
  readonly bodyHash: string;
  readonly isGenuine: boolean;
  /** Milliseconds of the system's clock, with fractions. */
  readonly atMs: number;
};

const file = join(import.meta.dirname, "receiver-server.ts");

/** Answers 204 to everything until it has routes. */
export class ReceiverProcess {
  #child: Child;
  #port = 0;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(): Promise<ReceiverProcess> {
    const receiver = new ReceiverProcess(Child.start(file));
    await receiver.#listen();
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Adds routes by their paths. Only webhooks to routes are counted. */
  async trust(routes: Readonly<Record<string, Route>>): Promise<void> {
    await this.#child.ask("trust", routes);
  }

  count(): Promise<number> {
    return this.#child.ask("count");
  }

  async waitForCount(count: number): Promise<void> {
    await this.#child.ask("waitForCount", count);
  }

  /** Returns the webhooks received since the last call. */
  take(): Promise<ReceivedWebhook[]> {
    return this.#child.ask("take");
  }

  /** Sends SIGKILL. Its notes are lost. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Restarts after `kill`, at the same address, with only these routes, which it has before the first request. */
  async restart(routes: Readonly<Record<string, Route>> = {}): Promise<void> {
    this.#child = Child.start(file);
    await this.trust(routes);
    await this.#listen();
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  async #listen(): Promise<void> {
    this.#port = await this.#child.ask<number>("listen", { port: this.#port });
  }
}
