/** Compares the analytics of random payments with sums over the payments themselves. */
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { openTestDatabase } from "../../dev/testing/postgres.ts";
import { type AskedRange, cutRange, type PointLength } from "./analytics-range.ts";
import { countSettledOnce } from "./count-settled.ts";
import { loadArms, loadCounts } from "./load-counts.ts";
import { forgetCounts, type SettledRow, storeSettled } from "./settled-rows.fixture.ts";

const { owner, database } = await forFile(openTestDatabase);

// Mulberry32: the same payments in every run.
function seeded(seed: number) {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(random() * count);
  return { below, oneOf: <Value>(values: readonly Value[]): Value => values[below(values.length)]! };
}

// A fortnight in which the clocks of Berlin and Havana go back and those of Sydney have gone forward.
const begin = Date.parse("2026-10-20T00:00:00Z");
const end = Date.parse("2026-11-04T00:00:00Z");
// In the middle of a stretch of each length.
const countedUntil = Date.parse("2026-10-29T13:07:31Z");

const declined = [
  { status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined" },
  { status: "DECLINED", kind: "SOFT_DECLINE", code: "insufficient_funds" },
  { status: "FAILED", kind: "GATEWAY_ERROR" },
  { status: "VOIDED", kind: "TIMEOUT" },
] as const;

function randomPayment({ below, oneOf }: ReturnType<typeof seeded>, from: number, to: number): SettledRow {
  const settledAt = new Date(from + below(to - from)).toISOString();
  const status = oneOf(["SUCCEEDED", "SUCCEEDED", "DECLINED", "RELEASED", "DEGRADED", "EXPIRED"] as const);
  const currency = oneOf(["EUR", "JPY", "KWD"]);
  if (status === "EXPIRED") return { settledAt, status, currency, attempts: [] };
  const failed = Array.from({ length: below(3) }, (_, index) => ({ gateway: "ABC"[index]!, ...oneOf(declined) }));
  const last = { gateway: "D", status: status === "SUCCEEDED" ? "CAPTURED" : "VOIDED" } as const;
  const isApproved = status === "SUCCEEDED" || status === "RELEASED";
  const arm = oneOf(["A", "B", undefined] as const);
  return {
    settledAt,
    currency,
    amountMinor: 1 + below(1_000_000_000_000),
    ...(status === "RELEASED"
      ? { status: "DECLINED", declineCode: oneOf(["capture_cancelled", "capture_expired"]) }
      : { status }),
    card: { ...oneOf([{}, { brand: "visa" }, { brand: "amex" }]), ...oneOf([{}, { country: "DK" }]) },
    ...(arm && { followed: { arm, ruleVersion: 1 + below(2), case: oneOf(["Large", "Small"]) } }),
    attempts: [...failed, ...(isApproved ? [last] : [])],
  };
}

/** Returns the start of the point of a moment, by the calendar that JavaScript has. */
function pointOf(at: number, timeZone: string, length: PointLength): string {
  const local = new Date(at).toLocaleString("sv-SE", { timeZone });
  if (length === "day") return local.slice(0, 10);
  if (length === "hour") {
    const offset = Date.parse(`${local.replace(" ", "T")}Z`) - Math.floor(at / 1_000) * 1_000;
    const hourMs = 60 * 60_000;
    return new Date(Math.floor((at + offset) / hourMs) * hourMs - offset).toISOString();
  }
  const day = new Date(`${local.slice(0, 10)}T00:00:00Z`);
  return new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
}

type Sums = Record<string, bigint>;
function add(sums: Sums, key: string, by: number | bigint = 1): void {
  if (by) sums[key] = (sums[key] ?? 0n) + BigInt(by);
}

const isReleased = ({ declineCode }: SettledRow) => declineCode !== undefined;
const outcomeOf = (row: SettledRow) => (isReleased(row) ? "released" : (row.status ?? "SUCCEEDED").toLowerCase());

function sumRows(rows: readonly SettledRow[], pointOfRow: (row: SettledRow) => string): Sums {
  const sums: Sums = {};
  for (const row of rows) {
    const { currency = "", attempts, card, followed, amountMinor = 0 } = row;
    const [point, outcome] = [pointOfRow(row), outcomeOf(row)];
    const isSaved = outcome === "succeeded" && attempts.length > 1;
    const keys = [`payment ${point} ${currency}`];
    if (outcome !== "expired")
      keys.push(`BRAND ${point} ${card?.brand ?? ""}`, `COUNTRY ${point} ${card?.country ?? ""}`);
    if (followed) keys.push(`arm ${followed.ruleVersion} ${followed.case} ${followed.arm}`);
    for (const key of keys) {
      add(sums, `${key} ${outcome}`);
      if (isSaved) add(sums, `${key} saved`);
    }
    if (outcome === "succeeded") add(sums, `payment ${point} ${currency} volume`, amountMinor);
    if (isSaved) add(sums, `payment ${point} ${currency} money saved`, amountMinor);
    for (const { gateway, kind, code, status } of attempts) {
      add(sums, `attempt ${point} ${gateway} ${kind ?? "approved"}`);
      if (code) add(sums, `decline ${point} ${gateway} ${code}`);
      if (!followed) continue;
      const cost = `cost ${followed.ruleVersion} ${followed.case} ${followed.arm} ${gateway} ${currency}`;
      add(sums, `${cost} attempts`);
      if (status === "VOIDED") add(sums, `${cost} voided`);
      if (status === "CAPTURED") add(sums, `${cost} captured`, amountMinor);
    }
  }
  return sums;
}

async function sumAnalytics(merchantId: string, asked: AskedRange, currency: string | undefined): Promise<Sums> {
  const range = await cutRange(database, asked);
  const [counts, split] = await Promise.all([
    loadCounts(database, { merchantId, range, currency }),
    loadArms(database, { merchantId, range, currency }),
  ]);
  const sums: Sums = {};
  const at = (point: number) => pointOf(range.startsAt[point]!.getTime(), asked.timeZone, range.pointLength);
  const outcomes = ["succeeded", "released", "declined", "degraded", "saved"] as const;
  for (const row of counts.payments.filter((row) => currency === undefined || row.currency === currency)) {
    const key = `payment ${at(row.point)} ${row.currency}`;
    for (const name of [...outcomes, "expired"] as const) add(sums, `${key} ${name}`, row[name]);
    add(sums, `${key} volume`, row.volumeMinor);
    add(sums, `${key} money saved`, row.savedMinor);
  }
  for (const row of counts.cards)
    for (const name of outcomes) add(sums, `${row.fact} ${at(row.point)} ${row.value} ${name}`, row[name]);
  for (const row of counts.attempts) {
    const kinds = {
      approved: row.approved,
      HARD_DECLINE: row.hardDeclined,
      SOFT_DECLINE: row.softDeclined,
      TIMEOUT: row.timeouts,
      GATEWAY_ERROR: row.gatewayErrors,
    };
    for (const [kind, count] of Object.entries(kinds))
      add(sums, `attempt ${at(row.point)} ${row.gateway} ${kind}`, count);
  }
  for (const row of counts.declines)
    add(sums, `decline ${at(row.point)} ${row.gateway} ${row.declineCode}`, row.attempts);
  for (const row of split.arms)
    for (const name of outcomes) add(sums, `arm ${row.ruleVersion} ${row.caseName} ${row.arm} ${name}`, row[name]);
  for (const row of split.costs) {
    const key = `cost ${row.ruleVersion} ${row.caseName} ${row.arm} ${row.gateway} ${row.currency}`;
    add(sums, `${key} attempts`, row.attempts);
    add(sums, `${key} voided`, row.voided);
    add(sums, `${key} captured`, row.capturedMinor);
  }
  return sums;
}

it("random payments add up to themselves: in every zone, point and currency, counted in advance or on demand", async () => {
  const random = seeded(7);
  const merchantId = v7();
  const early = Array.from({ length: 90 }, () => randomPayment(random, begin, countedUntil));
  const late = Array.from({ length: 60 }, () => randomPayment(random, countedUntil, end));
  await storeSettled(owner, merchantId, early);
  await forgetCounts(owner);
  await countSettledOnce(database);
  // The later ones are read from their own rows.
  await owner.query("UPDATE analytics_walk SET counted_until = $1", [new Date(countedUntil)]);
  await storeSettled(owner, merchantId, late);
  const compare = async (asked: AskedRange, currency?: string) => {
    const { timeZone, pointLength = "day" } = asked;
    const dayOf = (row: SettledRow) => pointOf(Date.parse(row.settledAt), timeZone, "day");
    const within = [...early, ...late].filter(
      (row) =>
        (currency === undefined || row.currency === currency) &&
        dayOf(row) >= asked.firstDay &&
        dayOf(row) <= asked.lastDay,
    );
    const expected = sumRows(within, ({ settledAt }) => pointOf(Date.parse(settledAt), timeZone, pointLength));
    expect(Object.keys(expected).length, JSON.stringify(asked)).toBeGreaterThan(10);
    expect(await sumAnalytics(merchantId, asked, currency), JSON.stringify(asked)).toEqual(expected);
  };
  const zones = ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati"];
  const days = (first: number, last: number) => {
    const dayOf = (number: number) => new Date(begin + number * 86_400_000).toISOString().slice(0, 10);
    return { firstDay: dayOf(first), lastDay: dayOf(last) };
  };
  for (const timeZone of zones) {
    for (const pointLength of ["hour", "day", "week"] as const) {
      const first = random.below(7);
      await compare({ ...days(first, first + 6 + random.below(3)), timeZone, pointLength });
      await compare(
        { ...days(first, first + 6 + random.below(3)), timeZone, pointLength },
        random.oneOf(["JPY", "KWD"]),
      );
    }
  }
  await forgetCounts(owner);
  await countSettledOnce(database);
  for (const timeZone of zones) await compare({ ...days(1, 12), timeZone, pointLength: "day" });
}, 60_000);
