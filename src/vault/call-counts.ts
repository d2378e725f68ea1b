/** Limits the calls of this copy of the vault, against its share of the limits of all copies. */
import { setTimeout as pause } from "node:timers/promises";
import { CallerCounts, ClientCounts, keepNewest } from "../platform/caller-counts.ts";
import type { CountedClient } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { RequestCounter, type Verdict } from "../platform/request-counter.ts";
import type { EnvironmentName } from "../platform/signed-claims.ts";
import { callLimits } from "./vault-limits.ts";

/** The caller of a tokenize call; the client is undefined if its address is not a public one. */
export type TokenizeCaller = {
  readonly environment: EnvironmentName;
  readonly session: string;
  readonly profile: string;
  readonly client: CountedClient | undefined;
};

// Merchants whose calls one copy counts, some hundred bytes each.
const merchantsMax = 10_000;

const systemClock = {
  nowMs: () => performance.now(),
  pause: (ms: number): Promise<unknown> => pause(ms, undefined, { ref: false }),
};

/** The counts of one copy: they are in its memory alone. Every method throws `rate_limited` for a call too many. */
export class CallCounts {
  readonly #clock: typeof systemClock;
  readonly #pages: ClientCounts;
  readonly #clients: ClientCounts;
  readonly #sessions: CallerCounts;
  readonly #merchants: CallerCounts;
  readonly #counters = new Map<string, RequestCounter>();

  /** `copies`: how many share the limits now, this one included. */
  constructor(copies: () => number, clock = systemClock) {
    this.#clock = clock;
    this.#pages = new ClientCounts({ address: callLimits.pagesOfAddress, network: callLimits.pagesOfNetwork }, copies);
    this.#clients = new ClientCounts(callLimits, copies);
    this.#sessions = new CallerCounts(callLimits.session, copies);
    this.#merchants = new CallerCounts(callLimits.merchant, copies);
  }

  /** Counts a request with a signature, before it is verified, for its address and network. */
  countPage(client: CountedClient | undefined): void {
    if (client !== undefined) judge(this.#pages.count(client, this.#clock.nowMs()).verdict);
  }

  /**
   * Counts a tokenize call for its session, and for its client if the session admits it: a single open checkout cannot
   * lock out others behind its address.
   */
  countCall({ environment, session, client }: TokenizeCaller): void {
    const nowMs = this.#clock.nowMs();
    judge(this.#sessions.count(`${environment} ${session}`, nowMs));
    if (client !== undefined) judge(this.#clients.count(client, nowMs).verdict);
  }

  /**
   * Charges the merchant for a card that may be one. While more come than its limit admits they wait, in a fair order.
   */
  async charge({ environment, profile, session, client }: TokenizeCaller): Promise<void> {
    const merchant = `${environment} ${profile}`;
    const counter = this.#counters.get(merchant) ?? this.#counterOf(merchant);
    keepNewest(this.#counters, [merchant, counter], merchantsMax);
    judge(await counter.count({ network: client?.network, session }));
  }

  #counterOf(merchant: string): RequestCounter {
    const take = async (wanted: number) => this.#merchants.take(merchant, wanted, this.#clock.nowMs());
    return new RequestCounter({ limit: callLimits.merchant, take, reportFailure: () => {}, ...this.#clock });
  }
}

function judge({ admitted, waitMs: retryAfterMs }: Verdict): void {
  if (admitted) return;
  throw new DomainError("rate_limited", "There were too many calls. Wait a little, then try again.", { retryAfterMs });
}
