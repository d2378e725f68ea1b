/** A merchant's server in a process of its own, as its parent holds it: to be told what to answer, asked, and killed. */
import { join } from "node:path";
import { Child } from "../../testing/child-process.ts";

/** What a receiver does at one path, and the signing secret of whoever posts there. */
export type Route = { readonly secret: string; readonly manner: "take" | "refuse" | "hang" };

/** A webhook as it came. */
export type ReceivedWebhook = {
  readonly path: string;
  readonly eventId: string;
  readonly bodyHash: string;
  readonly isGenuine: boolean;
  /** Milliseconds of the system's clock, with fractions. */
  readonly atMs: number;
};

const file = join(import.meta.dirname, "receiver-server.ts");

/** Answers 204 to everything until it knows routes. */
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

  /** Adds routes by their paths. Only what comes there is counted. */
  async trust(routes: Readonly<Record<string, Route>>): Promise<void> {
    await this.#child.ask("trust", routes);
  }

  count(): Promise<number> {
    return this.#child.ask("count");
  }

  async waitForCount(count: number): Promise<void> {
    await this.#child.ask("waitForCount", count);
  }

  /** What came since this was asked last. */
  take(): Promise<ReceivedWebhook[]> {
    return this.#child.ask("take");
  }

  /** SIGKILL. What it had noted is lost. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Starts again after `kill`, at the same address, knowing nothing. */
  async restart(): Promise<void> {
    this.#child = Child.start(file);
    await this.#listen();
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  async #listen(): Promise<void> {
    this.#port = await this.#child.ask<number>("listen", { port: this.#port });
  }
}
