/** A real HTTP server that records requests, answers as the test configures, and signals arrivals. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A request as received over the wire. `body` holds its exact bytes, which a signature covers. */
export type ReceivedRequest = {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, repeated headers unmerged. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** The reaction to a request: answer it, hold it, cut the connection, or write raw bytes. */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | "hang"
  | "reset"
  | { readonly write: (socket: Socket) => void };

/** Sees a request before it is answered. Must not throw. */
export type RequestObserver = (request: ReceivedRequest) => void | Promise<void>;

const observers = new Set<RequestObserver>();

/** Shows every request to any receiver of this process from now on; the result ends that. */
export function observeRequests(observer: RequestObserver): () => void {
  observers.add(observer);
  return () => void observers.delete(observer);
}

type Waiter = { readonly arrived: () => boolean; readonly wake: () => void };

// Longer than any expected wait, shorter than the test's own timeout, so that this message is shown.
const defaultWaitMs = 20_000;

/** A receiver on its own loopback port. Make it with `Receiver.start()` and close it at the test's end. */
export class Receiver {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Server;
  #origin = "";
  #answer: (request: ReceivedRequest) => Answer | Promise<Answer> = () => ({ status: 200 });
  #waiters: Waiter[] = [];

  private constructor() {
    this.#server = createServer((message, response) => void this.#receive(message, response));
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    receiver.#origin = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}`;
    return receiver;
  }

  get url(): string {
    return this.#origin;
  }

  /** Sets the answers from now on; 200 with an empty body by default. */
  answerWith(answer: Answer | ((request: ReceivedRequest) => Answer | Promise<Answer>)): void {
    this.#answer = typeof answer === "function" ? answer : () => answer;
  }

  /** Returns the first matching request, past or future. Rejects when none arrived within `waitMs`. */
  async waitFor(fits: (request: ReceivedRequest) => boolean = () => true, waitMs = defaultWaitMs) {
    return (await this.waitForCount(1, fits, waitMs))[0]!;
  }

  /** Returns the first `count` matching requests, past or future. Rejects when fewer arrived within `waitMs`. */
  async waitForCount(count: number, fits: (request: ReceivedRequest) => boolean = () => true, waitMs = defaultWaitMs) {
    const fitting = () => this.requests.filter(fits);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(this.#missing(count, fitting().length, waitMs))), waitMs);
      const wake = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiters.push({ arrived: () => fitting().length >= count, wake });
      this.#resolveWaiters();
    });
    return fitting().slice(0, count);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer);
    } catch {
      // The sender hung up before its request was whole: nothing was received.
      return;
    }
    const { method = "", url: path = "", headers, rawHeaders } = message;
    const request = { method, origin: this.url, path, headers, rawHeaders, body: Buffer.concat(chunks) };
    await Promise.all([...observers].map((observe) => observe(request)));
    this.requests.push(request);
    this.#resolveWaiters();
    const answer = await this.#answer(request);
    if (answer === "reset") message.socket.resetAndDestroy();
    else if (answer === "hang") return;
    else if ("write" in answer) answer.write(message.socket);
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #resolveWaiters(): void {
    const arrived = this.#waiters.filter((waiter) => waiter.arrived());
    this.#waiters = this.#waiters.filter((waiter) => !arrived.includes(waiter));
    for (const waiter of arrived) waiter.wake();
  }

  #missing(count: number, came: number, waitMs: number): string {
    const seen = this.requests.map(({ method, path }) => `${method} ${path}`).join(", ") || "nothing";
    return `waited ${waitMs} ms for ${count} matching requests, ${came} arrived; received in all: ${seen}`;
  }
}
