/**
 * An installation whose test environment moves to an external vault, which is an emulator: a customer pays and fails
 * over in a browser, and every part of the connection to that vault breaks once.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { VaultEmulatorProcess } from "../testing/external-vault/vault-emulator-process.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { answerBank, challengeTitle } from "./challenge-shop.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { MerchantPages } from "./merchant-pages.ts";

const number = "4242424242424242";
const settings: Record<string, string> = {};
const grants: string[] = [];
const tokens: string[] = [];

let emulator: VaultEmulatorProcess;
let demo: TestDemo;
let browser: Browser;
let pages: MerchantPages;
let merchant: ApiCheckout;
let context: BrowserContext;
let page: Page;
let reported: [string, unknown][];
let addresses: string[];

beforeAll(async () => {
  [emulator, browser, pages, demo] = await Promise.all([
    VaultEmulatorProcess.start(),
    launchBrowser(),
    MerchantPages.start(),
    startTestDemo(settings),
  ]);
  merchant = new ApiCheckout(demo.file);
  Object.assign(settings, emulator.variablesFor("TEST"), { SWITCHYARD_ATTEMPT_TIMEOUT_MS: "2000" });
  for (const role of ["edge", "worker"] as const) {
    process.kill(demo.file.pids[role]!, "SIGKILL");
    await demo.restart(role);
  }
  await routeOverTwoAccounts();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  pages?.close();
  await demo?.close();
  await emulator?.close();
});
beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
  reported = [];
  addresses = [];
  page.on("request", (request) => addresses.push(request.url(), request.headers().referer ?? ""));
  await page.exposeFunction("report", (name: string, result: unknown) => reported.push([name, result]));
});
afterEach(async () => {
  await context.close();
  tokens.push(...(await emulator.record()).proxied.map(({ token }) => token));
  await emulator.setFaults();
  await demo.sandbox.release();
  await demo.sandbox.setCard("B", number, { act: "approve" });
});

/** The command line, attached to the demo, for its first merchant. */
const call = (method: string, request: object = {}) =>
  runRpc(method, request, ["--merchant", demo.file.merchants[0]!.merchantId, "--demo", demo.stateFolder]);
const verify = (connectionId: string) => call("GatewayConnectionService/VerifyGatewayConnection", { connectionId });

async function connections(): Promise<{ connectionId: string; gateway: string }[]> {
  return JSON.parse((await call("GatewayConnectionService/ListGatewayConnections")).out).connections;
}

/** The vault sends no forms, so failover needs a second account at SANDBOX_B. */
async function routeOverTwoAccounts(): Promise<void> {
  const account = "test_second";
  const hmacKey = "0F".repeat(32);
  const credentials = { apiKey: `sandbox_${account}`, merchantAccount: account, notificationHmacKey: hmacKey };
  const added = await call("GatewayConnectionService/AddGatewayConnection", {
    gateway: "SANDBOX_B",
    account,
    credentials,
  });
  const { connection, notificationUrl } = JSON.parse(added.out);
  await demo.sandbox.setAccount(account, { notificationUrl, hmacKey });
  expect((await verify(connection.connectionId)).out).toContain('"verified": true');
  const takesPayments = ({ gateway }: { gateway: string }) => gateway !== "SANDBOX_3DS";
  const connectionIds = (await connections()).filter(takesPayments).map(({ connectionId }) => connectionId);
  const rule = { connectionIds, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
  expect(await call("RoutingRuleService/SetRoutingRule", rule)).toMatchObject({ code: 0 });
}

/** Opens a fresh session on the merchant's page, whose policy frames the vault and, for 3-D Secure, the service. */
async function openCheckout(): Promise<string> {
  const { sessionId, clientSecret, vault } = await merchant.open();
  grants.push(vault.sdkAuthorization);
  const vaultOrigin = new URL(vault.sdkUrl).origin;
  const { connectOrigin } = demo.file;
  const session = JSON.stringify({ apiBase: connectOrigin, sessionId, clientSecret, vault });
  pages.pages.set("/mount.js", {
    body: `const reporterOf = (name) => (result) => report(name, result);
      Switchyard.mount({ container: "#card", ...JSON.parse(document.getElementById("session").textContent),
        onSuccess: reporterOf("onSuccess"), onDeclined: reporterOf("onDeclined"), onError: reporterOf("onError"), onReady: reporterOf("onReady") });`,
  });
  pages.pages.set("/", {
    body: `<!doctype html><html lang="en"><title>Shop</title><div id="card"></div>
      <script type="application/json" id="session">${session}</script>
      <script src="${connectOrigin}/widget/v1/widget.js"></script><script src="/mount.js"></script></html>`,
    headers: {
      "content-security-policy": `default-src 'none'; script-src 'self' ${connectOrigin} ${vaultOrigin}; connect-src ${connectOrigin}; frame-src ${vaultOrigin} ${connectOrigin}`,
    },
  });
  await page.goto(pages.origin);
  await expect.poll(() => reported).toContainEqual(["onReady", undefined]);
  return sessionId;
}

async function pay(): Promise<void> {
  const form = page.frameLocator("#card iframe");
  await form.getByLabel("Card number").fill(number);
  await form.getByLabel("Expiry date").fill("04/31");
  await form.getByLabel("Security code").fill("123");
  await page.getByRole("button").click();
}

const outcomes = () => reported.filter(([name]) => name !== "onReady");

async function atGateways(sessionId: string): Promise<string[]> {
  const { attempts = [] } = await merchant.read(sessionId);
  const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return found.flat().map(({ status }) => status);
}

describe("an installation that has moved to an external vault", () => {
  it("verifies no gateway that needs more than the vault can send, and says what that is", async () => {
    const byGateway = new Map((await connections()).map(({ gateway, connectionId }) => [gateway, connectionId]));
    const { out } = await verify(byGateway.get("SANDBOX_A")!);
    expect(JSON.parse(out).verified).toBe(false);
    expect(JSON.parse(out).checks).toContainEqual(
      expect.objectContaining({ check: "card_vault", detail: expect.stringContaining("form-encoded bodies") }),
    );
  });

  it("takes a payment in a browser by the vault's own script, over the gateway that the vault can reach", async () => {
    const sessionId = await openCheckout();
    await pay();
    await expect.poll(outcomes).toEqual([["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: false }]]);
    expect(await merchant.read(sessionId)).toMatchObject({
      status: "SUCCEEDED",
      card: { brand: "visa", last4: "4242" },
      routing: {
        skipped: [
          { gateway: "SANDBOX_A", because: expect.stringContaining("card vault") },
          { gateway: "SANDBOX_3DS", because: expect.stringContaining("card vault") },
        ],
      },
    });
    expect(await atGateways(sessionId)).toEqual(["captured"]);
    const secrets = [number, grants.at(-1)!, emulator.settings.apiKey.expose()];
    for (const secret of secrets) expect(addresses.filter((address) => address.includes(secret))).toEqual([]);
  });

  it("shows the bank's page in a frame of the service, which no page of the vault surrounds", async () => {
    const passed = { act: "approve" } as const;
    await demo.sandbox.setCard("B", number, { act: "authenticate", when: "as_needed", code: "38", passed });
    await openCheckout();
    await pay();
    await answerBank(page.frameLocator(`#card iframe[title="${challengeTitle}"]`).frameLocator("iframe"));
    await expect.poll(outcomes).toEqual([["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: false }]]);
  });

  it("fails over to the second account under one submission", async () => {
    await demo.sandbox.setCard("B", number, { act: "decline", code: "23" });
    await demo.sandbox.hold("b.authorize");
    const sessionId = await openCheckout();
    await pay();
    await demo.sandbox.paused({ operation: "b.authorize" });
    await demo.sandbox.setCard("B", number, { act: "approve" });
    await demo.sandbox.release();
    await expect.poll(outcomes).toEqual([["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }]]);
    expect((await merchant.read(sessionId)).attempts).toMatchObject([
      { status: "DECLINED", next: { action: "failover" } },
      { status: "CAPTURED" },
    ]);
  });

  it("uses the next account when the proxy stays silent, and voids what the first may hold", async () => {
    await emulator.setFaults({ operation: "proxy", moment: "after", effect: "hang", times: 1 });
    await demo.sandbox.hold("b.notification");
    const sessionId = await openCheckout();
    await pay();
    await expect.poll(outcomes, { timeout: 20_000 }).toMatchObject([["onSuccess", { failoverUsed: true }]]);
    await demo.sandbox.release();
    await expect.poll(() => atGateways(sessionId), { timeout: 20_000 }).toEqual(["voided", "captured"]);
  });

  it("says that processing is unavailable, and not that the card was declined, when the way to the proxy breaks", async () => {
    await emulator.setFaults({ operation: "proxy", moment: "before", effect: "cut" });
    const sessionId = await openCheckout();
    await pay();
    await expect.poll(outcomes).toEqual([["onDeclined", { declineCode: "processing_unavailable" }]]);
    expect(await merchant.read(sessionId)).toMatchObject({
      status: "DEGRADED",
      attempts: [{ failureKind: "GATEWAY_ERROR", next: { action: "stop", because: expect.stringContaining("vault") } }],
    });
    expect(await atGateways(sessionId)).toEqual([]);
  });

  it("creates no session while the vault is down, says so, and accepts the same key when it is back", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const fields = { orderRef: "while-the-vault-is-down" };
    await emulator.kill();
    const refused = await merchant.create(fields, headers);
    await emulator.restart();
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.json()).toMatchObject({
      code: "unavailable",
      detail: expect.stringContaining("card vault did not open a session"),
    });
    const created = await merchant.create(fields, headers);
    expect([created.status, created.headers.get("idempotent-replayed")]).toEqual([201, null]);
  });

  it("still has live on its own vault", async () => {
    const live = new ApiCheckout(demo.file, demo.file.merchants[0]!.live.secretKey);
    const { vault } = await live.open();
    expect(new URL(vault.sdkUrl).origin).toBe(demo.file.vaultOrigin);
  });

  it("has written no key, grant, token or card into its logs", async () => {
    expect(tokens.length).toBeGreaterThan(4);
    const log = ["edge", "worker"].map((role) => readFileSync(join(demo.stateFolder, `${role}.log`), "utf8")).join();
    expect(log).toContain("the card vault did not open a session");
    const secrets = [number, emulator.settings.apiKey.expose(), ...grants, ...tokens];
    for (const secret of secrets) expect(log).not.toContain(secret);
  });
});
