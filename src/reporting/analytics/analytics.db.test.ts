import { Client } from "pg";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { openTestDatabase } from "../../dev/testing/postgres.ts";
import { type AskedRange, cutRange, periodBefore } from "./analytics-range.ts";
import { countSettledOnce } from "./count-settled.ts";
import { countedMinutes, timeAtBankUnit } from "./counted-facts.ts";
import { asked, capturedLater, oneOfEach, provided } from "./every-ending.fixture.ts";
import { percentileMs } from "./latency-histogram.ts";
import { loadArms, loadCounts } from "./load-counts.ts";
import { forgetCounts, type SettledRow, storeSettled } from "./settled-rows.fixture.ts";

const { url, owner, database } = await forFile(openTestDatabase);
let merchantId: string;
beforeEach(() => {
  merchantId = v7();
});

const store = (...rows: SettledRow[]) => storeSettled(owner, merchantId, rows);
const recount = async () => {
  await forgetCounts(owner);
  await countSettledOnce(database);
};
async function counts(asked: AskedRange, currency?: string) {
  const range = await cutRange(database, asked);
  return { range, ...(await loadCounts(database, { merchantId, range, currency })) };
}
/** Returns the number of successful payments by the start of their point; points without any are left out. */
async function succeededBy(asked: AskedRange) {
  const { range, payments } = await counts(asked);
  const found = payments.map((row) => [range.startsAt[row.point]!.toISOString().slice(0, 16), row.succeeded] as const);
  return Object.fromEntries(found.toSorted());
}
const paid = (settledAt: string): SettledRow => ({ settledAt, attempts: [{ gateway: "A", status: "CAPTURED" }] });
const utc = (firstDay: string, lastDay = firstDay) => ({ firstDay, lastDay, timeZone: "UTC" });

const zeros = (...counts: string[]) => Object.fromEntries(counts.map((count) => [count, 0]));
const noPayments = {
  ...zeros("released", "declined", "degraded", "expired", "challenged", "challengedAgain"),
  ...zeros("authenticated", "savedAuthenticated"),
  point: 12,
  issuerMinor: 0n,
};
const noAttempts = {
  ...zeros("hardDeclined", "fraudDeclined", "timeouts", "authenticationRequired", "recovered"),
  point: 12,
};
const noAuthentications = {
  ...zeros("passed", "failed", "cancelled", "abandoned", "unavailable", "exempted", "frictionless"),
  ...zeros("issuerLiable", "neverShown"),
  point: 12,
};

// Every count is tested twice: from the payments themselves, and from stored counts.
describe.each([
  ["counted on demand", async () => {}],
  ["counted in advance", recount],
])("payments that are %s", (_name, prepare) => {
  it("add up to sums that were computed by hand", async () => {
    await store(...oneOfEach);
    await prepare();
    const found = await counts(utc("2026-03-10"));
    const bare = ({ latency, ...row }: (typeof found.payments)[number]) => ({ ...row, timed: sum(latency) });
    expect(found.payments.map(bare).toSorted((one, other) => (one.currency < other.currency ? -1 : 1))).toEqual([
      {
        ...noPayments,
        currency: "EUR",
        succeeded: 2,
        declined: 2,
        degraded: 1,
        expired: 1,
        saved: 1,
        timed: 5,
        volumeMinor: 3500n,
        savedMinor: 2500n,
      },
      { ...noPayments, currency: "USD", succeeded: 1, saved: 1, timed: 1, volumeMinor: 700n, savedMinor: 700n },
    ]);
    const attempts = found.attempts.map(({ latency, ...row }) => ({ ...row, timed: sum(latency) }));
    expect(attempts.toSorted((one, other) => (one.gateway < other.gateway ? -1 : 1))).toEqual([
      {
        ...noAttempts,
        gateway: "A",
        approved: 1,
        hardDeclined: 1,
        softDeclined: 1,
        fraudDeclined: 1,
        timeouts: 1,
        gatewayErrors: 1,
        unknown: 1,
        timed: 6,
      },
      { ...noAttempts, gateway: "B", approved: 2, softDeclined: 1, gatewayErrors: 1, unknown: 1, timed: 4 },
    ]);
    expect(found.declines).toHaveLength(4);
    expect(found.declines).toContainEqual({ point: 12, gateway: "B", declineCode: "insufficient_funds", attempts: 1 });
    const dollars = await counts(utc("2026-03-10"), "USD");
    expect(dollars.attempts.map(({ gateway, timeouts }) => [gateway, timeouts]).toSorted()).toEqual([
      ["A", 1],
      ["B", 0],
    ]);
    expect(dollars.declines).toEqual([]);
  });

  it("count each authentication by its one end, and a customer who did not authenticate as a decline", async () => {
    await store(...asked);
    await prepare();
    const { payments, attempts, authentications, declines } = await counts(utc("2026-03-10"));
    expect(payments).toMatchObject([{ succeeded: 3, declined: 3, challenged: 6 }]);
    // A minute of each is the customer's.
    expect(percentileMs(payments[0]!.latency, 1)! / 5_000).toBeCloseTo(1, 0);
    const found = authentications.map(({ latency, ...row }) => ({ ...row, timed: sum(latency) }));
    expect(found.toSorted((one, other) => (one.gateway < other.gateway ? -1 : 1))).toEqual([
      { ...noAuthentications, gateway: "A", passed: 2, failed: 1, timed: 3 },
      { ...noAuthentications, gateway: "B", cancelled: 1, abandoned: 1, unavailable: 1, neverShown: 1, timed: 1 },
    ]);
    const ofA = authentications.find(({ gateway }) => gateway === "A")!;
    expect((percentileMs(ofA.latency, 1)! * timeAtBankUnit) / 40_000).toBeCloseTo(1, 0);
    expect(attempts.map(({ gateway, approved, softDeclined }) => [gateway, approved, softDeclined]).toSorted()).toEqual(
      [
        ["A", 2, 4],
        ["B", 1, 2],
      ],
    );
    expect(attempts.find(({ gateway }) => gateway === "A")).toMatchObject({ authenticationRequired: 3, recovered: 1 });
    const codes = declines.map(({ gateway, declineCode, attempts: of }) => [gateway, declineCode, of]);
    expect(codes.toSorted()).toEqual([
      ["A", "authentication_failed", 1],
      ["A", "authentication_required", 3],
      ["B", "authentication_failed", 2],
    ]);
  });

  it("count authentications at a provider, what they saved and for which money the issuer is liable", async () => {
    await store(...provided);
    await prepare();
    const { payments, authentications } = await counts(utc("2026-03-10"));
    expect(payments).toMatchObject([
      {
        succeeded: 3,
        declined: 1,
        saved: 1,
        challenged: 2,
        challengedAgain: 0,
        authenticated: 2,
        savedAuthenticated: 1,
        volumeMinor: 300n,
        issuerMinor: 100n,
      },
    ]);
    // Forty seconds of the slowest are the customer's, and three the provider's.
    expect(percentileMs(payments[0]!.latency, 1)! / 20_000).toBeCloseTo(1, 0);
    const [only, ...others] = authentications;
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      gateway: "SANDBOX_3DS",
      passed: 2,
      exempted: 1,
      failed: 1,
      frictionless: 2,
      neverShown: 0,
      issuerLiable: 2,
    });
    expect((percentileMs(only!.latency, 1)! * timeAtBankUnit) / 40_000).toBeCloseTo(1, 0);
  });

  it("count a hold that was cancelled or expired as approved, and never as declined or captured", async () => {
    await store(...capturedLater.map((row) => ({ ...row, followed: { arm: "B", ruleVersion: 1 } as const })));
    await prepare();
    const { payments, attempts, declines, cards, range } = await counts({ ...utc("2026-03-10"), pointLength: "day" });
    const ends = { succeeded: 1, released: 2, declined: 1, degraded: 0, saved: 0 };
    expect(payments).toMatchObject([{ ...ends, volumeMinor: 900n, savedMinor: 0n }]);
    expect(attempts.map(({ gateway, approved, hardDeclined }) => [gateway, approved, hardDeclined]).toSorted()).toEqual(
      [
        ["A", 2, 2],
        ["B", 1, 0],
      ],
    );
    expect(declines).toEqual([{ point: 0, gateway: "A", declineCode: "card_declined", attempts: 2 }]);
    expect(cards).toMatchObject([ends, ends]);
    expect((await loadArms(database, { merchantId, range })).arms).toMatchObject([{ ...ends, arm: "B" }]);
  });

  it("add up to the payments by the brand and the issuing country of their cards, in each point and currency", async () => {
    const cards = [{ brand: "visa", country: "DE" }, { brand: "mastercard" }, {}, { brand: "visa", country: "FR" }];
    const days = ["2026-03-10", "2026-03-11"];
    const rows = [...oneOfEach, ...asked, ...provided, ...capturedLater].flatMap((row) =>
      days.map((day, index) => ({ ...row, settledAt: `${day}T0${index}:00:00Z` })),
    );
    await store(...rows.map((row, index) => ({ ...row, card: cards[index % cards.length]! })));
    await prepare();
    for (const currency of [undefined, "USD"]) {
      const found = await counts(utc("2026-03-10", "2026-03-11"), currency);
      const payments = found.payments.filter((row) => currency === undefined || row.currency === currency);
      const ends = ["succeeded", "released", "declined", "degraded", "saved"] as const;
      const sums = (of: readonly (Readonly<Record<(typeof ends)[number], number>> & { readonly point: number })[]) =>
        Object.fromEntries(
          [...Map.groupBy(of, ({ point }) => point)].map(([point, each]) => [
            point,
            ends.map((end) => sum(each.map((row) => row[end]))),
          ]),
        );
      for (const known of ["BRAND", "COUNTRY"]) {
        expect(sums(found.cards.filter(({ fact }) => fact === known))).toEqual(sums(payments));
      }
    }
    const { cards: all } = await counts(utc("2026-03-10", "2026-03-11"));
    const keys = new Set(all.map(({ fact, value }) => `${fact} ${value}`));
    const [brands, countries] = [
      ["BRAND ", "BRAND mastercard", "BRAND visa"],
      ["COUNTRY ", "COUNTRY DE", "COUNTRY FR"],
    ];
    expect([...keys].toSorted()).toEqual([...brands, ...countries]);
  });

  it("fall into the days of Berlin, of which one has 23 hours and one 25", async () => {
    // 2026-03-29 begins at 23:00Z and ends at 22:00Z; 2026-10-25 begins at 22:00Z and ends at 23:00Z.
    await store(...["03-28T22:59", "03-28T23:00", "03-29T21:59", "03-29T22:00"].map((at) => paid(`2026-${at}:00Z`)));
    await store(...["10-24T21:59", "10-24T22:00", "10-25T22:59", "10-25T23:00"].map((at) => paid(`2026-${at}:00Z`)));
    await prepare();
    const days = (firstDay: string, lastDay: string) =>
      succeededBy({ firstDay, lastDay, timeZone: "Europe/Berlin", pointLength: "day" });
    expect(await days("2026-03-28", "2026-03-30")).toEqual({
      "2026-03-27T23:00": 1,
      "2026-03-28T23:00": 2,
      "2026-03-29T22:00": 1,
    });
    expect(await days("2026-10-24", "2026-10-26")).toEqual({
      "2026-10-23T22:00": 1,
      "2026-10-24T22:00": 2,
      "2026-10-25T23:00": 1,
    });
  });

  it("keep apart the two equal hours of New York at the end of summer", async () => {
    // 01:30 occurs twice on 2026-11-01: at 05:30Z and at 06:30Z.
    await store(...["05:30", "06:30", "06:59", "07:00"].map((at) => paid(`2026-11-01T${at}:00Z`)));
    await prepare();
    const asked = { firstDay: "2026-11-01", lastDay: "2026-11-01", timeZone: "America/New_York" } as const;
    expect(await succeededBy({ ...asked, pointLength: "hour" })).toEqual({
      "2026-11-01T05:00": 1,
      "2026-11-01T06:00": 2,
      "2026-11-01T07:00": 1,
    });
    expect((await cutRange(database, { ...asked, pointLength: "hour" })).startsAt).toHaveLength(25);
  });

  it("fall into the days and hours of Kolkata, which begin half past an hour, and of Kathmandu", async () => {
    await store(...["18:29", "18:30", "18:44", "18:45", "19:29", "19:30"].map((at) => paid(`2026-05-04T${at}:59Z`)));
    await prepare();
    const days = (timeZone: string) =>
      succeededBy({ firstDay: "2026-05-04", lastDay: "2026-05-05", timeZone, pointLength: "day" });
    expect(await days("Asia/Kolkata")).toEqual({ "2026-05-03T18:30": 1, "2026-05-04T18:30": 5 });
    expect(await days("Asia/Kathmandu")).toEqual({ "2026-05-04T18:15": 6 });
    const asked = { firstDay: "2026-05-05", lastDay: "2026-05-05", timeZone: "Asia/Kolkata" } as const;
    expect(await succeededBy({ ...asked, pointLength: "hour" })).toEqual({
      "2026-05-04T18:30": 4,
      "2026-05-04T19:30": 1,
    });
  });

  it("fall into the days of Kiritimati, 14 hours before UTC", async () => {
    await store(...["09:59", "10:00"].map((at) => paid(`2026-05-04T${at}:00Z`)));
    await prepare();
    const asked = { firstDay: "2026-05-04", lastDay: "2026-05-05", timeZone: "Pacific/Kiritimati" } as const;
    expect(await succeededBy({ ...asked, pointLength: "day" })).toEqual({
      "2026-05-03T10:00": 1,
      "2026-05-04T10:00": 1,
    });
  });

  it("belong to their merchant alone, and to the range alone where a week began before it", async () => {
    await store(paid("2026-05-05T12:00:00Z"), paid("2026-05-06T12:00:00Z"), paid("2026-05-11T12:00:00Z"));
    await storeSettled(owner, v7(), [paid("2026-05-06T12:00:00Z")]);
    await prepare();
    const asked = { ...utc("2026-05-06", "2026-05-12"), pointLength: "week" } as const;
    expect(await succeededBy(asked)).toEqual({ "2026-05-06T00:00": 1, "2026-05-11T00:00": 1 });
  });
});

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0);

describe("countSettledOnce()", () => {
  it("counts each payment once, despite other workers, and leaves those of open transactions for later", async () => {
    await recount();
    const open = new Client({ connectionString: url });
    await open.connect();
    await open.query("BEGIN");
    // Settled after that transaction began, like a payment of its own.
    const now: string = (await open.query("SELECT to_json(clock_timestamp())::jsonb #>> '{}' AS now")).rows[0].now;
    await store(paid(now));
    await Promise.all([countSettledOnce(database), countSettledOnce(database)]);
    const counted = async () =>
      (await owner.query("SELECT sum(succeeded)::int AS n FROM analytics_payment WHERE merchant_id = $1", [merchantId]))
        .rows[0].n;
    expect(await counted()).toBe(null);
    const day = utc(now.slice(0, 10));
    expect(Object.values(await succeededBy(day))).toEqual([1]);
    await open.query("COMMIT");
    await open.end();
    await Promise.all([countSettledOnce(database), countSettledOnce(database)]);
    await countSettledOnce(database);
    expect(await counted()).toBe(countedMinutes.length);
    expect(Object.values(await succeededBy(day))).toEqual([1]);
  });
});

describe("periodBefore()", () => {
  const boundsBefore = async (asked: AskedRange, now: string) => {
    const range = await cutRange(database, asked);
    const { startsAt, endsAt } = await periodBefore(database, asked, { range, now: new Date(now) });
    return [...startsAt, endsAt].map((at) => at.toISOString().slice(0, 16));
  };

  it("has as many whole days as a range that is over", async () => {
    expect(await boundsBefore(utc("2026-11-20", "2026-11-26"), "2026-11-27T00:00:00Z")).toEqual([
      "2026-11-13T00:00",
      "2026-11-20T00:00",
    ]);
  });

  it("is as long as what has passed of a range, in the days of its zone", async () => {
    const week = { firstDay: "2026-11-21", lastDay: "2026-11-27", timeZone: "Asia/Kolkata" };
    // 27 November began at 18:30Z; it is 17:05 there.
    expect(await boundsBefore(week, "2026-11-27T11:35:00Z")).toEqual(["2026-11-13T18:30", "2026-11-20T11:30"]);
    // Seven days of which one has 25 hours: never longer than the days before.
    const fall = { firstDay: "2026-10-19", lastDay: "2026-10-25", timeZone: "Europe/Berlin" };
    expect(await boundsBefore(fall, "2026-10-25T22:50:00Z")).toEqual(["2026-10-11T22:00", "2026-10-18T22:00"]);
    // Noon of Monday beside noon of the Monday before, which was in summer time.
    const since = { firstDay: "2026-10-20", lastDay: "2026-10-26", timeZone: "Europe/Berlin" };
    expect(await boundsBefore(since, "2026-10-26T11:00:00Z")).toEqual(["2026-10-12T22:00", "2026-10-19T10:00"]);
    // Nothing has passed of days to come.
    expect(await boundsBefore(since, "2026-10-19T11:00:00Z")).toEqual(["2026-10-12T22:00", "2026-10-12T22:00"]);
  });
});

describe("cutRange()", () => {
  it("begins a day at the first of two midnights, and after a skipped midnight", async () => {
    const days = async (timeZone: string, firstDay: string) => {
      const { startsAt, endsAt } = await cutRange(database, { firstDay, lastDay: firstDay, timeZone });
      return [startsAt[0], endsAt].map((at) => at?.toISOString().slice(5, 16));
    };
    // Havana moves from 01:00 back to 00:00; Beirut moves from 00:00 forward to 01:00.
    expect(await days("America/Havana", "2026-11-01")).toEqual(["11-01T04:00", "11-02T05:00"]);
    expect(await days("Asia/Beirut", "2026-03-29")).toEqual(["03-28T22:00", "03-29T21:00"]);
  });

  it.each([
    ["an unknown zone", { timeZone: "Mars/Olympus" }, "timeZone"],
    ["an abbreviation", { timeZone: "PST" }, "timeZone"],
    ["a day that does not exist", { firstDay: "2026-02-30" }, "firstDay"],
    ["an end before its beginning", { lastDay: "2026-01-01" }, "lastDay"],
    ["four years", { firstDay: "2022-02-01" }, "lastDay"],
    ["more hours than fit", { firstDay: "2026-01-01", pointLength: "hour" }, "pointLength"],
  ] as const)("refuses %s", async (_what, change, param) => {
    const asked = { ...utc("2026-02-01", "2026-02-28"), ...change };
    await expect(cutRange(database, asked)).rejects.toMatchObject({
      code: "invalid_field",
      message: expect.stringMatching(`^${param} `),
      problems: [{ param }],
    });
  });
});
