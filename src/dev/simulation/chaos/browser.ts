/** Sends the requests of a shop's backend, card frame and widget, from an address for each customer. */
import { Agent, request } from "undici";
import type { Tally } from "./tally.ts";

export type Sent = {
  readonly url: string;
  readonly bearer: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of a POST; without one, the request is a GET. */
  readonly body?: object;
  /** Aborts the request, like a customer who leaves. */
  readonly leave?: AbortSignal;
};

export type Heard = { readonly status: number; readonly json: Readonly<Record<string, unknown>> };

// The vault limits cards by address, 60 a minute: as many addresses as a busy shop has customers in that time.
const addresses = 60;
// Longer than a submit call waits for the outcome; a stopped process may take longer, and the call is aborted.
const timeoutMs = 25_000;

/** Sends calls from many addresses, so that no limit on one of them is reached. Close it at the end. */
export class Browser {
  readonly #agents = Array.from(
    { length: addresses },
    (_, index) => new Agent({ localAddress: `127.0.1.${index + 1}` }),
  );
  readonly #tally: Tally;
  #next = 0;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Posts JSON, or reads; returns undefined when no answer arrived. Answers are counted under the name `what`. */
  async call(what: string, { url, bearer, headers, body, leave }: Sent): Promise<Heard | undefined> {
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const response = await request(url.replace("//localhost:", "//127.0.0.1:"), {
        method: body ? "POST" : "GET",
        headers: { "content-type": "application/json", authorization: `Bearer ${bearer}`, ...headers },
        body: body ? JSON.stringify(body) : null,
        signal: leave ? AbortSignal.any([deadline, leave]) : deadline,
        dispatcher: this.#agents[this.#next++ % addresses]!,
      });
      const text = await response.body.text();
      this.#tally.add(`answer ${what} ${response.statusCode}`);
      return { status: response.statusCode, json: parse(text) };
    } catch {
      this.#tally.add(`answer ${what} ${leave?.aborted ? "left" : "none"}`);
      return undefined;
    }
  }

  /** Posts a form. Returns the page that answers it, or the address of a redirect; undefined without an answer. */
  async submitForm(
    what: string,
    url: string,
    form: Readonly<Record<string, string>>,
  ): Promise<{ readonly location?: string; readonly page: string } | undefined> {
    try {
      const response = await request(url.replace("//localhost:", "//127.0.0.1:"), {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(form).toString(),
        signal: AbortSignal.timeout(timeoutMs),
        dispatcher: this.#agents[this.#next++ % addresses]!,
      });
      const page = await response.body.text();
      this.#tally.add(`answer ${what} ${response.statusCode}`);
      const { location } = response.headers;
      return { page, ...(typeof location === "string" && { location }) };
    } catch {
      this.#tally.add(`answer ${what} none`);
      return undefined;
    }
  }

  note(what: string): void {
    this.#tally.add(what);
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.destroy()));
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
