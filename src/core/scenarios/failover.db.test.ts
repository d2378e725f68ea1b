import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { FailoverSwitch, PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";

const timeoutAtFirst = "4000000000004087";
const errorAtFirst = "4000000000005001";
const expired = "4000000000000069";
const unclassified = "4000000000005209";
const all: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

const fixture = await forFile(startCoreFixture);
const [a = "", b = ""] = fixture.connectionIds;

/** Connects the merchant's account under another name. */
async function connect(gateway: string, { verified }: { verified: boolean }): Promise<string> {
  const { core, owner } = fixture;
  const connectionId = systemRuntime.uuid();
  const account = `test_${owner.merchantId}`;
  await core.database.transaction(async (tx) => {
    const named = { id: connectionId, merchantId: owner.merchantId, gateway, account: connectionId };
    await recordConnection(tx, named);
    const credentials = { apiKey: `sandbox_${account}` };
    const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
    if (verified) await recordVerified(tx, { connectionId, credentialVersion });
  });
  return connectionId;
}

async function pay(number: string): Promise<PaymentSession> {
  return fixture.submit(await fixture.newSession(), number);
}

async function changeAsOwner(sql: string, parameters: unknown[]): Promise<void> {
  await fixture.asOwner.pool.query(sql, parameters);
}

/** Submits, and runs `meanwhile` while SANDBOX_A has the request, so in the middle of the payment. */
async function payMeanwhile(number: string, meanwhile: (session: PaymentSession) => Promise<void>) {
  const session = await fixture.newSession();
  const { paying } = await fixture.pauseAt("a.authorize", session, number);
  await meanwhile(session);
  await fixture.sandbox.release({ operation: "a.authorize" });
  return paying;
}

const setPaused = (id: string, paused: boolean) =>
  changeAsOwner("UPDATE connection SET paused = $2 WHERE id = $1", [id, paused]);

describe("a plan on the rows of a merchant", () => {
  it("leaves an unverified connection out, even when it is the first", async () => {
    const unverified = await connect("SANDBOX_A", { verified: false });
    await fixture.setRule(all, [unverified, a, b]);
    const session = await pay(cards.approved);
    expect(session).toMatchObject({
      status: "SUCCEEDED",
      plan: [
        { priority: 2, gateway: "SANDBOX_A", connectionId: a },
        { priority: 3, gateway: "SANDBOX_B", connectionId: b },
      ],
      skipped: [{ connectionId: unverified, because: "Its credentials have not been verified." }],
    });
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ connectionId: a, priority: 2 }]);
  });

  it("leaves a paused connection out, and uses it again once it is resumed", async () => {
    await fixture.setRule(all, [a, b]);
    await setPaused(a, true);
    const paused = await pay(cards.approved);
    await setPaused(a, false);
    expect(paused).toMatchObject({
      capturedVia: "SANDBOX_B",
      failover: false,
      plan: [{ priority: 2, connectionId: b }],
      skipped: [{ connectionId: a, because: "It is paused." }],
    });
    expect(await pay(cards.approved)).toMatchObject({ capturedVia: "SANDBOX_A", skipped: [] });
  });

  it("tries five gateways and no sixth, though that one would approve", async () => {
    const more = await Promise.all(Array.from({ length: 4 }, () => connect("SANDBOX_A", { verified: true })));
    const version = await fixture.setRule(all, [a, ...more, b]);
    const session = await pay(cards.failover);
    const { attempts } = await fixture.loadSession(session);
    expect(session).toMatchObject({
      status: "DECLINED",
      skipped: [{ connectionId: b, because: "A plan holds at most 5 gateways." }],
    });
    expect(attempts.map(({ connectionId }) => connectionId)).toEqual([a, ...more]);
    expect(attempts.at(-1)?.nextBecause).toBe(
      `The plan of rule version ${version} has no gateway left after a hard decline at SANDBOX_A.`,
    );
  });
});

describe("failover by the merchant's switches", () => {
  const kinds: [kind: string, card: string, own: FailoverSwitch, inWords: string][] = [
    ["HARD_DECLINE", cards.failover, "HARD_DECLINE", "a hard decline"],
    ["SOFT_DECLINE", cards.softDecline, "HARD_DECLINE", "a soft decline"],
    ["GATEWAY_ERROR", errorAtFirst, "GATEWAY_ERROR", "a gateway error"],
  ];
  const others = (own: FailoverSwitch) => all.filter((kind) => kind !== own);

  it.each(kinds)("tries the next gateway after %s while its switch is on", async (kind, card, own, inWords) => {
    const version = await fixture.setRule([own], [a, b]);
    const { attempts } = await fixture.loadSession(await pay(card));
    const because = `Rule version ${version} fails over to SANDBOX_B after ${inWords} at SANDBOX_A.`;
    expect(attempts).toMatchObject([
      { gateway: "SANDBOX_A", because: `First of the plan by rule version ${version}.`, nextBecause: because },
      { gateway: "SANDBOX_B", because },
    ]);
    // A possible hold goes through VOIDING, which does not clear the kind.
    expect(attempts[0]?.failureKind).toBe(kind);
  });

  it.each(kinds)("tries no other gateway after %s while only its switch is off", async (kind, card, own, inWords) => {
    const version = await fixture.setRule(others(own), [a, b]);
    const session = await pay(card);
    const { attempts } = await fixture.loadSession(session);
    expect(session.status).toBe(own === "HARD_DECLINE" ? "DECLINED" : "DEGRADED");
    expect(attempts).toMatchObject([
      {
        failureKind: kind,
        nextAction: "stop",
        nextBecause: `Rule version ${version} does not fail over after ${inWords} at SANDBOX_A.`,
      },
    ]);
  });

  it("tries the next gateway after 10 s without an answer while that switch is on, not while it is off", async () => {
    const version = await fixture.setRule(["TIMEOUT"], [a, b]);
    const [on, off] = [await fixture.newSession(), await fixture.newSession()];
    const payingOn = fixture.submit(on, timeoutAtFirst);
    await fixture.sandbox.paused({ operation: "a.silence" });
    await fixture.setRule(others("TIMEOUT"), [a, b]);
    const [endedOn, endedOff] = await Promise.all([payingOn, fixture.submit(off, timeoutAtFirst)]);
    expect([endedOn.capturedVia, endedOff.status]).toEqual(["SANDBOX_B", "DEGRADED"]);
    const first = (await fixture.loadSession(on)).attempts[0]!;
    expect(first.failureKind).toBe("TIMEOUT");
    expect(first.nextBecause).toBe(`Rule version ${version} fails over to SANDBOX_B after a timeout at SANDBOX_A.`);
    expect(first.answeredAt!.getTime() - first.startedAt.getTime()).toBeGreaterThan(9_900);
    expect((await fixture.loadSession(off)).attempts).toMatchObject([
      { nextBecause: `Rule version ${version + 1} does not fail over after a timeout at SANDBOX_A.` },
    ]);
  });

  it.each([
    [cards.fraud, "A fraud-class decline is never retried on another gateway"],
    [expired, "The same card fails at every gateway"],
    [unclassified, "A decline that is not classified is never retried"],
  ])("ends the plan at card %s although every switch is on", async (card, stop) => {
    const version = await fixture.setRule(all, [a, b]);
    const session = await pay(card);
    const { attempts } = await fixture.loadSession(session);
    expect(session.status).toBe("DECLINED");
    expect(attempts.map(({ nextBecause }) => nextBecause)).toEqual([`${stop}, whatever rule version ${version} says.`]);
  });
});

describe("failover in time", () => {
  it("follows the rule by which the payment was planned, although another was saved during the payment", async () => {
    const version = await fixture.setRule(all, [a, b]);
    const session = await payMeanwhile(cards.failover, async () => {
      expect(await fixture.setRule([], [b, a])).toBe(version + 1);
    });
    const { attempts } = await fixture.loadSession(session);
    expect(session).toMatchObject({ ruleVersion: version, status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(attempts[1]?.because).toContain(`Rule version ${version} fails over`);
  });

  it("opens no attempt once the time budget is over, and records the reason", async () => {
    const version = await fixture.setRule(all, [a, b]);
    const past = "UPDATE payment_session SET submit_deadline = app.clock() WHERE id = $1";
    const session = await payMeanwhile(cards.failover, ({ id }) => changeAsOwner(past, [id]));
    const { attempts } = await fixture.loadSession(session);
    expect(session).toMatchObject({ status: "DECLINED", declineCode: "card_declined" });
    expect(attempts.map(({ nextBecause }) => nextBecause)).toEqual([
      `The time for this payment ran out after a hard decline at SANDBOX_A; rule version ${version} is not followed further.`,
    ]);
  });

  it("gives a payment 45 s", async () => {
    const { submitDeadline, submittedAt } = await pay(cards.approved);
    expect(submitDeadline!.getTime() - submittedAt!.getTime()).toBe(45_000);
  });
});
