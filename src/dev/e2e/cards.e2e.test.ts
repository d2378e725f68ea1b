/** The outcome of each test card, with every part of the product real. cards.long.test.ts has the slow ones. */
import { describe, it } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { forFile } from "../testing/for-file.ts";
import { cardTimeoutMs, closedAfterS, quickS, runCard } from "./card-run.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { auditWebhooks } from "./webhook-audit.ts";

// The slowest first, so that the others run while they wait for a gateway.
const cards = testCards
  .filter((card) => closedAfterS(card) <= quickS)
  .map((card) => ({ ...card, timeout: cardTimeoutMs(card) }))
  .toSorted((left, right) => right.timeout - left.timeout);

const demo = await forFile(startTestDemo);
await forFile(() => auditWebhooks(demo), "finish");

describe("the sandbox cards", () => {
  for (const card of cards) {
    it.concurrent(`${card.name}: ${card.behaviour}`, { timeout: card.timeout }, ({ expect }) =>
      runCard(demo, card, expect),
    );
  }
});
