/** The test cards that take longer than a test run should: a capture past every budget, and the horizon after which nothing can come any more. */
import { afterAll, beforeAll, describe, it } from "vitest";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { cardTimeoutMs, closedAfterS, quickS, runCard } from "./card-run.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";

let demo: TestDemo;

beforeAll(async () => {
  demo = await startTestDemo();
});
afterAll(() => demo?.close());

describe("the slow sandbox cards", () => {
  for (const card of testCards.filter((one) => closedAfterS(one) > quickS)) {
    it.concurrent(`${card.name}: ${card.behaviour}`, { timeout: cardTimeoutMs(card) }, ({ expect }) =>
      runCard(demo, card, expect),
    );
  }
});
