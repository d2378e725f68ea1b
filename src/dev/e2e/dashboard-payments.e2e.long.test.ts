import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectSound, openDashboard } from "./dashboard-page.ts";
import { everyDesktopAndPhone, narrowAtLast } from "./each-look.ts";

// Axe looks at every page of a look, on a machine that may have much else to do.
const patienceMs = 90_000;

const backwards = "\u202edetrevni";
// Card and order: declined and saved by the second gateway, two successes of one order, texts that try to be markup or
// formulas.
const orders = [
  ["4242424242424242", { orderRef: "order-7" }],
  ["4242424242424242", { orderRef: "order-7" }],
  ["4000000000000002", { orderRef: "saved-1", amountMinor: 12_950 }],
  ["4100000000000019", { orderRef: "<img src=x onerror=alert(1)>", amountMinor: 1_500, currency: "JPY" }],
  ["4242424242424242", { orderRef: "=1+1", amountMinor: 1_234, currency: "KWD" }],
  ["4242424242424242", { orderRef: backwards }],
] as const;
const { demo, checkout, noise, open, enter, urlOf } = await openDashboard({
  permissions: ["clipboard-read", "clipboard-write"],
  locale: "en-GB",
  statuses: /40[14]/,
});
for (const [card, fields] of orders) await checkout.pay(card, fields);

const rows = (page: Page) => page.getByRole("rowheader").allTextContents();

describe("a list with a filter by amount", () => {
  it.each(["payments", "refunds"])(
    "says that the currencies could not be loaded, and loads them again: %s",
    async (name) => {
      const own = await enter();
      await own.route("**/ListCurrencies", (route) => route.abort());
      const page = await open(`${name}?currency=EUR&from=999999`, own);
      await page.getByRole("alert").filter({ hasText: "This could not be loaded" }).waitFor();
      await own.unroute("**/ListCurrencies");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: /^No .* match/ }).waitFor();
      await own.close();
      // The browser's own line about a request that did not arrive.
      for (const line of noise.splice(0)) expect(line).toContain("net::ERR_FAILED");
    },
  );
});

describe("the payments pages", () => {
  it("go from a list by filters, which stand in the address, to a payment with its timeline", {
    timeout: patienceMs,
  }, async () => {
    const page = await open("payments");
    await page.getByRole("link", { name: "=1+1" }).waitFor();
    expect(await rows(page)).toEqual([
      "\\u202edetrevni",
      "=1+1",
      "<img src=x onerror=alert(1)>",
      "saved-1",
      "order-7",
      "order-7",
    ]);
    expect(await page.getByRole("row").filter({ hasText: "=1+1" }).textContent()).toMatch(/KWD\s1\.234/);
    await page.locator("summary").getByText("Filters").click();
    const problem = () => page.getByLabel("Amount from").evaluate((field: HTMLInputElement) => field.validationMessage);
    await page.getByLabel("Amount from").fill("1,500");
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    expect(await problem()).toBe("Choose the currency of the amount.");
    await page.getByLabel("Currency").selectOption("JPY");
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    expect(await problem()).toContain("or 1500 JPY");
    expect(new URL(page.url()).search).toBe("");
    await page.getByLabel("Amount from").fill("1500");
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await expect.poll(() => rows(page)).toEqual(["<img src=x onerror=alert(1)>"]);
    expect(new URL(page.url()).search).toBe("?currency=JPY&from=1500");
    await page.reload();
    await expect.poll(() => rows(page)).toEqual(["<img src=x onerror=alert(1)>"]);
    await page.getByRole("link", { name: "28 days" }).click();
    await page.getByRole("link", { name: "Declined", exact: true }).click();
    await expect
      .poll(() => new URL(page.url()).search)
      .toMatch(/^\?(?=.*currency=JPY)(?=.*from=1500)(?=.*after=)(?=.*status=declined)/);
    await page.getByRole("button", { name: "Clear all" }).click();
    await page.getByRole("link", { name: "Saved by failover" }).click();
    await expect.poll(() => rows(page)).toEqual(["saved-1"]);
    // Every place of the row is the link, which a browser opens in a new tab if asked.
    const amount = page.getByRole("row").filter({ hasText: "saved-1" }).getByText("€129.50");
    const { x, y } = (await amount.boundingBox())!;
    expect(
      await page.evaluate(([left, top]) => document.elementFromPoint(left, top)?.tagName, [x + 5, y + 5] as const),
    ).toBe("A");
    await page.getByRole("link", { name: "saved-1" }).click();
    await page.getByRole("heading", { name: "€129.50" }).waitFor();
    const steps = await page.getByRole("region", { name: "Timeline" }).getByRole("listitem").allTextContents();
    expect(steps.map((step) => step.replace(/^.* UTC/, ""))).toEqual(
      expect.arrayContaining([
        "Merchant: Created the session",
        expect.stringMatching(
          /^Sandbox A: Declined after \d+ ms: .*Rule version 1 fails over to Sandbox B after a hard decline/,
        ),
        "Sandbox B: Captured the money",
      ]),
    );
    await page.getByText("Request that submitted it").waitFor();
    await page.getByRole("button", { name: "Copy the session’s id" }).click();
    await page.getByText("the session’s id copied").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      new URL(page.url()).pathname.split("/").at(-1),
    );
    await page.close();
  });

  it("find a payment by what is typed, and write a list as CSV without a formula in it", async () => {
    const page = await open("payments");
    await page.getByRole("link", { name: "=1+1" }).waitFor();
    await page.getByText(/^6 payments · .* captured$/).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("order-7");
    await page.keyboard.press("Enter");
    await page.getByText("2 payments found").waitFor();
    await page.getByLabel("Find a payment").fill("nothing like it");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No results" }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const csv = readFileSync(await download.path(), "utf8");
    expect(csv.split("\r\n")).toHaveLength(orders.length + 2);
    expect(csv).toContain(`,"'=1+1",1.234,1234,KWD,SUCCEEDED,`);
    expect(csv).toContain(",\\u202edetrevni,");
    await page.close();
  });

  it("begin at home, where two successes for one order are named and lead to both", async () => {
    const page = await open("home");
    await page.getByRole("heading", { name: "1 alert needs attention" }).waitFor();
    const saved = page.getByRole("region", { name: "Today" }).getByRole("link", { name: "Saved by failover" });
    expect(await saved.locator("../..").textContent()).toMatch(/^Saved by failover1/);
    await page.getByRole("link", { name: "See the payments" }).click();
    await page.getByText("2 payments found").waitFor();
    await page.close();
  });

  it("are controlled by keys, which are off while a person types, and permanently off by choice", async () => {
    const page = await open("home");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.keyboard.type("gp");
    await page.getByRole("heading", { name: "Payments", exact: true }).waitFor();
    await page.getByLabel("Find a payment").focus();
    await page.keyboard.type("gh?");
    expect(await page.getByLabel("Find a payment").inputValue()).toBe("gh?");
    await page
      .getByRole("heading", { name: "Payments", exact: true })
      .focus()
      .catch(() => {});
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.type("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await dialog.getByText("Use them").click();
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.type("gh");
    await page.keyboard.type("?");
    expect(await dialog.count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe(new URL(urlOf("payments")).pathname);
    await page.evaluate(() => localStorage.clear());
    await page.close();
  });

  it("show every column of a payment that used four gateways on a wide screen, and two lines of it on a phone", async () => {
    const page = await open("payments");
    await page.route("**/ListPayments", async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      for (const payment of answer.payments) payment.wallet = "google_pay";
      await route.fulfill({ response, json: answer });
    });
    await page.reload();
    await page.setViewportSize({ width: 1440, height: 900 });
    const row = page.getByRole("row").filter({ hasText: "saved-1" });
    // The demo has two gateways: each is shown once more.
    await row.locator(".gateways").evaluate((gateways) => {
      gateways.append(...[...gateways.children].map((each) => each.cloneNode(true)));
      // As the page does for more than two.
      gateways.setAttribute("data-many", "true");
    });
    const heights = await page.locator("tbody tr").evaluateAll((all) => all.map((each) => each.clientHeight));
    expect(new Set(heights)).toEqual(new Set([44]));
    expect(await row.getByText("Google Pay").evaluate(isWhollyShown)).toBe(true);
    const table = await page.getByRole("region", { name: "Payments" }).last().evaluate(widthsOf);
    expect(table.scrollWidth).toBeLessThanOrEqual(table.clientWidth);
    expect(table.clientWidth).toBeGreaterThan(1100);
    const isScrolled = await page.getByRole("region", { name: "Payments" }).last().evaluate(isScrolledWithManyRows);
    expect(isScrolled).toBe(false);
    await page.setViewportSize({ width: 1280, height: 900 });
    const narrower = await page.getByRole("region", { name: "Payments" }).last().evaluate(widthsOf);
    expect(narrower.scrollWidth).toBeLessThanOrEqual(narrower.clientWidth);
    expect(await row.getByText("Google Pay").evaluate(isWhollyShown)).toBe(true);
    await page.setViewportSize({ width: 390, height: 900 });
    const lines = [
      row.getByRole("rowheader"),
      row.getByText("€129.50"),
      row.getByText("Succeeded"),
      row.locator("time"),
    ];
    const [order, amount, state, time] = await Promise.all(
      lines.map(async (part) => middleOf(await part.boundingBox())),
    );
    expect([Math.abs(order! - amount!), Math.abs(state! - time!)].map((gap) => gap < 6)).toEqual([true, true]);
    expect(state).toBeGreaterThan(order!);
    expect((await row.boundingBox())!.height).toBeLessThan(70);
    expect(await row.locator(".gateways").isVisible()).toBe(false);
    await page.close();
  });

  it("cut no amount and no badge of a payment that was captured in part, refunded and disputed", async () => {
    const page = await open("payments");
    const money = (amountMinor: string) => ({ amountMinor, currency: "USD", exponent: 2 });
    const crowded = {
      ...{ orderRef: "crowded", status: "SUCCEEDED", amount: money("24900"), amountCaptured: money("12450") },
      ...{ amountRefunded: money("900"), failover: true, disputeStage: "CHARGEBACK" },
      ...{ disputeStatus: "NEEDS_RESPONSE", disputeRespondBy: "2099-12-28T12:00:00Z" },
    };
    await page.route("**/ListPayments", async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      Object.assign(answer.payments[0], crowded);
      await route.fulfill({ response, json: answer });
    });
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "crowded" });
    await row.waitFor();
    for (const width of [1440, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const text of ["US$124.50 of", "US$249.00", /^Disputed, due/, "Partly refunded", "failover"])
        expect(await row.getByText(text).first().evaluate(isWhollyShown), `${text} at ${width}`).toBe(true);
      expect(await row.evaluate(({ clientHeight }) => clientHeight)).toBe(44);
    }
    await page.close();
  });

  it("end an attempt that its gateway never ends, by a statement and a reason", { timeout: patienceMs }, async () => {
    await demo.sandbox.setDown("A", true);
    onTestFinished(() => demo.sandbox.setDown("A", false));
    const session = await checkout.pay("4000000000005035", { orderRef: "stuck-1" });
    const page = await open(`payments/${session.sessionId}`);
    const first = page.getByRole("region", { name: "Attempts" }).getByRole("listitem").first();
    await first.getByRole("button", { name: "End this attempt" }).click();
    await page.getByText("Nothing was captured, or all of it was refunded").waitFor();
    await expectSound(page, everyDesktopAndPhone);
    const form = first.getByRole("form", { name: "End attempt 1" });
    await form.getByLabel("What you have seen, and where").fill("No payment at the gateway.");
    await form.getByRole("button", { name: "Give up" }).click();
    expect(await form.getByRole("checkbox").evaluate((box: HTMLInputElement) => box.validity.valueMissing)).toBe(true);
    await form.getByRole("checkbox").check();
    await form.getByRole("button", { name: "Give up" }).click();
    await first.getByText("Given up", { exact: true }).waitFor();
    await page.getByText("Ended the attempt as given up").waitFor();
    expect(await first.getByRole("button", { name: "End this attempt" }).count()).toBe(0);
    await page.close();
  });

  it("break no rule of WCAG 2.2 AA and scroll one way", { timeout: patienceMs }, async () => {
    const page = await open("payments?status=succeeded&failover=true");
    await page.getByRole("link", { name: "saved-1" }).click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await expectSound(page, narrowAtLast);
    for (const path of [
      urlOf("home"),
      urlOf("payments"),
      urlOf("payments?status=expired&gateway=STRIPE"),
      urlOf("payments", "live"),
      urlOf("payments/ps_01h455vb4pex5vsknk084sn02q"),
    ]) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText(/is loading\.$/).waitFor({ state: "detached" });
      await expectSound(page, narrowAtLast);
    }
    await page.close();
  });
});

function isScrolledWithManyRows(table: Element): boolean {
  const body = table.querySelector("tbody")!;
  body.append(...Array.from({ length: 30 }, () => body.firstElementChild!.cloneNode(true)));
  return table.scrollHeight > table.clientHeight;
}

function middleOf(box: { y: number; height: number } | null): number {
  return box!.y + box!.height / 2;
}

function widthsOf({ scrollWidth, clientWidth }: Element): { scrollWidth: number; clientWidth: number } {
  return { scrollWidth, clientWidth };
}

function isWhollyShown(element: Element): boolean {
  const [shown, cell] = [element.getBoundingClientRect(), element.closest("td")!.getBoundingClientRect()];
  return shown.width > 0 && shown.right <= cell.right && shown.bottom <= cell.bottom;
}
