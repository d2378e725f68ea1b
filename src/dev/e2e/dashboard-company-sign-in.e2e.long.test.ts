/** A browser signs in by a company's identity provider, which is another site, links, confirms and signs out. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { CompanyProvider } from "../testing/dashboard/company-provider.ts";
import { forFile } from "../testing/for-file.ts";
import { testStateFolder } from "../testing/test-run.ts";
import { expectSoundEverywhere, recordNoise } from "./dashboard-page.ts";
import { startTestDemo } from "./demo.fixture.ts";

const path = join(testStateFolder, `identity-providers-${process.pid}.json`);
const secretPath = `${path}.secret`;
writeFileSync(path, "[]");
const demo = await forFile(() => startTestDemo({ SWITCHYARD_IDENTITY_PROVIDERS_FILE: path }, { dashboard: true }));
const browser = await forFile(launchBrowser);
const company = await forFile(() => CompanyProvider.start(demo.file.dashboardOrigin, "corp"));
const [merchant] = demo.file.merchants;
const noise: string[] = [];
afterEach(() => expect(noise.splice(0)).toEqual([]));

it("signs in, links, confirms and signs out by the company", async () => {
  writeFileSync(secretPath, company.clientSecret);
  const grown = {
    claim: "groups",
    value: "payments",
    merchants: [merchant!.merchantId],
    role: "DEVELOPER",
    liveRole: "VIEWER",
  };
  const entry = {
    ...{ id: "corp", name: "Example Corp", issuer: company.issuer, clientId: company.clientId },
    ...{ clientSecretFile: secretPath, domains: ["corp.example"], merchants: "*", roles: [grown] },
  };
  writeFileSync(path, JSON.stringify([entry]));
  company.accounts.set("grace", {
    email: "grace@corp.example",
    email_verified: true,
    name: "Grace",
    groups: ["payments"],
  });
  company.accounts.set("owner", { email: "owner@corp.example", email_verified: true });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  recordNoise(page, noise, /40[0139]/);
  const urlOf = (to: string) => `${demo.file.dashboardOrigin}${to}`;
  const button = page.getByRole("button", { name: "Continue with Example Corp" });
  const goOn = async (account: string) => {
    company.account = account;
    await button.click();
  };
  // The dashboard reads the file again within ten seconds.
  await expect
    .poll(async () => {
      await page.goto(urlOf(`/sign-in?next=/test/${merchant!.merchantId}/team`));
      await page.getByLabel("E-mail").waitFor();
      await page.waitForLoadState("networkidle");
      return button.count();
    })
    .toBe(1);
  await expectSoundEverywhere(page);
  await goOn("owner");
  await page.getByRole("heading", { name: "The sign-in did not work" }).waitFor();
  await page.getByText("Your account at the provider is not linked").waitFor();
  await expectSoundEverywhere(page);

  await context.clearCookies();
  await page.goto(urlOf(`/sign-in?next=/test/${merchant!.merchantId}/team`));
  await goOn("grace");
  await page.getByRole("heading", { name: "Team" }).waitFor();
  await page.getByText("Set by corp").first().waitFor();
  await page.getByRole("link", { name: "Grace" }).click();
  await page.getByRole("heading", { name: "Company account" }).waitFor();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  const proof = page.getByRole("dialog", { name: "Confirm that it is you" });
  await proof.getByRole("button", { name: "Sign in again at Example Corp" }).click();
  await page.waitForURL("**/account");
  await page.getByRole("button", { name: "Set it up" }).click();
  await page.getByRole("button", { name: "Require codes" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  // The provider's own page asks.
  await page.getByRole("button", { name: /yes/i }).click();
  await page.waitForURL("**/sign-in");

  await context.clearCookies();
  await page.goto(urlOf("/account"));
  await page.getByLabel("E-mail").fill(demo.file.member.email);
  await page.getByLabel("Password").fill(demo.file.member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  company.account = "owner";
  await page.getByRole("button", { name: "Link Example Corp" }).click();
  await page.getByText("owner@corp.example").waitFor();
  await expectSoundEverywhere(page);
  await page.getByRole("button", { name: "Unlink" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Unlink" }).click();
  await page.getByText("The account is unlinked.").waitFor();
});
