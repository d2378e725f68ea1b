import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard-fixture.ts";

let dashboard: DashboardFixture;
let client: DashboardClient;
beforeAll(async () => {
  dashboard = await startDashboardFixture();
  client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
});
afterAll(async () => {
  client?.close();
  await dashboard?.close();
});

const environment = "ENVIRONMENT_TEST" as const;
type ListOptions = { pageSize?: number; pageToken?: string; includeClosed?: boolean };
const list = async (options: ListOptions = {}) => {
  const answer = await client.workList.listWorkItems({ environment, ...options });
  return { items: answer.workItems ?? [], nextPageToken: answer.nextPageToken ?? "" };
};

describe("the work list", () => {
  it("goes on page by page, with a token that fits no other list", async () => {
    const opened = [
      await dashboard.openItem("one"),
      await dashboard.openItem("two"),
      await dashboard.openItem("three"),
    ];
    const first = await list({ pageSize: 2 });
    expect(first.items.map(({ detail }) => detail)).toEqual(["three", "two"]);
    const { nextPageToken: pageToken } = first;
    const second = await list({ pageSize: 1, pageToken });
    expect(second.items).toMatchObject([{ ...opened[0], merchantId: dashboard.merchantId, kind: "STRAY_HOLD" }]);
    expect(second.nextPageToken).toBe("");
    await expect(list({ pageToken, includeClosed: true })).rejects.toMatchObject({ code: "invalid_parameter" });
    const runs = client.reconciliation.listComparisonRuns({ environment, pageToken });
    await expect(runs).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("loses an item only to a person, by name and with a note, and once", async () => {
    const { workItemId } = await dashboard.openItem("by hand");
    const close = (note: string) => client.workList.closeWorkItem({ environment, workItemId, note });
    await expect(close("")).rejects.toMatchObject({ code: "missing_field" });
    await close("voided by hand");
    await expect(close("again")).rejects.toMatchObject({ code: "not_found" });
    expect((await list({ pageSize: 100 })).items.map((item) => item.workItemId)).not.toContain(workItemId);
    const { items } = await list({ pageSize: 100, includeClosed: true });
    expect(items.find((item) => item.workItemId === workItemId)).toMatchObject({
      closedBy: expect.stringMatching(/^ada \(op_/),
      closeNote: "voided by hand",
    });
    const rows = await dashboard.rows(
      "SELECT subject, after, merchant_id FROM audit_entry WHERE action = 'CloseWorkItem'",
    );
    expect(rows).toMatchObject([
      { subject: workItemId, merchant_id: expect.any(String), after: { kind: "STRAY_HOLD", note: "voided by hand" } },
    ]);
  });

  it("is that of an environment which is named and served", async () => {
    const workItemId = "wi_01h455vb4pex5vsknk084sn02q";
    const calls = [
      (scope: object) => client.workList.listWorkItems(scope),
      (scope: object) => client.workList.closeWorkItem({ ...scope, workItemId, note: "x" }),
      (scope: object) => client.reconciliation.listComparisonRuns(scope),
    ];
    for (const call of calls) {
      await expect(call({ environment: "ENVIRONMENT_LIVE" })).rejects.toMatchObject({ code: "not_found" });
      await expect(call({})).rejects.toMatchObject({ code: "missing_field" });
    }
  });
});

describe("the comparison runs", () => {
  it("show what each could see", async () => {
    const text = `INSERT INTO comparison_run (id, window_from, window_to, all_cut, finished_at, attempts, read, could_not_tell)
      VALUES ($1, now() - interval '1 d', now(), true, now(), 3, 2, 1)`;
    await dashboard.database.query({ name: "add_run", text }, [systemEntropy.uuid()]);
    const { comparisonRuns, nextPageToken } = await client.reconciliation.listComparisonRuns({ environment });
    expect(comparisonRuns).toMatchObject([
      { comparisonRunId: expect.stringMatching(/^cmp_\w{26}$/), attempts: 3, read: 2, byNotices: 0, couldNotTell: 1 },
    ]);
    expect(nextPageToken).toBe("");
  });
});
