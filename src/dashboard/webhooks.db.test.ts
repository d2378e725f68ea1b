import type { DescMethod } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it } from "vitest";
import { WebhookDeliveryService } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { WebhookEndpointService } from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

let endpointId: string;
const [dashboard, receiver] = await Promise.all([forFile(startDashboardFixture), forFile(() => Receiver.start())]);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const { scope } = dashboard;
beforeEach(async () => {
  receiver.answerWith({ status: 200 });
  const { endpoint } = await client.endpoints.addWebhookEndpoint({ ...scope, url: receiver.url });
  endpointId = endpoint?.endpointId ?? "";
  await client.endpoints.verifyWebhookEndpoint({ ...scope, endpointId });
  receiver.requests.length = 0;
  return async () => {
    await client.endpoints.removeWebhookEndpoint({ ...scope, endpointId });
  };
});

type AuditRow = { action: string; subject: string; before: object | null; after: object | null };
const lastRow = async () => (await dashboard.rows<AuditRow>("SELECT * FROM audit_entry ORDER BY id DESC LIMIT 1"))[0];

const aboutAnEndpoint = [WebhookEndpointService, WebhookDeliveryService]
  .flatMap(({ methods }): DescMethod[] => methods)
  .filter(({ input }) => input.fields.some(({ name }) => name === "endpoint_id"));

describe("a URL", () => {
  it("in a private network is refused when an endpoint is added and when it is changed", async () => {
    const before = await client.endpoints.listWebhookEndpoints(scope);
    for (const url of ["http://10.0.0.1/hook", "http://inside.example.com/hook", "http://[::ffff:127.0.0.1]/hook"]) {
      const refused = { code: "endpoint_not_allowed", message: expect.stringContaining("public address") };
      await expect(client.endpoints.addWebhookEndpoint({ ...scope, url })).rejects.toMatchObject(refused);
      const update = client.endpoints.updateWebhookEndpoint({ ...scope, endpointId, url });
      await expect(update).rejects.toMatchObject(refused);
    }
    expect(await client.endpoints.listWebhookEndpoints(scope)).toEqual(before);
  });
});

describe("a verification", () => {
  it("verifies nothing without an audit row", async () => {
    const { endpoint } = await client.endpoints.addWebhookEndpoint({ ...scope, url: receiver.url });
    const one = { ...scope, endpointId: endpoint?.endpointId ?? "" };
    await dashboard.rows("ALTER TABLE audit_entry ADD CONSTRAINT no_row CHECK (false) NOT VALID");
    const verification = client.endpoints.verifyWebhookEndpoint(one);
    await expect(verification).rejects.toMatchObject({ code: "internal" });
    await dashboard.rows("ALTER TABLE audit_entry DROP CONSTRAINT no_row");
    expect((await client.endpoints.getWebhookEndpoint(one)).endpoint?.status).toBe("PENDING");
    await client.endpoints.removeWebhookEndpoint(one);
  });
});

describe("the rpcs about one endpoint", () => {
  it.each(aboutAnEndpoint.map((method) => [method.name, method]))(
    "%s reaches no endpoint of another merchant",
    async (_, method) => {
      const { eventId } = await dashboard.emitEvent();
      const { merchant } = await client.merchants.createMerchant({ name: "Tea House" });
      const request = {
        ...scope,
        merchantId: merchant?.merchantId ?? "",
        endpointId,
        ...(method.input.fields.some(({ name }) => name === "event_id") && { eventId }),
        ...(method.input.fields.some(({ name }) => name === "since") && { since: "2026-01-01T00:00:00Z" }),
      };
      const calls = (method.parent === WebhookEndpointService
        ? client.endpoints
        : client.deliveries) as unknown as Record<string, (message: object) => Promise<object>>;
      const before = await lastRow();
      if (method.name === "ListWebhookDeliveries") {
        expect(await calls[method.localName]!(request)).toMatchObject({ deliveries: [] });
        return;
      }
      await expect(calls[method.localName]!(request)).rejects.toMatchObject({ code: "not_found" });
      expect(await lastRow()).toEqual(before);
      expect((await client.endpoints.getWebhookEndpoint({ ...scope, endpointId })).endpoint?.status).toBe("ENABLED");
    },
  );

  it("refuse a change based on an older version, and audit the state before and after", async () => {
    const { endpoint } = await client.endpoints.getWebhookEndpoint({ ...scope, endpointId });
    const mine = { ...scope, endpointId, version: endpoint?.version ?? 0 };
    const types = ["payment_session.declined"];
    await client.endpoints.updateWebhookEndpoint({ ...mine, eventTypes: { types } });
    expect(await lastRow()).toMatchObject({
      action: "UpdateWebhookEndpoint",
      subject: endpointId,
      before: { eventTypes: [], version: mine.version, status: "ENABLED" },
      after: { eventTypes: types, version: mine.version + 1, status: "ENABLED" },
    });
    const before = await lastRow();
    const stale = [
      client.endpoints.updateWebhookEndpoint({ ...mine, url: "https://shop.example.com/" }),
      client.endpoints.rotateWebhookSecret(mine),
      client.endpoints.pauseWebhookEndpoint(mine),
      client.endpoints.resumeWebhookEndpoint(mine),
      client.endpoints.disableWebhookEndpoint(mine),
      client.endpoints.enableWebhookEndpoint(mine),
      client.endpoints.removeWebhookEndpoint(mine),
    ];
    const codes = stale.map((change) => change.catch(({ code }) => code));
    expect(await Promise.all(codes)).toEqual(stale.map(() => "state_conflict"));
    expect(await lastRow()).toEqual(before);
  });

  it("admit one of two concurrent changes", async () => {
    const { endpoint } = await client.endpoints.getWebhookEndpoint({ ...scope, endpointId });
    const mine = { ...scope, endpointId, version: endpoint?.version ?? 0 };
    const both = await Promise.allSettled([1, 2].map(() => client.endpoints.rotateWebhookSecret(mine)));
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("refuse unknown event types, and list the known ones", async () => {
    const types = ["payment.made"];
    const known = { code: "invalid_field", message: expect.stringContaining("payment_attempt.capture_failed") };
    const update = client.endpoints.updateWebhookEndpoint({ ...scope, endpointId, eventTypes: { types } });
    await expect(update).rejects.toMatchObject(known);
  });
});

describe("the delivery log", () => {
  it("is paged, with a token that fits this list and its filters only", async () => {
    const eventIds = [];
    for (let count = 0; count < 3; count++) eventIds.push((await dashboard.emitEvent()).eventId);
    const list = async (more: object) => {
      const answer = await client.deliveries.listWebhookDeliveries({ ...scope, endpointId, ...more });
      return { ids: (answer.deliveries ?? []).map(({ eventId }) => eventId), pageToken: answer.nextPageToken ?? "" };
    };
    const first = await list({ pageSize: 2 });
    expect(first.ids).toEqual([eventIds[2], eventIds[1]]);
    // The test event verified the endpoint before the others.
    const second = await list({ pageSize: 2, pageToken: first.pageToken });
    expect(second).toEqual({ ids: [eventIds[0], expect.any(String)], pageToken: "" });
    const test = await client.deliveries.getWebhookDelivery({ ...scope, endpointId, eventId: second.ids[1]! });
    expect(test).toMatchObject({
      delivery: { type: "webhook_endpoint.test", sessionId: "", status: "SUCCEEDED", lastStatusCode: 200 },
      log: [{ statusCode: 200 }],
      body: "",
    });
    for (const other of [{ endpointId: "" }, { status: "PENDING" }]) {
      await expect(list({ ...other, pageToken: first.pageToken })).rejects.toMatchObject({ code: "invalid_parameter" });
    }
    const elsewhere = client.workQueue.listWorkItems({ environment: scope.environment, pageToken: first.pageToken });
    await expect(elsewhere).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("shows failures and the successful response, and a replay beside them", async () => {
    const { eventId, sessionId } = await dashboard.emitEvent();
    receiver.answerWith({ status: 500, body: "card 4111111111111111" });
    await dashboard.deliver();
    const delivery = { ...scope, endpointId, eventId };
    const failed = await client.deliveries.getWebhookDelivery(delivery);
    expect(failed.delivery).toMatchObject({
      sessionId,
      status: "PENDING",
      scheduledAttempts: 1,
      nextAttemptAt: expect.any(String),
    });
    expect(failed.log).toMatchObject([{ statusCode: 500, answerExcerpt: "card [redacted]" }]);
    receiver.answerWith("reset");
    const refused = await client.deliveries.replayWebhookDelivery(delivery);
    expect(refused).toMatchObject({
      accepted: false,
      attempt: { noAnswer: "connection_lost" },
      delivery: { nextAttemptAt: failed.delivery?.nextAttemptAt },
    });
    receiver.answerWith({ status: 200 });
    expect(await client.deliveries.replayWebhookDelivery(delivery)).toMatchObject({ accepted: true });
    expect(await lastRow()).toMatchObject({ subject: `${endpointId}/${eventId}`, after: { taken: true } });
    expect(new Set(receiver.requests.map(({ body }) => String(body)))).toEqual(new Set([failed.body]));
  });

  it("recovers missed events, in the response to enabling and by a call", async () => {
    await client.endpoints.disableWebhookEndpoint({ ...scope, endpointId });
    await dashboard.emitEvent();
    const enabled = await client.endpoints.enableWebhookEndpoint({ ...scope, endpointId });
    expect(enabled).toMatchObject({
      endpoint: { status: "ENABLED" },
      missedEvents: 1,
      missedSince: expect.any(String),
    });
    const since = enabled.missedSince ?? "";
    const recover = () => client.deliveries.recoverWebhookDeliveries({ ...scope, endpointId, since });
    expect(await recover()).toEqual({ due: 1, nextAfterEventId: "" });
    expect(await lastRow()).toMatchObject({ subject: endpointId, after: { since: expect.any(String), due: 1 } });
    expect(await recover()).toEqual({ due: 0, nextAfterEventId: "" });
    await dashboard.deliver();
    expect(receiver.requests).toHaveLength(1);
    const again = await client.endpoints.enableWebhookEndpoint({ ...scope, endpointId });
    expect(again).toMatchObject({ endpoint: { status: "ENABLED" }, missedEvents: 0 });
  });
});
