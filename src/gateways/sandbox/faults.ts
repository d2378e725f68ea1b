/** What goes wrong between the pretend acquirers and everybody else, beyond the test cards. Off until it is switched on. */
import { createHash } from "node:crypto";
import type { Pauses } from "./pauses.ts";
import type { SandboxAnswer } from "./routes.ts";

/** What can happen to one request. */
export const requestFaults = [
  /** The connection is cut before anything was done. */
  "request_lost",
  /** Executed only after a while; whoever asked has mostly given up by then. */
  "executed_late",
  /** Executed three to four times as late as late is at most: past what the gateway promises. */
  "executed_too_late",
  /** The request arrives twice at the same moment. */
  "executed_twice",
  /** Executed, and the connection is cut instead of the answer. */
  "answer_lost",
  /** Executed at once, and answered after a while. */
  "answered_late",
  /** Executed, and answered with HTTP 500. */
  "error_after",
] as const;

/** What can happen to results and notices, which SANDBOX_B sends by itself. */
export const reportFaults = ["result_late", "notice_late", "notice_twice"] as const;

/** What may become of a request or of its answer. */
export type RequestFault = (typeof requestFaults)[number];
/** Anything that may go wrong, notices included. */
export type FaultKind = RequestFault | (typeof reportFaults)[number];

/** How often each fault happens, from 0 to 1, and how late is late at most. The same seed draws the same faults in the same order. */
export type FaultPlan = {
  readonly seed: string;
  readonly rates: Readonly<Partial<Record<FaultKind, number>>>;
  readonly lateMsMax: number;
};

const nothing: FaultPlan = { seed: "", rates: {}, lateMsMax: 0 };

/** Decides, request by request, what goes wrong with it. */
export class Faults {
  readonly #pauses: Pauses;
  #plan = nothing;
  #draws = 0;
  readonly #counts: Partial<Record<FaultKind, number>> = {};

  constructor(pauses: Pauses) {
    this.#pauses = pauses;
  }

  /** Faults by this plan from now on; without one there are none, and what is late goes on at once. */
  switchTo(plan: FaultPlan = nothing): void {
    this.#plan = plan;
    if (plan === nothing) this.#pauses.release({ operation: "fault" });
  }

  /** How often each fault has happened. */
  counts(): Readonly<Partial<Record<FaultKind, number>>> {
    return { ...this.#counts };
  }

  /** Executes a request, or not, and gives the answer that its sender sees. */
  async aroundRequest(execute: () => Promise<SandboxAnswer>): Promise<SandboxAnswer> {
    switch (this.#oneOf(requestFaults)) {
      case "request_lost":
        return "hang_up";
      case "executed_late":
        await this.#wait(this.#fraction());
        return execute();
      case "executed_too_late":
        await this.#wait(3 + this.#fraction());
        return execute();
      case "executed_twice":
        return (await Promise.all([execute(), execute()]))[0];
      case "answer_lost":
        await execute();
        return "hang_up";
      case "answered_late": {
        const answer = await execute();
        await this.#wait(this.#fraction());
        return answer;
      }
      case "error_after":
        await execute();
        return { status: 500, body: { error: "fault" } };
      case undefined:
        return execute();
    }
  }

  /** Before the result of a capture or cancel that was only taken on. */
  async beforeResult(): Promise<void> {
    if (this.#oneOf(["result_late"])) await this.#wait(this.#fraction());
  }

  /** Sends a notice late, twice, or as it is. */
  async aroundNotice(send: () => Promise<void>): Promise<void> {
    const twice = this.#oneOf(["notice_twice"]) !== undefined;
    if (this.#oneOf(["notice_late"])) await this.#wait(this.#fraction());
    await (twice ? Promise.all([send(), send()]) : send());
  }

  #wait(times: number): Promise<void> {
    return this.#pauses.wait("fault", "", times * this.#plan.lateMsMax);
  }

  /** At most one of these: their rates add up. */
  #oneOf<Kind extends FaultKind>(kinds: readonly Kind[]): Kind | undefined {
    let left = this.#plan === nothing ? 1 : this.#fraction();
    for (const kind of kinds) {
      left -= this.#plan.rates[kind] ?? 0;
      if (left >= 0) continue;
      this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
      return kind;
    }
    return undefined;
  }

  /** The next number of the seed, from 0 up to 1. */
  #fraction(): number {
    const digest = createHash("sha256")
      .update(`${this.#plan.seed}:${this.#draws++}`)
      .digest();
    return digest.readUInt32BE() / 2 ** 32;
  }
}
