import type { BrowserContext, Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { longOnly } from "../testing/long-only.ts";
import { recordNoise } from "./dashboard-page.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const { mailbox } = demo;
const contexts: BrowserContext[] = [];
// The lines in the page's console, and the requests to other hosts.
const noise: string[] = [];
afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  expect(noise.splice(0)).toEqual([]);
});

async function openPage(path = "/"): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  contexts.push(context);
  const page = await context.newPage();
  const { dashboardOrigin } = demo.file;
  recordNoise(page, noise, /40[13]/);
  page.on("request", (request) => {
    if (!request.url().startsWith(`${dashboardOrigin}/`) && !request.url().startsWith("data:"))
      noise.push(request.url());
  });
  await page.goto(dashboardOrigin + path);
  return page;
}

async function signIn(page: Page, { email, password } = demo.file.member): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
}

const merchantPath = (page: string, environment = "test") =>
  `/${environment}/${demo.file.merchants[0]!.merchantId}/${page}`;

describe("the dashboard in a browser", () => {
  it("requires a sign-in before it shows anything, reports mistakes, and leads to the requested page", async () => {
    const page = await openPage(merchantPath("team"));
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("E-mail").fill(demo.file.member.email);
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: "is not right" }).waitFor();
    await signIn(page);
    await page.getByRole("heading", { name: "Team" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(merchantPath("team"));
  });

  it("keeps the sign-in where no script can read it, and nothing else in the browser", async () => {
    const page = await openPage();
    await signIn(page);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/" });
    expect(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length])).toEqual([
      "",
      0,
      0,
    ]);
  });

  it("regenerates a key only after a fresh proof and a confirmation, and the new one replaces the old at once", async () => {
    const page = await openPage(merchantPath("keys"));
    await signIn(page);
    await expireProof();
    const card = page.getByRole("region", { name: "Secret key" });
    await card.getByRole("button", { name: "Regenerate" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Regenerate" }).click();
    const proof = page.getByRole("dialog", { name: "Confirm that it is you" });
    await proof.getByLabel("Password").fill(demo.file.member.password);
    await proof.getByRole("button", { name: "Confirm" }).click();
    const key = await card
      .locator("code")
      .filter({ hasText: /_sk_\w{38}/ })
      .textContent();
    const statuses = await Promise.all([key!, demo.file.merchants[0]!.test.secretKey].map(statusOf));
    expect(statuses).toEqual([200, 401]);
    expect(await page.content()).toContain(key!);
    await page.reload();
    await card.waitFor();
    expect(await page.content()).not.toContain(key!);
  });

  longOnly(() => {
    it("makes a restricted key, rolls it so that both work, and revokes the old one and then the new one", async () => {
      const page = await openPage(merchantPath("keys"));
      await signIn(page);
      const card = page.getByRole("region", { name: "Restricted keys" });
      const press = (name: string) => card.getByRole("button", { name, exact: true }).click();
      const confirm = (name: string) =>
        page.getByRole("alertdialog").getByRole("button", { name, exact: true }).click();
      await press("Create restricted key");
      await card.getByLabel("Name").fill("Reports");
      await card.getByRole("checkbox", { name: /sessions\.read/ }).check();
      await press("Create key");
      const shown = card.locator("code").filter({ hasText: /_rk_\w{38}$/ });
      const key = (await shown.textContent())!;
      await press("Roll");
      await page.getByRole("dialog").getByRole("button", { name: "Roll key" }).click();
      await expect.poll(() => shown.textContent()).not.toBe(key);
      const next = (await shown.textContent())!;
      expect(await Promise.all([key, next].map(statusOf))).toEqual([200, 200]);
      await press("Revoke old key");
      await confirm("Revoke old key");
      await expect.poll(() => Promise.all([key, next].map(statusOf))).toEqual([401, 200]);
      const headers = {
        authorization: `Bearer ${next}`,
        "Idempotency-Key": "return-1",
        "content-type": "application/json",
      };
      const path = `${demo.file.restBase}/payment-sessions/ps_01h455vb4pex5vsknk084sn02q/refunds`;
      const refused = await fetch(path, { method: "POST", headers, body: "{}" });
      expect(await refused.json()).toMatchObject({ status: 403, code: "right_not_granted" });
      await press("Revoke");
      await confirm("Revoke");
      await card.getByText("No restricted key yet.").waitFor();
      expect(await statusOf(next)).toBe(401);
    });

    it("admits a person by an invitation that was mailed to them, with the role that they were invited to", async () => {
      const page = await openPage(merchantPath("team"));
      await signIn(page);
      await page.getByLabel("E-mail").fill("vera@example.com");
      await page.getByRole("button", { name: "Invite", exact: true }).click();
      await page.getByText("The invitation was sent to vera@example.com.").waitFor();
      const mail = () => mailbox.mails.find(({ to }) => to.includes("vera@example.com"));
      await expect.poll(mail).toBeDefined();
      const path = mail()!.text.split(demo.file.dashboardOrigin)[1]!.split("\n")[0]!;
      expect(await page.content()).not.toContain(path);
      const guest = await openPage(path);
      await guest.getByLabel("Your name").fill("Vera");
      await guest.getByLabel("Choose a password").fill("seven words that belong together");
      await guest.getByRole("button", { name: "Join" }).click();
      await guest.getByRole("heading", { name: "Home" }).waitFor();
      await guest.getByRole("link", { name: "API keys" }).click();
      await guest.getByRole("heading", { name: "API keys" }).waitFor();
      await expect(guest.getByRole("button", { name: "Regenerate" }).count()).resolves.toBe(0);
      await page.goto(demo.file.dashboardOrigin + merchantPath("audit"));
      await page
        .getByRole("row")
        .filter({ hasText: "Accept invitation" })
        .filter({ hasText: "vera@example.com" })
        .waitFor();
    });
  });
});

describe("the dashboard's port", () => {
  const call = (headers: Record<string, string>) =>
    fetch(`${demo.file.dashboardOrigin}/dashboard.v1.SignInService/SignIn`, {
      method: "POST",
      headers: { "content-type": "application/json", "connect-protocol-version": "1", ...headers },
      body: JSON.stringify({ email: "a@example.com", password: "x" }),
    }).then(({ status }) => status);

  it("accepts calls only from its own page", async () => {
    const { dashboardOrigin: origin, shopUrl } = demo.file;
    expect(await call({ origin })).toBe(401);
    expect(await call({ origin: shopUrl })).toBe(403);
    expect(await call({})).toBe(403);
    expect(await call({ origin, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await call({ origin, "connect-protocol-version": "" })).toBe(403);
  });

  it("sends its policy with every answer", async () => {
    for (const path of ["/", "/nothing.js", "/dashboard.v1.SignInService/SignIn", "/readyz"]) {
      const { headers } = await fetch(demo.file.dashboardOrigin + path);
      expect(headers.get("content-security-policy"), path).toMatch(/default-src 'none'; script-src 'self';/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });
});

async function expireProof(): Promise<void> {
  await demo.accountsQuery("UPDATE sign_in SET proved_at = proved_at - interval '15 minutes'");
}

async function statusOf(secretKey: string): Promise<number> {
  const headers = { authorization: `Bearer ${secretKey}` };
  return (await fetch(`${demo.file.restBase}/payment-sessions?pageSize=1`, { headers })).status;
}
