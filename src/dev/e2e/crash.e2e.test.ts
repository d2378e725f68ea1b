/** An edge killed during a payment: a worker finishes it, and the merchant is notified. crash.e2e.long.test.ts kills the others. */
import { describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { orderAtShop, shownOnOrderPage } from "./shop-order.ts";
import { auditWebhooks } from "./webhook-audit.ts";

const approvedCard = "4242424242424242";

const demo = await forFile(startTestDemo);
await forFile(() => auditWebhooks(demo), "finish");
const merchant = new ApiCheckout(demo.file);

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
    await shownOnOrderPage(demo.file.shopUrl, orderRef, "payment_session.succeeded");
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
});
