import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard.fixture.ts";

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

describe("endpoint alerts", () => {
  it("are listed until acknowledged, to their merchant only", async () => {
    const alertId = await dashboard.openAlert(endpointId);
    const shown = { alertId, endpointId, kind: "FAILING_24_HOURS", statusCode: 503, url: "http://127.0.0.1:9/hook" };
    expect((await client.alerts.listWebhookAlerts(scope)).alerts).toMatchObject([{ ...shown, over: true }]);
    expect((await client.alerts.listWebhookAlerts(another)).alerts).toEqual([]);
    const stolen = client.alerts.acknowledgeWebhookAlert({ ...another, alertId });
    await expect(stolen).rejects.toMatchObject({ code: "not_found" });
    await client.alerts.acknowledgeWebhookAlert({ ...scope, alertId });
    expect((await client.alerts.listWebhookAlerts(scope)).alerts).toEqual([]);
    const { alerts } = await client.alerts.listWebhookAlerts({ ...scope, includeAcknowledged: true });
    expect(alerts).toMatchObject([{ ...shown, acknowledgedBy: expect.stringMatching(/^ada \(op_/) }]);
    const rows = await dashboard.rows(
      "SELECT subject, after FROM audit_entry WHERE action = 'AcknowledgeWebhookAlert'",
    );
    expect(rows).toEqual([{ subject: alertId, after: { kind: "FAILING_24_HOURS" } }]);
  });

  it("go on page by page, newest first", async () => {
    const opened = [];
    for (let count = 0; count < 3; count++) opened.unshift(await dashboard.openAlert(endpointId));
    const idsOf = (alerts: readonly { alertId?: string }[] = []) => alerts.map(({ alertId }) => alertId);
    const first = await client.alerts.listWebhookAlerts({ ...scope, pageSize: 2 });
    expect(idsOf(first.alerts)).toEqual(opened.slice(0, 2));
    const pageToken = first.nextPageToken!;
    const second = await client.alerts.listWebhookAlerts({ ...scope, pageSize: 2, pageToken });
    expect([idsOf(second.alerts), second.nextPageToken]).toEqual([opened.slice(2), ""]);
    const foreign = client.alerts.listWebhookAlerts({ ...another, pageToken });
    await expect(foreign).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});

describe("alert addresses", () => {
  it("are set, shown and audited, for one merchant", async () => {
    expect((await client.alerts.getAlertAddresses(scope)).addresses).toEqual([]);
    const addresses = ["ops@example.com", "ada.lovelace+pay@example.org"];
    await client.alerts.setAlertAddresses({ ...scope, addresses });
    expect((await client.alerts.getAlertAddresses(scope)).addresses).toEqual(addresses);
    expect((await client.alerts.getAlertAddresses(another)).addresses).toEqual([]);
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'SetAlertAddresses'");
    expect(rows).toEqual([{ before: { addresses: [] }, after: { addresses } }]);
  });

  it.each([
    "ops",
    "ops@example.com\r\nBcc: eve@example.com",
    "ops@example.com, eve@example.com",
    '"ops\r\n"@example.com',
    "Ops <ops@example.com>",
    `${"x".repeat(250)}@example.com`,
  ])("cannot be %j", async (address) => {
    const set = client.alerts.setAlertAddresses({ ...scope, addresses: [address] });
    await expect(set).rejects.toMatchObject({ code: "invalid_field" });
  });
});
