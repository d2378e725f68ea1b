import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { type PayingDashboard, startPayingDashboard } from "./testing/paying-dashboard.ts";

let dashboard: PayingDashboard;
let ada: DashboardClient["routingRules"];
let bob: DashboardClient["routingRules"];
let a: string;
let b: string;
beforeAll(async () => {
  dashboard = await startPayingDashboard();
  ada = (await dashboard.callAs("ada")).routingRules;
  bob = (await dashboard.callAs("bob")).routingRules;
  [a = "", b = ""] = dashboard.connectionIds;
});
afterAll(() => dashboard?.close());

const newest = async () => (await ada.getRoutingRule(dashboard.scope)).routingRule;
const set = (by: typeof ada, connectionIds: string[], more: object = {}) =>
  by.setRoutingRule({ ...dashboard.scope, connectionIds, failoverOn: ["HARD_DECLINE"], ...more });

describe("the versions of a routing rule", () => {
  it("let one of two writers through who began at the same version, and tell the other who was first and when", async () => {
    await set(ada, [a, b], { expectedVersion: 0 });
    const tries = await Promise.allSettled([
      set(ada, [b, a], { expectedVersion: 1 }),
      set(bob, [a], { expectedVersion: 1 }),
    ]);
    const refusals = tries.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refusals).toHaveLength(1);
    const rule = await newest();
    expect(rule).toMatchObject({ version: 2, setBy: expect.stringMatching(/^(ada|bob) \(op_/) });
    expect(refusals[0]).toMatchObject({ code: "state_conflict" });
    expect(refusals[0].message).toContain(
      `Version 2 was set by ${rule?.setBy} at ${rule?.createdAt}, and yours was made from version 1.`,
    );
  });

  it("are all kept, each with who set it and what it changed; an older one is set again as a new one", async () => {
    const before = (await newest())!.version!;
    await set(bob, [a], { failoverOn: ["TIMEOUT"] });
    await expect(
      ada.restoreRoutingRule({ ...dashboard.scope, version: 1, expectedVersion: before }),
    ).rejects.toMatchObject({ code: "state_conflict" });
    const { routingRule } = await ada.restoreRoutingRule({
      ...dashboard.scope,
      version: 1,
      expectedVersion: before + 1,
    });
    expect(routingRule).toMatchObject({
      version: before + 2,
      restoredFrom: 1,
      connectionIds: [a, b],
      failoverOn: ["HARD_DECLINE"],
    });
    const { versions = [] } = await ada.listRoutingRuleVersions(dashboard.scope);
    expect(versions.map(({ routingRule: each }) => each?.version)).toEqual([4, 3, 2, 1]);
    expect(versions[0]?.changes).toEqual([
      expect.stringMatching(/^SANDBOX_B \(test_.*\) is asked, with priority 2\.$/),
      "After declines the next gateway is asked.",
      "Timeouts end a payment.",
    ]);
    expect(versions[1]?.routingRule?.setBy).toMatch(/^bob/);
    const paged = await ada.listRoutingRuleVersions({ ...dashboard.scope, pageSize: 2 });
    const rest = await ada.listRoutingRuleVersions({ ...dashboard.scope, pageToken: paged.nextPageToken! });
    expect([...paged.versions!, ...rest.versions!]).toEqual(versions);
  });

  it("are not restored when they are in use, or were never there", async () => {
    const { version } = (await newest())!;
    const restore = (wanted: number) => ada.restoreRoutingRule({ ...dashboard.scope, version: wanted });
    await expect(restore(version!)).rejects.toMatchObject({ code: "state_conflict" });
    await expect(restore(version! + 1)).rejects.toMatchObject({ code: "not_found" });
    expect((await newest())?.version).toBe(version);
  });
});
