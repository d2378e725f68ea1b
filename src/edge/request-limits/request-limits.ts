/**
 * The request limits of one environment in this process: each merchant is counted separately, by its backend and by its
 * customers. Callers have separate limits, and a merchant is charged only for what they admit: otherwise a customer
 * with one open checkout could use up the merchant's, and a session in a loop those of others behind the same address.
 */

import { requestBucketsMax, requestCredentialsMax } from "../../limits.ts";
import { CallerCounts, ClientCounts, keepNewest } from "../../platform/caller-counts.ts";
import type { CountedClient } from "../../platform/client-address.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { KeyId, MerchantId, SessionId } from "../../platform/ids.ts";
import {
  type Caller,
  type CounterParts,
  type Grant,
  RequestCounter,
  type RequestLimit,
  type Verdict,
} from "../../platform/request-counter.ts";
import { retryAfterSeconds } from "../error-mapping.ts";

// Time for which a session that was not submitted is taken for such while calls wait: it may have been submitted
// through another edge since, and its page looks for the outcome 0.8 s after that at the earliest. It doubles with each
// read in sequence that finds it unsubmitted: otherwise sessions that call all the time cost a query for each refusal.
const unsubmittedForMs = { first: 500, most: 8_000 };
// Time after a refusal in which calls are checked for being refused at once.
const refusingForMs = 1_000;

export type SetLimitHeaders = (fields: LimitFields) => void;

export type RequestLimitsParts = Pick<CounterParts, "nowMs" | "reportFailure"> & {
  readonly limit: RequestLimit;
  /** Takes up to `wanted` requests from a bucket that all processes share. */
  readonly take: (bucket: Bucket, wanted: number) => Promise<Grant>;
  readonly pause: (ms: number) => Promise<unknown>;
};

export type Judged = { readonly name: CountedName; readonly limit: RequestLimit; readonly verdict: Verdict };

/** The time at which it was read whose session it is, and how long that holds while calls wait. */
type Read = { readonly readAtMs: number; readonly validForMs: number };

type Counted = Bucket & Read & { readonly counter: RequestCounter };

export type Customer = { readonly sessionId: SessionId; readonly client: CountedClient | undefined };

export type ChargedSession = { readonly merchantId: MerchantId; readonly isSubmitted: boolean };

/** Every bucket that this process has counted in recently. */
export class RequestLimits {
  readonly #parts: RequestLimitsParts;
  /** The buckets by name and merchant; ordered by the last count. */
  readonly #buckets = new Map<string, RequestCounter>();
  /** The bucket in which a key's hash or a session id was last counted, or will be, and when that was read. */
  readonly #byCredential = new Map<string, Counted>();
  readonly #sessions = new CallerCounts(customerLimits.session);
  readonly #clients = new ClientCounts(customerLimits);
  readonly #returns = new CallerCounts(customerLimits.return);
  readonly #notifications = new CallerCounts(customerLimits.notification);
  readonly #connections = new Map<string, true>();
  #refusedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: RequestLimitsParts) {
    this.#parts = parts;
  }

  /**
   * Counts a request whose key this process does not know for the caller's address: finding its merchant costs a query.
   * Throws `rate_limited` if the address has none left, or if the key's merchant is known to be over its limit: such a
   * request costs no query.
   */
  refuseEarly(credential: string, client: CountedClient | undefined, setLimitHeaders: SetLimitHeaders): void {
    const counted = this.#byCredential.get(credential);
    if (counted === undefined) this.countClient(client, setLimitHeaders);
    const refusal = counted?.counter.refusal();
    if (counted !== undefined && refusal !== undefined) this.#judge(this.#judged(counted, refusal), setLimitHeaders);
  }

  /**
   * Counts a request of an authenticated backend. Throws `rate_limited` if its merchant, or its restricted key, has none
   * left.
   */
  async count(
    credential: string,
    caller: { readonly merchantId: MerchantId; readonly restrictedKey?: KeyId | undefined },
    setLimitHeaders: SetLimitHeaders,
  ): Promise<void> {
    const counted = this.#remember(credential, { ...caller, name: "api" });
    this.#judge(this.#judged(counted, await counted.counter.count()), setLimitHeaders);
  }

  /** Remembers the merchant of a session that was just created, so that its customer's first call need not read it. */
  expectCustomer(sessionId: SessionId, merchantId: MerchantId): void {
    this.#remember(sessionId, { merchantId, name: "checkout" });
  }

  /** Remembers that a session was submitted: customers who wait for an outcome have a separate share. */
  noteSubmitted(sessionId: SessionId, merchantId: MerchantId): void {
    this.#remember(sessionId, { merchantId, name: "submitted" });
  }

  /**
   * Charges the merchant for a customer's call, before the first query of the call; `find` is the query that finds the
   * merchant. While more customers call than the merchant's limit admits, they wait in a fair order. Throws
   * `rate_limited` for a call that gets no turn.
   */
  async charge(
    { sessionId, client }: Customer,
    find: () => Promise<ChargedSession | undefined>,
    setLimitHeaders: SetLimitHeaders,
  ): Promise<void> {
    const known = this.#byCredential.get(sessionId);
    const isKnown = known !== undefined && !this.#mayBeSubmitted(known);
    const found = isKnown ? known : await this.#find(find, known);
    if (found === undefined) return;
    const counted = this.#remember(sessionId, found, found);
    const caller: Caller = { network: client?.network, session: sessionId };
    this.#judge(this.#judged(counted, await counted.counter.count(caller)), setLimitHeaders);
  }

  /** Reports whether a call was refused a moment ago: only then `refuse` is worth its while. */
  get isRefusing(): boolean {
    return this.#parts.nowMs() - this.#refusedAtMs < refusingForMs;
  }

  /**
   * Refuses a customer's call that is certain to be refused by what this process knows, and counts it as `countCustomer`
   * and `charge` would. Returns undefined, with nothing counted, for any other call.
   */
  refuse({ sessionId, client }: Customer): Judged | undefined {
    const nowMs = this.#parts.nowMs();
    const ofSession = this.#sessions.refusal(sessionId, nowMs);
    if (ofSession) return this.#note({ name: "session", limit: customerLimits.session, verdict: ofSession });
    const ofClient = client && this.#clients.refusal(client, nowMs);
    const refusal = ofClient ?? this.#refuseCharge(sessionId, client);
    if (refusal === undefined) return undefined;
    this.#sessions.count(sessionId, nowMs);
    if (client) this.#clients.count(client, nowMs);
    return this.#note(refusal);
  }

  #refuseCharge(sessionId: SessionId, client: CountedClient | undefined): Judged | undefined {
    const known = this.#byCredential.get(sessionId);
    if (known === undefined || this.#mayBeSubmitted(known)) return undefined;
    const verdict = known.counter.refuse({ network: client?.network, session: sessionId });
    if (verdict === undefined) return undefined;
    this.#remember(sessionId, known, known);
    return this.#judged(known, verdict);
  }

  #note(refusal: Judged): Judged {
    this.#refusedAtMs = this.#parts.nowMs();
    return refusal;
  }

  #mayBeSubmitted({ name, counter, readAtMs, validForMs }: Counted): boolean {
    const nowMs = this.#parts.nowMs();
    return name === "checkout" && nowMs - readAtMs >= validForMs && counter.isContended(nowMs);
  }

  async #find(find: () => Promise<ChargedSession | undefined>, known?: Counted): Promise<(Bucket & Read) | undefined> {
    const found = await find();
    if (found === undefined) return undefined;
    const readAtMs = this.#parts.nowMs();
    const isInSequence = known !== undefined && readAtMs - known.readAtMs < 2 * known.validForMs;
    const validForMs = isInSequence ? Math.min(2 * known.validForMs, unsubmittedForMs.most) : unsubmittedForMs.first;
    const name = found.isSubmitted ? "submitted" : "checkout";
    return { merchantId: found.merchantId, name, readAtMs, validForMs };
  }

  #remember(credential: string, { name, merchantId, restrictedKey }: Bucket, read = this.#readNow()): Counted {
    const key = `${name} ${merchantId} ${restrictedKey ?? ""}`;
    const counter = this.#buckets.get(key) ?? this.#counterOf({ name, merchantId, restrictedKey });
    keepNewest(this.#buckets, [key, counter], requestBucketsMax);
    const counted = { name, merchantId, restrictedKey, counter, readAtMs: read.readAtMs, validForMs: read.validForMs };
    keepNewest(this.#byCredential, [credential, counted], requestCredentialsMax);
    return counted;
  }

  #readNow(): Read {
    return { readAtMs: this.#parts.nowMs(), validForMs: unsubmittedForMs.first };
  }

  /** Counts a customer's call for its session, and for its client if the session admits it. Throws `rate_limited`. */
  countCustomer({ sessionId, client }: Customer, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#sessions.count(sessionId, this.#parts.nowMs());
    this.#judge({ name: "session", limit: customerLimits.session, verdict }, setLimitHeaders);
    this.countClient(client, setLimitHeaders);
  }

  /** Counts a request for its address and network, if they are known. Throws `rate_limited`. */
  countClient(client: CountedClient | undefined, setLimitHeaders: SetLimitHeaders): void {
    if (client === undefined) return;
    this.#judge(this.#clients.count(client, this.#parts.nowMs()), setLimitHeaders);
  }

  /**
   * Counts a customer's return with a token of ours, for the token alone: a bank sends the customer once, and a refusal
   * for the calls of others behind the address would fail the authentication. Throws `rate_limited`.
   */
  countReturn(token: string, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#returns.count(token, this.#parts.nowMs());
    this.#judge({ name: "return", limit: customerLimits.return, verdict }, setLimitHeaders);
  }

  /**
   * Counts a gateway's notification for its connection, and for the caller's address too until one was accepted: a
   * gateway's addresses send those of all merchants. Throws `rate_limited`; gateways send again.
   */
  countNotification(connectionId: string, client: CountedClient | undefined, setLimitHeaders: SetLimitHeaders): void {
    if (!this.#connections.has(connectionId)) this.countClient(client, setLimitHeaders);
    const verdict = this.#notifications.count(connectionId, this.#parts.nowMs());
    this.#judge({ name: "notification", limit: customerLimits.notification, verdict }, setLimitHeaders);
  }

  /** Remembers a connection whose notification was accepted. */
  noteConnection(connectionId: string): void {
    keepNewest(this.#connections, [connectionId, true], requestCredentialsMax);
  }

  #counterOf(bucket: Bucket): RequestCounter {
    const { take, pause, ...parts } = this.#parts;
    return new RequestCounter({
      ...parts,
      take: (wanted) => take(bucket, wanted),
      // A backend is a single caller, so no fair order is needed.
      pause: waits[bucket.name] ? pause : undefined,
    });
  }

  #judged({ name }: Bucket, verdict: Verdict): Judged {
    return { name, limit: this.#parts.limit, verdict };
  }

  /** Sets the limit's header fields; throws `rate_limited` if no request is left. */
  #judge(judged: Judged, setLimitHeaders: SetLimitHeaders): void {
    setLimitHeaders(limitFields(judged.name, judged.limit, judged.verdict));
    if (!judged.verdict.admitted) throw refusalError(this.#note(judged));
  }
}

const waits: Readonly<Record<BucketName, boolean>> = { api: false, checkout: true, submitted: true };

export function refusalError({ verdict }: Judged): DomainError {
  return new DomainError("rate_limited", "There were too many requests; repeat this one after the given time.", {
    retryAfterMs: verdict.waitMs,
  });
}

export type LimitFields = Readonly<Record<string, string>>;

/** A common count: a merchant's bucket, or the calls of one caller in one process. */
type CountedName = BucketName | keyof typeof customerLimits;

/**
 * Returns RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, May 2026,
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/): the bucket's size as quota `q`, and the seconds `w` in which an empty one is full again.
 */
export function policyField(name: CountedName, { perSecond, burst }: RequestLimit): string {
  return `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`;
}

/**
 * Returns RateLimit: requests left `r`, and the seconds `t` in which the quota is full again. Nothing for a request
 * that was not counted. For a refusal also Retry-After, in whole seconds as RFC 9110 10.2.3 defines it, never 0.
 */
export function limitFields(name: CountedName, limit: RequestLimit, verdict: Verdict): LimitFields {
  if (!verdict.counted) return {};
  const fields = {
    "RateLimit-Policy": policyField(name, limit),
    RateLimit: `"${name}";r=${verdict.remaining};t=${Math.ceil((limit.burst - verdict.remaining) / limit.perSecond)}`,
  };
  return verdict.admitted ? fields : { ...fields, "Retry-After": retryAfterSeconds(verdict.waitMs) };
}

export const customerLimits = {
  /** A page reads twice, submits, and polls at most once a second, in some tabs; the burst is for a reloaded page. */
  session: { perSecond: 5, burst: 20 },
  /**
   * Strangers share an address behind an office or a mobile carrier's gateway: fifty customers who wait for an outcome
   * poll this often.
   */
  address: { perSecond: 50, burst: 200 },
  /** A carrier's gateways share a network, and an attacker's addresses do: as much as four addresses. */
  network: { perSecond: 200, burst: 800 },
  /** Returns from a bank with one token: the customer returns once, and may reload the page. */
  return: { perSecond: 5, burst: 20 },
  /** A gateway sends two or three for each payment, and repeats the refused ones. */
  notification: { perSecond: 200, burst: 2_000 },
} as const;

/**
 * The counted party: a merchant's backend, its customers before they submit, or those who have submitted. None can use
 * up another's share.
 */
type BucketName = "api" | "checkout" | "submitted";

export type Bucket = {
  readonly merchantId: MerchantId;
  readonly name: BucketName;
  /** A restricted key has a separate `api` bucket, so that it uses up nothing of the merchant's or of another key's. */
  readonly restrictedKey?: KeyId | undefined;
};

// Each bucket has one row, from which every process takes the requests that it admits. A token bucket is stored as one
// time: the missing requests are those that refill until `full_at`. The clock is read once for a row that is locked, so
// that no two processes get the same refill; spans are rounded up, so that none is granted twice. Never more than the
// burst is missing: a clock that was set back, or a smaller burst, blocks no merchant.
const takeFromBucket: Statement = {
  name: "take_from_request_bucket",
  text: `
    INSERT INTO request_bucket AS b (merchant_id, bucket, full_at, granted, granted_at)
    SELECT $1, $2, at + make_interval(secs => (ceil($5::numeric * 1000000 / $3::numeric) / 1000000)::float8), $5::int, at
    FROM (SELECT app.clock() AS at) clock
    ON CONFLICT (merchant_id, bucket) DO UPDATE SET (full_at, granted, granted_at) = (
      SELECT at + make_interval(secs => (missing_s + ceil(part * 1000000 / $3::numeric) / 1000000)::float8), part, at
      FROM (SELECT at, least(greatest(extract(epoch FROM b.full_at - at), 0), $4::numeric / $3::numeric) AS missing_s
            FROM (SELECT app.clock() AS at) clock) missing,
        LATERAL (SELECT least($5::numeric, floor($4::numeric - $3::numeric * missing_s)) AS part) share)
    RETURNING granted,
      greatest($4::numeric - $3::numeric * extract(epoch FROM full_at - granted_at), 0)::float8 AS "left"`,
};

/** Takes up to `wanted` requests, at most the burst, out of a bucket; a new one is full. */
export async function takeRequests(
  queryable: Queryable,
  options: { bucket: Bucket; limit: RequestLimit; wanted: number },
): Promise<Grant> {
  const { bucket, limit, wanted } = options;
  const { merchantId, name, restrictedKey } = bucket;
  const values = [
    merchantId,
    restrictedKey === undefined ? name : `${name} ${restrictedKey}`,
    limit.perSecond,
    limit.burst,
    wanted,
  ];
  const [row] = await queryable.query<{ granted: number; left: number }>(takeFromBucket, values);
  if (row === undefined) throw new Error("a bucket gave no answer");
  return { wanted, ...row };
}
