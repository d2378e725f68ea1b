import { describe, expect, it } from "vitest";
import { confirmAlertAddress } from "../accounts/alert-addresses.ts";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { type MadePayment, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { countSettledOnce } from "../reporting/analytics/count-settled.ts";
import { raiseAlertsOnce } from "../reporting/raise-alerts.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const alertRows = 10;

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
await openTables(dashboard);

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const home = () => client.home.getHome({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" });
const kinds = async () => ((await home()).alerts ?? []).map(({ kind }) => kind);
const work = async () => {
  await countSettledOnce(dashboard.database);
  const connectorOf = () => undefined;
  await raiseAlertsOnce({ database: dashboard.database, runtime: systemRuntime, log: { warn: () => {} }, connectorOf });
};
const connect = (uuid: string) =>
  dashboard.rows(
    "INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1::uuid, $2, 'SANDBOX_A', $1::text)",
    [uuid, decodeId("mer", dashboard.merchantId)],
  );
const make = (payment: MadePayment) => makePayment(dashboard, payment);

describe("the home page's response", () => {
  it("is empty where nothing happened", async () => {
    expect((await home()).alerts).toEqual([]);
  });

  it("lists the missing set-up steps; in test an origin is not one", async () => {
    const missing = async () => (await home()).missing;
    const all = ["SET_UP_STEP_GATEWAY", "SET_UP_STEP_ROUTING_RULE", "SET_UP_STEP_WEBHOOK_ENDPOINT"];
    expect(await missing()).toEqual(all);
    const id = systemRuntime.uuid();
    const merchantUuid = decodeId("mer", dashboard.merchantId);
    await dashboard.rows(
      "INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1, $2, 'STRIPE', 'main')",
      [id, merchantUuid],
    );
    await dashboard.rows(
      "INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on) VALUES ($1, 1, ARRAY[$2::uuid], '{}')",
      [merchantUuid, id],
    );
    expect(await missing()).toEqual(all);
    await dashboard.rows("UPDATE connection SET credential_version = 1 WHERE id = $1", [id]);
    expect(await missing()).toEqual(["SET_UP_STEP_WEBHOOK_ENDPOINT"]);
  });

  it("lists each alert once, with a link, and removes it when it is over", async () => {
    expect(await kinds()).toEqual([]);
    await make({ orderRef: "d", status: "DECLINED" });
    await make({ orderRef: "b" });
    await make({ orderRef: "d" });
    expect(await kinds()).toEqual([]);
    await make({ orderRef: "b" });
    const { workItemId, sessionId } = await dashboard.openItem("SANDBOX_A has not given the hold back.");
    await openEndpoints();
    await connect(connectionUuid);
    const firstDegraded = minutesAgo(20);
    for (let count = 0; count < 5; count++) {
      const attempts: MadePayment["attempts"] = [{ gateway: "SANDBOX_A", became: "VOIDED" }];
      const createdAt = count === 0 ? firstDegraded : minutesAgo(1);
      const made = { orderRef: `degraded-${count}`, createdAt, status: "DEGRADED", attempts } as const;
      const { sessionUuid } = await make(made);
      await dashboard.rows("UPDATE attempt SET connection_id = $2 WHERE session_id = $1", [
        sessionUuid,
        connectionUuid,
      ]);
    }
    await work();
    const { alerts = [] } = await home();
    expect(alerts).toMatchObject([
      { kind: "PAID_TWICE", orderRef: "b" },
      { kind: "PAYMENT_ALARM", sessionId, text: "SANDBOX_A has not given the hold back." },
      { kind: "ENDPOINT_DISABLED", text: expect.stringMatching(/^https:\/\/lost\.example\.com failed for too long/) },
      {
        kind: "GATEWAY_UNHEALTHY",
        text: "SANDBOX_A gave no usable answer to 5 of 5 attempts of the last hour. That is 100.0%.",
      },
      { kind: "PAYMENTS_DEGRADED", text: expect.stringMatching(/^5 payments failed in the last hour: /) },
    ]);
    // They end 9 s after their creation.
    expect(Date.parse(alerts.at(-1)!.since!)).toBe(firstDegraded.getTime() + 9_000);
    await client.workQueue.closeWorkItem({ environment: "ENVIRONMENT_TEST", workItemId, note: "done" });
    expect(await kinds()).not.toContain("PAYMENT_ALARM");
  });

  it("loses an alarm that its merchant closes, with a note in the audit trail, but no other merchant's or rule's", async () => {
    const { workItemId } = await dashboard.openItem("The gateway is silent.");
    const [brokenUuid, merchantUuid] = [systemRuntime.uuid(), decodeId("mer", dashboard.merchantId)];
    await dashboard.rows(
      `INSERT INTO work_item (id, kind, merchant_id, session_id, rule, detail)
       VALUES ($1, 'INVARIANT_VIOLATED', $2, $1, 'two_capturable', 'A rule is broken.')`,
      [brokenUuid, merchantUuid],
    );
    const broken = { workItemId: encodeId("wi", brokenUuid) };
    const alarms = async () =>
      ((await home()).alerts ?? []).flatMap(({ kind, text, workItemId: id }) =>
        kind === "PAYMENT_ALARM" ? [[text, id]] : [],
      );
    expect(await alarms()).toEqual([
      ["A rule is broken.", ""],
      ["The gateway is silent.", workItemId],
    ]);
    const { merchant } = await client.merchants.createMerchant({ name: "Tea House" });
    const close = (id: string, merchantId = dashboard.merchantId) =>
      client.home.closeAlarm({ merchantId, environment: "ENVIRONMENT_TEST", workItemId: id, note: "voided by hand" });
    // One after the other: the second must not be refused before its refusal is expected.
    await expect(close(workItemId, merchant!.merchantId!)).rejects.toMatchObject({ code: "not_found" });
    await expect(close(broken.workItemId)).rejects.toMatchObject({ code: "not_found" });
    await close(workItemId);
    expect(await alarms()).toEqual([["A rule is broken.", ""]]);
    expect(await dashboard.rows("SELECT subject, after FROM audit_entry WHERE action = 'CloseAlarm'")).toEqual([
      { subject: workItemId, after: { kind: "ORPHANED_AUTHORIZATION", note: "voided by hand" } },
    ]);
    const environment = "ENVIRONMENT_TEST" as const;
    await client.workQueue.closeWorkItem({ environment, workItemId: broken.workItemId, note: "mended" });
  });

  it("shows alarms of one cause as one, and closes them with one note, but none that came later", async () => {
    const forgotten = (payment: number) =>
      dashboard.openItem(`Our record is CAPTURED (auth_${payment}); the gateway's is absent.`);
    for (let payment = 1; payment <= 12; payment++) await forgotten(payment);
    await dashboard.openItem("The gateway is silent.");
    const newest = await forgotten(13);
    const alarms = async () => ((await home()).alerts ?? []).filter(({ kind }) => kind === "PAYMENT_ALARM");
    const shown = await alarms();
    expect(shown).toMatchObject([
      {
        ...newest,
        count: 13,
        text: "13 payments have this alarm. The newest: Our record is CAPTURED (auth_13); the gateway's is absent.",
      },
      { count: 1, text: "The gateway is silent." },
    ]);
    const later = await forgotten(14);
    const closing = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST", note: "looked up" } as const;
    const { workItemId } = newest;
    expect(await client.home.closeAlarm({ ...closing, workItemId, wholeCause: true })).toEqual({ closedCount: 13 });
    expect(await alarms()).toMatchObject([{ ...later, count: 1 }, { text: "The gateway is silent." }]);
    expect(
      await dashboard.rows("SELECT after FROM audit_entry WHERE action = 'CloseAlarm' AND subject = $1", [workItemId]),
    ).toEqual([{ after: { kind: "ORPHANED_AUTHORIZATION", note: "looked up", count: 13 } }]);
    for (const one of await alarms()) await client.home.closeAlarm({ ...closing, workItemId: one.workItemId! });
  });

  it("names the gateway of alarms that several payments share, in the work queue too", async () => {
    const workItemIds: string[] = [];
    for (const gateway of ["SANDBOX_A", "SANDBOX_B", "SANDBOX_A"]) {
      const { sessionUuid, attemptIds } = await make({ attempts: [{ gateway, became: "CAPTURED" }] });
      const id = systemRuntime.uuid();
      workItemIds.push(encodeId("wi", id));
      await dashboard.rows(
        `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, detail)
         VALUES ($1, 'RECORD_MISMATCH', $2, $3, $4, 'The gateway does not know it.')`,
        [id, decodeId("mer", dashboard.merchantId), sessionUuid, decodeId("att", attemptIds[0]!)],
      );
    }
    const texts = ((await home()).alerts ?? []).filter(({ kind }) => kind === "PAYMENT_ALARM").map(({ text }) => text);
    expect(texts).toEqual([
      "2 payments at SANDBOX_A have this alarm. The newest: The gateway does not know it.",
      "The gateway does not know it.",
    ]);
    const environment = "ENVIRONMENT_TEST" as const;
    const { workItems = [] } = await client.workQueue.listWorkItems({ environment, pageSize: 3 });
    expect(workItems.map(({ gateway }) => gateway)).toEqual(["SANDBOX_A", "SANDBOX_B", "SANDBOX_A"]);
    for (const workItemId of workItemIds) {
      const { workItem } = await client.workQueue.closeWorkItem({ environment, workItemId, note: "looked up" });
      expect(workItem).toMatchObject({ gateway: expect.stringMatching(/^SANDBOX_[AB]$/) });
    }
  });

  it("names the newest of two payments for a refund, and stops when one is refunded as a whole", async () => {
    const twice = async () => ((await home()).alerts ?? []).filter(({ orderRef }) => orderRef === "twice");
    await make({ orderRef: "twice" });
    const { sessionId, sessionUuid, attemptIds } = await make({ orderRef: "twice" });
    expect(await twice()).toMatchObject([{ kind: "PAID_TWICE", sessionId: "", refundSessionId: sessionId }]);
    const attempt = decodeId("att", attemptIds[0]!);
    await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", [attempt]);
    const refund = async (amountMinor: number) => {
      await dashboard.rows(
        `INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, request_hash, next_try_at)
         SELECT session_id, $2, id, connection_id, gateway, $3, currency, '\\x00', now() FROM attempt WHERE id = $1`,
        [attempt, systemRuntime.uuid(), amountMinor],
      );
      await dashboard.rows("UPDATE payment_session SET refunds = refunds + 1 WHERE id = $1", [sessionUuid]);
    };
    await refund(4899);
    expect(await twice()).toHaveLength(1);
    await refund(1);
    expect(await twice()).toEqual([]);
    const fail = "UPDATE refund SET status = 'FAILED', failure_code = 'no', completed_at = now() WHERE session_id = $1";
    await dashboard.rows(fail, [sessionUuid]);
    expect(await twice()).toHaveLength(1);
  });

  it("reports that more alerts exist than it lists", async () => {
    const lose = (count: number) =>
      Promise.all(Array.from({ length: count }, () => disableEndpoint("https://more.example.com")));
    const named = async () => {
      const { alerts = [], alertsCut } = await home();
      return { endpoints: alerts.filter(({ kind }) => kind === "ENDPOINT_DISABLED").length, alertsCut };
    };
    // One of them was already disabled.
    await lose(alertRows - 1);
    expect(await named()).toEqual({ endpoints: alertRows, alertsCut: false });
    await lose(1);
    expect(await named()).toEqual({ endpoints: alertRows, alertsCut: true });
  });

  it("names the addresses for alerts that have not confirmed", async () => {
    const environment = "ENVIRONMENT_TEST" as const;
    const { merchant } = await client.merchants.createMerchant({ name: "Book House" });
    const scope = { merchantId: merchant!.merchantId!, environment };
    const unconfirmed = async () => (await client.home.getHome(scope)).unconfirmedAddresses;
    expect(await unconfirmed()).toEqual([]);
    await client.alerts.setAlertAddresses({ ...scope, addresses: ["ops@example.com", "ada@example.com"] });
    const ask = { merchantId: decodeId("mer", scope.merchantId)!, removals: 0 };
    await dashboard.database.transaction((tx) => confirmAlertAddress(tx, { ...ask, address: "ops@example.com" }));
    expect(await unconfirmed()).toEqual(["ada@example.com"]);
    expect((await home()).unconfirmedAddresses).toEqual([]);
  });

  it("rates a gateway by the attempts of the last hour, whenever their sessions were created", async () => {
    const [called, notCalled] = [systemRuntime.uuid(), systemRuntime.uuid()];
    for (const [uuid, startedAt] of [
      [called, minutesAgo(10)],
      [notCalled, minutesAgo(80)],
    ] as const) {
      await connect(uuid);
      for (let count = 0; count < 5; count++) {
        const attempts: MadePayment["attempts"] = [{ gateway: "SANDBOX_A", became: "VOIDED" }];
        const { sessionUuid } = await make({ createdAt: minutesAgo(90), status: "DEGRADED", attempts });
        const set = "UPDATE attempt SET connection_id = $2, started_at = $3, answered_at = $3 WHERE session_id = $1";
        await dashboard.rows(set, [sessionUuid, uuid, startedAt]);
        await dashboard.rows("UPDATE payment_session SET settled_at = $2 WHERE id = $1", [sessionUuid, startedAt]);
      }
    }
    await work();
    const { alerts = [] } = await home();
    const unhealthy = alerts.filter(({ kind }) => kind === "GATEWAY_UNHEALTHY").map((item) => item.connectionId);
    expect(unhealthy).toContain(encodeId("gc", called));
    expect(unhealthy).not.toContain(encodeId("gc", notCalled));
  });

  it("names an endpoint for which events wait, until it is verified", async () => {
    const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" as const };
    const { endpoint } = await client.endpoints.addWebhookEndpoint({ ...scope, url: "http://127.0.0.1:9/hook" });
    await dashboard.emitEvent();
    const unverified = async () => {
      await work();
      const { alerts = [] } = await home();
      return alerts.filter(({ kind }) => kind === "ENDPOINT_UNVERIFIED").map(({ endpointId }) => endpointId);
    };
    expect(await unverified()).toEqual([]);
    await dashboard.rows("UPDATE delivery SET next_at = next_at - interval '61 minutes'");
    expect(await unverified()).toEqual([endpoint?.endpointId]);
    const set = "UPDATE endpoint SET status = 'ENABLED', verified_at = now() WHERE id = $1";
    await dashboard.rows(set, [decodeId("we", endpoint!.endpointId!)]);
    expect(await unverified()).toEqual([]);
  });

  it("warns once of order references that look like card numbers, without showing one, until none is recent", async () => {
    const warnings = async () => ((await home()).alerts ?? []).filter(({ kind }) => kind === "ORDER_REF_LIKE_CARD");
    // Digits that are no card number: another length, or a wrong check digit.
    for (const orderRef of ["42424242424", "4242424242424241", "order 4242424242424242"]) await make({ orderRef });
    await make({ orderRef: "5555555555554444", createdAt: minutesAgo(5 * 1440) });
    await make({ orderRef: "5555555555554444", merchantUuid: systemRuntime.uuid() });
    expect(await warnings()).toEqual([]);
    const made = [
      await make({ orderRef: "5555555555554444", status: "CREATED", createdAt: minutesAgo(3) }),
      await make({ orderRef: " 3782-822463-10005", status: "DECLINED", createdAt: minutesAgo(2) }),
    ];
    const [warning, ...more] = await warnings();
    expect(more).toEqual([]);
    expect(warning).toMatchObject({
      text: expect.stringMatching(/^2 recent payments have an order reference that looks like a card number\. /),
      sessionId: made[1]!.sessionId,
      orderRef: "",
    });
    expect(JSON.stringify(warning)).not.toMatch(/4444|0005/);
    await dashboard.rows("UPDATE payment_session SET order_ref = 'mended' WHERE id = ANY ($1::uuid[])", [
      made.map(({ sessionUuid }) => sessionUuid),
    ]);
    expect(await warnings()).toEqual([]);
  });

  it("masks an order reference that is a card number, and links to its newest payment instead", async () => {
    await make({ orderRef: "4242424242424242" });
    const { sessionId } = await make({ orderRef: "4242424242424242" });
    const { alerts = [] } = await home();
    const paidTwice = alerts.filter(({ kind }) => kind === "PAID_TWICE");
    expect(paidTwice).toContainEqual(expect.objectContaining({ orderRef: "************4242", sessionId }));
    expect(paidTwice).toContainEqual(expect.objectContaining({ orderRef: "b", sessionId: "" }));
  });
});

const connectionUuid = systemRuntime.uuid();

/** Opens an endpoint that its owner has disabled, and one that failed for too long. */
async function openEndpoints(): Promise<void> {
  await disableEndpoint("https://lost.example.com");
  await disableEndpoint("https://left.example.com", "OWNER");
}

async function disableEndpoint(url: string, reason = "FAILING"): Promise<void> {
  const text = `INSERT INTO endpoint (id, merchant_id, url, status, secret_sealed, disabled_at, disabled_reason, verified_at)
    VALUES ($1, $2, $3, 'DISABLED', 'x', now(), $4, now())`;
  await dashboard.rows(text, [systemRuntime.uuid(), decodeId("mer", dashboard.merchantId), url, reason]);
}
