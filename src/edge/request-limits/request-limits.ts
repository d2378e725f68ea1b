/** The request limits of one environment in this process: every merchant counted for itself, by its backend and by its customers. */
import { requestBucketsMax, requestCredentialsMax } from "../../limits.ts";
import { DomainError } from "../../platform/errors.ts";
import { type LimitFields, limitFields } from "./limit-fields.ts";
import { RequestCounter, type Verdict } from "./request-counter.ts";
import type { Grant, RequestLimit } from "./request-stock.ts";
import type { Bucket } from "./shared-bucket.ts";

/** Puts fields on the answer to the request that is being counted. */
export type TellLimits = (fields: LimitFields) => void;

/** What the limits of an environment are made from. */
export type RequestLimitsParts = {
  /** One size for every bucket. */
  readonly limit: RequestLimit;
  /** Takes up to so many requests from a bucket that all processes share. */
  readonly take: (bucket: Bucket, wanted: number) => Promise<Grant>;
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs: () => number;
  /** Told when the shared bucket could not be asked; requests are let in meanwhile. */
  readonly reportFailure: (error: unknown) => void;
};

type Counted = Bucket & { readonly counter: RequestCounter };

/** Every bucket that this process has counted in lately. */
export class RequestLimits {
  readonly #parts: RequestLimitsParts;
  /** By name and merchant; the one counted last is the last. */
  readonly #buckets = new Map<string, Counted>();
  /** Which bucket a key's hash or a session id was last counted in. It opens nothing: only a refusal is read from it. */
  readonly #byCredential = new Map<string, Counted>();

  constructor(parts: RequestLimitsParts) {
    this.#parts = parts;
  }

  /** The merchant that requests with this credential were counted for, as far as this process remembers. */
  merchantOf(credential: string): string | undefined {
    return this.#byCredential.get(credential)?.merchantId;
  }

  /** Throws `rate_limited` when the credential's merchant is known to be over its limit: such a request costs no query. */
  refuseEarly(credential: string, tell: TellLimits): void {
    const counted = this.#byCredential.get(credential);
    const refusal = counted?.counter.refusal();
    if (counted !== undefined && refusal !== undefined) this.#judge(counted, refusal, tell);
  }

  /** Counts a request of a caller who is known. Throws `rate_limited` when its merchant has none left. */
  async count(credential: string, bucket: Bucket, tell: TellLimits): Promise<void> {
    const key = `${bucket.name} ${bucket.merchantId}`;
    const counted = this.#buckets.get(key) ?? { ...bucket, counter: this.#counterOf(bucket) };
    keepNewest(this.#buckets, [key, counted], requestBucketsMax);
    keepNewest(this.#byCredential, [credential, counted], requestCredentialsMax);
    this.#judge(counted, await counted.counter.count(), tell);
  }

  #counterOf(bucket: Bucket): RequestCounter {
    const { take, ...parts } = this.#parts;
    return new RequestCounter({ ...parts, take: (wanted) => take(bucket, wanted) });
  }

  #judge({ name }: Bucket, verdict: Verdict, tell: TellLimits): void {
    tell(limitFields(name, this.#parts.limit, verdict));
    if (verdict.admitted) return;
    throw new DomainError("rate_limited", "There were too many requests; repeat this one after the given time.", {
      retryAfterMs: verdict.waitMs,
    });
  }
}

/** A map in the order of its last use, which forgets the entry that was unused for longest. */
function keepNewest<Value>(map: Map<string, Value>, [key, value]: readonly [string, Value], entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > entriesMax ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
