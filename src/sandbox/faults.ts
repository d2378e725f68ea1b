/** Faults between the sandbox acquirers and their callers, beyond the test cards. Off until switched on. */

import { createHash } from "node:crypto";
import { unreachable } from "../platform/errors.ts";
import type { Pauses } from "./pauses.ts";
import type { SandboxAnswer, Spoilt } from "./routes.ts";

export const requestFaults = [
  /** The connection is cut before execution. */
  "request_lost",
  /** Executed only after a delay; the caller has mostly given up by then. */
  "executed_late",
  /** Executed after three to four times the maximum delay: later than the gateway promises. */
  "executed_too_late",
  /** The request arrives twice at the same time. */
  "executed_twice",
  /** Executed, and the connection is cut instead of the answer. */
  "answer_lost",
  /** Executed at once, and answered after a delay. */
  "answered_late",
  /** Executed, and answered with HTTP 500. */
  "error_after",
  /** Executed, and the connection is cut in the middle of the answer. */
  "answer_cut",
  /** Executed, and an intermediary replaces the answer: by a page, by half of it, by nothing. */
  "answer_garbled",
] as const;

/** The faults of results and notifications, which SANDBOX_B and the emulator of Adyen send unprompted. */
const reportFaults = [
  "result_late",
  "notification_late",
  "notification_twice",
  /**
   * Holds notifications back until the faults end, as in Adyen's queue of notifications that were not accepted, which
   * it repeats for up to 30 days: https://docs.adyen.com/development-resources/webhooks/troubleshoot (2026).
   */
  "notification_lost",
] as const;

type RequestFault = (typeof requestFaults)[number];
/**
 * Any fault, including those of notifications. `error_kept`: executed or not, answered with HTTP 500, and every repeat
 * of the idempotency key gets that answer, at gateways that keep errors.
 */
export type FaultKind = RequestFault | "error_kept" | (typeof reportFaults)[number];

/**
 * The rate of each fault, from 0 to 1, and the maximum delay. The same seed draws the same faults for the same requests
 * of each operation in turn.
 */
export type FaultPlan = {
  readonly seed: string;
  readonly rates: Readonly<Partial<Record<FaultKind, number>>>;
  readonly lateMsMax: number;
};

const garblings = ["page", "half", "nothing"] as const;

const nothing: FaultPlan = { seed: "", rates: {}, lateMsMax: 0 };

export class Faults {
  readonly #pauses: Pauses;
  #plan = nothing;
  /** Each operation draws its own numbers, so that requests racing for another operation change nothing. */
  readonly #draws = new Map<string, number>();
  readonly #counts: Partial<Record<FaultKind, number>> = {};

  constructor(pauses: Pauses) {
    this.#pauses = pauses;
  }

  /**
   * Applies the faults of this plan from now on; without one there are none, and everything late is released at once.
   */
  switchTo(plan: FaultPlan = nothing): void {
    this.#plan = plan;
    this.#draws.clear();
    if (plan === nothing) this.#pauses.release({ operation: "fault" });
  }

  counts(): Readonly<Partial<Record<FaultKind, number>>> {
    return { ...this.#counts };
  }

  /** Executes a request, or not, and returns the answer that its sender sees. */
  async aroundRequest(operation: string, execute: () => Promise<SandboxAnswer>): Promise<SandboxAnswer> {
    const fault = this.#oneOf(operation, requestFaults);
    switch (fault) {
      case "request_lost":
        return "hang_up";
      case "executed_late":
        await this.#wait(this.#fraction(operation));
        return execute();
      case "executed_too_late":
        await this.#wait(3 + this.#fraction(operation));
        return execute();
      case "executed_twice":
        return (await Promise.all([execute(), execute()]))[0];
      case "answer_lost":
        await execute();
        return "hang_up";
      case "answered_late": {
        const answer = await execute();
        await this.#wait(this.#fraction(operation));
        return answer;
      }
      case "error_after":
        await execute();
        return { status: 500, body: { error: "fault" } };
      case "answer_cut":
        return spoil(await execute(), "cut");
      case "answer_garbled":
        return spoil(await execute(), garblings[Math.floor(this.#fraction(operation) * garblings.length)]!);
      case undefined:
        return execute();
      default:
        return unreachable(fault);
    }
  }

  /** Executes a request, or not, inside the idempotency key: occasionally the gateway stores an error as its answer. */
  async insideKey<Executed>(
    operation: string,
    { execute, failed }: { execute: () => Promise<Executed>; failed: Executed },
  ): Promise<Executed> {
    const sequence = `${operation} key`;
    if (this.#oneOf(sequence, ["error_kept"]) === undefined) return execute();
    if (this.#fraction(sequence) < 0.5) await execute();
    return failed;
  }

  /** Delays the result of a capture or cancellation that was only accepted. */
  async beforeResult(): Promise<void> {
    if (this.#oneOf("result", ["result_late"])) await this.#wait(this.#fraction("result"));
  }

  async aroundNotification(send: () => Promise<void>): Promise<void> {
    const twice = this.#oneOf("notification", ["notification_twice"]) !== undefined;
    const late = this.#oneOf("notification", ["notification_late", "notification_lost"]);
    if (late === "notification_late") await this.#wait(this.#fraction("notification"));
    if (late === "notification_lost") await this.#pauses.wait("fault", "", Number.POSITIVE_INFINITY);
    await (twice ? Promise.all([send(), send()]) : send());
  }

  #wait(times: number): Promise<void> {
    return this.#pauses.wait("fault", "", times * this.#plan.lateMsMax);
  }

  /** Draws at most one of these: their rates add up. */
  #oneOf<Kind extends FaultKind>(sequence: string, kinds: readonly Kind[]): Kind | undefined {
    let left = this.#plan === nothing ? 1 : this.#fraction(sequence);
    for (const kind of kinds) {
      left -= this.#plan.rates[kind] ?? 0;
      if (left >= 0) continue;
      this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
      return kind;
    }
    return undefined;
  }

  /** Returns the next number of the seed in this sequence, in [0, 1). */
  #fraction(sequence: string): number {
    const draw = this.#draws.get(sequence) ?? 0;
    this.#draws.set(sequence, draw + 1);
    const digest = createHash("sha256").update(`${this.#plan.seed}:${sequence}:${draw}`).digest();
    return digest.readUInt32BE() / 2 ** 32;
  }
}

function spoil(answer: SandboxAnswer, spoilt: Spoilt): SandboxAnswer {
  return answer === "hang_up" ? answer : { ...answer, spoilt };
}
