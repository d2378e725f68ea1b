import { describe, expect, it } from "vitest";
import {
  dayAfter,
  readLineSearch,
  readPayoutSearch,
  readSettlementSearch,
  settlementDays,
} from "./settlement-address.ts";

describe("the addresses of payouts and settlement", () => {
  it("keep the filters, and drop what has another form", () => {
    const days = { from: "2026-03-01", to: "2026-03-04" };
    expect(readPayoutSearch({ ...days, gateway: "STRIPE", remainder: "true", q: "x" })).toEqual({
      ...days,
      gateway: "STRIPE",
      remainder: true,
    });
    expect(readPayoutSearch({ from: "1 March", gateway: "stripe", remainder: "no" })).toEqual({});
    expect(readLineSearch({ status: "unmatched", reason: "not_ours" })).toEqual({
      status: "unmatched",
      reason: "not_ours",
    });
    expect(readLineSearch({ status: "lost", reason: "<b>" })).toEqual({});
    expect(readSettlementSearch({ show: "paid", reason: "overdue", ...days })).toEqual({
      show: "paid",
      reason: "overdue",
      ...days,
    });
    expect(readSettlementSearch({ show: "open" })).toEqual({});
  });

  it("have 31 days, whichever of them are given", () => {
    const now = new Date("2026-03-31T10:00:00Z");
    expect(settlementDays({}, now)).toEqual({ from: "2026-03-01", to: "2026-03-31" });
    expect(settlementDays({ to: "2026-02-28" }, now)).toEqual({ from: "2026-01-29", to: "2026-02-28" });
    expect(settlementDays({ from: "2026-01-01" }, now)).toEqual({ from: "2026-01-01", to: "2026-01-31" });
    expect(settlementDays({ from: "2026-03-30" }, now)).toEqual({ from: "2026-03-30", to: "2026-03-31" });
    expect(dayAfter("2026-03-01", -1)).toBe("2026-02-28");
  });
});
