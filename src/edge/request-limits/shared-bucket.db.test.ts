import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { setClockAhead } from "../../dev/testing/database-clock.ts";
import type { CountingOrder, CountingResult } from "../../dev/testing/edge/counting-process.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import { Database } from "../../platform/database.ts";
import { RequestCounter, type RequestLimit, stockSize } from "../../platform/request-counter.ts";
import { type Bucket, takeRequests } from "./request-limits.ts";

const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const database = new Database(new Pool({ connectionString: testDatabase.url, max: 8, pipeline: true }));
const asOwner = new Database(new Pool({ connectionString: testDatabase.ownerUrl, max: 1, pipeline: true }));
afterAll(() => Promise.all([database.pool.end(), asOwner.pool.end()]));

let bucket: Bucket;
beforeEach(async () => {
  bucket = { merchantId: randomUUID(), name: "api" };
  await setClockAhead(asOwner, 0);
});

// So slow that nothing refills while a test runs: only the burst is granted.
const slow: RequestLimit = { perSecond: 0.001, burst: 50 };

const take = (wanted: number, limit = slow, from = bucket) => takeRequests(database, { bucket: from, limit, wanted });

describe("takeRequests()", () => {
  it("grants the burst to the first caller, and then nothing", async () => {
    expect(await take(30)).toEqual({ wanted: 30, granted: 30, left: 20 });
    expect(await take(30)).toMatchObject({ granted: 20 });
    expect(await take(30)).toMatchObject({ granted: 0 });
  });

  it("grants no request twice, however many callers there are at once", async () => {
    const grants = await Promise.all(Array.from({ length: 40 }, () => take(3)));
    expect(grants.reduce((sum, { granted }) => sum + granted, 0)).toBe(50);
  });

  it("separates merchants, and a merchant's backend and customers", async () => {
    await take(50);
    expect(await take(5, slow, { ...bucket, name: "checkout" })).toMatchObject({ granted: 5 });
    expect(await take(5, slow, { ...bucket, merchantId: randomUUID() })).toMatchObject({ granted: 5 });
  });

  it("refills by the database's clock, to the burst and not beyond", async () => {
    const inHours = { perSecond: 0.005, burst: 50 };
    await take(50, inHours);
    await setClockAhead(asOwner, 100);
    expect(await take(50, inHours)).toMatchObject({ granted: 30 });
    await setClockAhead(asOwner, 6_000);
    expect(await take(50, inHours)).toMatchObject({ granted: 50 });
    expect(await take(50, inHours)).toMatchObject({ granted: 0 });
  });

  it("blocks no merchant after a clock was set back", async () => {
    await setClockAhead(asOwner, 600);
    await take(50, { perSecond: 1_000, burst: 50 });
    await setClockAhead(asOwner, 0);
    expect(await take(1, { perSecond: 1_000, burst: 50 })).toEqual({ wanted: 1, granted: 0, left: 0 });
    await database.query({ name: "wait", text: "SELECT pg_sleep(0.1)" }, []);
    expect(await take(50, { perSecond: 1_000, burst: 50 })).toMatchObject({ granted: 50 });
  });

  it("reports what is left to the fraction, so that a wait can be computed", async () => {
    const { left } = await take(50, { perSecond: 0.001, burst: 50 });
    expect(left).toBeCloseTo(0, 2);
  });
});

describe("several counters on one bucket", () => {
  // Each has memory of its own, like a process; they share only the database.
  const processes = 5;

  function openCounters(limit: RequestLimit): { counters: RequestCounter[]; statements: () => number } {
    let statements = 0;
    const counters = Array.from({ length: processes }, () => {
      const takeCounted = (wanted: number) => {
        statements++;
        return take(wanted, limit);
      };
      return new RequestCounter({
        limit,
        take: takeCounted,
        nowMs: () => performance.now(),
        reportFailure: (error) => expect.unreachable(String(error)),
      });
    });
    return { counters, statements: () => statements };
  }

  it("admit exactly the burst when each requests more than it at once", async () => {
    const { counters } = openCounters({ perSecond: 0.001, burst: 200 });
    const verdicts = await Promise.all(
      Array.from({ length: 1_000 }, (_, request) => counters[request % processes]!.count()),
    );
    expect(verdicts.filter(({ admitted }) => admitted).length).toBe(200);
  });

  it("admit burst and refill less what the bucket and they hold, with under a tenth of the statements", async () => {
    // So few that a busy machine, too, requests far more than they admit.
    const limit = { perSecond: 100, burst: 50 };
    const { counters, statements } = openCounters(limit);
    const startedAt = performance.now();
    let admitted = 0;
    let requests = 0;
    for (let elapsedMs = 0; elapsedMs < 1_500; elapsedMs = performance.now() - startedAt) {
      const verdicts = await Promise.all(counters.map((counter) => counter.count()));
      requests += verdicts.length;
      admitted += verdicts.filter((verdict) => verdict.admitted).length;
      await new Promise(setImmediate);
    }
    const allowed = limit.burst + (limit.perSecond * (performance.now() - startedAt)) / 1000;
    expect(admitted).toBeGreaterThan(limit.burst);
    // On a busy machine they ask late: what they could have had is still in the bucket.
    const { granted, left } = await take(1, limit);
    expect(admitted).toBeLessThanOrEqual(allowed);
    expect(admitted).toBeGreaterThanOrEqual(allowed - left - granted - (processes + 1) * stockSize(limit));
    expect(requests).toBeGreaterThan(2 * admitted);
    expect(statements()).toBeLessThan(requests / 10);
  });
});

describe("several processes on one bucket", () => {
  it("admit no more than burst and refill together, and at most what they hold and wait for less", async () => {
    const limit = { perSecond: 300, burst: 150 };
    const durationMs = 1_000;
    const file = join(import.meta.dirname, "../../dev/testing/edge/counting-process.ts");
    const children = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = fork(file);
        await once(child, "message");
        return child;
      }),
    );
    const order: CountingOrder = { databaseUrl: testDatabase.url, bucket, limit, durationMs };
    const startedAt = performance.now();
    const results = await Promise.all(
      children.map(async (child) => {
        child.send(order);
        const [[result]] = await Promise.all([once(child, "message"), once(child, "exit")]);
        return result as CountingResult;
      }),
    );
    const elapsedMs = performance.now() - startedAt;
    const sum = (member: keyof CountingResult) => results.reduce((total, result) => total + result[member], 0);
    const allowed = (ms: number) => limit.burst + (limit.perSecond * ms) / 1000;
    expect(sum("admitted")).toBeLessThanOrEqual(allowed(elapsedMs));
    // On a busy machine they ask late: what they could have had is still in the bucket.
    const { granted, left } = await take(1, limit);
    expect(sum("admitted")).toBeGreaterThanOrEqual(
      allowed(durationMs) - left - granted - (children.length + 1) * stockSize(limit),
    );
    expect(sum("statements")).toBeLessThan(sum("admitted") / 3);
    expect(sum("requests")).toBeGreaterThan(10 * sum("admitted"));
  });
});
