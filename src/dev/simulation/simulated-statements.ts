/** A gateway's own statements: a line for each movement of money, and payouts of them. Readings overlap, and a list may have a line twice. */
import type { LineKind, StatementLine, StatementPayout } from "../../gateways/statements.ts";

/** Money that moved at a gateway, and its names there. `ourRefund` is our reference of it. */
export type Movement = {
  readonly kind: Extract<LineKind, "CAPTURE" | "REFUND" | "REFUND_FAILED" | "CHARGEBACK" | "CHARGEBACK_REVERSED">;
  readonly payment: string;
  readonly attemptReference: string;
  /** Never negative. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly refund?: string | undefined;
  readonly ourRefund?: string | undefined;
  readonly dispute?: string | undefined;
};

/** A line of a statement. `isCopy`: a second line of a movement that another one pays. */
export type MadeLine = {
  readonly line: StatementLine;
  readonly attemptReference: string;
  readonly isCopy: boolean;
  /** True if the gateway says which payout has it. */
  readonly hasPayout: boolean;
  readonly atMs: number;
};

/** The interval in which a gateway pays out the movements since its last payout. */
const payoutEveryMs = 30 * 60_000;
const feeMinor = 25;

export class SimulatedStatements {
  readonly made: MadeLine[] = [];
  readonly #nowMs: () => number;
  readonly #hasCopies: boolean;
  readonly #hasPayouts: boolean;

  constructor(parts: { nowMs: () => number; hasCopies: boolean; hasPayouts: boolean }) {
    this.#nowMs = parts.nowMs;
    this.#hasCopies = parts.hasCopies;
    this.#hasPayouts = parts.hasPayouts;
  }

  onMoved(movement: Movement): void {
    this.#add(movement, false);
    if (this.#hasCopies) this.#add(movement, true);
  }

  /** Returns the lines of a payout, or of a time, without a payout while that is not complete. */
  lines({
    sinceMs,
    untilMs,
    payout,
  }: {
    sinceMs: number;
    untilMs: number;
    payout?: string | undefined;
  }): StatementLine[] {
    return this.made
      .filter((one) => (payout === undefined ? one.atMs >= sinceMs && one.atMs <= untilMs : payoutOf(one) === payout))
      .map((one) => ({
        ...one.line,
        ...(this.#hasPayouts && this.#isComplete(payoutOf(one)) && { payoutReference: payoutOf(one) }),
      }));
  }

  payouts(): StatementPayout[] {
    const references = [...new Set(this.made.map(payoutOf))].filter((one) => this.#isComplete(one));
    return references.map((gatewayReference) => ({
      ...{ gatewayReference, currency: "EUR", status: "PAID", isComplete: true },
      amountMinor: this.made
        .filter((one) => payoutOf(one) === gatewayReference)
        .reduce((sum, { line }) => sum + line.settled!.netMinor, 0),
    }));
  }

  #isComplete(payout: string): boolean {
    return (Number(payout.split(" ")[1]) + 1) * payoutEveryMs <= this.#nowMs();
  }

  #add({ kind, amountMinor, currency, attemptReference, ...named }: Movement, isCopy: boolean): void {
    const { payment, refund, ourRefund, dispute } = named;
    const isTaken = kind === "REFUND" || kind === "CHARGEBACK";
    const grossMinor = isTaken ? -amountMinor : amountMinor;
    const settled = { grossMinor, feeMinor, netMinor: grossMinor - feeMinor, currency };
    const line = {
      ...{ lineId: `line ${this.made.length + 1} of ${payment}`, kind, gatewayType: kind.toLowerCase() },
      gatewayReference: refund ?? dispute ?? payment,
      names: { payment, attempt: attemptReference, refund, ourRefund, dispute },
      gross: { amountMinor: grossMinor, currency },
      settled,
    };
    this.made.push({ line, attemptReference, isCopy, hasPayout: this.#hasPayouts, atMs: this.#nowMs() });
  }
}

function payoutOf({ atMs }: Pick<MadeLine, "atMs">): string {
  return `payout ${Math.floor(atMs / payoutEveryMs)}`;
}
