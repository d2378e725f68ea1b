/** The buckets in the environment's database, from which every process takes the requests that it admits. */
import type { Queryable, Statement } from "../../platform/database.ts";
import type { Grant, RequestLimit } from "../../platform/request-stock.ts";

/**
 * The counted party: a merchant's backend, its customers before they submit, or those who have submitted. None can use
 * up another's share.
 */
export type BucketName = "api" | "checkout" | "submitted";

/** One merchant's bucket in this environment. */
export type Bucket = { readonly merchantId: string; readonly name: BucketName };

// A token bucket stored as one time: what is missing from it is what refills until `full_at`. The clock is read once
// for a row that is locked, so that no two processes get the same refill; spans are rounded up, so that none is granted
// twice. What is missing never exceeds the burst: a clock that was set back, or a smaller burst, blocks no merchant.
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
  const values = [bucket.merchantId, bucket.name, limit.perSecond, limit.burst, wanted];
  const [row] = await queryable.query<{ granted: number; left: number }>(takeFromBucket, values);
  if (row === undefined) throw new Error("a bucket gave no answer");
  return { wanted, ...row };
}
