/** Counts the tokenize calls of this copy of the vault, in fixed windows, against its share of the limits of all copies. */
import type { EnvironmentName } from "../platform/signed-claims.ts";
import { callsPerAddress, callsPerMerchant, callsPerSession, countWindowMs } from "./vault-limits.ts";

/** The caller's session, address and merchant, which are counted separately. */
export type TokenizeCaller = {
  readonly environment: EnvironmentName;
  readonly session: string;
  readonly address: string;
  readonly profile: string;
};

/** The counts of one copy: they are in its memory alone. */
export class CallCounts {
  readonly #copies: () => number;
  readonly #calls = new Map<string, number>();
  #window = 0;

  /** `copies`: how many share the limits now, this one included. */
  constructor(copies: () => number) {
    this.#copies = copies;
  }

  /**
   * Counts a call, and returns false if its session, its address or its merchant made too many in this window. Each
   * counts only what the one before it admits: a single open checkout can neither lock out the merchant's other
   * customers nor fill this memory with addresses.
   */
  admit({ environment, session, address, profile }: TokenizeCaller, now = Date.now()): boolean {
    const window = Math.floor(now / countWindowMs);
    if (window !== this.#window) this.#calls.clear();
    this.#window = window;
    return (
      this.#count(`${environment} session ${session}`, callsPerSession) &&
      this.#count(`${environment} address ${address}`, callsPerAddress) &&
      this.#count(`${environment} merchant ${profile}`, callsPerMerchant)
    );
  }

  #count(subject: string, callsMax: number): boolean {
    const calls = (this.#calls.get(subject) ?? 0) + 1;
    this.#calls.set(subject, calls);
    return calls <= Math.ceil(callsMax / this.#copies());
  }
}
