import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard-fixture.ts";

let dashboard: DashboardFixture;
let client: DashboardClient;
let scope: { merchantId: string; environment: "ENVIRONMENT_TEST" };
let another: typeof scope;
let endpointId: string;
beforeAll(async () => {
  dashboard = await startDashboardFixture();
  client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
  scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" };
  const { merchant } = await client.merchants.createMerchant({ name: "Tea House" });
  another = { ...scope, merchantId: merchant!.merchantId! };
  const added = await client.endpoints.addWebhookEndpoint({ ...scope, url: "http://127.0.0.1:9/hook" });
  endpointId = added.endpoint!.endpointId!;
});
afterAll(async () => {
  client?.close();
  await dashboard?.close();
});

describe("notices", () => {
  it("are listed until somebody acknowledges them, to their merchant alone", async () => {
    const noticeId = await dashboard.openNotice(endpointId);
    const shown = { noticeId, endpointId, kind: "FAILING_24_HOURS", statusCode: 503, url: "http://127.0.0.1:9/hook" };
    expect((await client.notices.listWebhookNotices(scope)).notices).toMatchObject([{ ...shown, over: true }]);
    expect((await client.notices.listWebhookNotices(another)).notices).toEqual([]);
    const stolen = client.notices.acknowledgeWebhookNotice({ ...another, noticeId });
    await expect(stolen).rejects.toMatchObject({ code: "not_found" });
    await client.notices.acknowledgeWebhookNotice({ ...scope, noticeId });
    expect((await client.notices.listWebhookNotices(scope)).notices).toEqual([]);
    const { notices } = await client.notices.listWebhookNotices({ ...scope, includeAcknowledged: true });
    expect(notices).toMatchObject([{ ...shown, acknowledgedBy: expect.stringMatching(/^ada \(op_/) }]);
    const rows = await dashboard.rows(
      "SELECT subject, after FROM audit_entry WHERE action = 'AcknowledgeWebhookNotice'",
    );
    expect(rows).toEqual([{ subject: noticeId, after: { kind: "FAILING_24_HOURS" } }]);
  });

  it("go on page by page, newest first", async () => {
    const opened = [];
    for (let count = 0; count < 3; count++) opened.unshift(await dashboard.openNotice(endpointId));
    const idsOf = (notices: readonly { noticeId?: string }[] = []) => notices.map(({ noticeId }) => noticeId);
    const first = await client.notices.listWebhookNotices({ ...scope, pageSize: 2 });
    expect(idsOf(first.notices)).toEqual(opened.slice(0, 2));
    const pageToken = first.nextPageToken!;
    const second = await client.notices.listWebhookNotices({ ...scope, pageSize: 2, pageToken });
    expect([idsOf(second.notices), second.nextPageToken]).toEqual([opened.slice(2), ""]);
    const foreign = client.notices.listWebhookNotices({ ...another, pageToken });
    await expect(foreign).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});

describe("notice addresses", () => {
  it("are set, shown and audited, for one merchant", async () => {
    expect((await client.notices.getNoticeAddresses(scope)).addresses).toEqual([]);
    const addresses = ["ops@example.com", "ada.lovelace+pay@example.org"];
    await client.notices.setNoticeAddresses({ ...scope, addresses });
    expect((await client.notices.getNoticeAddresses(scope)).addresses).toEqual(addresses);
    expect((await client.notices.getNoticeAddresses(another)).addresses).toEqual([]);
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'SetNoticeAddresses'");
    expect(rows).toEqual([{ before: { addresses: [] }, after: { addresses } }]);
  });

  it.each([
    "ops",
    "ops@example.com\r\nBcc: eve@example.com",
    "ops@example.com, eve@example.com",
    '"ops\r\n"@example.com',
    "Ops <ops@example.com>",
    `${"x".repeat(250)}@example.com`,
  ])("are not %j", async (address) => {
    const set = client.notices.setNoticeAddresses({ ...scope, addresses: [address] });
    await expect(set).rejects.toMatchObject({ code: "invalid_field" });
  });
});
