/** Tests the days of the ledger's page. */
import { expect, it } from "vitest";
import { ledgerPresets, rangeProblem, readLedgerSearch } from "./ledger-address.ts";

it("readLedgerSearch() keeps a range or a day, and drops what is neither", () => {
  expect(readLedgerSearch({ from: "2026-03-01", to: "2026-03-31", day: "2026-03-04" })).toEqual({
    from: "2026-03-01",
    to: "2026-03-31",
  });
  expect(readLedgerSearch({ from: "2026-03-01", day: "2026-03-04" })).toEqual({ day: "2026-03-04" });
  expect(readLedgerSearch({ day: "today", to: 7 })).toEqual({});
});

it("rangeProblem() refuses what the service refuses", () => {
  expect(rangeProblem({ from: "2026-03-02", to: "2026-03-01" })).toBe("The last day is before the first");
  expect(rangeProblem({ from: "2026-03-01", to: "2026-04-01" })).toBe("A range has at most 31 days");
  expect(rangeProblem({ from: "2026-03-01", to: "2026-03-31" })).toBeUndefined();
});

it.each([
  ["2026-03-05T00:30:00Z", ["2026-03-04 2026-03-04", "2026-03-01 2026-03-04", "2026-02-01 2026-02-28"]],
  ["2026-03-01T23:30:00Z", ["2026-02-28 2026-02-28", "2026-02-01 2026-02-28"]],
  ["2026-01-02T00:00:00Z", ["2026-01-01 2026-01-01", "2026-01-01 2026-01-01", "2025-12-01 2025-12-31"]],
])("ledgerPresets() at %s are days that are over", (now, expected) => {
  expect(ledgerPresets(new Date(now)).map(({ from, to }) => `${from} ${to}`)).toEqual(expected);
});
