/**
 * The payouts of the sandbox acquirers, computed from their ledger: a fee of 1.4 % and 25 for a capture, 1 500 for a
 * dispute, and a payout a day, or whenever /admin/payout requests one.
 */
import type { SandboxClock } from "../gateways/sandbox/clock.ts";
import type { Account, Accounts } from "./accounts.ts";
import type { Book, Books } from "./books.ts";
import type { AcquirerName, Authorization, Ledger, Refund } from "./ledger.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const disputeFee = 1_500;
const forcedMax = 10_000;

/** A line: the amount that moved, in the acquirer's own unit; negative if it was taken. */
export type StatementLine = {
  readonly id: string;
  readonly type: "capture" | "refund" | "refund_failed" | "chargeback" | "chargeback_reversed";
  readonly atMs: number;
  readonly payment: Authorization;
  readonly refund?: Refund | undefined;
  /** The reference of the dispute, as in the ledger. */
  readonly dispute?: string | undefined;
  readonly gross: number;
  readonly fee: number;
  readonly net: number;
  readonly currency: string;
};

/** The lines of one period in one currency. Batches are counted from 1, over all currencies of the account. */
export type Payout = {
  readonly id: string;
  readonly batch: number;
  readonly paidMs: number;
  readonly currency: string;
  readonly amount: number;
  readonly lines: readonly StatementLine[];
};

export type StatementParts = {
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly clock: SandboxClock;
  readonly books: Books;
  /** The time between two payouts; a day if absent. */
  readonly everyMs?: number | undefined;
};

type OnBatch = (acquirer: AcquirerName, account: Account, batch: number) => void;

export class Statements {
  readonly #parts: StatementParts;
  readonly #everyMs: number;
  /** The times at which payouts were requested. */
  readonly #forced: Book<number>;
  /** The batches that were announced, by acquirer and account. */
  readonly #announced: Book<number>;
  readonly #listeners: OnBatch[] = [];

  constructor(parts: StatementParts) {
    this.#parts = parts;
    this.#everyMs = parts.everyMs ?? dayMs;
    this.#forced = parts.books.open("payout", forcedMax);
    this.#announced = parts.books.open("announced batch", forcedMax);
  }

  /** Calls the listener once for each batch that is paid out. */
  onBatch(listener: OnBatch): void {
    this.#listeners.push(listener);
  }

  /** Begins to pay out by the clock; called once every listener is there. */
  resume(): void {
    this.#announce();
    this.#parts.clock.at(this.#regularAfter(this.#parts.clock.nowMs()), () => this.resume());
  }

  /** Pays out the balance of every account at once. */
  payOut(): void {
    const now = this.#parts.clock.nowMs();
    this.#forced.set(String(now), now);
    this.#announce();
  }

  /** Returns the lines of an account, the oldest first. */
  lines(acquirer: AcquirerName, account: string): readonly StatementLine[] {
    return this.#parts.ledger
      .all()
      .filter((one) => one.acquirer === acquirer && one.account === account && one.capturedAt !== undefined)
      .flatMap((payment) => this.#linesOf(payment))
      .toSorted((one, other) => one.atMs - other.atMs || (one.id < other.id ? -1 : 1));
  }

  /** Returns the payouts of an account, the oldest first. */
  payouts(acquirer: AcquirerName, account: string): readonly Payout[] {
    const now = this.#parts.clock.nowMs();
    const periods = new Map<number, StatementLine[]>();
    for (const line of this.lines(acquirer, account)) {
      const paidMs = this.#paidMs(line.atMs);
      if (paidMs <= now) periods.set(paidMs, [...(periods.get(paidMs) ?? []), line]);
    }
    return [...periods.entries()]
      .toSorted(([one], [other]) => one - other)
      .flatMap(([paidMs, lines], place) =>
        [...new Set(lines.map(({ currency }) => currency))].map((currency) => {
          const own = lines.filter((line) => line.currency === currency);
          const amount = own.reduce((sum, { net }) => sum + net, 0);
          return { id: `${paidMs}_${currency}`, batch: place + 1, paidMs, currency, amount, lines: own };
        }),
      );
  }

  #regularAfter(timeMs: number): number {
    return (Math.floor(timeMs / this.#everyMs) + 1) * this.#everyMs;
  }

  /** Returns the time at which a movement of this time is paid out. */
  #paidMs(atMs: number): number {
    const forced = this.#forced.values().filter((timeMs) => timeMs >= atMs);
    return Math.min(this.#regularAfter(atMs), ...forced);
  }

  #linesOf(payment: Authorization): StatementLine[] {
    const { id, currency, capturedValue, capturedAt, settles, refunds } = payment;
    if (settles === "never" || capturedValue === 0) return [];
    const line = (type: StatementLine["type"], at: string | number, moved: Pick<StatementLine, "gross" | "fee">) => ({
      ...{ id: `${id}_${type}`, type, atMs: typeof at === "number" ? at : Date.parse(at), payment, currency },
      ...{ ...moved, net: moved.gross - moved.fee },
    });
    const gross = settles === "other_amount" ? capturedValue - 1 : capturedValue;
    const lines: StatementLine[] = [line("capture", capturedAt!, { gross, fee: Math.round(gross * 0.014) + 25 })];
    for (const refund of refunds) {
      if (refund.madeAt === undefined) continue;
      const made = line("refund", refund.madeAt, { gross: -refund.value, fee: 0 });
      lines.push({ ...made, id: `${refund.id}_refund`, refund });
      if (refund.failedAt === undefined) continue;
      const failed = line("refund_failed", refund.failedAt, { gross: refund.value, fee: 0 });
      lines.push({ ...failed, id: `${refund.id}_failed`, refund });
    }
    for (const { at, report, dispute } of payment.disputed?.moved ?? []) {
      const isReturned = report === "CHARGEBACK_REVERSED";
      const moved = isReturned ? { gross: capturedValue, fee: 0 } : { gross: -capturedValue, fee: disputeFee };
      const type = isReturned ? "chargeback_reversed" : "chargeback";
      lines.push({ ...line(type, at, moved), id: `${id}_${report.toLowerCase()}`, dispute });
    }
    return lines;
  }

  #announce(): void {
    const { ledger, accounts } = this.#parts;
    const owners = new Set(ledger.all().map(({ acquirer, account }) => JSON.stringify([acquirer, account])));
    for (const owner of owners) {
      const [acquirer, account] = JSON.parse(owner) as [AcquirerName, string];
      const last = this.payouts(acquirer, account).at(-1)?.batch ?? 0;
      for (let batch = (this.#announced.get(owner) ?? 0) + 1; batch <= last; batch++) {
        this.#announced.set(owner, batch);
        for (const listener of this.#listeners) listener(acquirer, accounts.find(account), batch);
      }
    }
  }
}
