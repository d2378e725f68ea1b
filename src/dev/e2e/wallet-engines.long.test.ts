/** Both wallets in the demo's shop, under its strict policy, in Firefox, in WebKit and in Chromium as phones have it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { deviceCards, walletPanCards } from "../../gateways/sandbox/wallet-cards.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolationsIn } from "./accessibility.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { expectedSession } from "./card-run.ts";
import type { EnginePage } from "./engine.ts";
import { confirmAtBank, engines, form, openSheet, payInSheet, payWithCard, polling } from "./engines.ts";
import { ReportedShop } from "./reported-shop.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { orderAtShop } from "./shop-order.ts";

const demo = await joinTestDemo();
const { shopUrl } = demo.file;
const merchant = new ApiCheckout(demo.shopFile);
const shop = await forFile(() => ReportedShop.start(shopUrl));

const titles = ["Apple Pay", "Google Pay"] as const;
const [approved, declinedFirst] = ["4000000000008302", "4000000000008344"];

describe.each(engines)("a customer with a wallet in %s", (_name, start) => {
  let page: EnginePage;
  beforeAll(async () => {
    page = await start();
  });
  afterEach(() => {
    expect(shop.reports.splice(0)).toEqual([]);
  });
  afterAll(() => page?.close());

  const goToCheckout = async () => {
    const { orderRef, session } = await orderAtShop(shopUrl);
    await page.open(`${shop.origin}/checkout/${orderRef}`);
    return { orderRef, ...session };
  };
  const shown = () => page.run(`${form}.textContent`);
  const seesOrder = (orderRef: string) =>
    expect.poll(() => page.run("location.pathname"), polling).toBe(`/orders/${orderRef}`);

  it.each([
    ...deviceCards.map((card) => [card.name, "Apple Pay", "apple_pay", "NETWORK_TOKEN", card] as const),
    ...walletPanCards.map((card) => [card.name, "Google Pay", "google_pay", "PAN", card] as const),
  ])("ends as the table says for a card in a sheet: %s", async (_card, title, type, credential, card) => {
    const { status, declineCode, attempts } = card.outcome;
    const { orderRef, sessionId } = await goToCheckout();
    await openSheet(page, title);
    await payWithCard(page, card.number);
    const read = async () => {
      // The frames come and go meanwhile.
      if (credential === "PAN") await page.runInLastFrame(confirmAtBank).catch(() => undefined);
      const session = await merchant.read(sessionId);
      return [session.status, ...(session.attempts ?? []).map((one) => `${one.status} ${one.failureKind}`)];
    };
    const ended = [status, ...attempts.map((one) => `${one.status} ${one.failureKind}`)];
    await expect.poll(read, polling).toEqual(ended);
    const session = await merchant.read(sessionId);
    expect(session).toMatchObject({ ...expectedSession(card), wallet: { type, credential } });
    expect(session.declineCode).toBe(declineCode);
    const records = await Promise.all(session.attempts!.map((one) => demo.sandbox.authorizations(one.attemptId)));
    const captured = records.flat().filter((one) => one.status === "captured");
    expect(captured).toHaveLength(status === "SUCCEEDED" ? 1 : 0);
    if (status === "SUCCEEDED") await seesOrder(orderRef);
    else await expect.poll(shown, polling).toContain("declined");
  });

  it.each(titles)(
    "pays by %s after a decline, in a fresh session that comes while the sheet is open",
    async (title) => {
      const { orderRef, sessionId } = await goToCheckout();
      await openSheet(page, title);
      await payWithCard(page, declinedFirst!);
      await expect.poll(shown, polling).toContain("Your card was declined");
      const asked = `/orders/${orderRef}/sessions`;
      expect(shop.posts).not.toContain(asked);
      await openSheet(page, title);
      await expect.poll(() => shop.posts, polling).toContain(asked);
      expect(await page.run(`Boolean(${payInSheet})`)).toBe(true);
      await payWithCard(page, approved!);
      await seesOrder(orderRef);
      expect(await merchant.read(sessionId)).toMatchObject({ status: "DECLINED", orderRef });
      expect((await sessionsOf(orderRef)).toSorted()).toEqual(["DECLINED", "SUCCEEDED"]);
    },
  );

  it.each(titles)("reads that nothing was charged when the vault refuses a forged token of %s", async (title) => {
    const { orderRef } = await goToCheckout();
    await demo.sandbox.forgeWalletTokens("tag");
    await openSheet(page, title);
    await payWithCard(page, approved!);
    await expect.poll(shown, polling).toContain("Nothing was charged. Try again or pay by card.");
    await demo.sandbox.forgeWalletTokens();
    await openSheet(page, title);
    await payWithCard(page, approved!);
    await seesOrder(orderRef);
    expect(await sessionsOf(orderRef)).toEqual(["SUCCEEDED"]);
  });

  it("finds no violation of WCAG in the form with buttons, nor in an open sheet", async () => {
    await goToCheckout();
    const cardFrame = `${form}.querySelector("iframe")`;
    await expect.poll(() => page.run(`${form}.querySelectorAll(".wallets button").length`), polling).toBe(2);
    expect(await findViolationsIn(page, cardFrame)).toEqual([]);
    await openSheet(page, "Apple Pay");
    expect(await findViolationsIn(page, cardFrame)).toEqual([]);
  });

  it("reports what the shop's policy blocks, which is nothing of the above", async () => {
    await goToCheckout();
    await page.run('void (new Image().src = "https://elsewhere.example/x.png")');
    await expect.poll(() => shop.reports.splice(0).join(), polling).toContain("img-src");
  });
});

async function sessionsOf(orderRef: string): Promise<string[]> {
  const { restBase, merchants } = demo.shopFile;
  const headers = { authorization: `Bearer ${merchants[0]!.test.secretKey}` };
  const answer = await fetch(`${restBase}/payment-sessions?orderRef=${orderRef}`, { headers });
  const { paymentSessions } = (await answer.json()) as { paymentSessions: { status: string }[] };
  return paymentSessions.map(({ status }) => status);
}
