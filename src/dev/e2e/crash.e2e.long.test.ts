/**
 * Processes killed during a payment: another one finishes it, and the merchant is notified. An edge killed while it
 * creates a session: a repeat finds the session it made, or makes the one it did not.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { HeldCommits } from "../testing/held-commits.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { answerBank, ChallengeCustomer, ChallengeShop } from "./challenge-shop.ts";
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

  it("goes on where its customer is when edge and worker are killed in mid-challenge", {
    timeout: 90_000,
  }, async () => {
    const [shop, browser] = await Promise.all([ChallengeShop.start(demo), launchBrowser()]);
    onTestFinished(async () => {
      await browser.close();
      shop.close();
    });
    const { session, url } = await shop.sell();
    const customer = await ChallengeCustomer.enter(await browser.newContext(), url);
    await customer.pay("4000000000007106");
    await customer.bank.getByLabel("Code").waitFor();
    await Promise.all(
      (["edge", "worker"] as const).map((role) => {
        process.kill(demo.file.pids[role]!, "SIGKILL");
        return demo.restart(role);
      }),
    );
    await answerBank(customer.bank);
    await expect.poll(() => customer.resultsOf("onSuccess"), { timeout: 20_000 }).toHaveLength(1);
    expect(await merchant.read(session.sessionId)).toMatchObject({
      status: "SUCCEEDED",
      attempts: [{ status: "DECLINED" }, { status: "CAPTURED" }],
      authentications: [{ status: "UNAVAILABLE" }, { status: "AUTHENTICATED" }],
    });
  });

  it("reaches the merchant when nats-server is killed and its store deleted", { timeout: 60_000 }, async () => {
    const { orderRef, session } = await orderAtShop(demo.file.shopUrl);
    process.kill(demo.file.pids.nats!, "SIGKILL");
    await rm(join(demo.stateFolder, "nats", "jetstream"), { recursive: true, force: true });
    expect(await merchant.submit(session, await merchant.tokenize(session, approvedCard))).toMatchObject({
      status: "SUCCEEDED",
    });
    const settledAt = Date.now();
    await shownOnOrderPage(demo.file.shopUrl, orderRef, "payment_session.succeeded");
    console.info(`nats-server gone: webhook ${Date.now() - settledAt} ms after the outcome`);
  });
});

describe("an edge that is killed while it creates a session", { timeout: 60_000 }, () => {
  let asOwner: Pool;
  let asRuntime: Pool;
  const database = "switchyard_test";
  beforeAll(() => {
    asOwner = poolTo({});
    const passwords = JSON.parse(readFileSync(join(demo.stateFolder, "database-passwords.json"), "utf8"));
    asRuntime = poolTo({ username: database, password: passwords.test });
  });
  afterAll(() => Promise.all([asOwner?.end(), asRuntime?.end()]));

  function poolTo(login: { username?: string; password?: string }): Pool {
    const url = Object.assign(new URL(demo.postgresUrl), { pathname: database, ...login });
    return new Pool({ connectionString: url.href, max: 2 });
  }

  /** Starts a creation that waits at its commit, and never answers: its client sees the connection end. */
  async function beginCreation() {
    const orderRef = `order-${randomUUID()}`;
    const headers = { "idempotency-key": randomUUID() };
    const held = await HeldCommits.start(asOwner, orderRef);
    const answer = merchant.create({ orderRef }, headers).catch(() => "no answer");
    await held.held();
    return { held, answer, orderRef, send: () => merchant.create({ orderRef }, headers) };
  }

  async function sessionsOf(orderRef: string): Promise<string[]> {
    const { rows } = await asOwner.query<{ id: string }>("SELECT id FROM payment_session WHERE order_ref = $1", [
      orderRef,
    ]);
    return rows.map(({ id }) => id);
  }

  it("before the commit leaves no session, and its key to the repeat", async () => {
    const { held, answer, orderRef, send } = await beginCreation();
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await held.abort(asRuntime);
    await held.release();
    expect(await sessionsOf(orderRef)).toEqual([]);
    await demo.restart("edge");
    const [first, second] = [await send(), await send()];
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    expect(await second.text()).toBe(await first.text());
    expect(await sessionsOf(orderRef)).toHaveLength(1);
  });

  it("after the commit and before its answer leaves a session, which is the repeat's answer", async () => {
    const { held, answer, orderRef, send } = await beginCreation();
    // A stopped process reads nothing: the database commits, and no process learns of it.
    process.kill(demo.file.pids.edge!, "SIGSTOP");
    await held.release();
    await expect.poll(() => sessionsOf(orderRef)).toHaveLength(1);
    process.kill(demo.file.pids.edge!, "SIGKILL");
    expect(await answer).toBe("no answer");
    await demo.restart("edge");
    const [first, second] = [await send(), await send()];
    expect([first, second].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual(["true", "true"]);
    expect(await second.text()).toBe(await first.text());
    expect(await sessionsOf(orderRef)).toHaveLength(1);
  });
});
