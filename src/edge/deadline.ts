/** Deadlines of calls: the caller's own, within a bound of ours. */
import { rpcDeadlineMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import type { AnyRequest } from "./request-id.ts";

const unitMs = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000001 } as const;

/**
 * Returns the milliseconds of `grpc-timeout` or `Connect-Timeout-Ms`, and undefined if the caller sent neither. Throws
 * `invalid_parameter` for a header that is no time (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */
export function timeoutOf({ headers }: Pick<AnyRequest, "headers">): number | undefined {
  const isGrpc = /^application\/grpc/i.test(headers["content-type"] ?? "");
  const name = isGrpc ? "grpc-timeout" : "connect-timeout-ms";
  const value = headers[name];
  if (value === undefined) return undefined;
  const [, digits, unit] = (isGrpc ? /^(\d{1,8})([HMSmun])$/ : /^(\d{1,10})()$/).exec(String(value)) ?? [];
  if (digits === undefined) {
    throw new DomainError("invalid_parameter", `The header ${name} is malformed.`, { field: name });
  }
  return Number(digits) * (unitMs[unit as keyof typeof unitMs] ?? 1);
}

// It is never sent, so one instance serves all calls.
const callerGone = new Error("the caller went away");

/** The time after which the caller of a call no longer waits. */
export class Deadline {
  /** Aborts at the deadline, with `deadline_exceeded` as its reason. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number | undefined) {
    this.signal = this.#controller.signal;
    if (timeoutMs === undefined) return;
    const pass = () =>
      this.#controller.abort(new DomainError("deadline_exceeded", "The answer took longer than allowed."));
    if (timeoutMs > 0) this.#timer = setTimeout(pass, timeoutMs);
    else pass();
  }

  /** Creates the deadline of a unary call: the caller's own, or ours if it is sooner or the only one. */
  static ofUnary(timeoutMs: number | undefined): Deadline {
    return new Deadline(Math.min(timeoutMs ?? rpcDeadlineMs, rpcDeadlineMs));
  }

  /** Returns the result of `begin`, or rejects with `deadline_exceeded`; begun work continues. */
  async limit<Result>(begin: () => Promise<Result>): Promise<Result> {
    const { signal } = this;
    signal.throwIfAborted();
    let stop = () => {};
    const passed = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
    });
    return Promise.race([begin(), passed]).finally(() => signal.removeEventListener("abort", stop));
  }

  cancel(): void {
    this.#controller.abort(callerGone);
  }

  /** True if the caller disconnected before the deadline. */
  get isCancelled(): boolean {
    return this.signal.reason === callerGone;
  }

  /** Stops the timer; call it when the answer is sent. */
  clear(): void {
    clearTimeout(this.#timer);
  }
}
