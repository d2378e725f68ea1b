/** Processes killed during a payment: another one finishes it, and the merchant is notified. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { orderAtShop } from "./shop-order.ts";
import { auditWebhooks, type WebhookAudit } from "./webhook-audit.ts";

const approvedCard = "4242424242424242";

let demo: TestDemo;
let audit: WebhookAudit | undefined;
let merchant: ApiCheckout;

beforeAll(async () => {
  demo = await startTestDemo();
  audit = await auditWebhooks(demo);
  merchant = new ApiCheckout(demo.file);
});
afterAll(async () => {
  try {
    await audit?.finish();
  } finally {
    await demo?.close();
  }
});

/** Resolves once the order page, which the shop updates by itself, shows the text. */
async function shownOnOrderPage(orderRef: string, text: string): Promise<void> {
  const events = await fetch(`${demo.file.shopUrl}/orders/${orderRef}/events`);
  for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
    if (chunk.replaceAll(/<[^>]*>/g, "").includes(text)) return;
  }
  throw new Error("the order page's events ended");
}

async function authorizationsOf(sessionId: string) {
  const { attempts = [] } = await merchant.read(sessionId);
  return (await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)))).flat();
}

describe("a payment", () => {
  it("is finished by the worker, with failover, when the edge is killed in mid-submission", {
    timeout: 90_000,
  }, async () => {
    const { orderRef, session } = await orderAtShop(demo.file.shopUrl);
    const token = await merchant.tokenize(session, approvedCard);
    await demo.sandbox.hold("a.authorize");
    const submitted = merchant.submit(session, token).catch(() => "no answer");
    await demo.sandbox.paused({ operation: "a.authorize" });
    const killedAt = Date.now();
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await submitted).toBe("no answer");

    // The edge is still dead when the merchant receives the outcome.
    await shownOnOrderPage(orderRef, "payment_session.succeeded");
    console.info(`edge killed in mid-submission: webhook after ${Date.now() - killedAt} ms`);
    await demo.restart("edge");
    // SANDBOX_B reports its capture to an edge, so it retries until there is one.
    const confirmed = async () => (await merchant.read(session.sessionId)).captureConfirmed;
    await expect.poll(confirmed, { timeout: 20_000 }).toBe(true);
    const statuses = async () => (await merchant.read(session.sessionId)).attempts?.map(({ status }) => status);
    await expect.poll(statuses, { timeout: 20_000 }).toEqual(["VOIDED", "CAPTURED"]);
    expect(await merchant.read(session.sessionId)).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      failover: true,
      captureConfirmed: true,
      attempts: [{ failureKind: "TIMEOUT", next: { action: "failover" } }, {}],
    });
    await demo.sandbox.release();
    const atAcquirers = (await authorizationsOf(session.sessionId)).map(({ acquirer, status }) => [acquirer, status]);
    expect(atAcquirers).toEqual([
      ["A", "voided"],
      ["B", "captured"],
    ]);
  });

  it("reaches the merchant when nats-server is killed and its store deleted", { timeout: 60_000 }, async () => {
    const { orderRef, session } = await orderAtShop(demo.file.shopUrl);
    process.kill(demo.file.pids.nats!, "SIGKILL");
    await rm(join(demo.stateFolder, "nats", "jetstream"), { recursive: true, force: true });
    expect(await merchant.submit(session, await merchant.tokenize(session, approvedCard))).toMatchObject({
      status: "SUCCEEDED",
    });
    const settledAt = Date.now();
    await shownOnOrderPage(orderRef, "payment_session.succeeded");
    console.info(`nats-server gone: webhook ${Date.now() - settledAt} ms after the outcome`);
  });
});
