import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { GetAnalyticsResponseSchema, PointLength } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { lookOf } from "../parts/line-look.ts";
import { capturedChart, chartsOf, isLastRunning, pointNames } from "./analytics-charts.ts";

const daysOfAnswer = create(GetAnalyticsResponseSchema, {
  pointLength: PointLength.DAY,
  to: timestampFromDate(new Date(Date.UTC(2026, 10, 26))),
  points: [24, 25].map((day) => ({ startsAt: timestampFromDate(new Date(Date.UTC(2026, 10, day))) })),
  total: { gateways: [{ gateway: "STRIPE" }, { gateway: "SANDBOX_A" }], payments: {} },
});

describe("the charts of the analytics", () => {
  it("mark a last point that is still running, and no other", () => {
    const [during, after] = [new Date("2026-11-25T18:00:00Z"), new Date("2026-11-26T00:00:00Z")];
    expect([during, after].map((now) => isLastRunning(daysOfAnswer, now))).toEqual([true, false]);
    const names = (isLastPartial: boolean) => pointNames(daysOfAnswer, { timeZone: "UTC", isLastPartial });
    expect(names(true).map((name) => name.endsWith(", so far"))).toEqual([false, true]);
    expect(names(false).some((name) => name.endsWith(", so far"))).toBe(false);
  });

  it("draw captured money as the solid line", () => {
    const { lines } = capturedChart(daysOfAnswer, { currency: "EUR", decimals: 2 });
    expect(lines.map(({ look }) => lookOf(look!).dash.length === 0)).toEqual([true, false]);
  });

  it("give an outcome the colour of its badge, and a gateway the same in each chart", () => {
    const charts = new Map(chartsOf(daysOfAnswer).map(({ id, lines }) => [id, lines]));
    const looksOf = (id: string) => Object.fromEntries(charts.get(id)!.map(({ name, look }) => [name, look]));
    expect(looksOf("payments")).toEqual({ Succeeded: 0, Declined: 3, Failed: 1, "Saved by failover": 2 });
    const { Payments: _, ...approval } = looksOf("approval");
    expect(approval).toEqual(looksOf("failures"));
    expect(approval).toEqual({ Stripe: 4, "Sandbox A": 5 });
  });
});
