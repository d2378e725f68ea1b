/** Payments by a rule with cases and splits, from the submission to the attempt trail. */
import { describe, expect, it, vi } from "vitest";
import type { CardDigits } from "../../card-vault/card-vault.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { toSessionMessage } from "../../edge/session-messages.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { createSession, type NewSession } from "../create-session.ts";
import { drawOf, loadCardBrands, recordRoutingRule } from "../record/routing-rules.ts";
import type { RoutingCases, Split } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { submitPayment } from "../submit-payment.ts";

const fixture = await forFile(startCoreFixture);
const [a = "", b = ""] = fixture.connectionIds;

/** Sets a rule whose default plan is A, then B, or another. Returns its version. */
function setCases(cases: RoutingCases | null, connectionIds = [a, b], split?: Split): Promise<number> {
  const { merchantId } = fixture.owner;
  const rule = { merchantId, connectionIds, failoverOn: ["HARD_DECLINE"] as const, cases, split };
  return fixture.core.database.transaction((tx) => recordRoutingRule(tx, rule));
}

async function pay(card: CardDigits | undefined, more: Partial<NewSession> = {}, number = cards.approved) {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "by a case", ...more };
  const { session: created } = await createSession(fixture.core, fixture.owner, order);
  const { session } = await fixture.loadSession(created);
  const vault = {
    ...fixture.core.vault,
    checkToken: async () => ({ state: card ? "unused" : "unknown", card }) as const,
  };
  const core: Core = { ...fixture.core, vault };
  fixture.useCard(number);
  const signal = new AbortController().signal;
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal });
  return fixture.loadSession(session);
}

const visa = { brand: "visa", firstDigits: "45716400" };
const debitAtB = (): RoutingCases => ({
  list: [
    { name: "Danish debit", conditions: { issuingCountries: ["DK"], cardTypes: ["DEBIT"] }, connectionIds: [b, a] },
  ],
  cardRanges: [{ digits: "457164", country: "DK", type: "DEBIT" }],
});

describe("a payment by a rule with cases", () => {
  it("follows the case that applies, which its trail names with the version", async () => {
    const version = await setCases(debitAtB());
    const loaded = await pay(visa);
    expect(loaded.session).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      ruleVersion: version,
      routedBy: { case: "Danish debit", card: { brand: "visa", country: "DK", type: "DEBIT" } },
    });
    expect(loaded.session.plan?.map(({ priority, gateway }) => [priority, gateway])).toEqual([
      [1, "SANDBOX_B"],
      [2, "SANDBOX_A"],
    ]);
    expect(loaded.attempts[0]?.because).toBe(
      `First of the plan of the case “Danish debit” by rule version ${version}.`,
    );
    expect(toSessionMessage(loaded).routing).toMatchObject({ case: { name: "Danish debit", unknown: [] } });
  });

  it("fails over inside the plan of its case alone, though the default plan has another gateway", async () => {
    const cases = debitAtB();
    const version = await setCases({ ...cases, list: [{ ...cases.list[0]!, connectionIds: [a] }] });
    const { attempts, session } = await pay(visa, {}, cards.failover);
    expect(session).toMatchObject({ status: "DECLINED", routedBy: { case: "Danish debit" } });
    expect(attempts).toMatchObject([
      { gateway: "SANDBOX_A", nextAction: "stop", nextBecause: expect.stringContaining("has no gateway left") },
    ]);
    await setCases(null);
    const again = await fixture.loadSession(session);
    expect(again.session).toMatchObject({ ruleVersion: version, routedBy: { case: "Danish debit" } });
    expect((await pay(visa, {}, cards.failover)).session.capturedVia).toBe("SANDBOX_B");
  });

  it("never fails over after a fraud decline, in a case too", async () => {
    await setCases(debitAtB());
    const { attempts, session } = await pay(visa, {}, cards.fraud);
    expect(session).toMatchObject({ status: "DECLINED", routedBy: { case: "Danish debit" } });
    expect(attempts).toHaveLength(1);
  });

  it("follows the default plan if a fact is unknown, and its trail says which", async () => {
    const version = await setCases(debitAtB());
    const loaded = await pay(undefined);
    expect(loaded.attempts[0]).toMatchObject({
      gateway: "SANDBOX_A",
      because: `First of the default plan by rule version ${version}.`,
    });
    const { case: chosen } = toSessionMessage(loaded).routing!;
    expect(chosen?.name).toBeUndefined();
    expect(chosen?.unknown).toMatchObject([
      { case: "Danish debit", because: "Unknown: the card’s type and the card’s issuing country." },
    ]);
  });

  it("uses the billing country and the metadata of its session", async () => {
    const billed = { billingCountries: ["CH"], metadata: [{ key: "tier", values: ["gold"] }] };
    await setCases({ list: [{ name: "Swiss gold", conditions: billed, connectionIds: [b] }], cardRanges: [] });
    const address = { line1: "Seeweg 1", city: "Zug", postalCode: "6300", country: "CH" };
    const { session: gold } = await pay(visa, { billingAddress: address, metadata: { tier: "gold" } });
    expect(gold).toMatchObject({ capturedVia: "SANDBOX_B", routedBy: { case: "Swiss gold" } });
    const { session: silver } = await pay(visa, { billingAddress: address, metadata: { tier: "silver" } });
    expect(silver.capturedVia).toBe("SANDBOX_A");
  });

  it("stores no digits of its card", async () => {
    await setCases(debitAtB());
    const { session } = await pay(visa);
    const text = "SELECT s::text AS row FROM payment_session s WHERE id = $1";
    const [stored] = await fixture.asOwner.query<{ row: string }>({ name: "whole_row", text }, [session.id]);
    expect(stored?.row).toContain("Danish debit");
    expect(stored?.row).not.toContain("457164");
  });

  it("has nothing more to record without cases", async () => {
    const version = await setCases({ list: [], cardRanges: [] });
    const loaded = await pay(visa);
    const { session, attempts } = loaded;
    expect(session.routedBy).toBeNull();
    expect(toSessionMessage(loaded).routing?.case).toBeUndefined();
    expect(attempts[0]?.because).toBe(`First of the plan by rule version ${version}.`);
  });
});

it("asks the database as often with cases as without", async () => {
  const { database } = fixture.core;
  const countOf = async () => {
    // A notification of an earlier payment would count too.
    await fixture.sandbox.quiet();
    const spies = [vi.spyOn(database, "query"), vi.spyOn(database, "transaction")];
    await pay(visa);
    await Promise.all(fixture.core.inFlight);
    const counts = spies.map((spy) => spy.mock.calls.length);
    for (const spy of spies) spy.mockRestore();
    return counts;
  };
  const split = { percent: 50, connectionIds: [a, b] };
  await setCases({ list: [{ name: "rest", conditions: {}, connectionIds: [a], split }], cardRanges: [] });
  const withCases = await countOf();
  await setCases(null);
  expect(await countOf()).toEqual(withCases);
  expect(withCases[1]).toBe(0);
});

it("offers the card networks of every plan before the card is known", async () => {
  const split = { percent: 1, connectionIds: [b] };
  await setCases({ list: [{ name: "rest", conditions: {}, connectionIds: [a], split }], cardRanges: [] }, [a]);
  const brandsOf = (gateway: string) => (gateway === "SANDBOX_A" ? ["visa"] : ["jcb"]);
  const connectorOf: Core["connectorOf"] = (gateway) => {
    const connector = fixture.core.connectorOf(gateway);
    return connector && Object.assign(Object.create(connector), { cardBrands: brandsOf(gateway) });
  };
  const payment = { merchantId: fixture.owner.merchantId, amountMinor: 4900, currency: "EUR" };
  expect(await loadCardBrands({ ...fixture.core, connectorOf }, payment)).toEqual(["visa", "jcb"]);
});

describe("a payment by a split plan", () => {
  /** Pays by the default plan, with a share of arm B that its draw is in, or just not in. */
  const payInArm = async (arm: "A" | "B", number = cards.approved) => {
    const { core } = fixture;
    let version = 0;
    let draw = 0;
    const uuid = () => {
      // Neither end of the range, so that the share exists for both arms.
      for (;;) {
        const id = core.runtime.uuid();
        draw = drawOf(id);
        if (draw > 1 && draw < 100) return id;
      }
    };
    const order = { amountMinor: 4900, currency: "EUR", orderRef: "by a split" };
    const created = await createSession({ ...core, runtime: { ...core.runtime, uuid } }, fixture.owner, order);
    const { session } = await fixture.loadSession(created.session);
    draw = drawOf(session.id);
    const percent = arm === "B" ? draw : draw - 1;
    version = await setCases(null, [a], { percent, connectionIds: [b, a] });
    fixture.useCard(number);
    const signal = new AbortController().signal;
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal });
    return { loaded: await fixture.loadSession(session), version, percent, draw };
  };

  it("follows arm B if its draw is in the share, fails over inside it, and keeps it under a later rule", async () => {
    const { loaded, version, percent, draw } = await payInArm("B", cards.failover);
    expect(loaded.session.plan?.map(({ gateway }) => gateway)).toEqual(["SANDBOX_B", "SANDBOX_A"]);
    expect(loaded.attempts[0]?.because).toBe(
      `First of variant B of the default plan by rule version ${version}. It drew ${draw} of 100, and variant B gets 1 to ${percent}.`,
    );
    await setCases(null);
    const { routing } = toSessionMessage(await fixture.loadSession(loaded.session));
    expect(routing).toMatchObject({ split: { arm: "B", percent, draw } });
    expect(routing?.case).toBeUndefined();
  });

  it("follows the plan that is split if its draw is not", async () => {
    const { loaded, percent, draw } = await payInArm("A");
    expect(loaded.session).toMatchObject({
      capturedVia: "SANDBOX_A",
      routedBy: { split: { arm: "A", percent, draw } },
    });
  });

  it("of a case may have connections that no other plan has, which the session's networks include", async () => {
    const split = { percent: 99, connectionIds: [b] };
    await setCases({ list: [{ name: "all", conditions: {}, connectionIds: [a], split }], cardRanges: [] }, [a]);
    const { session } = await pay(visa);
    const { arm } = session.routedBy!.split!;
    expect(session.plan?.[0]?.gateway).toBe(arm === "B" ? "SANDBOX_B" : "SANDBOX_A");
  });
});
