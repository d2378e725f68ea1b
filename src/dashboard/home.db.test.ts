import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { attentionRows } from "../limits/dashboard.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard-fixture.ts";
import { type MadePayment, makePayment, openTables } from "./testing/payment-rows.ts";

let dashboard: DashboardFixture;
let client: DashboardClient;
beforeAll(async () => {
  dashboard = await startDashboardFixture();
  client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
  await openTables(dashboard);
});
afterAll(async () => {
  client?.close();
  await dashboard?.close();
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const home = async (dayStart?: Date) => {
  const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" as const };
  return client.home.getHome({ ...scope, ...(dayStart && { dayStart: dayStart.toISOString() }) });
};
const kinds = async () => ((await home()).attention ?? []).map(({ kind }) => kind);
const make = (payment: MadePayment) => makePayment(dashboard, payment);

describe("the home page's answer", () => {
  it("is empty where nothing happened", async () => {
    const { attention, today } = await home();
    expect(attention).toEqual([]);
    expect(today).toMatchObject({ created: 0, succeeded: 0, volume: [], newestOnly: false });
  });

  it("adds up the caller's day and no more, by currency", async () => {
    const failedOver: MadePayment["attempts"] = [
      { gateway: "SANDBOX_A", became: "DECLINED" },
      { gateway: "SANDBOX_B", became: "CAPTURED" },
    ];
    await make({ orderRef: "yesterday", createdAt: minutesAgo(20) });
    await make({ orderRef: "a", createdAt: minutesAgo(8), attempts: failedOver });
    await make({ orderRef: "b", createdAt: minutesAgo(7) });
    await make({ orderRef: "c", createdAt: minutesAgo(6), currency: "JPY", amountMinor: 500 });
    await make({ orderRef: "d", createdAt: minutesAgo(5), status: "DECLINED" });
    await make({ orderRef: "e", createdAt: minutesAgo(4), status: "CREATED" });
    const { today } = await home(minutesAgo(10));
    expect(today).toMatchObject({ created: 5, succeeded: 3, declined: 1, degraded: 0, savedByFailover: 1 });
    expect(today?.volume).toEqual([
      { amountMinor: "9800", currency: "EUR", exponent: 2 },
      { amountMinor: "500", currency: "JPY", exponent: 0 },
    ]);
    expect((await home(minutesAgo(10 * 1440))).today?.created).toBe(6);
  });

  it("names what needs somebody, once and with where it leads, and lets go of it when it is over", async () => {
    expect(await kinds()).toEqual([]);
    await make({ orderRef: "d" });
    expect(await kinds()).toEqual([]);
    await make({ orderRef: "b" });
    const { workItemId, sessionId } = await dashboard.openItem("SANDBOX_A has not given the hold back.");
    await openEndpoints();
    for (let count = 0; count < 5; count++) {
      const attempts: MadePayment["attempts"] = [{ gateway: "SANDBOX_A", became: "VOIDED" }];
      const { sessionUuid } = await make({ orderRef: `degraded-${count}`, status: "DEGRADED", attempts });
      await dashboard.rows("UPDATE attempt SET connection_id = $2 WHERE session_id = $1", [
        sessionUuid,
        connectionUuid,
      ]);
    }
    const { attention = [] } = await home();
    expect(attention).toMatchObject([
      { kind: "PAID_TWICE", orderRef: "b" },
      { kind: "PAYMENT_ALARM", sessionId, text: "SANDBOX_A has not given the hold back." },
      { kind: "ENDPOINT_DISABLED", text: expect.stringMatching(/^https:\/\/lost\.example\.com failed for too long/) },
      { kind: "GATEWAY_UNHEALTHY", text: " gave no usable answer to 5 of 5 attempts of the last hour." },
      { kind: "PAYMENTS_DEGRADED", text: expect.stringMatching(/^5 payments of the last hour ended as DEGRADED: /) },
    ]);
    await client.workList.closeWorkItem({ environment: "ENVIRONMENT_TEST", workItemId, note: "done" });
    expect(await kinds()).not.toContain("PAYMENT_ALARM");
  });

  it("says when there is more to do than it names", async () => {
    const lose = (count: number) =>
      Promise.all(Array.from({ length: count }, () => loseEndpoint("https://more.example.com")));
    const named = async () => {
      const { attention = [], attentionCut } = await home();
      return { endpoints: attention.filter(({ kind }) => kind === "ENDPOINT_DISABLED").length, attentionCut };
    };
    // One of them is lost already.
    await lose(attentionRows - 1);
    expect(await named()).toEqual({ endpoints: attentionRows, attentionCut: false });
    await lose(1);
    expect(await named()).toEqual({ endpoints: attentionRows, attentionCut: true });
  });

  it("judges a gateway by the attempts of the last hour, whenever their sessions were created", async () => {
    const [asked, notAsked] = [systemEntropy.uuid(), systemEntropy.uuid()];
    for (const [uuid, startedAt] of [
      [asked, minutesAgo(10)],
      [notAsked, minutesAgo(80)],
    ] as const)
      for (let count = 0; count < 5; count++) {
        const attempts: MadePayment["attempts"] = [{ gateway: "SANDBOX_A", became: "VOIDED" }];
        const { sessionUuid } = await make({ createdAt: minutesAgo(90), status: "DEGRADED", attempts });
        const set = "UPDATE attempt SET connection_id = $2, started_at = $3, answered_at = $3 WHERE session_id = $1";
        await dashboard.rows(set, [sessionUuid, uuid, startedAt]);
      }
    const { attention = [] } = await home();
    const unhealthy = attention.filter(({ kind }) => kind === "GATEWAY_UNHEALTHY").map((item) => item.connectionId);
    expect(unhealthy).toContain(encodeId("gc", asked));
    expect(unhealthy).not.toContain(encodeId("gc", notAsked));
  });

  it("adds up more than a number holds", async () => {
    // Instead of the nine thousand payments of the largest amount.
    await dashboard.rows("ALTER TABLE payment_session DROP CONSTRAINT payment_session_amount_minor_check");
    await dashboard.rows("ALTER TABLE attempt DROP CONSTRAINT IF EXISTS attempt_amount_minor_check");
    await make({ orderRef: "huge", currency: "USD", amountMinor: Number.MAX_SAFE_INTEGER });
    await make({ orderRef: "small", currency: "USD", amountMinor: 2 });
    const { today } = await home();
    expect(today?.volume).toContainEqual({ amountMinor: "9007199254740993", currency: "USD", exponent: 2 });
  });

  it("masks an order reference that is a card number, and leads to its newest payment: a masked one finds nothing", async () => {
    await make({ orderRef: "4242424242424242" });
    const { sessionId } = await make({ orderRef: "4242424242424242" });
    const { attention = [] } = await home();
    const paidTwice = attention.filter(({ kind }) => kind === "PAID_TWICE");
    expect(paidTwice).toContainEqual(expect.objectContaining({ orderRef: "************4242", sessionId }));
    expect(paidTwice).toContainEqual(expect.objectContaining({ orderRef: "b", sessionId: "" }));
  });
});

const connectionUuid = systemEntropy.uuid();

/** One that its owner has disabled, and one that was lost. */
async function openEndpoints(): Promise<void> {
  await loseEndpoint("https://lost.example.com");
  await loseEndpoint("https://left.example.com", "OWNER");
}

async function loseEndpoint(url: string, because = "FAILING"): Promise<void> {
  const text = `INSERT INTO endpoint (id, merchant_id, url, status, secret_sealed, disabled_at, disabled_because, verified_at)
    VALUES ($1, $2, $3, 'DISABLED', 'x', now(), $4, now())`;
  await dashboard.rows(text, [systemEntropy.uuid(), decodeId("mer", dashboard.merchantId), url, because]);
}
