/**
 * Counts requests to each acquirer operation, and records which acquirers are switched off. Holds no request bodies.
 */
import type { AcquirerName } from "./ledger.ts";

type Entry = { readonly operation: string; readonly reference: string };

// Enough for a long test run; beyond it only the latest are counted.
const entriesMax = 100_000;

export class RequestLog {
  readonly #entries: Entry[] = [];
  readonly #down = new Set<AcquirerName>();

  /** Records an answered request; `reference` is empty if the answer named none. */
  record(operation: string, reference: string): void {
    this.#entries.push({ operation, reference });
    if (this.#entries.length > entriesMax) this.#entries.shift();
  }

  counts(reference: string | undefined): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const entry of this.#entries) {
      if (reference !== undefined && entry.reference !== reference) continue;
      counts[entry.operation] = (counts[entry.operation] ?? 0) + 1;
    }
    return counts;
  }

  setDown(acquirer: AcquirerName, down: boolean): void {
    if (down) this.#down.add(acquirer);
    else this.#down.delete(acquirer);
  }

  /** Reports whether the acquirer of an operation is down. Operations are named after their acquirer: `a.capture`. */
  isDown(operation: string): boolean {
    return [...this.#down].some((acquirer) => operation.startsWith(`${acquirer.toLowerCase()}.`));
  }
}
