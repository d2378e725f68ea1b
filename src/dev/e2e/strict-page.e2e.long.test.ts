/** The widget on a page with the policy of docs/security.md: three hosts, Trusted Types. */
import { createHash } from "node:crypto";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IntegrityList } from "../../../widget/publish.ts";
import { startVaultFixture } from "../../vault/vault.fixture.ts";
import { version } from "../../version.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { documentedPolicy } from "./documented-policy.ts";
import { MerchantPages } from "./merchant-pages.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

let context: BrowserContext;
let page: Page;
/** Violations that any document of the page reports, the card frame's too, and every line of the console. */
let complaints: string[];

const mountCall = `mount({ container: "#card", wallets: [], locale: "de", ...JSON.parse(document.getElementById("session").textContent),
  onSuccess: (result) => report("onSuccess", result), onDeclined: (result) => report("onDeclined", result),
  onError: (error) => report("onError", error) });`;

const [demo, browser, merchant] = await Promise.all([
  joinTestDemo(),
  forFile(launchBrowser),
  forFile(() => MerchantPages.start()),
]);
beforeEach(async () => {
  complaints = [];
  context = await browser.newContext();
  page = await context.newPage();
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.exposeFunction("complain", (text: string) => void complaints.push(text));
  await page.addInitScript(() => {
    const { complain } = globalThis as unknown as { complain(text: string): void };
    addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
      complain(`${location.origin} ${effectiveDirective} ${blockedURI}`),
    );
    new ReportingObserver((reports) => complain(JSON.stringify(reports))).observe();
  });
});
afterEach(async () => {
  merchant.reports.length = 0;
  await context.close();
});

/** Puts a fresh session on the merchant's page, with the widget as these scripts load it. */
async function servePage(scripts: string, mountScript: string, policy = documentedPolicy(demo.file)): Promise<void> {
  const { sessionId, clientSecret, vault } = await new ApiCheckout(demo.file).open();
  const session = JSON.stringify({ apiBase: demo.file.connectOrigin, sessionId, clientSecret, vault });
  merchant.pages.set("/mount.js", { body: mountScript });
  merchant.pages.set("/favicon.svg", { body: "" });
  merchant.pages.set("/", {
    body: `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="/favicon.svg"><div id="card"></div>
      <script type="application/json" id="session">${session}</script>${scripts}</html>`,
    headers: {
      "content-security-policy": `${policy}; report-uri /reports`,
      "cross-origin-embedder-policy": "require-corp",
      "cross-origin-opener-policy": "same-origin",
    },
  });
}

async function pay(): Promise<[string, unknown]> {
  const reported = new Promise<[string, unknown]>((resolve) => {
    void page
      .exposeFunction("report", (name: string, result: unknown) => resolve([name, result]))
      .then(async () => {
        await page.goto(merchant.origin);
        const frame = page.frameLocator("#card iframe");
        await frame.locator("#number").fill("4242424242424242");
        await frame.locator("#expiry").fill("04/31");
        await frame.locator("#cvc").fill("123");
        await page.getByRole("button").click();
      });
  });
  return reported;
}

const widgetTag = () => `<script src="${demo.file.connectOrigin}/widget/v1/widget.js"></script>`;

describe("a page with the documented policy", () => {
  it("names three hosts, no wildcard and no exception", () => {
    const hosts = new Set(documentedPolicy(demo.file).match(/https?:\/\/[^\s;]+|'self'/g));
    expect(hosts).toEqual(new Set(["'self'", demo.file.connectOrigin, demo.file.vaultOrigin]));
    expect(documentedPolicy(demo.file)).not.toMatch(/\*|unsafe|nonce|data:|blob:/);
    expect(documentedPolicy(demo.file)).toContain("require-trusted-types-for 'script'");
  });

  it.each([
    ["the script tag", () => `${widgetTag()}<script src="/mount.js"></script>`, () => `Switchyard.${mountCall}`],
    [
      "the ES module",
      () => '<script type="module" src="/mount.js"></script>',
      () => `import { mount } from "${demo.file.connectOrigin}/widget/v1/widget.mjs";\n${mountCall}`,
    ],
  ])("accepts a payment by %s without one complaint or report", async (_, scripts, mountScript) => {
    await servePage(scripts(), mountScript());
    expect(await pay()).toEqual(["onSuccess", { capturedVia: "SANDBOX_A", failoverUsed: false }]);
    expect(await page.evaluate("crossOriginIsolated")).toBe(true);
    expect(complaints).toEqual([]);
    expect(merchant.reports).toEqual([]);
  });

  it("accepts one with every file of the widget checked by its digest, as the guide says", async () => {
    const { connectOrigin } = demo.file;
    const address = `${connectOrigin}/widget/v${version}/integrity.json`;
    const { path, files } = (await (await fetch(address)).json()) as IntegrityList;
    const chunks = Object.entries(files).filter(([name]) => name.includes("-"));
    const map = JSON.stringify({
      integrity: Object.fromEntries(chunks.map(([name, digest]) => [connectOrigin + path + name, digest])),
    });
    const mapDigest = `'sha256-${createHash("sha256").update(map).digest("base64")}'`;
    const scripts = `<script type="importmap">${map}</script>
      <script src="${connectOrigin}${path}widget.js" integrity="${files["widget.js"]}" crossorigin="anonymous"></script>
      <script src="/mount.js"></script>`;
    const policy = documentedPolicy(demo.file).replace("script-src", `script-src ${mapDigest}`);
    await servePage(scripts, `Switchyard.${mountCall}`, policy);
    expect(await pay()).toEqual(["onSuccess", { capturedVia: "SANDBOX_A", failoverUsed: false }]);
    expect(complaints).toEqual([]);
    expect(merchant.reports).toEqual([]);
  });

  it("reports when it does block something", async () => {
    await servePage("", "");
    await page.goto(merchant.origin);
    await page
      .evaluate(() => {
        document.createElement("script").src = "https://elsewhere.example/x.js";
      })
      .catch(() => undefined);
    await expect.poll(() => merchant.reports.join()).toContain("require-trusted-types-for");
    await expect.poll(() => complaints.join()).toContain("require-trusted-types-for");
  });
});

describe("registered checkout origins", () => {
  const register = async (...checkoutOrigins: string[]) => {
    const method = "SettingsService/SetCheckoutOrigins";
    const { code, err } = await runRpc(method, { checkoutOrigins }, demo.commandOptions);
    expect({ code, err }).toEqual({ code: 0, err: "" });
  };

  it("lets a registered page pay, and no other page show the form or read the session", async () => {
    await register("https://shop.example");
    await servePage(`${widgetTag()}<script src="/mount.js"></script>`, `Switchyard.${mountCall}`);
    const reported = new Promise((resolve) => {
      void page.exposeFunction("report", (name: string, result: unknown) => resolve([name, result]));
    });
    // The service refuses the page, too, and the widget then removes the frame: the frame's refusal must show first.
    const frameRefused = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await page.route("**/GetCheckout", async (route) => {
      await frameRefused;
      await route.continue();
    });
    await page.goto(merchant.origin);
    expect(await reported).toEqual(["onError", expect.objectContaining({ code: "origin_not_allowed" })]);
    expect(await page.frameLocator("#card iframe").locator("#number").count()).toBe(0);
    expect(complaints.join()).toContain("frame-ancestors");

    await context.close();
    context = await browser.newContext();
    page = await context.newPage();
    await register(merchant.origin);
    await servePage(`${widgetTag()}<script src="/mount.js"></script>`, `Switchyard.${mountCall}`);
    expect(await pay()).toEqual(["onSuccess", { capturedVia: "SANDBOX_A", failoverUsed: false }]);
    await register();
  });
});

describe("a vault object that names another vault than the service does", () => {
  it("has its card form removed from the page before anything can be typed into it, and reports an error", async () => {
    const impostor = await startVaultFixture();
    const scripts = `${widgetTag()}<script src="/mount.js"></script>`;
    await servePage(scripts, `Switchyard.${mountCall}`);
    const forged = {
      sdkUrl: `${impostor.vault.origins.public}/sdk.js`,
      framePolicy: impostor.policy([merchant.origin]),
    };
    // A page without its own policy: the widget alone has to see it.
    const { body } = merchant.pages.get("/")!;
    const [, session = ""] = /<script type="application\/json" id="session">(.*?)<\/script>/s.exec(body) ?? [];
    const { vault, ...rest } = JSON.parse(session);
    const changed = JSON.stringify({ ...rest, vault: { ...vault, ...forged } });
    merchant.pages.set("/", { body: body.replace(session, () => changed) });
    const reported = new Promise((resolve) => {
      void page.exposeFunction("report", (name: string, result: unknown) => resolve([name, result]));
    });
    await page.goto(merchant.origin);
    expect(await reported).toEqual(["onError", expect.objectContaining({ code: "vault_origin_mismatch" })]);
    expect(await page.locator("#card iframe").count()).toBe(0);
    await impostor.close();
  });
});
