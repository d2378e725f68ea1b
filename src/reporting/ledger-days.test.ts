import { describe, expect, it } from "vitest";
import { findWrongDay, rangeOf } from "./ledger-days.ts";

describe("findWrongDay()", () => {
  it.each([
    [{}, "day is required, unless from and to name a range"],
    [{ day: "", from: "", to: "" }, "day is required, unless from and to name a range"],
    [{ day: "2026-03-04", to: "2026-03-05" }, "day must be left out where from and to name a range"],
    [{ from: "2026-03-04" }, "to is required with from"],
    [{ to: "2026-03-04" }, "from is required with to"],
    [{ day: "2026-02-30" }, "day must be a day of the calendar, such as 2026-03-04"],
    [{ from: "today", to: "2026-03-04" }, "from must be a day of the calendar, such as 2026-03-04"],
    [{ from: "2026-03-04", to: "2026-3-5" }, "to must be a day of the calendar, such as 2026-03-04"],
    [{ from: "2026-03-04", to: "2026-03-03" }, "to must not be before from"],
    [{ from: "2026-03-01", to: "2026-04-01" }, "to must be at most 30 days after from: a range has at most 31 days"],
  ])("finds what is wrong with %j", (days, expected) => {
    const wrong = findWrongDay(days);
    expect(`${wrong?.field} ${wrong?.rule}`).toBe(expected);
  });

  it("accepts one day, and ranges of up to 31 days", () => {
    for (const days of [
      { day: "2026-03-04" },
      { from: "2026-03-04", to: "2026-03-04" },
      { from: "2026-03-01", to: "2026-03-31" },
    ])
      expect(findWrongDay(days)).toBeUndefined();
  });
});

it("rangeOf() begins at midnight in UTC, and ends with the last day", () => {
  expect(rangeOf({ from: "2026-02-27", to: "2026-03-01" })).toEqual({
    firstDay: "2026-02-27",
    lastDay: "2026-03-01",
    lastField: "to",
    begin: new Date("2026-02-27T00:00:00Z"),
    end: new Date("2026-03-02T00:00:00Z"),
  });
  expect(rangeOf({ day: "2026-03-04" })).toMatchObject({ lastField: "day", end: new Date("2026-03-05T00:00:00Z") });
});
