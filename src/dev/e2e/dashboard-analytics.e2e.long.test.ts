import { readFile } from "node:fs/promises";
import { Client } from "pg";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { decodeId } from "../../platform/ids.ts";
import { forgetCounts, storeSettled } from "../../reporting/analytics/settled-rows.fixture.ts";
import { findViolations } from "./accessibility.ts";
import { openDashboard } from "./dashboard-page.ts";
import { inEachLook, narrowAtLast } from "./each-look.ts";

const { demo, open, urlOf } = await openDashboard({ locale: "de-DE", timezoneId: "UTC", statuses: /40[13]/ });
const testUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
const owner = new Client({ connectionString: testUrl });
await owner.connect();
const merchantId = decodeId("mer", demo.file.merchants[0]!.merchantId)!;
const paid = (settledAt: string, amountMinor: number) =>
  ({
    settledAt,
    amountMinor,
    seconds: 2,
    attempts: [{ gateway: "SANDBOX_A", status: "CAPTURED", ms: 300 }],
  }) as const;
await storeSettled(owner, merchantId, [
  paid("2026-03-10T12:00:00Z", 4900),
  paid("2026-03-10T23:30:00Z", 10_000),
  {
    // A minute of them is the customer's.
    settledAt: "2026-03-11T12:00:00Z",
    amountMinor: 2500,
    seconds: 62,
    attempts: [
      { gateway: "SANDBOX_A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined", ms: 100 },
      {
        gateway: "SANDBOX_B",
        status: "CAPTURED",
        ms: 400,
        asked: { status: "AUTHENTICATED", shownMs: 20_000 },
      },
    ],
  },
]);
await forgetCounts(owner);
await owner.end();

const path = (query = "?first=2026-03-09&last=2026-03-12&zone=UTC") => urlOf(`analytics${query}`);

async function openPage(): Promise<Page> {
  const page = await open(path());
  await page.getByText("Definitions").waitFor();
  return page;
}

async function choose(page: Page, title: string, what: string): Promise<void> {
  await page.getByLabel(`Menu of ${title}`).click();
  await page.getByRole("button", { name: `${title} as a ${what}` }).click();
}

async function rowsOf(page: Page, title: string): Promise<string[][]> {
  const rows = page.getByRole("region", { name: `${title} table` }).locator("tbody tr");
  if ((await rows.count()) === 0) await choose(page, title, "table");
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
}

describe("the analytics page", { timeout: 60_000 }, () => {
  it("counts days in the chosen zone, draws them, and has the same numbers in a table and in a file", async () => {
    const page = await openPage();
    expect(await page.locator(".tiles dd").first().textContent()).toMatch(/^100/);
    await page.locator(".plot canvas").first().waitFor();
    const succeeded = async () => (await rowsOf(page, "Payments by outcome")).map(([, count]) => count);
    expect(await succeeded()).toEqual(["0", "2", "1", "0"]);
    await page.getByLabel("Time zone").selectOption("Asia/Kolkata");
    await expect.poll(succeeded).toEqual(["0", "1", "2", "0"]);
    expect(new URL(page.url()).searchParams.get("zone")).toBe("Asia/Kolkata");
    const download = page.waitForEvent("download");
    await choose(page, "Captured in EUR", "CSV file");
    expect((await download).suggestedFilename()).toBe("volume-EUR_2026-03-09_2026-03-12.csv");
    const file = await readFile(await (await download).path(), "utf8");
    const lines = file.replace("\ufeff", "").trim().split("\r\n");
    expect(lines[0]).toBe("Time,Captured,Saved by failover");
    expect(lines.slice(1).map((line) => line.split(",").slice(-2).join(","))).toEqual(["0,0", "49,0", "125,25", "0,0"]);
    await page.getByRole("combobox", { name: "Gateway" }).selectOption("SANDBOX_B");
    await page.getByText("Attempts, authentications and declines are those at Sandbox B").waitFor();
    await page.close();
  });

  it("counts the customers who were asked, and their time at the bank", async () => {
    const page = await openPage();
    const section = page.getByRole("region", { name: "Customer authentication", exact: true }).first();
    await section.getByRole("heading").click();
    await section.getByText(/^1, 33,3.* of payments; 0 more than once$/).waitFor();
    const [row] = await section
      .locator("tbody tr")
      .evaluateAll((all) => all.map((one) => [...one.children].map((cell) => cell.textContent ?? "")));
    expect(row!.slice(0, 2)).toEqual(["Sandbox B", "1"]);
    expect(row!.slice(3, 11)).toEqual(["1", "0", "0", "0", "0", "0", "0", "0"]);
    expect(row!.slice(11).join()).toMatch(/^\d\d(,\d)?.s,\d\d(,\d)?.s$/);
    const download = page.waitForEvent("download");
    await section.getByRole("button", { name: "Customer authentication as a CSV file" }).click();
    const file = await readFile(await (await download).path(), "utf8");
    expect(file).toMatch(/\r\nSandbox B,1,0,1,0,0,0,0,0,0,0,2\d{4}(\.\d+)?,2\d{4}(\.\d+)?\r\n$/);
    await page.close();
  });

  it("counts days in UTC, as the home page does, and says so, in a browser that has no time zone", async () => {
    const page = await openPage();
    await page.addInitScript(() => {
      const { resolvedOptions } = Intl.DateTimeFormat.prototype;
      Intl.DateTimeFormat.prototype.resolvedOptions = function () {
        return { ...resolvedOptions.call(this), timeZone: "Etc/Unknown" };
      };
    });
    const { href } = new URL(path(""));
    for (const [url, place] of [
      [href, "Days begin and end in UTC."],
      [href.replace(/analytics$/, "home"), "test environment"],
    ] as const) {
      await page.goto(url);
      await page.getByText(place).waitFor();
      await page.getByText("This browser has no time zone, so times are in UTC.").first().waitFor();
    }
    await page.close();
  });

  it.each([1440, 1280])("is at most two screens high at %i", async (width) => {
    const page = await openPage();
    await page.setViewportSize({ width, height: 900 });
    await page.locator(".plot canvas").first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(1800);
    await page.close();
  });

  it("accepts custom days, and says how payments arrive if there are none", async () => {
    const page = await openPage();
    await page.getByLabel("Range").selectOption("90d");
    await page.getByText("No payments ended in this period").waitFor();
    await page.getByLabel("First day").fill("2026-03-10");
    await page.getByRole("heading", { name: "Payments by outcome" }).waitFor();
    expect(new URL(page.url()).searchParams.get("first")).toBe("2026-03-10");
    await page.close();
  });

  it("breaks no rule of WCAG 2.2 AA and scrolls one way", async () => {
    const page = await openPage();
    const expectSound = () =>
      inEachLook(page, narrowAtLast, async (name, width) => {
        await page.locator(".plot canvas").first().waitFor();
        expect(await findViolations(page), name).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(width);
      });
    await expectSound();
    await rowsOf(page, "Approval rate");
    await page.locator(".folds details").evaluateAll((all) => {
      for (const fold of all) (fold as HTMLDetailsElement).open = true;
    });
    await expectSound();
    await page.close();
  });
});

describe("the home page", () => {
  it("draws the day beside the same weekday before, as both add up, with a link to the week", async () => {
    const page = await openPage();
    // Tuesday the 17th has no payment; the 10th has two, at noon and before midnight.
    await page.clock.setFixedTime("2026-03-17T20:30:00Z");
    await page.getByRole("link", { name: "Home", exact: true }).click();
    const today = page.getByRole("region", { name: "Today" });
    await today.locator(".plot canvas").waitFor();
    await today.getByText(/49,00.€ by 20:00 last Dienstag \(UTC\)/).waitFor();
    const rows = await rowsOf(page, "Captured in EUR");
    const plain = rows.map((cells) => cells.map((cell) => cell.replaceAll("\u00a0", " ")));
    expect(plain[11]).toEqual(["Until 12:00", "0,00 €", "0,00 €"]);
    expect(plain[12]).toEqual(["Until 13:00", "0,00 €", "49,00 €"]);
    expect(plain[21]!.slice(1)).toEqual(["–", "49,00 €"]);
    expect(plain[23]!.slice(1)).toEqual(["–", "149,00 €"]);
    expect(await findViolations(page)).toEqual([]);
    await today.getByRole("link", { name: "See the analytics" }).click();
    await page.getByText("Definitions").waitFor();
    expect(new URL(page.url()).search).toBe("?range=7d");
    await page.close();
  });
});
