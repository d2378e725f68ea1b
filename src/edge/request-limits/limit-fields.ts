/**
 * The limit fields of an answer: those of draft-ietf-httpapi-ratelimit-headers-11 (May 2026,
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/), and Retry-After.
 */

import type { Verdict } from "../../platform/request-counter.ts";
import type { RequestLimit } from "../../platform/request-stock.ts";
import { retryAfterSeconds } from "../error-mapping.ts";
import type { customerLimits } from "./customer-limits.ts";
import type { BucketName } from "./shared-bucket.ts";

/** Fields of an answer by name. */
export type LimitFields = Readonly<Record<string, string>>;

/** A common count: a merchant's bucket, or the calls of one caller in one process. */
export type CountedName = BucketName | keyof typeof customerLimits;

/**
 * Returns RateLimit-Policy: the bucket's size as quota `q`, and the seconds `w` in which an empty one is full again.
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
