import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { recordConfirmedAddresses } from "../dev/testing/confirmed-addresses.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const { scope } = dashboard;
const { merchant } = await client.merchants.createMerchant({ name: "Tea House" });
const another: typeof scope = { ...scope, merchantId: merchant!.merchantId! };
const added = await client.endpoints.addWebhookEndpoint({ ...scope, url: "http://127.0.0.1:9/hook" });
const endpointId: string = added.endpoint!.endpointId!;

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

  it("are not overwritten by a change that is based on earlier ones", async () => {
    const { revision } = await client.alerts.getAlertAddresses(scope);
    const addresses = ["ops@example.com"];
    const set = await client.alerts.setAlertAddresses({ ...scope, addresses, revision: revision! });
    const unconfirmed = addresses;
    expect(await client.alerts.getAlertAddresses(scope)).toEqual({ addresses, revision: set.revision, unconfirmed });
    const late = client.alerts.setAlertAddresses({ ...scope, addresses: ["left@example.com"], revision: revision! });
    await expect(late).rejects.toMatchObject({ code: "state_conflict", message: expect.stringMatching(/meanwhile/) });
    expect((await client.alerts.getAlertAddresses(scope)).addresses).toEqual(addresses);
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

describe("the chat of alerts", () => {
  it("gets a test alert, is shown by its host only, and is removed with its address", async () => {
    const posted: { readonly id: string | undefined; readonly text: string }[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        posted.push({ id: String(request.headers["webhook-id"]), ...JSON.parse(Buffer.concat(chunks).toString()) });
        response.writeHead(request.url === "/s3cret" ? 200 : 404).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await dashboard.database.transaction((tx) =>
      recordConfirmedAddresses(tx, decodeId("mer", scope.merchantId)!, ["ops@example.com"]),
    );
    const set = await client.alertSettings.setAlertChat({ ...scope, url: `http://${host}/s3cret` });
    expect(set).toMatchObject({ settings: { chatHost: host }, signingSecret: expect.stringMatching(/_whsec_/) });
    const { results } = await client.alertSettings.sendTestAlert(scope);
    expect(results).toEqual([
      { recipient: "ops@example.com", accepted: true, problem: "" },
      { recipient: host, accepted: true, problem: "" },
    ]);
    const link = `https://dashboard.example.com/test/${scope.merchantId}/settings`;
    expect(posted).toEqual([{ id: expect.stringMatching(/^ntc_/), text: expect.stringContaining(link) }]);
    expect(posted[0]!.text).toMatch(/^\[test\] Test alert\. This is a test: nothing happened\./);
    expect(dashboard.mailbox.mails.at(-1)!.text).toContain(link);
    await client.alertSettings.setAlertChat({ ...scope, url: `http://${host}/gone` });
    const { results: failed } = await client.alertSettings.sendTestAlert(scope);
    expect(failed?.at(-1)).toEqual({ recipient: host, accepted: false, problem: "the chat answered HTTP 404." });
    await client.alertSettings.setAlertChat({ ...scope, url: "" });
    expect((await client.alertSettings.getAlertSettings(scope)).settings?.chatHost).toBe("");
    const rows = await dashboard.rows(
      "SELECT before, after FROM audit_entry WHERE action = 'SetAlertChat' ORDER BY id",
    );
    expect(rows).toEqual([
      { before: { host: null }, after: { host } },
      { before: { host }, after: { host } },
      { before: { host }, after: { host: null } },
    ]);
    expect(
      await dashboard.rows("SELECT alert_chat_sealed FROM merchant_settings WHERE alert_chat_sealed IS NOT NULL"),
    ).toEqual([]);
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(["http://inside.example.com/hook", "http://10.0.0.1/hook", "https://user:x@chat.example.com/", "chat"])(
    "cannot be %s",
    async (url) => {
      const set = client.alertSettings.setAlertChat({ ...scope, url });
      await expect(set).rejects.toMatchObject({
        code: "endpoint_not_allowed",
        message: expect.stringMatching(/^The chat's address (must|is not) /),
      });
    },
  );
});

describe("muted alerts", () => {
  it("are set, shown and audited", async () => {
    const mutedTopics = ["ALERT_TOPIC_CREDENTIALS_REFUSED", "ALERT_TOPIC_HOLDS_EXPIRING"] as const;
    await client.alertSettings.setMutedAlerts({ ...scope, mutedTopics: [...mutedTopics] });
    expect((await client.alertSettings.getAlertSettings(scope)).settings).toEqual({
      mutedTopics,
      chatHost: "",
      canMail: true,
    });
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'SetMutedAlerts'");
    expect(rows).toEqual([{ before: { topics: [] }, after: { topics: ["CREDENTIALS_REFUSED", "HOLDS_EXPIRING"] } }]);
  });
});
