/**
 * The request limits of one environment in this process: each merchant is counted separately, by its backend and by its
 * customers.
 */
import { requestBucketsMax, requestCredentialsMax } from "../../limits.ts";
import { DomainError } from "../../platform/errors.ts";
import { CallerCounts } from "./caller-counts.ts";
import { keepNewest } from "./keep-newest.ts";
import { type CountedName, type LimitFields, limitFields } from "./limit-fields.ts";
import { RequestCounter, type Verdict } from "./request-counter.ts";
import type { Grant, RequestLimit } from "./request-stock.ts";
import type { Bucket } from "./shared-bucket.ts";

// Calls that one process accepts from one session's customers, before they count against the merchant's limit. A page
// reads twice, submits, and polls at most once a second, in some tabs; the burst is for a reloaded page.
const sessionRequestLimit = { perSecond: 5, burst: 20 } as const;
// Calls that one process accepts from one address, before they count against the merchant's limit. Strangers share an
// address behind an office or a mobile carrier's gateway: fifty customers who wait for an outcome poll this often. Two
// addresses use up a merchant's default limit.
const addressRequestLimit = { perSecond: 50, burst: 200 } as const;
// Returns from a bank that one process accepts with one token: the customer returns once, and may reload the page.
const returnRequestLimit = { perSecond: 5, burst: 20 } as const;

/** Sets fields on the answer to the request that is being counted. */
export type SetLimitHeaders = (fields: LimitFields) => void;

/** The dependencies of an environment's limits. */
export type RequestLimitsParts = {
  /** One size for every bucket. */
  readonly limit: RequestLimit;
  /** Takes up to `wanted` requests from a bucket that all processes share. */
  readonly take: (bucket: Bucket, wanted: number) => Promise<Grant>;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  /** Called if the shared bucket does not answer; requests are admitted meanwhile. */
  readonly reportFailure: (error: unknown) => void;
};

type Counted = Bucket & { readonly counter: RequestCounter };

/** The caller of a customer's call; the address is undefined if it is not known. */
export type Customer = { readonly sessionId: string; readonly address: string | undefined };

/** Every bucket that this process has counted in recently. */
export class RequestLimits {
  readonly #parts: RequestLimitsParts;
  /** By name and merchant; ordered by the last count. */
  readonly #buckets = new Map<string, Counted>();
  /**
   * The bucket in which a key's hash or a session id was last counted, or will be. It admits nothing: only refusals are read from
   * it.
   */
  readonly #byCredential = new Map<string, Counted>();
  readonly #sessions = new CallerCounts(sessionRequestLimit);
  readonly #addresses = new CallerCounts(addressRequestLimit);
  readonly #returns = new CallerCounts(returnRequestLimit);

  constructor(parts: RequestLimitsParts) {
    this.#parts = parts;
  }

  /** Returns the merchant that requests with this credential were counted for, as far as this process remembers. */
  merchantOf(credential: string): string | undefined {
    return this.#byCredential.get(credential)?.merchantId;
  }

  /**
   * Throws `rate_limited` if the credential's merchant is known to be over its limit: such a request costs no query.
   */
  refuseEarly(credential: string, setLimitHeaders: SetLimitHeaders): void {
    const counted = this.#byCredential.get(credential);
    const refusal = counted?.counter.refusal();
    if (counted !== undefined && refusal !== undefined) this.#judge(counted, refusal, setLimitHeaders);
  }

  /** Counts a request of an authenticated caller. Throws `rate_limited` if its merchant has none left. */
  async count(credential: string, bucket: Bucket, setLimitHeaders: SetLimitHeaders): Promise<void> {
    const counted = this.#remember(credential, bucket);
    this.#judge(counted, await counted.counter.count(), setLimitHeaders);
  }

  /** Remembers the merchant of a session that was just created, so that its customer's first call need not read it. */
  expectCustomer(sessionId: string, merchantId: string): void {
    this.#remember(sessionId, { merchantId, name: "checkout" });
  }

  #remember(credential: string, bucket: Bucket): Counted {
    const key = `${bucket.name} ${bucket.merchantId}`;
    const counted = this.#buckets.get(key) ?? { ...bucket, counter: this.#counterOf(bucket) };
    keepNewest(this.#buckets, [key, counted], requestBucketsMax);
    keepNewest(this.#byCredential, [credential, counted], requestCredentialsMax);
    return counted;
  }

  /**
   * Counts a customer's call for its session, and for its address if the session admits it. Throws `rate_limited` if
   * either has none left. The merchant is charged only for calls that pass: otherwise a customer with one open checkout
   * could block all the others, and a session in a loop those behind the same address.
   */
  countCustomer({ sessionId, address }: Customer, setLimitHeaders: SetLimitHeaders): void {
    const nowMs = this.#parts.nowMs();
    judge("session", this.#sessions.limit, { verdict: this.#sessions.count(sessionId, nowMs), setLimitHeaders });
    if (address !== undefined) this.countAddress(address, setLimitHeaders);
  }

  /** Counts a browser's request that names no merchant yet. Throws `rate_limited` if its address has none left. */
  countAddress(address: string, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#addresses.count(address, this.#parts.nowMs());
    judge("address", this.#addresses.limit, { verdict, setLimitHeaders });
  }

  /**
   * Counts a customer's return with a token of ours, for the token alone: a bank sends the customer once, and a refusal
   * for the calls of others behind the address would fail the authentication. Throws `rate_limited` if it has none left.
   */
  countReturn(token: string, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#returns.count(token, this.#parts.nowMs());
    judge("return", this.#returns.limit, { verdict, setLimitHeaders });
  }

  #counterOf(bucket: Bucket): RequestCounter {
    const { take, ...parts } = this.#parts;
    return new RequestCounter({ ...parts, take: (wanted) => take(bucket, wanted) });
  }

  #judge({ name }: Bucket, verdict: Verdict, setLimitHeaders: SetLimitHeaders): void {
    judge(name, this.#parts.limit, { verdict, setLimitHeaders });
  }
}

/** Sets the fields of what is left; throws `rate_limited` if nothing is. */
function judge(
  name: CountedName,
  limit: RequestLimit,
  { verdict, setLimitHeaders }: { verdict: Verdict; setLimitHeaders: SetLimitHeaders },
): void {
  setLimitHeaders(limitFields(name, limit, verdict));
  if (verdict.admitted) return;
  throw new DomainError("rate_limited", "There were too many requests; repeat this one after the given time.", {
    retryAfterMs: verdict.waitMs,
  });
}
