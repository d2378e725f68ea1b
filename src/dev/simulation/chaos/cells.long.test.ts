import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { testCards } from "../../../gateways/sandbox/test-cards.ts";
import { Dice } from "../dice.ts";
import { Browser } from "./browser.ts";
import { Load } from "./load.ts";
import { Merchant } from "./merchant.ts";
import { Site } from "./site.ts";
import { expireIn } from "./site-database.ts";
import { Tally } from "./tally.ts";

const loadMs = 15_000;
// Longer than the load by the time that its last request may wait for a connection.
const outageMs = loadMs + 10_000;
const ratePerSecond = 3;

it("goes on paying in one cell while the PostgreSQL of the other is killed", { timeout: 180_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const dice = new Dice(1);
  const site = await Site.open(new Tally(), 2);
  stack.defer(async () => {
    await site.end();
    await site.remove();
  });
  const shops = [];
  for (const cell of [1, 2]) {
    const tally = new Tally();
    const merchant = await Merchant.start({ dice: new Dice(cell), tally });
    stack.defer(() => merchant.close());
    merchant.calm();
    const browser = new Browser(tally);
    stack.defer(() => browser.close());
    const { secretKey, signingSecret } = await site.openMerchant(merchant.webhookUrl, "sandbox", cell);
    merchant.trust(signingSecret);
    const cards = testCards.filter(({ group }) => group === "approved").map(({ number }) => number);
    const { edgeOrigins: edges, vaultOrigin, ownerUrls } = site;
    const shop = {
      browser,
      tally,
      secretKey,
      edges,
      vaultOrigin,
      cards,
      later: () => {},
      orders: [],
      expireIn: expireIn(ownerUrls[cell - 1]!),
    };
    shops.push({ tally, merchant, load: new Load(shop, dice, `cell-${cell}`) });
  }
  const [first, second] = shops as [(typeof shops)[number], (typeof shops)[number]];
  const end = AbortSignal.timeout(loadMs);
  site.postgres[1]!.restart("killed", outageMs);
  await pause(500);
  await Promise.all(shops.map(({ load }) => load.run(ratePerSecond, end)));
  await first.load.empty();
  const failed = ({ tally }: typeof first) => tally.under("answer ").filter(([name]) => /5\d\d|none/.test(name));
  expect(failed(first)).toEqual([]);
  expect(first.tally.of("answer SubmitPayment 200")).toBeGreaterThan(20);
  expect(first.merchant.arrivals.length).toBeGreaterThan(20);
  expect(second.tally.of("answer create 201")).toBe(0);
  expect(failed(second).map(([name]) => name)).toContain("create 503");
  await site.calm();
  await second.load.run(ratePerSecond, AbortSignal.timeout(2_000));
  await second.load.empty();
  expect(second.tally.of("answer create 201")).toBeGreaterThan(0);
});
