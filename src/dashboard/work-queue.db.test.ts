import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));

const environment = "ENVIRONMENT_TEST" as const;
type ListOptions = { pageSize?: number; pageToken?: string; includeClosed?: boolean };
const list = async (options: ListOptions = {}) => {
  const answer = await client.workQueue.listWorkItems({ environment, ...options });
  return { items: answer.workItems ?? [], nextPageToken: answer.nextPageToken ?? "" };
};

describe("the work queue", () => {
  it("is paged, with a token that fits no other list", async () => {
    const opened = [
      await dashboard.openItem("one"),
      await dashboard.openItem("two"),
      await dashboard.openItem("three"),
    ];
    const first = await list({ pageSize: 2 });
    expect(first.items.map(({ detail }) => detail)).toEqual(["three", "two"]);
    const { nextPageToken: pageToken } = first;
    const second = await list({ pageSize: 1, pageToken });
    expect(second.items).toMatchObject([
      { ...opened[0], merchantId: dashboard.merchantId, kind: "ORPHANED_AUTHORIZATION" },
    ]);
    expect(second.nextPageToken).toBe("");
    await expect(list({ pageToken, includeClosed: true })).rejects.toMatchObject({ code: "invalid_parameter" });
    const runs = client.reconciliation.listReconciliationRuns({ environment, pageToken });
    await expect(runs).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("loses an item only when a person closes it, by name and with a note, and once", async () => {
    const { workItemId } = await dashboard.openItem("by hand");
    const close = (note: string) => client.workQueue.closeWorkItem({ environment, workItemId, note });
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
      {
        subject: workItemId,
        merchant_id: expect.any(String),
        after: { kind: "ORPHANED_AUTHORIZATION", note: "voided by hand" },
      },
    ]);
  });

  it("lists and closes items by their cause, one for each merchant and cause", async () => {
    const elsewhere = "SANDBOX_A has not confirmed a void since 2026-03-01T09:55:00.000Z.";
    const ofOther = await dashboard.openItem(elsewhere, systemRuntime.uuid());
    const opened = [];
    for (const at of ["10:00", "10:05", "10:07"]) {
      opened.push(await dashboard.openItem(`SANDBOX_A has not confirmed a void since 2026-03-01T${at}:00.000Z.`));
    }
    const alone = await dashboard.openItem("SANDBOX_A has not confirmed a capture.");
    const causes = async () =>
      (await client.workQueue.listWorkItems({ environment, byCause: true, pageSize: 100 })).workItems ?? [];
    expect((await causes()).slice(0, 3)).toMatchObject([
      { ...alone, count: 1 },
      { ...opened[2], count: 3 },
      { ...ofOther, count: 1 },
    ]);
    const { workItemId } = opened[2]!;
    const answer = await client.workQueue.closeWorkItem({ environment, workItemId, note: "asked", wholeCause: true });
    expect(answer).toMatchObject({ closedCount: 3, workItem: { workItemId, closeNote: "asked" } });
    expect((await causes()).slice(0, 2)).toMatchObject([alone, ofOther]);
    const ids = (await list({ pageSize: 100 })).items.map((item) => item.workItemId);
    expect(ids).toContain(alone.workItemId);
    for (const each of opened) expect(ids).not.toContain(each.workItemId);
  });

  it("requires an environment that is named and served", async () => {
    const workItemId = "wi_01h455vb4pex5vsknk084sn02q";
    const calls = [
      (scope: object) => client.workQueue.listWorkItems(scope),
      (scope: object) => client.workQueue.closeWorkItem({ ...scope, workItemId, note: "x" }),
      (scope: object) => client.reconciliation.listReconciliationRuns(scope),
    ];
    for (const call of calls) {
      await expect(call({ environment: "ENVIRONMENT_LIVE" })).rejects.toMatchObject({ code: "not_found" });
      await expect(call({})).rejects.toMatchObject({ code: "missing_field" });
    }
  });
});

describe("the reconciliation runs", () => {
  it("show the coverage of each", async () => {
    const text = `INSERT INTO reconciliation_run (id, window_from, window_to, all_cut, finished_at, attempts, read, inconclusive)
      VALUES ($1, now() - interval '1 d', now(), true, now(), 3, 2, 1)`;
    await dashboard.database.query({ name: "add_run", text }, [systemRuntime.uuid()]);
    const { reconciliationRuns, nextPageToken } = await client.reconciliation.listReconciliationRuns({ environment });
    expect(reconciliationRuns).toMatchObject([
      {
        reconciliationRunId: expect.stringMatching(/^cmp_\w{26}$/),
        attempts: 3,
        read: 2,
        byNotifications: 0,
        inconclusive: 1,
      },
    ]);
    expect(nextPageToken).toBe("");
  });
});
