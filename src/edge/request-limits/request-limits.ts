/**
 * The request limits of one environment in this process: each merchant is counted separately, by its backend and by its
 * customers. Callers have limits of their own, and a merchant is charged only for what they admit: otherwise a customer
 * with one open checkout could use up the merchant's, and a session in a loop those of others behind the same address.
 */
import { requestBucketsMax, requestCredentialsMax } from "../../limits.ts";
import { CallerCounts, ClientCounts } from "../../platform/caller-counts.ts";
import type { CountedClient } from "../../platform/client-address.ts";
import { DomainError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/fair-queue.ts";
import { keepNewest } from "../../platform/keep-newest.ts";
import { type CounterParts, RequestCounter, type Verdict } from "../../platform/request-counter.ts";
import type { Grant, RequestLimit } from "../../platform/request-stock.ts";
import { customerLimits } from "./customer-limits.ts";
import { type CountedName, type LimitFields, limitFields } from "./limit-fields.ts";
import type { Bucket, BucketName } from "./shared-bucket.ts";

// Time for which a session that was not submitted is taken for such while calls wait: it may have been submitted
// through another edge since, and its page looks for the outcome 0.8 s after that at the earliest.
const unsubmittedForMs = 500;

/** Sets fields on the answer to the request that is being counted. */
export type SetLimitHeaders = (fields: LimitFields) => void;

/** The dependencies of an environment's limits. */
export type RequestLimitsParts = Pick<CounterParts, "nowMs" | "reportFailure"> & {
  /** One size for every bucket. */
  readonly limit: RequestLimit;
  /** Takes up to `wanted` requests from a bucket that all processes share. */
  readonly take: (bucket: Bucket, wanted: number) => Promise<Grant>;
  readonly pause: (ms: number) => Promise<unknown>;
};

type Counted = Bucket & { readonly counter: RequestCounter; readonly readAtMs: number };

/** The caller of a customer's call. */
export type Customer = { readonly sessionId: string; readonly client: CountedClient | undefined };

/** The session of a customer's call, as its merchant is charged. */
export type ChargedSession = { readonly merchantId: string; readonly isSubmitted: boolean };

/** Every bucket that this process has counted in recently. */
export class RequestLimits {
  readonly #parts: RequestLimitsParts;
  /** By name and merchant; ordered by the last count. */
  readonly #buckets = new Map<string, RequestCounter>();
  /** The bucket in which a key's hash or a session id was last counted, or will be, and when that was read. */
  readonly #byCredential = new Map<string, Counted>();
  readonly #sessions = new CallerCounts(customerLimits.session);
  readonly #clients = new ClientCounts(customerLimits);
  readonly #returns = new CallerCounts(customerLimits.return);
  readonly #notifications = new CallerCounts(customerLimits.notification);
  readonly #connections = new Map<string, true>();

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
    if (counted !== undefined && refusal !== undefined) this.#judge(counted, refusal, setLimitHeaders);
  }

  /** Counts a request of an authenticated backend. Throws `rate_limited` if its merchant has none left. */
  async count(credential: string, merchantId: string, setLimitHeaders: SetLimitHeaders): Promise<void> {
    const counted = this.#remember(credential, { merchantId, name: "api" });
    this.#judge(counted, await counted.counter.count(), setLimitHeaders);
  }

  /** Remembers the merchant of a session that was just created, so that its customer's first call need not read it. */
  expectCustomer(sessionId: string, merchantId: string): void {
    this.#remember(sessionId, { merchantId, name: "checkout" });
  }

  /** Remembers that a session was submitted: customers who wait for an outcome have a share of their own. */
  noteSubmitted(sessionId: string, merchantId: string): void {
    this.#remember(sessionId, { merchantId, name: "submitted" });
  }

  /**
   * Charges the merchant for a customer's call, before the first query of the call; `find` is the query that finds out
   * whom to charge. While more customers call than the merchant's limit admits they wait, in a fair order. Throws
   * `rate_limited` for a call that has no turn.
   */
  async charge(
    { sessionId, client }: Customer,
    find: () => Promise<ChargedSession | undefined>,
    setLimitHeaders: SetLimitHeaders,
  ): Promise<void> {
    const known = this.#byCredential.get(sessionId);
    const isKnown = known !== undefined && !this.#mayBeSubmitted(known);
    const found = isKnown ? undefined : await find();
    if (!isKnown && found === undefined) return;
    const counted = found
      ? this.#remember(sessionId, { merchantId: found.merchantId, name: found.isSubmitted ? "submitted" : "checkout" })
      : this.#remember(sessionId, known!, known!.readAtMs);
    const caller: Caller = { network: client?.network, session: sessionId };
    this.#judge(counted, await counted.counter.count(caller), setLimitHeaders);
  }

  #mayBeSubmitted({ name, counter, readAtMs }: Counted): boolean {
    const nowMs = this.#parts.nowMs();
    return name === "checkout" && nowMs - readAtMs >= unsubmittedForMs && counter.isContended(nowMs);
  }

  #remember(credential: string, { name, merchantId }: Bucket, readAtMs = this.#parts.nowMs()): Counted {
    const key = `${name} ${merchantId}`;
    const counter = this.#buckets.get(key) ?? this.#counterOf({ name, merchantId });
    keepNewest(this.#buckets, [key, counter], requestBucketsMax);
    const counted = { name, merchantId, counter, readAtMs };
    keepNewest(this.#byCredential, [credential, counted], requestCredentialsMax);
    return counted;
  }

  /** Counts a customer's call for its session, and for its client if the session admits it. Throws `rate_limited`. */
  countCustomer({ sessionId, client }: Customer, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#sessions.count(sessionId, this.#parts.nowMs());
    judge("session", customerLimits.session, verdict, setLimitHeaders);
    this.countClient(client, setLimitHeaders);
  }

  /** Counts a request for its address and network, if they are known. Throws `rate_limited`. */
  countClient(client: CountedClient | undefined, setLimitHeaders: SetLimitHeaders): void {
    if (client === undefined) return;
    const { name, limit, verdict } = this.#clients.count(client, this.#parts.nowMs());
    judge(name, limit, verdict, setLimitHeaders);
  }

  /**
   * Counts a customer's return with a token of ours, for the token alone: a bank sends the customer once, and a refusal
   * for the calls of others behind the address would fail the authentication. Throws `rate_limited`.
   */
  countReturn(token: string, setLimitHeaders: SetLimitHeaders): void {
    const verdict = this.#returns.count(token, this.#parts.nowMs());
    judge("return", customerLimits.return, verdict, setLimitHeaders);
  }

  /**
   * Counts a gateway's notification for its connection, and for the caller's address too until one was accepted: a
   * gateway's addresses send those of all merchants. Throws `rate_limited`; gateways send again.
   */
  countNotification(connectionId: string, client: CountedClient | undefined, setLimitHeaders: SetLimitHeaders): void {
    if (!this.#connections.has(connectionId)) this.countClient(client, setLimitHeaders);
    const verdict = this.#notifications.count(connectionId, this.#parts.nowMs());
    judge("notification", customerLimits.notification, verdict, setLimitHeaders);
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
      // A backend is one caller, with nobody to be fair to.
      pause: waits[bucket.name] ? pause : undefined,
    });
  }

  #judge({ name }: Bucket, verdict: Verdict, setLimitHeaders: SetLimitHeaders): void {
    judge(name, this.#parts.limit, verdict, setLimitHeaders);
  }
}

const waits: Readonly<Record<BucketName, boolean>> = { api: false, checkout: true, submitted: true };

/** Sets the fields of what is left; throws `rate_limited` if nothing is. */
function judge(name: CountedName, limit: RequestLimit, verdict: Verdict, setLimitHeaders: SetLimitHeaders): void {
  setLimitHeaders(limitFields(name, limit, verdict));
  if (verdict.admitted) return;
  throw new DomainError("rate_limited", "There were too many requests; repeat this one after the given time.", {
    retryAfterMs: verdict.waitMs,
  });
}
