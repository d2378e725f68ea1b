import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { startDashboardFixture } from "../dashboard/dashboard.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { requireSameRest } from "./file-credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "configuration-"));
afterAll(() => rmSync(folder, { recursive: true }));
const [dashboard, receiver] = await Promise.all([forFile(startDashboardFixture), forFile(() => Receiver.start())]);
const token = (await dashboard.hireOperator("ada")).expose();
const eve = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("eve")));
const { scope } = dashboard;

const at = ["--grpc-address", dashboard.address];
const run = (parts: readonly string[], env: Record<string, string> = {}) =>
  runCommandHere([...parts, ...at], { env: { SWITCHYARD_OPERATOR_TOKEN: token, ...env } });

// biome-ignore lint/suspicious/noExplicitAny: a file's content, which the tests change.
const exported = async (): Promise<any> => {
  const { out } = await run(["export", "--merchant", dashboard.merchantId]);
  return parse(out);
};

function fileOf(content: object): string {
  const file = join(folder, "checkout.yaml");
  writeFileSync(file, stringify(content));
  return file;
}

const connections = async () => (await eve.connections.listGatewayConnections(scope)).connections ?? [];
const shop = { gateway: "SANDBOX_A", account: "shop", credentialsVersion: 1 };

describe("credentials of a file", () => {
  it("are added and verified before the rest is applied, from the environment and from files", async () => {
    const content = await exported();
    content.connections = { accounts: [{ ...shop, credentials: { apiKey: { env: "SHOP_KEY" } } }] };
    content.routing = { connectionIds: ["SANDBOX_A"], failoverOn: ["TIMEOUT"] };
    const file = fileOf(content);
    const planned = await run(["plan", file]);
    expect(planned).toMatchObject({ code: 2, err: "" });
    expect(planned.out).toContain("+ connections.accounts[SANDBOX_A:shop]\n    SANDBOX_A (shop) is connected");
    expect(await run(["apply", file])).toMatchObject({
      code: 1,
      err: expect.stringContaining("credentials.apiKey: Set the environment variable SHOP_KEY."),
    });
    expect(await connections()).toEqual([]);
    const applied = await run(["apply", file], { SHOP_KEY: "sandbox_test_shop" });
    expect(applied).toMatchObject({ code: 0, err: "" });
    expect(applied.out).toContain("Its credentials are verified and in use.\n+ routing\n");
    expect(await connections()).toMatchObject([{ account: "shop", verified: true }]);
    expect(await run(["plan", file])).toMatchObject({ code: 0, out: expect.stringMatching(/^No change/) });

    const secret = join(folder, "shop-key");
    writeFileSync(secret, "sandbox_test_shop\n");
    const rotated = { ...shop, credentialsVersion: 2, credentials: { apiKey: { file: secret } } };
    expect(await run(["apply", fileOf({ ...content, connections: { accounts: [rotated] } })])).toMatchObject({
      code: 0,
      out: expect.stringContaining("Nothing else has changed."),
    });
    expect((await exported()).connections.accounts).toEqual([{ ...shop, credentialsVersion: 2, paused: false }]);
  });

  it("that the gateway refuses stop everything, and keep the old ones", async () => {
    const content = await exported();
    content.connections.accounts[0] = {
      ...shop,
      credentialsVersion: 3,
      credentials: { apiKey: { env: "SHOP_KEY" } },
    };
    content.checkout.sessionLifetimeSeconds = 900;
    const refused = await run(["apply", fileOf(content)], { SHOP_KEY: "sandbox_test_another" });
    expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining("Nothing is applied.") });
    expect(refused.err).not.toContain("sandbox_test_another");
    const now = await exported();
    expect(now.connections.accounts[0].credentialsVersion).toBe(2);
    expect(now.checkout.sessionLifetimeSeconds).not.toBe(900);
  });

  it("are not sent by a plan that is older than the configuration", async () => {
    const content = await exported();
    const added = { ...shop, account: "late", credentials: { apiKey: { env: "SHOP_KEY" } } };
    content.connections.accounts.push(added);
    // With two accounts at the gateway, its name alone would be none.
    delete content.routing;
    const saved = join(folder, "late.json");
    writeFileSync(saved, (await run(["plan", fileOf(content), "--json"])).out);
    await eve.settings.setSessionLifetime({ ...scope, sessionLifetimeSeconds: 1500 });
    const refused = await run(["apply", fileOf(content), "--plan", saved], { SHOP_KEY: "sandbox_test_late" });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("has changed since the plan was made") });
    expect((await connections()).map(({ account }) => account)).toEqual(["shop"]);
  });

  it("end an apply whose other changes are no longer the planned ones", () => {
    const [mine, other] = ["900", "1200"].map((after) => ({ path: "checkout.sessionLifetimeSeconds", after }));
    const waiting = [{ path: "connections.accounts[SANDBOX_A:shop]", after: "{}" }];
    expect(() => requireSameRest([...waiting, mine!], [mine!], waiting)).not.toThrow();
    expect(() => requireSameRest([...waiting, mine!], [other!], waiting)).toThrow("Plan again");
    expect(() => requireSameRest([...waiting], [mine!], waiting)).toThrow("Plan again");
  });

  it("do not stand in it", async () => {
    const content = await exported();
    content.connections.accounts[0].credentials = { apiKey: "sandbox_test_secret" };
    const refused = await run(["plan", fileOf(content)]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(".credentials.apiKey: Name where") });
    expect(refused.err).not.toContain("sandbox_test_secret");
  });
});

describe("a plan", () => {
  it("names who made a difference, and is refused once something else has changed", async () => {
    const file = fileOf(await exported());
    await eve.settings.setStatementDescriptor({ ...scope, statementDescriptor: "From Page" });
    const drift = await run(["plan", file]);
    expect(drift).toMatchObject({ code: 2 });
    expect(drift.out).toMatch(/^~ checkout\.statementDescriptor\n.*\n {4}Last changed by eve \(op_\w+\) at 20/);
    const saved = join(folder, "plan.json");
    writeFileSync(saved, (await run(["plan", file, "--json"])).out);
    expect(JSON.parse(readFileSync(saved, "utf8")).changes[0].lastChange.actor).toMatch(/^eve/);
    await eve.settings.setSessionLifetime({ ...scope, sessionLifetimeSeconds: 1200 });
    expect(await run(["apply", file, "--plan", saved])).toMatchObject({
      code: 1,
      err: expect.stringContaining("(state_conflict, req_"),
    });
  });

  it("simulates a changed rule on past payments", async () => {
    const content = await exported();
    content.routing.failoverOn = ["HARD_DECLINE"];
    const { out } = await run(["plan", fileOf(content)]);
    expect(out).toMatch(/^~ routing\n[\s\S]*\nThe new rule on past payments: none was submitted/);
  });
});

describe("the secret of an added endpoint", () => {
  it("is written for its owner alone, and the endpoint is verified", async () => {
    const content = await exported();
    content.webhooks.endpoints.push({ url: `${receiver.url}/hook` });
    const file = fileOf(content);
    expect(await run(["apply", file])).toMatchObject({ code: 1, err: expect.stringContaining("--secrets-to") });
    const secrets = join(folder, "secrets");
    const applied = await run(["apply", file, "--secrets-to", secrets, "--json"]);
    expect(applied).toMatchObject({ code: 0, err: "" });
    const [{ endpointId, secretIn, verified }] = JSON.parse(applied.out).addedEndpoints;
    expect([verified, secretIn]).toEqual([true, join(secrets, `${endpointId}.secret`)]);
    expect(statSync(secretIn).mode & 0o777).toBe(0o600);
    expect(readFileSync(secretIn, "utf8")).toMatch(/^switchyard_test_whsec_\S+\n$/);
    expect(applied.out).not.toContain("whsec_");
  });

  it("would be a new one for an endpoint that was removed in the dashboard; the plan says by whom", async () => {
    const file = fileOf(await exported());
    const { endpoints = [] } = await eve.endpoints.listWebhookEndpoints(scope);
    await eve.endpoints.removeWebhookEndpoint({ ...scope, endpointId: endpoints[0]!.endpointId! });
    const { out } = await run(["plan", file]);
    expect(out).toMatch(/^\+ webhooks\.endpoints\[.*\/hook\]\n.*\n {4}Last changed by eve \(op_\w+\) at 20/m);
  });

  it("is not made for a removal that is not allowed", async () => {
    const content = await exported();
    content.connections.accounts = [];
    expect(await run(["apply", fileOf(content)])).toMatchObject({
      code: 1,
      err: expect.stringContaining("--allow-removals"),
    });
  });
});
