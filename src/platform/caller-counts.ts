/** Counts the calls of each caller in this process only: several processes multiply the bound. PURE. */
import type { CountedClient } from "./client-address.ts";
import type { Grant, RequestLimit, Verdict } from "./request-counter.ts";

// Callers that one process counts, some hundred bytes each; beyond this number the one idle for longest is dropped.
const callersMax = 20_000;

export class CallerCounts {
  readonly limit: RequestLimit;
  readonly #copies: () => number;
  /** The time when a caller's bucket is full again; ordered by the last count. */
  readonly #fullAtMs = new Map<string, number>();

  /** `copies`: how many processes divide the limit among themselves; each has the whole limit if absent. */
  constructor(limit: RequestLimit, copies = () => 1) {
    this.limit = limit;
    this.#copies = copies;
  }

  /** Counts one call at a time of a monotonic clock. A refused call takes nothing from the bucket. */
  count(caller: string, nowMs: number): Verdict {
    const { granted, left } = this.take(caller, 1, nowMs);
    return granted > 0
      ? { admitted: true, counted: true, remaining: Math.floor(left), waitMs: 0 }
      : this.#refuse(this.#roomMs(caller, nowMs));
  }

  /** Returns the refusal that a call would get now. */
  refusal(caller: string, nowMs: number): Verdict | undefined {
    const roomMs = this.#roomMs(caller, nowMs);
    return roomMs < this.#refillMs() ? this.#refuse(roomMs) : undefined;
  }

  #refuse(roomMs: number): Verdict {
    return { admitted: false, counted: true, remaining: 0, waitMs: this.#refillMs() - roomMs };
  }

  take(caller: string, wanted: number, nowMs: number): Grant {
    const refillMs = this.#refillMs();
    const left = Math.max(0, this.#roomMs(caller, nowMs) / refillMs);
    const granted = Math.min(wanted, Math.floor(left));
    const fullAtMs = Math.max(this.#fullAtMs.get(caller) ?? 0, nowMs) + granted * refillMs;
    if (granted > 0) keepNewest(this.#fullAtMs, [caller, fullAtMs], callersMax);
    return { wanted, granted, left: left - granted };
  }

  /** Returns the content of a caller's bucket, as the time in which it refills. */
  #roomMs(caller: string, nowMs: number): number {
    const missingMs = Math.max(0, (this.#fullAtMs.get(caller) ?? 0) - nowMs);
    return Math.ceil(this.limit.burst / this.#copies()) * this.#refillMs() - missingMs;
  }

  #refillMs(): number {
    return (1_000 * this.#copies()) / this.limit.perSecond;
  }
}

export type Counted = {
  readonly name: "address" | "network";
  readonly limit: RequestLimit;
  readonly verdict: Verdict;
};

export class ClientCounts {
  readonly #addresses: CallerCounts;
  readonly #networks: CallerCounts;

  constructor(limits: { readonly address: RequestLimit; readonly network: RequestLimit }, copies?: () => number) {
    this.#addresses = new CallerCounts(limits.address, copies);
    this.#networks = new CallerCounts(limits.network, copies);
  }

  /** Returns the refusal that a call would get now. */
  refusal({ address, network }: CountedClient, nowMs: number): Counted | undefined {
    const ofAddress = this.#addresses.refusal(address, nowMs);
    if (ofAddress) return { name: "address", limit: this.#addresses.limit, verdict: ofAddress };
    const ofNetwork = this.#networks.refusal(network, nowMs);
    return ofNetwork && { name: "network", limit: this.#networks.limit, verdict: ofNetwork };
  }

  /** Returns the first refusal; otherwise the address's remaining calls. */
  count({ address, network }: CountedClient, nowMs: number): Counted {
    const ofAddress = this.#addresses.count(address, nowMs);
    const ofNetwork = ofAddress.admitted ? this.#networks.count(network, nowMs) : ofAddress;
    return ofAddress.admitted && !ofNetwork.admitted
      ? { name: "network", limit: this.#networks.limit, verdict: ofNetwork }
      : { name: "address", limit: this.#addresses.limit, verdict: ofAddress };
  }
}

/** Sets an entry of a map that is ordered by last use, and evicts the entry that was unused for longest. */
export function keepNewest<Value>(
  map: Map<string, Value>,
  [key, value]: readonly [string, Value],
  entriesMax: number,
): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > entriesMax ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
