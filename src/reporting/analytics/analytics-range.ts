/** The range of a chart: days in a time zone, cut into points, and into stretches with stored counts. */
import type { Queryable, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { countedMinutes } from "./counted-facts.ts";

// Longest range in days, three years and the leap day: more is a report for a data warehouse.
const analyticsDaysMax = 1_096;
// Most points of a chart: a month of hours; a page of 1 000 pixels shows no more.
const analyticsPointsMax = 800;
const unknownZone = "must be a name of the IANA time zone database, such as Europe/Berlin";

const quarterMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;

// Ranges in days up to which an hour, or a day, is the default length of a point.
const analyticsStepDays = { hour: 2, day: 120 } as const;

/** Length of a point of a chart, in the calendar of its zone. Weeks begin on Monday. */
export type PointLength = "hour" | "day" | "week";

/** The requested range: whole days such as `2026-11-21`, including the last one. */
export type AskedRange = {
  readonly firstDay: string;
  readonly lastDay: string;
  /** A name of the IANA time zone database. */
  readonly timeZone: string;
  /** A suitable one by default. */
  readonly pointLength?: PointLength | undefined;
};

export type CutRange = {
  readonly pointLength: PointLength;
  /** Start of each point, beginning with the start of the range. */
  readonly startsAt: readonly Date[];
  /** Exclusive. */
  readonly endsAt: Date;
};

/** A part of one point whose counts are stored at this granularity. */
export type Stretch = { readonly point: number; readonly minutes: number; readonly from: Date; readonly to: Date };

const selectZone: Statement = {
  name: "select_time_zone",
  text: "SELECT FROM pg_timezone_names WHERE name = $1 AND name !~ '^(posix|right)/'",
};

// A day begins at its first midnight, even if clocks go back over midnight; if they skip it, right after it.
const midnight = (day: string) => `(
  SELECT CASE WHEN (late - interval '1 hour') AT TIME ZONE $3 >= ${day} THEN late - interval '1 hour' ELSE late END
  FROM (SELECT ${day} AT TIME ZONE $3 AS late) m)`;
const edges = `edge AS (
  SELECT ${midnight("$1::date::timestamp")} AS begin_at, ${midnight("($2::date + 1)::timestamp")} AS end_at)`;

const selectCalendar: Statement = {
  name: "select_calendar_points",
  text: `
    WITH ${edges}
    SELECT array_agg(DISTINCT greatest(begin_at, point_at) ORDER BY greatest(begin_at, point_at)) AS "startsAt", end_at AS "endsAt"
    FROM edge, generate_series(date_trunc($4, $1::date::timestamp), $2::date::timestamp, ('1 ' || $4)::interval) AS day,
      LATERAL (SELECT ${midnight("day")} AS point_at) p
    GROUP BY end_at`,
};

// The steps are quarters of an hour, because zones also change by half hours; an hour that occurs twice is two points.
const selectHours: Statement = {
  name: "select_hour_points",
  text: `
    WITH ${edges}
    SELECT array_agg(DISTINCT greatest(begin_at, point_at) ORDER BY greatest(begin_at, point_at)) AS "startsAt", end_at AS "endsAt"
    FROM edge, generate_series(begin_at, end_at - interval '15 minutes', interval '15 minutes') AS quarter,
      LATERAL (SELECT date_trunc('hour', quarter, $3) AS point_at) p
    GROUP BY end_at`,
};

const knownZones = new Set<string>();

/** Cuts a range into points. Throws `invalid_field` for an unknown zone or a range too long or fine. */
export async function cutRange(queryable: Queryable, asked: AskedRange): Promise<CutRange> {
  const { firstDay, lastDay, timeZone } = asked;
  const days = daysIn(asked);
  const pointLength = asked.pointLength ?? lengthFor(days);
  if (pointsOf(days, pointLength) > analyticsPointsMax) {
    refuse("pointLength", `gives more than ${analyticsPointsMax} points; ask for longer ones or for fewer days`);
  }
  await requireZone(queryable, timeZone);
  const values = [firstDay, lastDay, timeZone];
  const [cut] =
    pointLength === "hour"
      ? await queryable.query<Omit<CutRange, "pointLength">>(selectHours, values)
      : await queryable.query<Omit<CutRange, "pointLength">>(selectCalendar, [...values, pointLength]);
  return { pointLength, ...cut! };
}

/**
 * Returns the period right before a range: as many days. Of a range that is not over at `now` it ends on the day that
 * corresponds to today, after as much of that day as has passed of today: in whole quarters of an hour, because counts
 * are stored for these. So a day of 23 or 25 hours before today changes nothing.
 */
export async function periodBefore(
  queryable: Queryable,
  asked: AskedRange,
  { range, now }: { readonly range: CutRange; readonly now: Date },
): Promise<Pick<CutRange, "startsAt" | "endsAt">> {
  const { firstDay, timeZone } = asked;
  const dayBefore = (days: number) => new Date(Date.parse(firstDay) - days * dayMs).toISOString().slice(0, 10);
  const days = { firstDay: dayBefore(daysIn(asked)), lastDay: dayBefore(1) };
  const { startsAt, endsAt } = await cutRange(queryable, { ...days, timeZone, pointLength: "week" });
  if (now >= range.endsAt) return { startsAt: startsAt.slice(0, 1), endsAt };
  const startOf = async (day: string) => {
    const cut = await cutRange(queryable, { firstDay: day, lastDay: day, timeZone, pointLength: "week" });
    return cut.startsAt[0]!.getTime();
  };
  const today = dayIn(timeZone, now);
  const corresponding = new Date(Date.parse(today) - daysIn(asked) * dayMs).toISOString().slice(0, 10);
  const [todayAt, cutDayAt] = await Promise.all([startOf(today), startOf(corresponding)]);
  const passedMs = Math.max(0, Math.floor((now.getTime() - todayAt) / quarterMs) * quarterMs);
  const [beginsAt, atMost] = [startsAt[0]!.getTime(), endsAt.getTime()];
  return {
    startsAt: startsAt.slice(0, 1),
    endsAt: new Date(Math.max(beginsAt, Math.min(cutDayAt + passedMs, atMost))),
  };
}

/** Returns the last `days` days of a zone: today, and as many before it as are missing. */
export function lastDays(
  days: number,
  { timeZone, now }: { readonly timeZone: string; readonly now: Date },
): AskedRange {
  const lastDay = dayIn(timeZone, now);
  const firstDay = new Date(Date.parse(lastDay) - (days - 1) * dayMs).toISOString().slice(0, 10);
  return { firstDay, lastDay, timeZone };
}

/** Returns the date in a zone, such as `2026-11-21`. Throws `invalid_field` for an unknown zone. */
function dayIn(timeZone: string, at: Date): string {
  try {
    return at.toLocaleDateString("sv-SE", { timeZone });
  } catch {
    return refuse("timeZone", unknownZone);
  }
}

function daysIn({ firstDay, lastDay }: AskedRange): number {
  const [first, last] = [requireDay("firstDay", firstDay), requireDay("lastDay", lastDay)];
  const days = (last - first) / dayMs + 1;
  if (days < 1) refuse("lastDay", "is before firstDay");
  if (days > analyticsDaysMax) refuse("lastDay", `makes the range longer than ${analyticsDaysMax} days`);
  return days;
}

function requireDay(param: string, text: string): number {
  const at = /^20\d\d-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(text)) {
    refuse(param, "must be a day such as 2026-11-21");
  }
  return at;
}

function lengthFor(days: number): PointLength {
  if (days <= analyticsStepDays.hour) return "hour";
  return days <= analyticsStepDays.day ? "day" : "week";
}

function pointsOf(days: number, length: PointLength): number {
  return { hour: 24 * days, day: days, week: days / 7 }[length];
}

/** Requires a name of the time zone database: PostgreSQL also accepts abbreviations and formulas as zones. */
async function requireZone(queryable: Queryable, timeZone: string): Promise<void> {
  if (knownZones.has(timeZone)) return;
  if ((await queryable.query(selectZone, [timeZone])).length === 0) {
    refuse("timeZone", unknownZone);
  }
  knownZones.add(timeZone);
}

function refuse(param: string, detail: string): never {
  const problems = [{ param, pointer: `/${param}`, code: "invalid_field" as const, detail }];
  throw new DomainError("invalid_field", `${param} ${detail}.`, { problems });
}

/** Returns the fewest stretches that cover all points. */
export function stretchesOf({ startsAt, endsAt }: Pick<CutRange, "startsAt" | "endsAt">): Stretch[] {
  return startsAt.flatMap((from, point) => {
    const to = startsAt[point + 1] ?? endsAt;
    const parts = cutStretch(from.getTime(), to.getTime(), countedMinutes);
    return parts.map(({ minutes, ...ends }) => ({ point, minutes, from: new Date(ends.from), to: new Date(ends.to) }));
  });
}

type Part = { readonly minutes: number; readonly from: number; readonly to: number };

function cutStretch(from: number, to: number, lengths: readonly number[]): Part[] {
  const minutes = lengths.at(-1);
  if (from >= to || minutes === undefined) return [];
  const lengthMs = minutes * 60_000;
  const [first, last] = [Math.ceil(from / lengthMs) * lengthMs, Math.floor(to / lengthMs) * lengthMs];
  const shorter = lengths.slice(0, -1);
  if (first >= last) return cutStretch(from, to, shorter);
  return [...cutStretch(from, first, shorter), { minutes, from: first, to: last }, ...cutStretch(last, to, shorter)];
}
