/** A reader of /docs/api tries a call with a test key, in a real browser before a real edge; a live key is never sent. */
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { startEdgeFixture } from "../../edge/edge.fixture.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";

const edge = await forFile(startEdgeFixture);
afterAll(() => expect(edge.bugs).toEqual([]));
const browser = await forFile(launchBrowser);

async function openWithKey(key: string) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  onTestFinished(() => context.close());
  const page: Page = await context.newPage();
  const complaints: string[] = [];
  const calls: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (request.url().includes("/api/")) calls.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  await page.goto(`http://127.0.0.1:${edge.port}/docs/api`);
  const creation = page.locator("section", { has: page.locator("h3#createPaymentSession") }).last();
  await creation.getByText("Try it").click();
  await creation.getByLabel("Test key").fill(key);
  return { page, complaints, calls, send: () => creation.getByRole("button", { name: "Send" }).click(), creation };
}

describe("/docs/api", () => {
  it("creates a session with a test key, and shows the answer", async () => {
    const { page, complaints, calls, send, creation } = await openWithKey(edge.keys.secret);
    const answered = page.waitForResponse((response) => response.url().includes("/api/v1/payment-sessions"));
    await send();
    expect((await answered).status()).toBe(201);
    await creation.getByText("201 Created").waitFor();
    await creation.locator(".answer", { hasText: '"clientSecret"' }).waitFor();
    expect(calls).toEqual(["POST /api/v1/payment-sessions"]);
    expect(complaints).toEqual([]);
    expect(await page.locator("#live-key").isVisible()).toBe(false);
  });

  it("sends nothing with a live key, and says why", async () => {
    const { page, calls, send } = await openWithKey(edge.keys.secret.replace("_test_", "_live_"));
    await send();
    await page.getByRole("alert").filter({ hasText: "Nothing was sent." }).waitFor();
    expect(calls).toEqual([]);
  });

  it("reads the session that it created, with the key that was entered once", async () => {
    const { page, send, creation } = await openWithKey(edge.keys.secret);
    await send();
    const [sessionId = ""] = /ps_\w{26}/.exec((await creation.locator(".answer pre").textContent()) ?? "") ?? [];
    const reading = page.locator("section", { has: page.locator("h3#getPaymentSession") }).last();
    await reading.getByText("Try it").click();
    await reading.getByLabel("sessionId").fill(sessionId);
    await reading.getByRole("button", { name: "Send" }).click();
    await reading.locator(".answer", { hasText: '"CREATED"' }).waitFor();
  });

  it("keeps no key: after a reload there is none", async () => {
    const { page } = await openWithKey(edge.keys.secret);
    await page.reload();
    expect(
      await page
        .locator(".key input")
        .evaluateAll((fields) => fields.map((field) => (field as HTMLInputElement).value).join("")),
    ).toBe("");
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(kept).not.toContain("switchyard_");
  });
});
