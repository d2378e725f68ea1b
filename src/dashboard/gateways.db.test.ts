import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { startPayingDashboard } from "../dev/testing/dashboard/paying-dashboard.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";

const dashboard = await forFile(startPayingDashboard);
const client = await dashboard.callAs("ada");

describe("ListGateways", () => {
  it("returns each gateway's credential fields, with the patterns that its own connector uses", async () => {
    const { gateways = [], notificationUrlPrefix } = await client.gateways.listGateways(dashboard.scope);
    expect(gateways.map(({ gateway }) => gateway)).toEqual([
      "ADYEN",
      "SANDBOX_A",
      "SANDBOX_B",
      "SANDBOX_3DS",
      "ADYEN_3DS",
    ]);
    expect(gateways.map(({ sendsNotifications }) => sendsNotifications)).toEqual([true, false, true, false, false]);
    const ofEmulators = gateways.map(({ emulatorAccepts }) => emulatorAccepts);
    expect(ofEmulators).toEqual([expect.stringContaining("AQEanyKey"), undefined, undefined, undefined, undefined]);
    expect(notificationUrlPrefix).toBe("https://pay.example.com/gateway-notifications/test/");
    const optional = gateways[0]!.credentialFields!.filter(({ isOptional }) => isOptional).map(({ name }) => name);
    expect(optional).toEqual(["reportUser", "reportPassword", "reportApiKey"]);
    const [apiKey] = gateways[1]!.credentialFields!;
    expect(apiKey).toMatchObject({ name: "apiKey", label: "API key", hint: expect.stringContaining("sandbox_test_") });
    const pattern = new RegExp(apiKey!.pattern!);
    expect(["sandbox_test_mine", "sk_live_1"].map((value) => pattern.test(value))).toEqual([true, false]);
  });
});

describe("ListGatewayHealth", () => {
  it("omits accounts without attempts", async () => {
    expect(await client.gateways.listGatewayHealth(dashboard.scope)).toMatchObject({ connections: [] });
  });

  it("has the open alerts about each account", async () => {
    const { payments, scope, connectionIds } = dashboard;
    const alert = async (kind: string, overAt: string) => {
      const text = `INSERT INTO alert (id, merchant_id, kind, gateway, connection_id, detail, since, over_at)
        VALUES ($1, $2, $3, 'SANDBOX_B', $4, $5, now() - interval '1 h', ${overAt})`;
      const [merchantId, connectionId] = [decodeId("mer", scope.merchantId), decodeId("gc", connectionIds[1]!)];
      await payments.asOwner.pool.query(text, [systemRuntime.uuid(), merchantId, kind, connectionId, `${kind}.`]);
    };
    await alert("CREDENTIALS_REFUSED", "NULL");
    await alert("GATEWAY_UNHEALTHY", "now()");
    const { alerts } = await client.gateways.listGatewayHealth(scope);
    const since = expect.any(String);
    expect(alerts).toEqual([{ connectionId: connectionIds[1], text: "CREDENTIALS_REFUSED.", since }]);
  });

  it("counts each account's answers and leaves out what the vault could not send", async () => {
    const { payments, scope, connectionIds } = dashboard;
    await payments.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    for (const card of [cards.approved, cards.failover, cards.fraud, cards.allDown]) {
      await payments.submit(await payments.newSession(), card);
    }
    const { connections = [] } = await client.gateways.listGatewayHealth(scope);
    const byId = new Map(connections.map((each) => [each.connectionId, each]));
    const [a, b] = connectionIds.map((id) => byId.get(id));
    expect(a).toMatchObject({ attempts: 4, approved: 1, declined: 2, timeouts: 0, errors: 1 });
    expect(b).toMatchObject({ attempts: 2, approved: 1, declined: 0, timeouts: 0, errors: 1 });
    expect(a!.latencyP50Ms).toBeGreaterThan(0);
    expect(a!.latencyP95Ms).toBeGreaterThanOrEqual(a!.latencyP50Ms!);
    const text =
      "UPDATE attempt SET next_because = 'The card vault could not be used, and no gateway can get the card without it, whatever.' WHERE failure_kind = 'GATEWAY_ERROR'";
    await payments.asOwner.pool.query(text);
    const { connections: after = [] } = await client.gateways.listGatewayHealth(scope);
    expect(after.map(({ errors }) => errors)).toEqual([0, 0]);
  });
});
