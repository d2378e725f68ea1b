import { beforeEach, describe, expect, it } from "vitest";
import { type ConfigurationView, createDashboardClient } from "../../client/dashboard-client.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { startDashboardFixture } from "../dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture());
const receiver = await forFile(() => Receiver.start());
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const { scope } = dashboard;
const api = client.configuration;

async function connect(account: string, beforeVerified = async () => {}) {
  const credentials = { apiKey: `sandbox_test_${account}` };
  const { connection } = await client.connections.addGatewayConnection({
    ...scope,
    gateway: "SANDBOX_A",
    account,
    credentials,
  });
  await beforeVerified();
  await client.connections.verifyGatewayConnection({ ...scope, connectionId: connection!.connectionId! });
}
await connect("shop");

const checkout: NonNullable<ConfigurationView["checkout"]> = {
  origins: ["https://shop.example.com"],
  sessionLifetimeSeconds: 1800,
  statementDescriptor: "Corner Coffee",
  repeatedOrders: "REPEATED_ORDERS_WARN",
};
const routing: NonNullable<ConfigurationView["routing"]> = { connectionIds: ["SANDBOX_A"], failoverOn: ["TIMEOUT"] };
const hook = (path: string) => `${receiver.url}/${path}`;
const webhooks = { endpoints: [{ url: hook("one") }, { url: hook("two"), eventTypes: ["payment_session.succeeded"] }] };

const plan = (desired: ConfigurationView) => api.planConfiguration({ ...scope, desired });
async function apply(desired: ConfigurationView, more: { revision?: string; allowRemovals?: boolean } = {}) {
  const revision = more.revision ?? (await plan(desired)).revision!;
  return api.applyConfiguration({ ...scope, desired, allowRemovals: false, ...more, revision });
}
const held = async () => (await api.getConfiguration(scope)).configuration!;
const rows = async () =>
  (await dashboard.rows<{ rows: string }>("SELECT count(*)::text AS rows FROM audit_entry"))[0]!.rows;
const pathsOf = ({ changes = [] }: Awaited<ReturnType<typeof plan>>) =>
  changes.map(({ path, kind }) => `${kind} ${path}`);

beforeEach(async () => {
  await apply({ routing, checkout, webhooks }, { allowRemovals: true });
});

describe("a configuration", () => {
  it("that was read is the same when it is applied: no change, no row of the audit trail", async () => {
    const desired = await held();
    expect(desired).toMatchObject({ routing, checkout });
    const { revision = "" } = await plan(desired);
    const before = await rows();
    expect((await apply(desired, { revision })).changes).toEqual([]);
    expect(await rows()).toBe(before);
    expect((await client.routingRules.listRoutingRuleVersions(scope)).versions).toHaveLength(1);
  });

  it("changes as the plan says, in sentences for people, and only then", async () => {
    const desired: ConfigurationView = {
      routing: { ...routing, failoverOn: ["HARD_DECLINE", "TIMEOUT"], retriesSameGateway: true },
      checkout: { ...checkout, sessionLifetimeSeconds: 900, repeatedOrders: "REPEATED_ORDERS_REFUSE" },
      webhooks: { endpoints: [...webhooks.endpoints, { url: hook("three") }] },
    };
    const planned = await plan(desired);
    expect(pathsOf(planned)).toEqual([
      "CHANGED routing",
      "CHANGED checkout.sessionLifetimeSeconds",
      "CHANGED checkout.repeatedOrders",
      `ADDED webhooks.endpoints[${hook("three")}]`,
    ]);
    expect(planned.changes!.flatMap(({ sentences = [] }) => sentences)).toEqual([
      "After declines, the next gateway is tried.",
      "A gateway that asks to try again gets the payment once more.",
      "New sessions accept a payment for 15 minutes.",
      "A second payment of an order is refused.",
      `${hook("three")} is added for every event. Verify it afterwards.`,
    ]);
    expect(await held()).toMatchObject({ routing, checkout });
    const { changes, addedEndpoints, revision } = await apply(desired);
    expect(changes).toEqual(planned.changes);
    expect(addedEndpoints).toEqual([
      {
        url: hook("three"),
        endpointId: expect.stringMatching(/^we_/),
        signingSecret: expect.stringContaining("whsec_"),
      },
    ]);
    expect(await plan(desired)).toMatchObject({ changes: [], revision });
    expect(await held()).toMatchObject({ ...desired, webhooks: { endpoints: [{}, {}, { url: hook("three") }] } });
  });

  it("leaves out sections that are absent", async () => {
    const { changes } = await apply({
      checkout: { ...checkout, origins: ["https://other.example.com", ...(checkout.origins ?? [])] },
    });
    expect(changes).toMatchObject([{ path: "checkout.origins", removes: false }]);
    expect(await held()).toMatchObject({ routing, webhooks: { endpoints: [{}, {}] } });
  });

  it("removes nothing unless removals are allowed", async () => {
    const desired = { webhooks: { endpoints: [webhooks.endpoints[1]!] }, checkout: { ...checkout, origins: [] } };
    const before = await held();
    const planned = await plan(desired);
    expect(planned.changes).toMatchObject([{ removes: true }, { kind: "REMOVED", removes: true }]);
    await expect(apply(desired)).rejects.toMatchObject({ code: "invalid_field", param: "allowRemovals" });
    expect(await held()).toEqual(before);
    await apply(desired, { allowRemovals: true });
    expect(await held()).toMatchObject({ checkout: { origins: [] }, webhooks: { endpoints: [webhooks.endpoints[1]] } });
  });

  it("of an older plan is refused after an edit in the dashboard, and writes nothing", async () => {
    const desired = { checkout: { ...checkout, sessionLifetimeSeconds: 600 } };
    const { revision } = await plan(desired);
    await client.settings.setStatementDescriptor({ ...scope, statementDescriptor: "Corner Tea" });
    await expect(apply(desired, { revision: revision! })).rejects.toMatchObject({ code: "state_conflict" });
    expect(await held()).toMatchObject({
      checkout: { statementDescriptor: "Corner Tea", sessionLifetimeSeconds: 1800 },
    });
  });

  it("is one of two writers': 200 pairs of an apply and an edit leave no mixture", { timeout: 300_000 }, async () => {
    for (let pair = 0; pair < 200; pair++) {
      const lifetime = 600 + pair;
      await apply({ checkout });
      const desired = { checkout: { ...checkout, sessionLifetimeSeconds: lifetime, statementDescriptor: "From File" } };
      const { revision } = await plan(desired);
      const edit = client.settings.setStatementDescriptor({ ...scope, statementDescriptor: "From Page" });
      const [applied] = await Promise.allSettled([apply(desired, { revision: revision! }), edit]);
      const { sessionLifetimeSeconds, statementDescriptor } = (await held()).checkout!;
      // The edit has the last word, or came first and the apply wrote nothing.
      expect(statementDescriptor).toBe("From Page");
      expect(sessionLifetimeSeconds === lifetime).toBe(applied.status === "fulfilled");
    }
  });

  it("is written as a whole: a rule that cannot be saved keeps the settings as they were", async () => {
    const desired = { checkout: { ...checkout, sessionLifetimeSeconds: 700 }, webhooks: { endpoints: [] } };
    const { revision } = await plan(desired);
    await dashboard.rows(`ALTER TABLE audit_entry ADD CONSTRAINT no_row CHECK (subject NOT LIKE 'we_%') NOT VALID`);
    await expect(apply(desired, { revision: revision!, allowRemovals: true })).rejects.toMatchObject({
      code: "internal",
    });
    await dashboard.rows("ALTER TABLE audit_entry DROP CONSTRAINT no_row");
    expect(await held()).toMatchObject({ checkout, webhooks: { endpoints: [{}, {}] } });
  });

  it.each([
    [
      "a connection that is not there",
      { routing: { ...routing, connectionIds: ["STRIPE"] } },
      "routing.connectionIds[0]",
    ],
    [
      "a case without conditions",
      { routing: { ...routing, cases: { list: [{ name: "All", conditions: {}, connectionIds: ["SANDBOX_A"] }] } } },
      "routing.cases.list[0].conditions",
    ],
    [
      "a path for an origin",
      { checkout: { ...checkout, origins: ["https://shop.example.com/pay"] } },
      "checkout.origins[0]",
    ],
    [
      "a lifetime of a minute",
      { checkout: { ...checkout, sessionLifetimeSeconds: 60 } },
      "desired.checkout.sessionLifetimeSeconds",
    ],
    [
      "an unknown event",
      { webhooks: { endpoints: [{ url: "https://shop.example.com", eventTypes: ["paid"] }] } },
      "webhooks.eventTypes",
    ],
    ["a URL twice", { webhooks: { endpoints: [{ url: hook("one") }, { url: hook("one") }] } }, "webhooks.endpoints"],
    ["a user in a URL", { webhooks: { endpoints: [{ url: "https://a:b@shop.example.com" }] } }, "webhooks.url"],
  ])("with %s is refused at its place", async (_what, desired, param) => {
    await expect(plan(desired as never)).rejects.toMatchObject({ param });
  });

  it("that refuses repeated orders asks for another call while a payment is being written, also the second time", async () => {
    const desired = { checkout: { ...checkout, repeatedOrders: "REPEATED_ORDERS_REFUSE" } } as const;
    const writer = await dashboard.database.pool.connect();
    await writer.query("BEGIN");
    await writer.query("SELECT pg_current_xact_id()");
    await expect(apply(desired)).rejects.toMatchObject({ code: "unavailable" });
    await expect(apply(desired)).rejects.toMatchObject({ code: "unavailable" });
    await writer.query("ROLLBACK");
    writer.release();
    expect((await apply(desired)).changes).toEqual([]);
  });

  it("holds alerts and limits of refunds, and removes an address only if removals are allowed", async () => {
    const alerts = { addresses: ["ops@example.com"], mutedTopics: ["ALERT_TOPIC_UNVERIFIED"] } as const;
    const support = [{ currency: "EUR", amountMinor: "10000" }];
    const refundLimits = { support, developers: [{ currency: "EUR", amountMinor: "50000" }], owners: [] };
    const desired = {
      alerts: { addresses: [...alerts.addresses], mutedTopics: [...alerts.mutedTopics] },
      refundLimits,
    };
    const planned = await plan(desired);
    expect(planned.changes!.flatMap(({ sentences = [] }) => sentences)).toEqual([
      "Alerts are mailed to ops@example.com, once each has confirmed.",
      "Shown and not sent: unverified.",
      "Members of the role support refund at most 100.00 EUR per day each.",
      "Developers refund at most 500.00 EUR per day each.",
    ]);
    await apply(desired);
    expect(await held()).toMatchObject({ alerts, refundLimits: { support, developers: refundLimits.developers } });
    const exported = await held();
    const { revision } = await plan(exported);
    const before = await rows();
    expect((await apply(exported, { revision: revision! })).changes).toEqual([]);
    expect(await rows()).toBe(before);
    const none = { alerts: { addresses: [], mutedTopics: [] } };
    await expect(apply(none)).rejects.toMatchObject({ param: "allowRemovals" });
    await apply(none, { allowRemovals: true });
    expect((await client.alerts.getAlertAddresses(scope)).addresses ?? []).toEqual([]);
  });

  it("pauses a connection that it leaves out, and resumes it", async () => {
    const { connections } = await held();
    expect(connections).toEqual({
      accounts: [{ gateway: "SANDBOX_A", account: "shop", credentialsVersion: 1, paused: false }],
    });
    await expect(apply({ connections: {} })).rejects.toMatchObject({ param: "allowRemovals" });
    await apply({ connections: {} }, { allowRemovals: true });
    expect((await held()).connections).toMatchObject({ accounts: [{ paused: true }] });
    const { changes } = await apply({ connections: connections! });
    expect(changes).toMatchObject([{ sentences: ["SANDBOX_A (shop) is resumed: new payments may use it."] }]);
    expect((await held()).connections).toEqual(connections);
  });

  it("plans a connection and a rule that names it, and is not applied before its credentials are verified", async () => {
    const added = { gateway: "SANDBOX_A", account: "new", credentialsVersion: 1, paused: false };
    const { connections } = await held();
    const accounts = [...connections!.accounts!, added];
    const desired = {
      connections: { accounts },
      routing: { ...routing, connectionIds: ["SANDBOX_A:shop", "SANDBOX_A:new"] },
    };
    expect(pathsOf(await plan(desired))).toEqual(["ADDED connections.accounts[SANDBOX_A:new]", "CHANGED routing"]);
    await expect(apply(desired)).rejects.toMatchObject({ code: "state_conflict", param: "connections" });
    const [shop] = connections!.accounts!;
    const rotated = { connections: { accounts: [{ ...shop!, credentialsVersion: 2 }] } };
    await expect(apply(rotated)).rejects.toMatchObject({ code: "state_conflict", param: "connections" });
    const far = { connections: { accounts: [{ ...shop!, credentialsVersion: 3 }] } };
    await expect(plan(far)).rejects.toMatchObject({ param: "connections.accounts[0].credentialsVersion" });
  });

  it("reaches no private network", async () => {
    const desired = { webhooks: { endpoints: [...webhooks.endpoints, { url: "http://10.0.0.1/hook" }] } };
    await expect(apply(desired)).rejects.toMatchObject({ code: "endpoint_not_allowed" });
  });

  it("names connections by their account where a gateway has several", async () => {
    // Until it is verified, a file does not have it, and does not pause it either.
    await connect("kiosk", async () => {
      const { connections } = await held();
      expect((await plan({ connections: connections! })).changes ?? []).toEqual([]);
    });
    const { routing: named } = await held();
    expect(named!.connectionIds).toEqual(["SANDBOX_A:shop"]);
    await expect(plan({ routing })).rejects.toMatchObject({ message: expect.stringContaining("SANDBOX_A:kiosk") });
    const { changes } = await apply({ routing: { ...routing, connectionIds: ["SANDBOX_A:kiosk", "SANDBOX_A:shop"] } });
    expect(changes).toMatchObject([{ path: "routing", removes: false }]);
    await apply({ routing: { ...routing, connectionIds: ["SANDBOX_A:shop"] } }, { allowRemovals: true });
  });
});
