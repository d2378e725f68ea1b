/** Runs every command as a person or a script does: as a separate process, against a real demo. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { readDemoFile } from "../../demo/demo-file.ts";
import { forFile } from "../testing/for-file.ts";
import { Receiver } from "../testing/receiver.ts";
import { callRpc, runCommand as run } from "../testing/run-command.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { startTestDemo } from "./demo.fixture.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const onDemo = (...parts: string[]) => run([...parts, "--demo", demo.stateFolder]);

const folder = mkdtempSync(join(tmpdir(), "switchyard-command-line-"));
const [demo, receiver] = await Promise.all([forFile(startTestDemo), forFile(() => Receiver.start())]);
const created = await json("merchant", "create", "--name", "Tea House");
const merchantId: string = created.merchant.merchantId;
const firstKeys: { secretKey: string; publishableKey: string } = created.keys[0];

/** The answer of a command that succeeds, as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each command answers in its own shape, which the test checks.
async function json(...parts: string[]): Promise<any> {
  const { code, out, err } = await onDemo(...parts, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const ours = (...parts: string[]) => json(...parts, "--merchant", merchantId);

const call = (method: string, request: object = {}) =>
  callRpc(method, request, ["--merchant", merchantId, "--demo", demo.stateFolder]);

describe("switchyard merchant", () => {
  it("creates a merchant that can accept payments immediately, and lists it", async () => {
    expect(merchantId).toMatch(/^mer_\w{26}$/);
    expect(firstKeys).toMatchObject({
      environment: "ENVIRONMENT_TEST",
      secretKey: expect.stringMatching(/^switchyard_test_sk_/),
      publishableKey: expect.stringMatching(/^switchyard_test_pk_/),
    });
    const { merchants } = await json("merchant", "list");
    expect(merchants.at(-1)).toEqual({ merchantId, name: "Tea House", testCell: 1, liveCell: 1 });
    const created = await onDemo("merchant", "create", "--name", "Another Tea House");
    expect(created.out).toMatch(/Created Another Tea House as mer_\w+.*\n {2}switchyard_test_sk_/);
  });
});

describe("switchyard keys", () => {
  it("regenerates a key and revokes the old one immediately, in this environment only", async () => {
    const session = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
    const created = await json("merchant", "create", "--name", "Key Shop");
    const [test, live] = created.keys.map(({ secretKey }: { secretKey: string }) => secretKey);
    const createWith = (key: string) =>
      new RestClient({ restBase: demo.file.restBase, secretKey: key }).createSession(session, {
        idempotencyKey: `key-${key.slice(-6)}`,
      });
    expect(await createWith(test)).toMatchObject({ status: "CREATED", orderRef: "order-1" });
    const of = ["--merchant", created.merchant.merchantId];
    const { key } = await json("keys", "regenerate", "--kind", "secret", ...of);
    await expect(createWith(test)).rejects.toMatchObject({ name: "RestError", status: 401, code: "invalid_key" });
    expect(await createWith(key)).toMatchObject({ status: "CREATED" });
    expect(await createWith(live)).toMatchObject({ status: "CREATED" });
    const { apiKeys } = await json("keys", "list", ...of);
    expect(apiKeys.map(({ last4 }: { last4: string }) => last4)).toContain(key.slice(-4));
  });

  it("keeps the demo's own record of its keys", async () => {
    const secondShop = demo.file.merchants[1]!.merchantId;
    const { key } = await json("keys", "regenerate", "--kind", "publishable", "--merchant", secondShop);
    const merchants = readDemoFile(demo.stateFolder)?.merchants;
    expect(merchants?.[1]?.test.publishableKey).toBe(key);
    expect(merchants?.[1]?.live).toEqual(demo.file.merchants[1]?.live);
    const create = ["session", "create", "--amount", "0.01EUR", "--order", "o"];
    const described = await onDemo(...create, "--json", "--merchant", secondShop);
    expect(JSON.parse(described.out).vault.publishableKey).toBe(key);
  });
});

describe("switchyard rpc", () => {
  it("connects a gateway, verifies it, routes to it and shows the rule", async () => {
    const request = join(folder, "account.json");
    const account = { gateway: "SANDBOX_A", account: "tea-house", credentials: { apiKey: "sandbox_test_tea-house" } };
    writeFileSync(request, JSON.stringify(account));
    const { connection, notificationUrl } = await ours(
      "rpc",
      "GatewayConnectionService/AddGatewayConnection",
      `@${request}`,
    );
    expect(connection).toMatchObject({ gateway: "SANDBOX_A", account: "tea-house", verified: false });
    expect(notificationUrl).toBe(`${demo.file.connectOrigin}/gateway-notifications/test/${connection.connectionId}`);
    const { connectionId } = connection;
    const rule = { connectionIds: [connectionId], failoverOn: ["TIMEOUT"] };
    const set = ["rpc", "RoutingRuleService/SetRoutingRule", JSON.stringify(rule), "--merchant", merchantId];
    expect(await onDemo(...set)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not verified yet. (invalid_field, req_"),
    });
    expect(await call("GatewayConnectionService/VerifyGatewayConnection", { connectionId })).toMatchObject({
      verified: true,
      checks: expect.arrayContaining([expect.objectContaining({ passed: true })]),
    });
    const { routingRule } = JSON.parse((await onDemo(...set)).out);
    expect(routingRule).toMatchObject({ version: 1, ...rule });
    expect((await call("RoutingRuleService/GetRoutingRule")).routingRule).toEqual(routingRule);
  });

  it("exports a configuration, which plans and applies as it stands without a change", async () => {
    const file = join(folder, "configuration.yaml");
    writeFileSync(file, (await onDemo("export", "--merchant", merchantId)).out);
    expect(await onDemo("plan", file)).toMatchObject({ code: 0, out: expect.stringMatching(/^No change/) });
    expect(await onDemo("apply", file)).toMatchObject({ code: 0, out: expect.stringMatching(/^No change/) });
  });
});

describe("switchyard wallet", () => {
  it("sets the country, and makes, uses and erases a key", async () => {
    await ours("wallet", "set-country", "de");
    const made = await ours("wallet", "create-key", "--kind", "google", "--recipient", "BCR2DN4T263K6XYZ");
    const [{ id, publicKey }] = made.wallets.keys;
    expect(publicKey).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect((await ours("wallet", "use-key", id)).wallets.offered).toEqual(["google_pay"]);
    const shown = await onDemo("wallet", "show", "--merchant", merchantId);
    expect(shown.out).toMatch(
      new RegExp(`Offered: google_pay\nCountry: DE\n.*\n${id} +google +in use +BCR2DN4T263K6XYZ`),
    );
    expect((await ours("wallet", "erase-key", id)).wallets).toMatchObject({ offered: [], keys: [] });
    const again = await onDemo("wallet", "erase-key", id, "--merchant", merchantId);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining(`no key ${id}`) });
  });

  it("prints the request for Apple, and stores the domain file", async () => {
    const made = ["wallet", "create-key", "--kind", "apple-payment", "--recipient", "merchant.com.example"];
    expect((await onDemo(...made, "--merchant", merchantId)).out).toMatch(/\n-----BEGIN CERTIFICATE REQUEST-----\n/);
    const file = join(folder, "domain-file");
    writeFileSync(file, "7B227073");
    expect((await ours("wallet", "set-domain-file", file)).wallets.domainFile).toBe("7B227073");
  });
});

describe("a daily cap of a restricted key", () => {
  it("is given in major units, for each currency", async () => {
    const create = ["keys", "create", "--name", "Back office", "--rights", "refunds.create"];
    const { apiKey } = await ours(...create, "--refund-cap", "500.00EUR,1000JPY");
    expect(apiKey.refundCap).toMatchObject([
      { currency: "EUR", amountMinor: "50000" },
      { currency: "JPY", amountMinor: "1000" },
    ]);
  });
});

describe("a webhook endpoint, by rpc", () => {
  it("is registered, verified by a signed event, and listed", async () => {
    const added = { url: receiver.url, eventTypes: ["payment_session.succeeded"] };
    const { endpoint, signingSecret } = await call("WebhookEndpointService/AddWebhookEndpoint", added);
    expect(signingSecret).toMatch(/^switchyard_test_whsec_/);
    const { endpointId } = endpoint;
    const verify = () => call("WebhookEndpointService/VerifyWebhookEndpoint", { endpointId });
    receiver.answerWith({ status: 500 });
    expect(await verify()).toMatchObject({ verified: false, statusCode: 500 });
    receiver.answerWith({ status: 204 });
    expect(await verify()).toMatchObject({ verified: true, statusCode: 204 });
    expect(receiver.requests.flatMap((request) => objectionsTo(request, [signingSecret]))).toEqual([]);
    const { endpoints } = await call("WebhookEndpointService/ListWebhookEndpoints");
    expect(endpoints).toEqual([{ ...endpoint, status: "ENABLED", verifiedAt: expect.any(String) }]);
  });
});

describe("switchyard session", () => {
  it("creates a session with the demo's key, once for one idempotency key, and shows it", async () => {
    const create = ["session", "create", "--amount", "49.00EUR", "--order", "order-77"];
    const created = await json(...create, "--idempotency-key", "order-77");
    expect(created).toMatchObject({ status: "CREATED", amountMinor: 4900, currency: "EUR", orderRef: "order-77" });
    expect(await json(...create, "--idempotency-key", "order-77")).toEqual(created);
    const shown = await json("session", "show", created.sessionId);
    expect(shown).toMatchObject({ sessionId: created.sessionId, status: "CREATED", attempts: [] });
    const described = await onDemo("session", "show", created.sessionId);
    expect(described.out).toBe(`${created.sessionId}  order-77  49.00 EUR  CREATED\n`);
    const live = await onDemo("session", "show", created.sessionId, "--environment", "live", "--json");
    expect({ code: live.code, refusal: JSON.parse(live.err) }).toMatchObject({
      code: 1,
      refusal: { code: "not_found" },
    });
  });

  it("takes an address and a key from a file or the environment instead of a demo", async () => {
    const create = ["session", "create", "--amount", "0.01EUR", "--order", "o"];
    const at = [...create, "--rest-base", demo.file.restBase];
    const key = demo.file.merchants[0]!.test.secretKey;
    const keyFile = join(folder, "secret-key");
    writeFileSync(keyFile, `${key}\n`);
    expect(await run([...at, "--secret-key-file", keyFile])).toMatchObject({ code: 0 });
    expect(await run(at, { env: { SWITCHYARD_SECRET_KEY: key } })).toMatchObject({ code: 0 });
    expect(await run(at)).toMatchObject({ code: 1, err: expect.stringContaining("SWITCHYARD_SECRET_KEY") });
  });
});

describe("attaching", () => {
  it("takes an address and an operator token from a file or the environment instead of a demo", async () => {
    const at = ["merchant", "list", "--grpc-address", demo.file.grpcAddress];
    const tokenFile = join(folder, "operator-token");
    writeFileSync(tokenFile, `${demo.file.operatorToken}\n`);
    expect(await run([...at, "--operator-token-file", tokenFile])).toMatchObject({ code: 0 });
    const inEnvironment = { SWITCHYARD_OPERATOR_TOKEN: demo.file.operatorToken };
    expect(await run(at, { env: inEnvironment })).toMatchObject({ code: 0 });
    expect(await run(at)).toMatchObject({ code: 1, err: expect.stringContaining("SWITCHYARD_OPERATOR_TOKEN") });
    const asMerchant = { SWITCHYARD_OPERATOR_TOKEN: demo.file.merchants[0]!.test.secretKey };
    expect(await run(at, { env: asMerchant })).toMatchObject({ code: 1, err: expect.stringContaining("(invalid_key") });
  });

  it("reports plainly that there is no demo or no answer", async () => {
    const without = await run(["merchant", "list", "--demo", folder]);
    expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/^There is no demo in .*npm start/) });
    const unreachable = await run(["merchant", "list", "--grpc-address", "127.0.0.1:9"], {
      env: { SWITCHYARD_OPERATOR_TOKEN: "x" },
    });
    expect(unreachable).toMatchObject({
      code: 1,
      err: "Nothing answers at 127.0.0.1:9, called directly by gRPC: no proxy variable is used. The last error: connect ECONNREFUSED 127.0.0.1:9. (unavailable)\n",
    });
    const noRest = await run(["session", "show", "ps_1", "--rest-base", "http://127.0.0.1:9"], {
      env: { SWITCHYARD_SECRET_KEY: "x" },
    });
    expect(noRest).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^http:.* gave no answer: .*\(unavailable\)\n$/),
    });
  });
});

describe("the work queue and reconciliation, by rpc", () => {
  it("shows what waits for a person and what reconciliation found, and closes only what exists", async () => {
    expect(await call("WorkQueueService/ListWorkItems")).toEqual({ workItems: [], nextPageToken: "" });
    const close = { workItemId: "wi_01h455vb4pex5vsknk084sn02q", note: "seen" };
    const closed = await onDemo("rpc", "WorkQueueService/CloseWorkItem", JSON.stringify(close));
    expect(closed).toMatchObject({ code: 1, err: expect.stringContaining("(not_found, req_") });
    const { reconciliationRuns } = await call("ReconciliationService/ListReconciliationRuns", { pageSize: 1 });
    expect(reconciliationRuns).toMatchObject([{ mismatches: 0, orphans: 0 }]);
  });

  it("has the same figures for Prometheus", async () => {
    const text = await (await fetch(demo.file.metricsUrl)).text();
    expect(text).toContain(`switchyard_invariant_violations{environment="live",rule="two_capturable"} 0\n`);
    expect(text).toContain(`switchyard_work_items_open{environment="test",kind="ORPHANED_AUTHORIZATION"} 0\n`);
    expect(text).toContain(`switchyard_reconciliation_age_seconds{environment="test"} `);
  });
});

describe("the audit trail, by rpc", () => {
  it("shows who changed what, with the values before and after", async () => {
    const { entries } = await call("AuditService/ListAuditEntries", { pageSize: 100 });
    expect(entries).toContainEqual(
      expect.objectContaining({
        actor: expect.stringMatching(/^demo \(op_/),
        action: "CreateMerchant",
        subject: merchantId,
        after: { name: "Tea House" },
      }),
    );
  });
});
