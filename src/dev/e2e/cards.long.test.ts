/** The test cards that take longer than a test run should. */
import { describe, it } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { forFile } from "../testing/for-file.ts";
import { cardTimeoutMs, closedAfterS, quickS, runCard } from "./card-run.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { auditWebhooks } from "./webhook-audit.ts";

const demo = await forFile(startTestDemo);
await forFile(() => auditWebhooks(demo), "finish");

describe("the slow sandbox cards", () => {
  for (const card of testCards.filter((one) => closedAfterS(one) > quickS)) {
    it.concurrent(`${card.name}: ${card.behaviour}`, { timeout: cardTimeoutMs(card) }, ({ expect }) =>
      runCard(demo, card, expect),
    );
  }
});
