/** A process that counts requests as an edge does, at full speed. Its parent sets start and duration. */
import { setImmediate } from "node:timers/promises";
import { Pool } from "pg";
import { type Bucket, takeRequests } from "../../../edge/request-limits/request-limits.ts";
import { Database } from "../../../platform/database.ts";
import { RequestCounter, type RequestLimit } from "../../../platform/request-counter.ts";

/** The message of the parent, once the process has reported that it is ready. */
export type CountingOrder = { databaseUrl: string; bucket: Bucket; limit: RequestLimit; durationMs: number };

/** The answer of the process before it ends. */
export type CountingResult = { requests: number; admitted: number; statements: number };

async function count({ databaseUrl, bucket, limit, durationMs }: CountingOrder): Promise<CountingResult> {
  const database = new Database(new Pool({ connectionString: databaseUrl, max: 2, pipeline: true }));
  const result = { requests: 0, admitted: 0, statements: 0 };
  const counter = new RequestCounter({
    limit,
    take: (wanted) => {
      result.statements++;
      return takeRequests(database, { bucket, limit, wanted });
    },
    nowMs: () => performance.now(),
    reportFailure: (error) => {
      throw error;
    },
  });
  // Connected before the time begins: a full bucket takes no refill.
  await database.pool.query("SELECT 1");
  for (const endAt = performance.now() + durationMs; performance.now() < endAt; result.requests++) {
    if ((await counter.count()).admitted) result.admitted++;
    else await setImmediate();
  }
  await database.pool.end();
  return result;
}

process.once("message", async (order: CountingOrder) => {
  process.send?.(await count(order));
  process.disconnect();
});
process.send?.("ready");
