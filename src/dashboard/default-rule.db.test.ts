/** The default rule, as the dashboard shows and saves it, and the question about routing when live credentials are verified. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard.fixture.ts";

type Environment = "ENVIRONMENT_TEST" | "ENVIRONMENT_LIVE";

let dashboard: DashboardFixture;
let client: DashboardClient;

async function start(live: boolean) {
  dashboard = await startDashboardFixture({ live });
  client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
}
async function stop() {
  client?.close();
  await dashboard?.close();
}

const scopeIn = (environment: Environment) => ({ merchantId: dashboard.merchantId, environment });

async function add(environment: Environment, account: string): Promise<string> {
  const credentials = { apiKey: `sandbox_test_${account}` };
  const request = { ...scopeIn(environment), gateway: "SANDBOX_A", account, credentials };
  return (await client.connections.addGatewayConnection(request)).connection!.connectionId!;
}
const verify = (environment: Environment, connectionId: string, more: { routePayments?: boolean } = {}) =>
  client.connections.verifyGatewayConnection({ ...scopeIn(environment), connectionId, ...more });
const ruleIn = async (environment: Environment) =>
  (await client.routingRules.getRoutingRule(scopeIn(environment))).routingRule;

describe("in test", () => {
  const test = "ENVIRONMENT_TEST";
  beforeAll(() => start(false));
  afterAll(stop);

  it("has no gateway before the first verification, then those that are verified and not paused, at most five", async () => {
    const ids: string[] = [];
    for (let account = 0; account < 7; account++) ids.push(await add(test, `account-${account}`));
    expect(await ruleIn(test)).toBeUndefined();
    // The order of the first verification, not of the accounts; a later one changes nothing.
    for (const index of [2, 0, 1, 3, 4, 5, 6, 2]) await verify(test, ids[index]!);
    const inForce = await ruleIn(test);
    const first = [2, 0, 1, 3, 4].map((index) => ids[index]);
    expect(inForce).toMatchObject({
      connectionIds: first,
      failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
      authentication: "AS_NEEDED",
    });
    expect([inForce?.version ?? 0, inForce?.createdAt]).toEqual([0, undefined]);
    await client.connections.pauseGatewayConnection({ ...scopeIn(test), connectionId: ids[0]! });
    expect((await ruleIn(test))?.connectionIds).toEqual([2, 1, 3, 4, 5].map((index) => ids[index]));
    const planned = await client.routingRules.testRoute({ ...scopeIn(test), amountMinor: "4900", currency: "EUR" });
    expect(JSON.stringify(planned)).toContain(ids[2]);
  });

  it("becomes version 1 when it is saved, and does not change with the gateways from then on", async () => {
    const { connectionIds = [], failoverOn = [] } = (await ruleIn(test))!;
    const saving = { ...scopeIn(test), connectionIds, failoverOn, expectedVersion: 0 };
    expect((await client.routingRules.setRoutingRule(saving)).routingRule).toMatchObject({ version: 1, connectionIds });
    await verify(test, await add(test, "later"));
    expect(await ruleIn(test)).toMatchObject({ version: 1, connectionIds });
  });
});

describe("in live", () => {
  const live = "ENVIRONMENT_LIVE";
  beforeEach(() => start(true));
  afterEach(stop);

  const auditOf = (subject: string) =>
    dashboard.rows<{ action: string; before: object; after: object }>(
      "SELECT action, before, after FROM audit_entry WHERE subject = $1 ORDER BY id",
      [subject],
    );

  it("asks whether payments are routed to an account that is verified for the first time", async () => {
    const connectionId = await add(live, "asked");
    await expect(verify(live, connectionId)).rejects.toMatchObject({ code: "missing_field" });
    const { connections = [] } = await client.connections.listGatewayConnections(scopeIn(live));
    expect(connections[0]?.verified ?? false).toBe(false);
  });

  it("routes to it after a yes, with an audit row of the rule, and does not ask again", async () => {
    const [first, second] = [await add(live, "one"), await add(live, "two")];
    await verify(live, first, { routePayments: true });
    await verify(live, second, { routePayments: true });
    expect((await ruleIn(live))?.connectionIds).toEqual([first, second]);
    expect(await auditOf(`${dashboard.merchantId}/routing-rule`)).toMatchObject([
      {
        action: "VerifyGatewayConnection",
        before: { connectionIds: [] },
        after: { version: 0, connectionIds: [first] },
      },
      { before: { connectionIds: [first] }, after: { connectionIds: [first, second] } },
    ]);
    expect(await verify(live, first)).toMatchObject({ verified: true });
  });

  it("leaves it out after a no: verified and paused, until a person resumes it", async () => {
    const [first, second] = [await add(live, "one"), await add(live, "two")];
    await verify(live, first, { routePayments: true });
    await verify(live, second, { routePayments: false });
    expect((await ruleIn(live))?.connectionIds).toEqual([first]);
    expect((await auditOf(second)).at(-1)).toMatchObject({ before: { paused: false }, after: { paused: true } });
    await client.connections.resumeGatewayConnection({ ...scopeIn(live), connectionId: second });
    expect((await ruleIn(live))?.connectionIds).toEqual([first, second]);
  });

  it("adds it to a saved rule as the last priority after a yes, and changes nothing after a no", async () => {
    const [first, second, third] = [await add(live, "one"), await add(live, "two"), await add(live, "three")];
    await verify(live, first, { routePayments: true });
    const rule = { connectionIds: [first], failoverOn: ["TIMEOUT"] as const };
    await client.routingRules.setRoutingRule({ ...scopeIn(live), ...rule, failoverOn: [...rule.failoverOn] });
    await verify(live, second, { routePayments: true });
    await verify(live, third, { routePayments: false });
    expect(await ruleIn(live)).toMatchObject({ version: 2, connectionIds: [first, second], failoverOn: ["TIMEOUT"] });
    const { connections = [] } = await client.connections.listGatewayConnections(scopeIn(live));
    expect(connections.some(({ paused }) => paused)).toBe(false);
  });

  it("routes nothing to an account whose first verification is a change of its credentials", async () => {
    const connectionId = await add(live, "changed");
    const credentials = { apiKey: "sandbox_test_changed" };
    expect(
      await client.connections.rotateGatewayCredentials({ ...scopeIn(live), connectionId, credentials }),
    ).toMatchObject({ verified: true });
    expect(await ruleIn(live)).toBeUndefined();
  });
});
