import { beforeEach, describe, expect, it } from "vitest";
import { requestBucketsMax, requestCredentialsMax } from "../../limits.ts";
import { limitFields, policyField, RequestLimits } from "./request-limits.ts";

const limit = { perSecond: 100, burst: 200 };

let requested: string[];
beforeEach(() => {
  requested = [];
});

/** Opens limits whose shared buckets are always full. */
function openLimits(): RequestLimits {
  return new RequestLimits({
    limit,
    take: async ({ merchantId }, wanted) => {
      requested.push(merchantId);
      return { wanted, granted: wanted, left: limit.burst - wanted };
    },
    nowMs: () => 0,
    pause: () => expect.unreachable(),
    reportFailure: (error) => expect.unreachable(String(error)),
  });
}

const ignore = () => {};

describe("RequestLimits", () => {
  it("remembers a bounded number of buckets, and forgets the one that was idle for longest", async () => {
    const limits = openLimits();
    for (let merchant = 0; merchant < requestBucketsMax; merchant++) {
      await limits.count(`key ${merchant}`, { merchantId: `mer ${merchant}` }, ignore);
    }
    await limits.count("key 0", { merchantId: "mer 0" }, ignore);
    await limits.count("key new", { merchantId: "mer new" }, ignore);
    requested = [];
    await limits.count("key 0", { merchantId: "mer 0" }, ignore);
    expect(requested).toEqual([]);
    await limits.count("key 1", { merchantId: "mer 1" }, ignore);
    expect(requested).toEqual(["mer 1"]);
  });

  it("remembers a bounded number of credentials", async () => {
    const limits = openLimits();
    for (let session = 0; session <= requestCredentialsMax; session++) limits.expectCustomer(`ps ${session}`, "mer");
    const found: string[] = [];
    for (const sessionId of ["ps 1", "ps 0"]) {
      const find = async () => {
        found.push(sessionId);
        return { merchantId: "mer", isSubmitted: false };
      };
      await limits.charge({ sessionId, client: undefined }, find, ignore);
    }
    expect(found).toEqual(["ps 0"]);
  });
});

describe("limitFields()", () => {
  const verdict = { admitted: true, counted: true, remaining: 137, waitMs: 0 };

  it("reports quota and window, and what is left of it", () => {
    expect(policyField("api", { perSecond: 100, burst: 250 })).toBe('"api";q=250;w=3');
    expect(limitFields("api", limit, verdict)).toEqual({
      "RateLimit-Policy": '"api";q=200;w=2',
      RateLimit: '"api";r=137;t=1',
    });
  });

  it("reports when to retry to a refused caller, in whole seconds of at least 1", () => {
    const refused = (waitMs: number) => limitFields("checkout", limit, { ...verdict, admitted: false, waitMs });
    expect(refused(3)["Retry-After"]).toBe("1");
    expect(refused(1_001)["Retry-After"]).toBe("2");
  });

  it("reports nothing for a request that was not counted", () => {
    expect(limitFields("api", limit, { ...verdict, counted: false })).toEqual({});
  });
});
