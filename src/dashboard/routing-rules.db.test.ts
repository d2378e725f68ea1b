import { describe, expect, it } from "vitest";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { startPayingDashboard } from "../dev/testing/dashboard/paying-dashboard.ts";
import { forFile } from "../dev/testing/for-file.ts";

let a: string;
let b: string;
const dashboard = await forFile(startPayingDashboard);
const ada: DashboardClient["routingRules"] = (await dashboard.callAs("ada")).routingRules;
const bob: DashboardClient["routingRules"] = (await dashboard.callAs("bob")).routingRules;
[a = "", b = ""] = dashboard.connectionIds;

const newest = async () => (await ada.getRoutingRule(dashboard.scope)).routingRule;
const set = (by: typeof ada, connectionIds: string[], more: object = {}) =>
  by.setRoutingRule({ ...dashboard.scope, connectionIds, failoverOn: ["HARD_DECLINE"], ...more });

describe("the versions of a routing rule", () => {
  it("admit one of two writers of the same base version, and name the first and the time to the other", async () => {
    await set(ada, [a, b], { expectedVersion: 0 });
    const results = await Promise.allSettled([
      set(ada, [b, a], { expectedVersion: 1 }),
      set(bob, [a], { expectedVersion: 1 }),
    ]);
    const refusals = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(refusals).toHaveLength(1);
    const rule = await newest();
    expect(rule).toMatchObject({ version: 2, setBy: expect.stringMatching(/^(ada|bob) \(op_/) });
    expect(refusals[0]).toMatchObject({ code: "state_conflict" });
    expect(refusals[0].message).toContain(
      `Version 2 was set by ${rule?.setBy} at ${rule?.createdAt}, and your change is based on version 1.`,
    );
  });

  it("are all kept, each with its author and its change; an older one is restored as a new version", async () => {
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
      expect.stringMatching(/^SANDBOX_B \(test_.*\) is added with priority 2\.$/),
      "After declines, the next gateway is tried.",
      "Timeouts end the payment.",
    ]);
    expect(versions[1]?.routingRule?.setBy).toMatch(/^bob/);
    const paged = await ada.listRoutingRuleVersions({ ...dashboard.scope, pageSize: 2 });
    const rest = await ada.listRoutingRuleVersions({ ...dashboard.scope, pageToken: paged.nextPageToken! });
    expect([...paged.versions!, ...rest.versions!]).toEqual(versions);
  });

  it("keep what a wallet's cryptogram may do unless they name another, and restore that of an older one", async () => {
    await set(ada, [a, b], { cryptogramResend: "NOT_SENT" });
    const { version, cryptogramResend } = (await newest())!;
    expect(cryptogramResend).toBe("NOT_SENT");
    await set(ada, [b]);
    expect((await newest())?.cryptogramResend).toBe("NOT_SENT");
    await set(bob, [b], { cryptogramResend: "DECLINED" });
    const { versions = [] } = await ada.listRoutingRuleVersions(dashboard.scope);
    expect(versions[0]?.changes).toEqual(["A wallet’s cryptogram goes to another gateway also after a decline."]);
    const { routingRule } = await ada.restoreRoutingRule({ ...dashboard.scope, version: version! });
    expect(routingRule).toMatchObject({ cryptogramResend: "NOT_SENT" });
    await set(ada, [a, b], { cryptogramResend: "UNANSWERED" });
  });

  it("keep the authentication of the newest one unless they name another, and restore that of an older one", async () => {
    await set(ada, [a, b], { authentication: "ALWAYS" });
    const always = (await newest())!;
    expect(always.authentication).toBe("ALWAYS");
    await set(ada, [b]);
    expect((await newest())?.authentication).toBe("ALWAYS");
    await set(bob, [b], { authentication: "NEVER" });
    const { versions = [] } = await ada.listRoutingRuleVersions(dashboard.scope);
    expect(versions[0]?.changes).toEqual(["No gateway may ask for customer authentication."]);
    const { routingRule } = await ada.restoreRoutingRule({ ...dashboard.scope, version: always.version! });
    expect(routingRule).toMatchObject({ connectionIds: [a, b], authentication: "ALWAYS" });
    await set(ada, [a, b], { authentication: "AS_NEEDED" });
    const { entries = [] } = await (await dashboard.callAs("ada")).audit.listAuditEntries(dashboard.scope);
    expect(entries[0]?.changes).toEqual(["Gateways ask for customer authentication as needed."]);
    expect(JSON.stringify(entries[0]?.after)).toContain("AS_NEEDED");
  });

  it("keep the policies of the newest one unless they name others, and restore those of an older one", async () => {
    const policy = {
      exemptions: ["LOW_VALUE"],
      stopsIfUnavailable: true,
      forbidsSecondChallenge: false,
      withoutBrowser: "PAY",
      savingAsRule: true,
    } as const;
    await set(ada, [a, b], { policy: { ...policy, exemptions: ["LOW_VALUE"] } });
    const kept = await newest();
    await set(bob, [a, b]);
    expect((await newest())?.policy).toEqual(policy);
    await set(bob, [a, b], { policy: {} });
    expect((await newest())?.policy).toEqual({
      exemptions: [],
      stopsIfUnavailable: false,
      forbidsSecondChallenge: false,
      withoutBrowser: "DECLINE",
      savingAsRule: false,
    });
    const { versions = [] } = await ada.listRoutingRuleVersions(dashboard.scope);
    expect(versions[0]?.changes).toContain(
      "A payment that has to be authenticated is declined where the page sends no data of its browser.",
    );
    expect(versions[0]?.changes).toContain("Payments that begin an agreement are always authenticated.");
    const { routingRule } = await ada.restoreRoutingRule({ ...dashboard.scope, version: kept!.version! });
    expect(routingRule?.policy).toEqual(policy);
    await set(ada, [a, b], { policy: {} });
  });

  it("cannot be restored when they are in use, or never existed", async () => {
    const { version } = (await newest())!;
    const restore = (wanted: number) => ada.restoreRoutingRule({ ...dashboard.scope, version: wanted });
    await expect(restore(version!)).rejects.toMatchObject({ code: "state_conflict" });
    await expect(restore(version! + 1)).rejects.toMatchObject({ code: "not_found" });
    expect((await newest())?.version).toBe(version);
  });
});
