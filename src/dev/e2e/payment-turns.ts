/** Measures submissions of customers by turns: alone, and beside other work. */
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxControl } from "../testing/sandbox-control.ts";

/** The gateways of the two runs: one that answers at once, and one as far away as a real one (0 to 400 ms for each request). */
export const gatewayDelays = [0, 400];

export function delayAnswers(sandbox: SandboxControl, lateMsMax: number): Promise<unknown> {
  return sandbox.setFaults({ seed: "delay", rates: { answered_late: lateMsMax > 0 ? 1 : 0 }, lateMsMax });
}

/** Has a customer arrive every `everyMs` until `end`, and returns how long `pay` took for each. */
export async function payUntil(
  end: Promise<unknown>,
  everyMs: number,
  pay: () => Promise<number>,
): Promise<readonly number[]> {
  let isOver = false;
  void end.finally(() => (isOver = true));
  const payments: Promise<number>[] = [];
  while (!isOver) {
    payments.push(pay());
    await pause(everyMs);
  }
  return Promise.all(payments);
}

export const shareOf = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!;

export const spread = (values: readonly number[]) =>
  `${shareOf(values, 0.5).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;

/** A share of all submissions alone and beside, and their ratio by turns. */
export class Turns {
  readonly #share: number;
  readonly #alone: number[] = [];
  readonly #beside: number[] = [];
  readonly #ratios: number[] = [];

  constructor(share: number) {
    this.#share = share;
  }

  add(alone: readonly number[], beside: readonly number[]): void {
    this.#alone.push(...alone);
    this.#beside.push(...beside);
    this.#ratios.push(shareOf(beside, this.#share) / shareOf(alone, this.#share));
  }

  toString(): string {
    const [alone, beside] = [shareOf(this.#alone, this.#share), shareOf(this.#beside, this.#share)];
    return `p${100 * this.#share} of ${this.#alone.length} submissions alone ${alone.toFixed(1)} ms, of ${this.#beside.length} beside ${beside.toFixed(1)} ms: ${(beside / alone).toFixed(2)}; by turns ${spread(this.#ratios)}`;
  }
}
