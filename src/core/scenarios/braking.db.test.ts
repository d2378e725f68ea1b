/** Tests that a merchant brakes while its cards are tested, and what that does to a payment, over the sandbox acquirers. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { outcomeOf } from "../../edge/checkout-rpc.ts";
import { toSessionMessage } from "../../edge/session-messages.ts";
import type { AuthorizeRequest } from "../../gateways/connector.ts";
import { switchGuards } from "../../migrations/switch-guards.ts";
import type { CardFingerprint } from "../../platform/card-token.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { eraseCustomer, eraseFromSession } from "../../retention/erase-customer.ts";
import { cancelSession } from "../capture-later.ts";
import { createBrakeTurn } from "../card-testing/brake-merchants.ts";
import { listBraking, loadBraking, recordHold } from "../card-testing/held-braking.ts";
import type { Core } from "../core.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { Payment } from "../rows/payment.ts";
import { submitPayment } from "../submit-payment.ts";
import { type AuthenticationFixture, shopper, startAuthentication } from "./authentication.fixture.ts";
import { cards } from "./core.fixture.ts";
import { replaced, withAnswers } from "./recovery.fixture.ts";

const wrongCode = "4000000000008401";
// Both gateways decline it, and neither as a tester's card is.
const limited = "4000000000000333";
// SANDBOX_A fails, SANDBOX_B approves.
const failing = "4000000000000341";
// Both gateways say that an acquirer or an issuer cannot be reached.
const outage = "4000000000000358";
const network = "198.51.100.0/24";
const everyKind = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

const fixture = await forFile(startAuthentication);
let turn: () => Promise<boolean>;
let fingerprint: CardFingerprint | undefined;
let requests: AuthorizeRequest[];
/** The session that is paid, and what happens while a gateway is asked. */
let paying: string;
let meanwhile: () => Promise<unknown>;
const { base } = fixture;
const { merchantId } = base.owner;
await base.sandbox.setCard("A", failing, { act: "fail", status: 500 });
await base.sandbox.setCard("B", failing, { act: "approve" });
await base.sandbox.setCard("A", outage, { act: "decline", code: "processing_error" });
await base.sandbox.setCard("B", outage, { act: "decline", code: "4" });
for (const gateway of ["A", "B"] as const)
  await base.sandbox.setCard(gateway, limited, {
    act: "decline",
    code: gateway === "A" ? "card_velocity_exceeded" : "28",
  });
const recording = withAnswers(base.core, (own) => ({
  authorize: async (call, request) => {
    requests.push(request);
    await meanwhile();
    return own.authorize(call, request);
  },
}));
let core: Core = {
  ...recording,
  vault: { ...base.core.vault, checkToken: async () => ({ state: "unused", fingerprint }) },
  log: { ...base.core.log, warn: () => {} } as unknown as Core["log"],
};
beforeEach(async () => {
  turn = createBrakeTurn({ ...core, isTest: false });
  requests = [];
  meanwhile = async () => {};
  fingerprint = counted();
  await setRule();
});
afterEach(async () => {
  await fixture.base.setClockAhead(0);
  await sql("TRUNCATE card_submission, tested_payment, tested_cards, braking, braking_hold, alert");
});

const sql = (text: string, values: readonly unknown[] = []) =>
  fixture.base.asOwner.pool.query(text, values.length > 0 ? [...values] : undefined).then(({ rows }) => rows);

function counted(...versions: string[]): CardFingerprint {
  return { versions: versions.length > 0 ? versions : [randomBytes(16).toString("hex")], isCounted: true };
}

function setRule(rule: Partial<Parameters<typeof recordRoutingRule>[1]> = {}): Promise<number> {
  const { connectionIds } = fixture.base;
  const content = { merchantId, connectionIds, failoverOn: everyKind, ...rule };
  return core.database.transaction((tx) => recordRoutingRule(tx, content));
}

type Paying = {
  readonly from?: typeof shopper;
  readonly network?: string | undefined;
  readonly token?: string;
  readonly fields?: Parameters<AuthenticationFixture["base"]["newSession"]>[0];
};

async function pay(card: string, { from, network, token = "tok_1", fields }: Paying = {}): Promise<Payment> {
  fixture.base.useCard(card);
  const session = await fixture.base.newSession(fields);
  paying = session.id;
  const { signal } = new AbortController();
  await submitPayment(core, { session, vaultToken: new Secret(token), signal, shopper: from, network });
  await fixture.settled(core);
  return fixture.base.loadSession(session);
}

/** Has this many different cards declined. */
async function decline(times: number, card = wrongCode): Promise<void> {
  for (let time = 0; time < times; time++) {
    fingerprint = counted();
    await pay(card);
  }
  fingerprint = counted();
}

/** Inserts what so many different cards of testers leave. */
const tested = (count: number) =>
  sql(
    `INSERT INTO tested_payment SELECT gen_random_uuid(), $1, gen_random_uuid(), app.clock() FROM generate_series(1, $2)`,
    [merchantId, count],
  );

const hold = (isOn: boolean, hours = 1) =>
  core.database.transaction((tx) => recordHold(tx, { merchantId, isOn, hours, by: "ada" }));
const isBraking = async () => (await loadBraking(core.database, merchantId)).now !== undefined;
const alerts = () => sql("SELECT detail, over_at AS \"overAt\" FROM alert WHERE kind = 'CARD_TESTING'");

async function brake(): Promise<void> {
  await hold(true);
  await turn();
}

/** Returns the gateways of a payment with how it ended there. */
const attemptsOf = ({ attempts }: Payment) => attempts.map(({ gateway, status }) => `${gateway} ${status}`);

describe("a merchant", () => {
  it("brakes once more than 60 different cards are declined in testers' ways, as nothing is known of it", async () => {
    await decline(2);
    await tested(57);
    // The same card twice is one, and another reason of a decline is none.
    for (const card of [wrongCode, wrongCode]) await pay(card);
    await decline(3, limited);
    await turn();
    expect(await isBraking()).toBe(false);
    await decline(1);
    await turn();
    expect(await loadBraking(core.database, merchantId)).toMatchObject({
      now: { cards: 61, threshold: 60, begunBy: null },
    });
    const [alert] = await alerts();
    expect(alert).toMatchObject({
      detail: expect.stringMatching(/^61 cards were declined .* threshold is 60\./),
      overAt: null,
    });
  });

  it("does not brake for cards that a gateway approves, nor for those that are not counted", async () => {
    await tested(60);
    for (const card of [cards.approved, cards.softDecline]) {
      fingerprint = card === cards.approved ? counted() : { ...counted(), isCounted: false };
      await pay(card);
    }
    await turn();
    expect(await isBraking()).toBe(false);
  });

  it("does not brake for a payment that was held, and cancelled before its capture", async () => {
    const later = { capture: "manual", captureBy: new Date(Date.now() + 86_400_000) };
    const held = await pay(cards.failover, { fields: later });
    expect(attemptsOf(held)).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B AUTHORIZED"]);
    await cancelSession(core, { merchantId, sessionId: held.session.id });
    await fixture.settled(core);
    expect(await sql("SELECT decline_code FROM payment_session WHERE id = $1", [held.session.id])).toEqual([
      { decline_code: "capture_cancelled" },
    ]);
    expect(await sql("SELECT FROM tested_payment")).toEqual([]);
    expect(await sql("SELECT declines FROM card_submission")).toEqual([{ declines: null }]);
  });

  it("does not brake for an outage of acquirers, and a card that fails in it is none of its network's declined ones", async () => {
    expect((await pay(outage, { network })).session.declineCode).toBe("card_declined");
    expect(await sql("SELECT FROM tested_payment")).toEqual([]);
    expect(await sql("SELECT declines FROM card_submission")).toEqual([{ declines: null }]);
    for (let time = 0; time < 5; time++) await pay(outage, { network });
    expect((await pay(cards.approved, { network })).session.status).toBe("SUCCEEDED");
    // One gateway's outage hides no decline of another's.
    await fixture.base.sandbox.setCard("B", outage, { act: "decline", code: "2" });
    fingerprint = counted();
    await pay(outage, { network });
    expect(await sql("SELECT FROM tested_payment")).toHaveLength(1);
  });

  it("does not count a card whose customer's data are erased meanwhile, and its payment ends", async () => {
    meanwhile = () => core.database.transaction((tx) => eraseFromSession(tx, { merchantId, sessionId: paying }));
    expect((await pay(wrongCode)).session).toMatchObject({ status: "DECLINED", declineCode: "incorrect_cvc" });
    expect(await sql("SELECT FROM tested_payment")).toEqual([]);
  });

  it.each(["session", "address"])(
    "forgets with a customer's %s what it has counted, but the card's tries",
    async (by) => {
      const customerEmail = "Ada@example.com";
      const { session } = await pay(wrongCode, { network, fields: { customerEmail } });
      await pay(wrongCode, { network });
      const erased = { merchantId, sessionId: session.id };
      if (by === "session") await core.database.transaction((tx) => eraseFromSession(tx, erased));
      else await eraseCustomer(core.database, { merchantId, email: customerEmail, after: undefined }, async () => {});
      const left = (table: string) =>
        sql(`SELECT session_id = $1 AS "isErased" FROM ${table} ORDER BY 1`, [session.id]);
      expect(await left("tested_payment")).toEqual([{ isErased: false }]);
      expect(await left("card_submission")).toEqual([{ isErased: false }, { isErased: true }]);
      expect(await left("card_submission WHERE network IS NOT NULL")).toEqual([{ isErased: false }]);
      await pay(wrongCode);
      expect((await pay(wrongCode)).session.declineCode).toBe("too_many_attempts");
    },
  );

  it("does not brake for payments that the count of their card has refused, which no gateway got", async () => {
    for (let time = 0; time < 6; time++) await pay(wrongCode);
    await tested(60);
    await turn();
    expect(await isBraking()).toBe(true);
    await sql("TRUNCATE braking");
    await sql("UPDATE tested_payment SET refused = true");
    await turn();
    expect(await isBraking()).toBe(false);
  });

  it("brakes from 21 cards on where the hour of the last weeks knows none, and later where it knows many", async () => {
    await sql("INSERT INTO tested_cards VALUES ($1, app.clock() - interval '27 days', 1)", [merchantId]);
    await tested(20);
    await turn();
    expect(await isBraking()).toBe(false);
    await tested(1);
    await turn();
    expect((await loadBraking(core.database, merchantId)).now).toMatchObject({ threshold: 20 });
    await sql("TRUNCATE braking");
    await sql(
      `INSERT INTO tested_cards SELECT $1, date_trunc('hour', app.clock()) - day * interval '1 day' + tenth * interval '10 minutes', 10
       FROM generate_series(1, 28) day, generate_series(0, 5) tenth ON CONFLICT DO NOTHING`,
      [merchantId],
    );
    await tested(9);
    await turn();
    expect(await isBraking()).toBe(false);
    await tested(1);
    await turn();
    expect((await loadBraking(core.database, merchantId)).now).toMatchObject({ threshold: 30, cards: 31 });
  });

  it("ends ten minutes after fewer than half of the threshold are declined, and says how many there were", async () => {
    await tested(61);
    await turn();
    await tested(40);
    await turn();
    await fixture.base.setClockAhead(11);
    await tested(30);
    await turn();
    await fixture.base.setClockAhead(22);
    await turn();
    expect(await isBraking()).toBe(true);
    await fixture.base.setClockAhead(31);
    await turn();
    expect(await isBraking()).toBe(true);
    await fixture.base.setClockAhead(33);
    await turn();
    expect(await isBraking()).toBe(false);
    const range = { merchantId, from: new Date(0), to: new Date(Date.now() + 86_400_000) };
    expect(await listBraking(core.database, range)).toMatchObject([{ cards: 101, threshold: 60 }]);
    expect(await alerts()).toEqual([
      {
        detail: expect.stringMatching(/^Payments were braked for 33 min\. At most 101 cards/),
        overAt: expect.any(Date),
      },
    ]);
  });

  it("counts what each ten minutes had, once they are over", async () => {
    await tested(3);
    await fixture.base.setClockAhead(10);
    for (const next of [turn, createBrakeTurn({ ...core, isTest: false })]) await next();
    expect(await sql("SELECT cards FROM tested_cards")).toEqual([{ cards: 3 }]);
  });

  it("counts each payment of the one card in test, also those that the card's count refuses", async () => {
    await tested(55);
    for (let time = 0; time < 6; time++) await pay(wrongCode);
    await turn();
    expect(await isBraking()).toBe(false);
    await createBrakeTurn({ ...core, isTest: true })();
    expect((await loadBraking(core.database, merchantId)).now).toMatchObject({ cards: 61 });
  });

  it("is one of several: the cards of another count for that one", async () => {
    await tested(61);
    await sql("UPDATE tested_payment SET merchant_id = $1", [systemRuntime.uuid()]);
    await turn();
    expect(await isBraking()).toBe(false);
  });
});

describe("while its merchant brakes, a card that was never approved here", () => {
  it("gets no second gateway after a decline, and the browser no reason of it", async () => {
    expect(attemptsOf(await pay(cards.failover))).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"]);
    await brake();
    fingerprint = counted();
    const paid = await pay(cards.failover, { from: shopper });
    expect(attemptsOf(paid)).toEqual(["SANDBOX_A DECLINED"]);
    expect(paid.attempts[0]).toMatchObject({
      nextAction: "stop",
      nextBecause: expect.stringMatching(/brakes against card/),
    });
    expect(paid.session).toMatchObject({ status: "DECLINED", brakes: ["NEW_CARD"] });
    fingerprint = counted();
    const { session } = await pay(wrongCode, { from: shopper });
    expect(session.declineCode).toBe("incorrect_cvc");
    expect(outcomeOf(session)).toEqual({ outcome: { case: "decline", value: { declineCode: "card_declined" } } });
    expect(outcomeOf({ ...session, brakes: null })).toMatchObject({
      outcome: { value: { declineCode: "incorrect_cvc" } },
    });
    expect(outcomeOf({ ...session, declineCode: "order_already_paid" })).toMatchObject({
      outcome: { value: { declineCode: "order_already_paid" } },
    });
    expect(toSessionMessage(paid).routing?.brakedBecause).toMatch(/no approval of this card/);
  });

  it("fails over after errors as ever", async () => {
    await brake();
    expect(attemptsOf(await pay(failing, { from: shopper }))).toEqual(["SANDBOX_A VOIDED", "SANDBOX_B CAPTURED"]);
  });

  it("is authenticated where its customer can be asked, also under NEVER and with an exemption", async () => {
    const policy = { exemptions: ["LOW_VALUE" as const], stopsIfUnavailable: false, forbidsSecondChallenge: false };
    await setRule({ authentication: "NEVER", policy });
    await pay(cards.approved, { from: shopper });
    expect(requests.map(({ authentication }) => authentication?.wish)).toEqual([undefined]);
    await brake();
    [fingerprint, requests] = [counted(), []];
    const asked = await pay(cards.approved, { from: shopper });
    expect(requests.map(({ authentication }) => authentication?.wish)).toEqual(["always"]);
    expect(asked.session.plan?.map(({ authentication }) => authentication)).toEqual(["always", "always"]);
    [fingerprint, requests] = [counted(), []];
    const { session } = await pay(cards.approved);
    expect([session.declineCode, requests]).toEqual(["authentication_required", []]);
    expect(outcomeOf(session)).toMatchObject({ outcome: { value: { declineCode: "card_declined" } } });
    await setRule({ policy: { ...policy, exemptions: [], withoutBrowser: "PAY" } });
    [fingerprint, requests] = [counted(), []];
    const unasked = await pay(cards.approved, { token: "wpn_1" });
    expect([unasked.session.declineCode, requests]).toEqual(["authentication_required", []]);
  });

  it("is left alone where it is not counted", async () => {
    await brake();
    fingerprint = { ...counted(), isCounted: false };
    const paid = await pay(cards.failover, { from: shopper });
    expect(attemptsOf(paid)).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"]);
    expect(paid.session.brakes).toBeNull();
  });
});

describe("while its merchant brakes, a card that was approved here", () => {
  it("is paid as ever, by either version of its fingerprint, and the browser gets no reason of a decline", async () => {
    const [old, next] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
    fingerprint = counted(old);
    await pay(cards.approved);
    await brake();
    fingerprint = counted(next, old);
    requests = [];
    const paid = await pay(cards.failover, { from: shopper });
    expect(attemptsOf(paid)).toEqual(["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"]);
    expect(requests.map(({ authentication }) => authentication?.wish)).toEqual(["as_needed", "as_needed"]);
    expect(paid.session.brakes).toEqual(["KNOWN_CARD"]);
    const { session } = await pay(cards.softDecline);
    expect(outcomeOf(session)).toMatchObject({ outcome: { value: { declineCode: "card_declined" } } });
  });

  it("is forgotten after thirteen months, and another merchant's approval is none", async () => {
    await pay(cards.approved);
    await fixture.base.setClockAhead(14 * 31 * 24 * 60);
    await brake();
    expect((await pay(cards.approved)).session.brakes).toEqual(["NEW_CARD"]);
    await fixture.base.setClockAhead(0);
    expect((await pay(cards.approved)).session.brakes).toEqual(["KNOWN_CARD"]);
    await sql(`${switchGuards("DISABLE")}; UPDATE payment_session SET merchant_id = gen_random_uuid() WHERE status = 'SUCCEEDED';
      ${switchGuards("ENABLE")}`);
    expect((await pay(cards.approved)).session.brakes).toEqual(["NEW_CARD"]);
  });
});

describe("a network", () => {
  /** Inserts payments of a network: so many declined ones, and so many others. */
  const paidFrom = (declined: number, others: number, at = "app.clock()") =>
    sql(
      `INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network, declines)
       SELECT gen_random_uuid(), 1, gen_random_uuid(), ${at}, $1, $2, CASE WHEN nth <= $3 THEN 1 END FROM generate_series(1, $4) nth`,
      [merchantId, network, declined, declined + others],
    );

  it("is authenticated once 30 of its payments in an hour, and half of them, are declined", async () => {
    await paidFrom(28, 28);
    await decline(1);
    for (const card of [wrongCode, cards.approved]) {
      fingerprint = counted();
      expect((await pay(card, { from: shopper, network })).session.brakes).toBeNull();
    }
    await paidFrom(1, 1, "app.clock() - interval '61 minutes'");
    fingerprint = counted();
    expect((await pay(cards.approved, { from: shopper, network })).session.brakes).toBeNull();
    // The thirtieth of 60.
    await paidFrom(1, 0);
    [fingerprint, requests] = [counted(), []];
    const { session } = await pay(cards.approved, { from: shopper, network });
    expect(session).toMatchObject({ status: "SUCCEEDED", brakes: ["NETWORK"] });
    expect(requests.map(({ authentication }) => authentication?.wish)).toEqual(["always"]);
    // Now 30 of 61.
    fingerprint = counted();
    expect((await pay(cards.approved, { from: shopper, network })).session.brakes).toBeNull();
  });

  it("is declined before any gateway where its customer cannot be asked, and the browser gets no reason", async () => {
    await pay(cards.approved);
    requests = [];
    await paidFrom(30, 0);
    const { session, attempts } = await pay(cards.approved, { network });
    expect([session.status, session.declineCode, attempts]).toEqual(["DECLINED", "too_many_attempts", []]);
    expect(session.skipped?.map(({ because }) => because)).toEqual(Array(2).fill(expect.stringMatching(/’s network/)));
    expect(outcomeOf(session)).toMatchObject({ outcome: { value: { declineCode: "card_declined" } } });
    expect(requests).toEqual([]);
  });

  it("is braked for 30 cards, which are half of its cards, however often one of them is declined or approved again", async () => {
    const again = (declines: string) =>
      sql(`INSERT INTO card_submission SELECT fingerprint, 2, gen_random_uuid(), submitted_at, merchant_id, network, declines
           FROM card_submission WHERE declines IS ${declines}`);
    await paidFrom(29, 0);
    await again("NOT NULL");
    expect((await pay(cards.approved, { network })).session.status).toBe("SUCCEEDED");
    await paidFrom(1, 28);
    await again("NULL");
    fingerprint = counted();
    expect((await pay(cards.approved, { network })).session.declineCode).toBe("too_many_attempts");
  });

  it("leaves a card that was approved here as it is where nothing can ask its customer, and gets free by such payments", async () => {
    const asking = core;
    onTestFinished(() => {
      core = asking;
    });
    const unable = (gateway: string) => replaced(asking.connectorOf(gateway)!, { authentication: undefined });
    core = { ...asking, connectorOf: unable };
    await pay(cards.approved);
    const known = fingerprint;
    await paidFrom(30, 28);
    fingerprint = counted();
    const stranger = fingerprint;
    expect((await pay(cards.approved, { from: shopper, network })).session.declineCode).toBe("too_many_attempts");
    for (const [card, status] of [
      [known, "SUCCEEDED"],
      [stranger, "DECLINED"],
    ] as const) {
      fingerprint = card;
      expect((await pay(cards.approved, { from: shopper, network })).session).toMatchObject({ status, brakes: null });
    }
    // With the known card, 30 of 61.
    await paidFrom(0, 2);
    fingerprint = stranger;
    expect((await pay(cards.approved, { from: shopper, network })).session.status).toBe("SUCCEEDED");
  });

  it("is told apart from others, and nothing is refused where addresses or the card do not count", async () => {
    await paidFrom(30, 0);
    for (const other of ["198.51.101.0/24", "2001:db8:1::/48", undefined])
      expect((await pay(cards.approved, { network: other })).session.status).toBe("SUCCEEDED");
    fingerprint = { ...counted(), isCounted: false };
    expect((await pay(cards.approved, { network })).session.status).toBe("SUCCEEDED");
    await sql("UPDATE card_submission SET merchant_id = $1", [systemRuntime.uuid()]);
    fingerprint = counted();
    expect((await pay(cards.approved, { network })).session.status).toBe("SUCCEEDED");
  });

  it("counts a payment once while the key of fingerprints is rotated", async () => {
    await paidFrom(28, 0);
    fingerprint = counted(randomBytes(16).toString("hex"), randomBytes(16).toString("hex"));
    await pay(wrongCode, { network });
    fingerprint = counted();
    expect((await pay(cards.approved, { network })).session.status).toBe("SUCCEEDED");
  });

  it("still counts the tries of a card that is authenticated for it", async () => {
    await paidFrom(30, 0);
    const ends: unknown[] = [];
    for (let time = 0; time < 4; time++)
      ends.push((await pay(wrongCode, { from: shopper, network })).session.declineCode);
    expect(ends).toEqual([...Array(3).fill("incorrect_cvc"), "too_many_attempts"]);
  });
});
