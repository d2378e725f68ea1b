/**
 * Two hundred customers who confirm a payment at their bank and close the page at once: the payment ends as if they had
 * stayed. One customer confirms minutes after the payment was given up: nothing is captured.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { PlainShop } from "./plain-shop.ts";

const paymentsInAll = 200;
// As many pages with four documents each as a small machine loads in seconds.
const atOnce = 4;
// A lost return costs one look at the gateway, which comes every 30 s.
const endsWithinMs = 45_000;
const cards = { "4000000000007106": "SANDBOX_A", "4000000000007114": "SANDBOX_B" } as const;
const abandonedCard = "4000000000007122";
const shopper = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1280,
  screenHeight: 800,
  timeZoneOffsetMinutes: 0,
  language: "en",
};

let demo: TestDemo;
let browser: Browser;
let shop: PlainShop;
let api: ApiCheckout;

beforeAll(async () => {
  [demo, browser] = await Promise.all([startTestDemo(), launchBrowser()]);
  shop = await PlainShop.start(demo.file);
  api = new ApiCheckout(demo.file);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
  await demo?.close();
});

/** Brings a payment to its challenge, and its customer to the bank's page. */
async function goToBank(number: string) {
  const { session, url } = await shop.sell();
  await api.submit(session, await api.tokenize(session, number), shopper);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  const frame = page.frameLocator("#card iframe[title^=Confirm]").frameLocator("iframe").frameLocator("iframe");
  await frame.getByLabel("Code").fill("123456");
  return { session, context, page, confirm: frame.getByRole("button", { name: "Confirm" }) };
}

async function endOf({ sessionId }: OpenedSession, since: number) {
  for (;;) {
    const { status, capturedVia, attempts = [] } = await api.read(sessionId);
    const tookMs = performance.now() - since;
    if (status === "CREATED" && tookMs < endsWithinMs) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    const records = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
    const captures = records.flat().filter((one) => one.status === "captured").length;
    return { status, capturedVia, captures, tookMs };
  }
}

describe("a page that is closed after the answer", () => {
  it(`costs no payment, of ${paymentsInAll}`, { timeout: 30 * 60_000 }, async () => {
    const numbers = Object.keys(cards) as (keyof typeof cards)[];
    const wrong: unknown[] = [];
    const times: number[] = [];
    let begun = 0;
    const customers = Array.from({ length: atOnce }, async () => {
      while (begun < paymentsInAll) {
        const number = numbers[begun++ % numbers.length]!;
        const { session, context, page, confirm } = await goToBank(number);
        const answered = page.waitForRequest(
          (request) => request.method() === "POST" && request.url().includes("/bank/"),
        );
        await confirm.click({ noWaitAfter: true });
        await answered;
        const since = performance.now();
        await context.close();
        const { tookMs, ...end } = await endOf(session, since);
        times.push(tookMs);
        const right = { status: "SUCCEEDED", capturedVia: cards[number], captures: 1 };
        if (JSON.stringify(end) !== JSON.stringify(right)) wrong.push({ ...end, number, session: session.sessionId });
      }
    });
    await Promise.all(customers);
    const sorted = times.toSorted((left, right) => left - right);
    const [p50 = 0, p95 = 0] = [0.5, 0.95].map((share) => sorted[Math.floor(share * sorted.length)]);
    const late = sorted.filter((tookMs) => tookMs > 5_000).length;
    console.info(
      `${times.length - wrong.length} of ${times.length} right; ended after p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms; ${late} by a look after more than 5 s`,
    );
    expect(wrong).toEqual([]);
  });

  it("ends by itself without an answer, and a hold that comes later is voided", { timeout: 20 * 60_000 }, async () => {
    const { session, page, context } = await goToBank(abandonedCard);
    const bank = page.frames().find((frame) => frame.url().includes("/bank/"));
    const address = bank?.url() ?? "";
    const read = () => api.read(session.sessionId);
    await expect.poll(async () => (await read()).status, { timeout: 11 * 60_000, interval: 1_000 }).toBe("DECLINED");
    await context.close();
    expect(await read()).toMatchObject({
      declineCode: "authentication_failed",
      authentications: [{ status: "ABANDONED", challenge: { endedBy: "DEADLINE" } }],
    });
    await new Promise((resolve) => setTimeout(resolve, 3 * 60_000));
    // As in the bank's app.
    await fetch(address, { method: "POST", body: new URLSearchParams({ code: "123456" }), redirect: "manual" });
    await expect
      .poll(async () => (await read()).attempts?.at(-1)?.status, { timeout: 2 * 60_000, interval: 1_000 })
      .toBe("VOIDED");
    expect(
      (await demo.sandbox.authorizations((await read()).attempts!.at(-1)!.attemptId)).map((one) => one.status),
    ).toEqual(["voided"]);
  });
});
