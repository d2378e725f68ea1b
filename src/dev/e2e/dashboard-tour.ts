/** The dashboard's pages as pictures: the list of pages, and the steps on each before its picture. */
import type { Page } from "playwright-core";

/** The location of a stop, below its merchant unless it begins with a slash, and the steps there first. */
export type TourStop = {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
};

const region = (page: Page, name: string | RegExp) => page.getByRole("region", { name });

async function openFirstPayment(page: Page): Promise<void> {
  await page.getByRole("rowheader").getByRole("link").first().click();
  await page
    .getByRole("heading", { level: 1 })
    .filter({ hasNotText: /^Payments$/ })
    .waitFor();
}

export const tour: readonly TourStop[] = [
  { name: "home", path: "home" },
  { name: "payments", path: "payments" },
  { name: "payments-filters", path: "payments?failover=true", prepare: (page) => page.locator("summary").click() },
  { name: "payment", path: "payments?failover=true&status=succeeded", prepare: openFirstPayment },
  { name: "refunds", path: "refunds" },
  { name: "ledger", path: "ledger" },
  { name: "payouts", path: "payouts" },
  { name: "settlement", path: "settlement" },
  { name: "analytics", path: "analytics", prepare: (page) => page.locator(".plot canvas").first().waitFor() },
  {
    name: "routing",
    path: "routing",
    async prepare(page) {
      await page.getByRole("button", { name: /^Move Sandbox B .* up$/ }).click();
      const whatIf = region(page, "Simulate on past payments");
      await whatIf.getByRole("button", { name: "Simulate" }).click();
      await whatIf.getByRole("table").first().waitFor();
    },
  },
  { name: "gateways", path: "gateways" },
  {
    name: "gateway-connect",
    path: "gateways",
    async prepare(page) {
      await page.getByRole("button", { name: "Connect a gateway" }).click();
      const form = region(page, "Connect a gateway");
      await form.getByLabel("Gateway", { exact: true }).selectOption({ label: "Stripe" });
    },
  },
  { name: "webhooks", path: "webhooks" },
  { name: "webhook-deliveries", path: "webhooks/deliveries" },
  {
    name: "webhook-delivery",
    path: "webhooks/deliveries",
    async prepare(page) {
      await page.getByRole("rowheader").getByRole("link").first().click();
      await page.getByRole("heading", { name: "Attempts" }).waitFor();
    },
  },
  { name: "webhook-alerts", path: "webhooks/alerts" },
  { name: "keys", path: "keys" },
  { name: "team", path: "team" },
  { name: "audit", path: "audit" },
  { name: "settings", path: "settings" },
  { name: "account", path: "/account" },
  {
    name: "shortcuts",
    path: "home",
    async prepare(page) {
      // A phone's bar has no button for them.
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
    },
  },
];

export const emptyTour: readonly TourStop[] = [
  ...[
    "home",
    "payments",
    "refunds",
    "analytics",
    "ledger",
    "payouts",
    "settlement",
    "routing",
    "gateways",
    "webhooks",
    "webhooks/deliveries",
    "webhooks/alerts",
  ],
  ...["keys", "team", "audit", "settings"],
].map((path) => ({ name: `empty-${path.replace("/", "-")}`, path }));

// Pages of a busy machine take seconds.
const stopMs = 30_000;

export async function arrive(page: Page, stop: TourStop, base: { origin: string; merchant: string }): Promise<void> {
  page.setDefaultTimeout(stopMs);
  await page.goto(base.origin + (stop.path.startsWith("/") ? stop.path : `${base.merchant}/${stop.path}`));
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await stop.prepare?.(page);
  await page.waitForLoadState("networkidle");
}
