/** Pictures of the dashboard, to be looked at: `npm run screenshots -- dashboard` writes them. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { makeTraffic } from "../../demo/traffic.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { launchFullBrowser } from "../testing/browser.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { arrive, emptyTour, type TourStop, tour } from "./dashboard-tour.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";

// A third of the demo's week: enough for a shape, on a machine that may be busy.
const payments = 200;
const patienceMs = 300_000;

let demo: TestDemo;
let browser: Browser;
let freshMerchant: string;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startTestDemo({}, { dashboard: true }), launchFullBrowser()]);
  freshMerchant = await addMerchant("Corner Coffee");
  const ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
  await makeTraffic({ file: demo.file, seed: "autumn", ownerUrl, payments, onMade: () => {} });
  // Makes an order that was paid twice, and payments of this day.
  const checkout = new ApiCheckout(demo.file);
  for (let paid = 0; paid < 2; paid++)
    await checkout.pay("4242424242424242", { orderRef: "order-1042", amountMinor: 12_950 });
}, patienceMs);
afterAll(async () => {
  await browser?.close();
  await demo?.close();
});

async function addMerchant(name: string): Promise<string> {
  const client = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  const { merchant } = await client.merchants.createMerchant({ name }).finally(() => client.close());
  const merchantId = merchant!.merchantId!;
  await demo.accountsQuery(
    `INSERT INTO membership (merchant_id, member_id, role, live_role) SELECT '${decodeId("mer", merchantId)}', id, 'OWNER', 'OWNER' FROM member`,
  );
  return merchantId;
}

/** A page of the look, signed in; the form itself is the first picture. */
async function signIn(look: Look): Promise<Page> {
  const { colorScheme, width, height } = look;
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height },
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.goto(`${demo.file.dashboardOrigin}/account`);
  await page.getByLabel("E-mail").fill(demo.file.member.email);
  await take(page, "sign-in", look);
  await page.getByLabel("Password").fill(demo.file.member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
  return page;
}

const take = (page: Page, name: string, look: Look) =>
  page.screenshot({ path: `screenshots/dashboard/${name}-${look.name}.png`, fullPage: true, animations: "disabled" });

type Look = { name: string; colorScheme: "light" | "dark"; width: number; height: number; stops: readonly TourStop[] };

const looks: readonly Look[] = [
  { name: "desktop", colorScheme: "light", width: 1280, height: 800, stops: tour },
  { name: "dark", colorScheme: "dark", width: 1280, height: 800, stops: tour },
  { name: "phone", colorScheme: "light", width: 360, height: 780, stops: tour },
  { name: "empty", colorScheme: "light", width: 1280, height: 800, stops: emptyTour },
];

describe("the dashboard", () => {
  it.each(looks)("has its pictures: $name", { timeout: patienceMs }, async (look) => {
    const page = await signIn(look);
    const merchant = look.stops === emptyTour ? freshMerchant : demo.file.merchants[0]!.merchantId;
    for (const stop of look.stops) {
      await arrive(page, stop, { origin: demo.file.dashboardOrigin, merchant: `/test/${merchant}` });
      await take(page, stop.name, look);
    }
    await page.context().close();
  });
});
