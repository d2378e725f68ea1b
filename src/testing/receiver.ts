/** A real HTTP server that records what it is sent, answers as the test says, and tells when something arrived. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** One request as it came over the wire. `body` holds its exact bytes, which a signature covers. */
export type ReceivedRequest = {
  readonly method: string;
  /** The receiver's origin. */
  readonly origin: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, repeated headers unmerged. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** What to do with a request: answer it, hold it open until the receiver closes, cut the connection, or write bytes of one's own to it. */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | "hang"
  | "reset"
  | { readonly write: (socket: Socket) => void };

/** Looks at a request before it is answered. Must not throw. */
export type RequestObserver = (request: ReceivedRequest) => void | Promise<void>;

const observers = new Set<RequestObserver>();

/** Shows every request to any receiver of this process from now on; the result ends that. */
export function observeRequests(observer: RequestObserver): () => void {
  observers.add(observer);
  return () => void observers.delete(observer);
}

type Waiter = { readonly arrived: () => boolean; readonly wake: () => void };

// Longer than anything that a test waits for takes, shorter than the test's own timeout, so that this message is seen.
const defaultWaitMs = 10_000;

/** A receiver on a loopback port of its own. Make it with `Receiver.start()` and close it at the test's end. */
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

  /** The origin, without a slash at its end. */
  get url(): string {
    return this.#origin;
  }

  /** Decides the answers from now on; 200 with an empty body until it is called. */
  answerWith(answer: Answer | ((request: ReceivedRequest) => Answer | Promise<Answer>)): void {
    this.#answer = typeof answer === "function" ? answer : () => answer;
  }

  /** The first request, past or coming, that fits. Rejects when none came within `waitMs`. */
  async waitFor(fits: (request: ReceivedRequest) => boolean = () => true, waitMs = defaultWaitMs) {
    return (await this.waitForCount(1, fits, waitMs))[0]!;
  }

  /** The first `count` requests, past or coming, that fit. Rejects when fewer came within `waitMs`. */
  async waitForCount(count: number, fits: (request: ReceivedRequest) => boolean = () => true, waitMs = defaultWaitMs) {
    const fitting = () => this.requests.filter(fits);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(this.#missing(count, fitting().length, waitMs))), waitMs);
      const wake = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiters.push({ arrived: () => fitting().length >= count, wake });
      this.#tellWaiters();
    });
    return fitting().slice(0, count);
  }

  /** Stops listening and cuts what is open. */
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
    this.#tellWaiters();
    const answer = await this.#answer(request);
    if (answer === "reset") message.socket.resetAndDestroy();
    else if (answer === "hang") return;
    else if ("write" in answer) answer.write(message.socket);
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #tellWaiters(): void {
    const arrived = this.#waiters.filter((waiter) => waiter.arrived());
    this.#waiters = this.#waiters.filter((waiter) => !arrived.includes(waiter));
    for (const waiter of arrived) waiter.wake();
  }

  #missing(count: number, came: number, waitMs: number): string {
    const seen = this.requests.map(({ method, path }) => `${method} ${path}`).join(", ") || "nothing";
    return `waited ${waitMs} ms for ${count} fitting requests, ${came} came; received in all: ${seen}`;
  }
}
