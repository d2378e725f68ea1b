import { describe, expect, it } from "vitest";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { cancelSession } from "../core/capture-later.ts";
import type { FailoverSwitch } from "../core/rows/entities.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { startPayingDashboard } from "../dev/testing/dashboard/paying-dashboard.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { walletCards } from "../gateways/sandbox/wallet-cards.ts";
import { systemRuntime } from "../platform/runtime.ts";

const all: FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];
const errorAtFirst = "4000000000005001";

let a: string;
let b: string;
const dashboard = await forFile(startPayingDashboard);
const rules: DashboardClient["routingRules"] = (await dashboard.callAs("ada")).routingRules;
[a = "", b = ""] = dashboard.connectionIds;

const test = (more: object = {}) =>
  rules.testRoute({ ...dashboard.scope, amountMinor: "4900", currency: "EUR", ...more });
const set = (connectionIds: string[], failoverOn = all) =>
  rules.setRoutingRule({ ...dashboard.scope, connectionIds, failoverOn });

async function pay(card: string) {
  const session = await dashboard.payments.newSession();
  await dashboard.payments.submit(session, card);
  return dashboard.payments.loadSession(session);
}

describe("TestRoute", () => {
  it("predicts a real payment: the plan, each step's reason and the outcome", async () => {
    await set([a, b]);
    const { cases = [], plan = [] } = await test();
    const predicted = new Map(cases.map((each) => [each.answer, each]));
    for (const [answer, card] of [
      ["APPROVED", cards.approved],
      ["HARD_DECLINE", cards.failover],
      ["FRAUD", cards.fraud],
      ["GATEWAY_ERROR", cards.allDown],
    ] as const) {
      const { session, attempts } = await pay(card);
      expect(session.plan!.map(({ gateway, priority }) => ({ gateway, priority }))).toEqual(
        plan.map(({ gateway, priority }) => ({ gateway, priority })),
      );
      // A card that another gateway approves follows the case while the gateways answer as predicted.
      const reasons = attempts.flatMap(({ nextBecause }) => nextBecause ?? []);
      const steps = predicted.get(answer)!.steps!.map(({ because }) => because);
      expect(steps.slice(0, reasons.length), answer).toEqual(answer === "APPROVED" ? [] : reasons);
      if (answer !== "HARD_DECLINE") expect(predicted.get(answer)?.status).toBe(session.status);
    }
  });

  it("follows a draft, names it by the version that it would get, and reports what it changes", async () => {
    const { routingRule } = await set([a, b]);
    const draft = { connectionIds: [b], failoverOn: ["TIMEOUT"] as const };
    const answer = await test({ draft });
    expect(answer).toMatchObject({ version: routingRule!.version! + 1, plan: [{ connectionId: b, priority: 1 }] });
    expect(answer.changes).toEqual([
      expect.stringMatching(/^SANDBOX_A .* is removed\.$/),
      "Declines end the payment.",
      "Gateway errors end the payment.",
    ]);
    expect((await rules.getRoutingRule(dashboard.scope)).routingRule?.version).toBe(routingRule!.version);
  });

  it("reports why a connection is left out, and refuses unknown currencies and connections", async () => {
    await set([a, b]);
    const pause = "UPDATE connection SET paused = $2 WHERE id = $1";
    await dashboard.payments.asOwner.pool.query(pause, [dashboard.payments.connectionIds[0], true]);
    const answer = await test();
    await dashboard.payments.asOwner.pool.query(pause, [dashboard.payments.connectionIds[0], false]);
    expect(answer.skipped).toEqual([{ connectionId: a, gateway: "SANDBOX_A", because: "It is paused." }]);
    await expect(test({ currency: "XXX" })).rejects.toMatchObject({ code: "invalid_field" });
    const foreign = { connectionIds: ["gc_01h455vb4pex5vsknk084sn02q"] };
    await expect(test({ draft: foreign })).rejects.toMatchObject({ code: "invalid_field" });
  });
});

describe("WhatIf", () => {
  const wholeOf = async (connectionIds: string[], failoverOn: FailoverSwitch[], more: object = {}) => {
    const request = { ...dashboard.scope, draft: { connectionIds, failoverOn, ...more } };
    const slices = [await rules.whatIf(request)];
    while (slices.at(-1)?.nextPageToken) {
      slices.push(await rules.whatIf({ ...request, pageToken: slices.at(-1)!.nextPageToken! }));
    }
    return slices;
  };

  it("replays real payments through a draft by their gateways' answers, and marks unknown outcomes", async () => {
    await set([a, b]);
    const before = (await wholeOf([a, b], all))[0]!.counts!;
    const held = await dashboard.payments.newSession({ capture: "manual" });
    await dashboard.payments.submit(held, cards.approved);
    await cancelSession(dashboard.payments.core, { sessionId: held.id, merchantId: held.merchantId });
    for (const card of [cards.approved, cards.failover, cards.fraud, errorAtFirst]) await pay(card);
    const countsOf = async (connectionIds: string[], failoverOn: FailoverSwitch[]) => {
      const [slice] = await wholeOf(connectionIds, failoverOn);
      return slice!;
    };
    const same = await countsOf([a, b], all);
    expect(same.counts!.payments! - before.payments!).toBe(5);
    // The gateway approved what the merchant then cancelled.
    expect(same.counts!.succeededThen! - before.succeededThen!).toBe(4);
    expect(same.counts!.same! - before.same!).toBe(5);
    const { counts, examples = [] } = await countsOf([a, b], ["TIMEOUT"]);
    // The newest: an error at the first gateway; then fraud, which is the same; then a decline.
    expect(examples.slice(0, 2)).toMatchObject([
      { statusThen: "SUCCEEDED", askedThen: ["SANDBOX_A", "SANDBOX_B"], askedInstead: ["SANDBOX_A"], end: "FAILS" },
      { statusThen: "SUCCEEDED", askedThen: ["SANDBOX_A", "SANDBOX_B"], askedInstead: ["SANDBOX_A"], end: "FAILS" },
    ]);
    expect(counts!.lost).toBeGreaterThanOrEqual(2);
    const turned = await countsOf([b, a], all);
    expect(turned.examples!.slice(0, 4).map(({ end, because }) => [end, because])).toEqual([
      ["SUCCEEDS", "SANDBOX_B held the amount."],
      ["CANNOT_KNOW", "SANDBOX_B was not called then, so its answer is unknown."],
      ["SUCCEEDS", "SANDBOX_B held the amount."],
      ["CANNOT_KNOW", "SANDBOX_B was not called then, so its answer is unknown."],
    ]);
  });

  it("plans a payment by a wallet as one, and follows the draft's rule for its cryptogram", async () => {
    await set([a, b]);
    const { payments } = dashboard;
    const [approved, , , , declinedAtFirst] = walletCards.map(({ number }) => number) as string[];
    for (const [index, number] of [approved!, declinedAtFirst!].entries()) {
      const session = await payments.newSession();
      await payments.submitWith(session, { number, token: `wnt_${String(index).padStart(24, "9")}`, shopper: {} });
      await Promise.all(payments.core.inFlight);
      const { session: paid } = await payments.loadSession(session);
      expect(paid.walletCredential).toBe("NETWORK_TOKEN");
    }
    // The device has authenticated the customer, whatever the draft says.
    const ends = async (more: object) => {
      const [{ counts, examples = [] } = {}] = await wholeOf([a, b], all, { authentication: "ALWAYS", ...more });
      return { examples: examples.slice(0, 1).map(({ end, because }) => [end, because]), same: counts!.same };
    };
    const { same } = await ends({});
    expect(await ends({ cryptogramResend: "DECLINED" })).toEqual({
      same: same! - 1,
      examples: [["CANNOT_KNOW", "SANDBOX_B was not called then, so its answer is unknown."]],
    });
    const { changes } = await test({ draft: { connectionIds: [a, b], failoverOn: all, cryptogramResend: "DECLINED" } });
    expect(changes).toEqual(["A wallet’s cryptogram goes to another gateway also after a decline."]);
  });

  it("walks many sessions in slices, each once, and counts only paid ones", async () => {
    const { asOwner, owner } = dashboard.payments;
    const [first] = await wholeOf([a, b], all);
    const ids = Array.from({ length: 2_500 }, () => systemRuntime.uuid());
    await asOwner.pool.query(
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
       SELECT unnest($1::uuid[]), $2, 100, 'EUR', 'many', 1, app.clock() + interval '1 hour'`,
      [ids, owner.merchantId],
    );
    const slices = await wholeOf([a, b], all);
    expect(slices.map(({ sessionsSoFar }) => sessionsSoFar)).toEqual([2_000, first!.sessionsSoFar! + 2_500]);
    expect(slices.map(({ counts }) => counts!.payments)).toEqual([0, first!.counts!.payments]);
    const token = slices[0]!.nextPageToken!;
    const other = rules.whatIf({ ...dashboard.scope, draft: { connectionIds: [a] }, pageToken: token });
    await expect(other).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});
