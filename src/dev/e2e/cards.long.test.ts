/**
 * The test cards that take longer than a test run should: a capture past every budget, and the latest execution time of
 * an attempt.
 */
import { afterAll, beforeAll, describe, it } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { cardTimeoutMs, closedAfterS, quickS, runCard } from "./card-run.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { auditWebhooks, type WebhookAudit } from "./webhook-audit.ts";

let demo: TestDemo;
let audit: WebhookAudit | undefined;

beforeAll(async () => {
  demo = await startTestDemo();
  audit = await auditWebhooks(demo);
});
afterAll(async () => {
  try {
    await audit?.finish();
  } finally {
    await demo?.close();
  }
});

describe("the slow sandbox cards", () => {
  for (const card of testCards.filter((one) => closedAfterS(one) > quickS)) {
    it.concurrent(`${card.name}: ${card.behaviour}`, { timeout: cardTimeoutMs(card) }, ({ expect }) =>
      runCard(demo, card, expect),
    );
  }
});
