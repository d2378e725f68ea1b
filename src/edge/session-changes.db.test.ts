/** Sessions that their merchant cancels or replaces before a card is submitted: over REST, and against submissions of the widget. */

import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["HARD_DECLINE"]);

type Opened = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { readonly publishableKey: string };
};
const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
const idOf = ({ sessionId }: Pick<Opened, "sessionId">) => ({ id: decodeId("ps", sessionId)! });

const create = (fields: object = {}, key: string | undefined = systemRuntime.uuid()) =>
  edge.call("POST", "/payment-sessions", {
    body: JSON.stringify({ ...order, ...fields }),
    headers: key === undefined ? {} : { "Idempotency-Key": key },
  });
const open = async (fields: object = {}): Promise<Opened> => (await create(fields)).json;
const cancel = ({ sessionId }: Pick<Opened, "sessionId">, options: Parameters<EdgeFixture["call"]>[2] = {}) =>
  edge.call("POST", `/payment-sessions/${sessionId}/cancel`, options);
const read = async ({ sessionId }: Pick<Opened, "sessionId">) =>
  (await edge.call("GET", `/payment-sessions/${sessionId}`)).json;
const eventsOf = (session: Opened) => edge.core.eventTypes(idOf(session));
const countSessions = async () => {
  const text = "SELECT count(*)::int AS count FROM payment_session";
  return (await edge.core.asOwner.query<{ count: number }>({ name: "sessions", text }, []))[0]!.count;
};

type Answered = {
  readonly message: string;
  readonly checkout: { readonly status: string; readonly expiredBecause?: string; readonly amountMinor: string };
};

async function checkout(method: string, { sessionId, clientSecret, vault }: Opened, fields: object = {}) {
  const response = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/${method}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${clientSecret}`,
      "content-type": "application/json",
      "publishable-key": vault.publishableKey,
    },
    body: JSON.stringify({ sessionId, ...fields }),
  });
  return { status: response.status, json: (await response.json()) as Answered };
}
const submit = (session: Opened) => checkout("SubmitPayment", session, { vaultToken: `tok_${session.sessionId}` });

describe("POST /api/v1/payment-sessions/{sessionId}/cancel", () => {
  it.each([
    ["no body", {}],
    ["an empty object", { body: "{}" }],
    ["an empty body of JSON", { body: "" }],
    ["only the type of a body", { headers: { "content-type": "application/json" } }],
  ])("ends a session that was not submitted, with %s, once", async (_, options) => {
    const session = await open();
    for (let repeats = 0; repeats < 2; repeats++) {
      const { status, json } = await cancel(session, options);
      expect([status, json]).toMatchObject([
        200,
        { status: "EXPIRED", expiredBecause: "CANCELLED", processing: false, settledAt: expect.any(String) },
      ]);
    }
    expect(await eventsOf(session)).toEqual(["payment_session.expired"]);
    const { json } = await submit(session);
    expect(json.message).toContain("cancelled");
    expect((await edge.core.loadSession(idOf(session))).attempts).toEqual([]);
  });

  it("says in the event and in the list why the session has ended", async () => {
    const orderRef = `order-${systemRuntime.uuid()}`;
    const session = await open({ orderRef });
    await cancel(session);
    const text = "SELECT convert_from(body, 'UTF8')::json -> 'data' AS data FROM outbox_event WHERE session_id = $1";
    const [event] = await edge.core.asOwner.query({ name: "event_data", text }, [idOf(session).id]);
    expect(event).toMatchObject({ data: { status: "EXPIRED", expiredBecause: "CANCELLED" } });
    const { json } = await edge.call("GET", `/payment-sessions?orderRef=${orderRef}`);
    expect(json.paymentSessions).toMatchObject([{ expiredBecause: "CANCELLED" }]);
  });

  it("names the time of a session that has expired by itself, and that its merchant cannot cancel any more", async () => {
    const session = await open();
    const text = "UPDATE payment_session SET expires_at = created_at + interval '1 ms' WHERE id = $1";
    await edge.core.asOwner.query({ name: "overdue", text }, [idOf(session).id]);
    expect(await read(session)).toMatchObject({ status: "EXPIRED", expiredBecause: "LIFETIME" });
    const { status, json } = await cancel(session);
    expect([status, json.code, json.state]).toEqual([
      409,
      "session_ended",
      { sessionId: session.sessionId, status: "EXPIRED", processing: false, expiredBecause: "LIFETIME" },
    ]);
  });

  it("ends a payment that is captured later as EXPIRED before it is held, and as DECLINED afterwards", async () => {
    const [unpaid, held] = [await open({ capture: "manual" }), await open({ capture: "manual" })];
    expect((await cancel(unpaid)).json).toMatchObject({ status: "EXPIRED", expiredBecause: "CANCELLED" });
    await edge.core.submit(idOf(held), cards.approved);
    expect((await cancel(held)).json).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
  });

  it("is refused with the present state once the session was submitted", async () => {
    const session = await open();
    await edge.core.submit(idOf(session), cards.approved);
    const { status, json } = await cancel(session);
    expect([status, json.code]).toEqual([409, "session_ended"]);
    expect(json.state).toEqual({ sessionId: session.sessionId, status: "SUCCEEDED", processing: false });
    const stranger = await edge.addMerchant();
    const foreign = await cancel(await open(), { headers: { authorization: `Bearer ${stranger.secret}` } });
    expect([foreign.status, foreign.json.code]).toEqual([404, "not_found"]);
  });

  it("wins or loses against a submission, in 40 races", { timeout: 300_000 }, async () => {
    edge.core.useCard(cards.approved);
    for (let race = 0; race < 40; race++) {
      const session = await open();
      const [submitted, cancelled] = await Promise.all([submit(session), cancel(session)]);
      const { attempts, session: row } = await edge.core.loadSession(idOf(session));
      if (cancelled.status === 200) {
        expect([submitted.status, attempts, row.status]).toEqual([400, [], "EXPIRED"]);
      } else {
        expect([cancelled.status, submitted.status, row.status]).toEqual([409, 200, "SUCCEEDED"]);
        expect(["session_being_paid", "session_ended"]).toContain(cancelled.json.code);
        expect(["CREATED", "SUCCEEDED"]).toContain(cancelled.json.state.status);
      }
    }
  });
});

describe("a session that replaces another one", () => {
  it("ends it with the creation, and has its own amount", async () => {
    const old = await open();
    const { status, json } = await create({ amountMinor: 5900, replaces: old.sessionId });
    expect([status, json]).toMatchObject([201, { amountMinor: 5900, status: "CREATED" }]);
    expect(await read(old)).toMatchObject({
      status: "EXPIRED",
      expiredBecause: "REPLACED",
      replacedBy: json.sessionId,
    });
    expect(await eventsOf(old)).toEqual(["payment_session.expired"]);
    const shown = await checkout("GetCheckout", old);
    expect(shown.json.checkout).toMatchObject({ status: "EXPIRED", expiredBecause: "REPLACED" });
    expect((await submit(old)).json.message).toContain("another session");
    expect((await checkout("GetCheckout", json)).json.checkout).toMatchObject({
      status: "CREATED",
      amountMinor: "5900",
    });
  });

  it("is created once by the same key, and not without one", async () => {
    const old = await open();
    const keyless = await edge.call("POST", "/payment-sessions", {
      body: JSON.stringify({ ...order, replaces: old.sessionId }),
    });
    expect([keyless.status, keyless.json.code, keyless.json.param]).toEqual([
      400,
      "missing_idempotency_key",
      "Idempotency-Key",
    ]);
    const key = systemRuntime.uuid();
    const answers = await Promise.all([1, 2, 3, 4].map(() => create({ replaces: old.sessionId }, key)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await create({}, key)).json.code).toBe("idempotency_key_reused");
    expect(await eventsOf(old)).toEqual(["payment_session.expired"]);
  });

  it("is the only successor, in eight creations at once, and nothing else is created", async () => {
    const old = await open();
    const before = await countSessions();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ replaces: old.sessionId })));
    const [winner] = answers.filter(({ status }) => status === 201);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(7).fill(409)]);
    for (const { json } of answers.filter(({ status }) => status === 409)) {
      expect([json.code, json.state.replacedBy]).toEqual(["session_replaced", winner!.json.sessionId]);
    }
    expect(await countSessions()).toBe(before + 1);
    const refused = await cancel(old);
    expect([refused.status, refused.json.code, refused.json.state]).toEqual([
      ...[409, "session_replaced"],
      {
        sessionId: old.sessionId,
        status: "EXPIRED",
        processing: false,
        expiredBecause: "REPLACED",
        replacedBy: winner!.json.sessionId,
      },
    ]);
  });

  it("takes the place of one that has ended, but not of one that has SUCCEEDED, is held or is unknown", async () => {
    const [expired, declined, paid, held] = await Promise.all([open(), open(), open(), open({ capture: "manual" })]);
    await cancel(expired);
    await edge.core.submit(idOf(declined), cards.fraud);
    for (const session of [paid, held]) await edge.core.submit(idOf(session), cards.approved);
    const next = await create({ replaces: expired.sessionId });
    expect(await read(expired)).toMatchObject({ expiredBecause: "CANCELLED", replacedBy: next.json.sessionId });
    expect((await checkout("GetCheckout", expired)).json.checkout.expiredBecause).toBe("REPLACED");
    const another = await create({ replaces: declined.sessionId });
    expect(await read(declined)).toMatchObject({ status: "DECLINED", replacedBy: another.json.sessionId });
    expect(await eventsOf(declined)).toEqual(["payment_session.declined"]);
    const before = await countSessions();
    for (const [replaces, status, code] of [
      [paid.sessionId, 409, "session_ended"],
      [held.sessionId, 409, "session_being_paid"],
      [encodeId("ps", systemRuntime.uuid()), 404, "not_found"],
      ["ps_1", 404, "not_found"],
    ] as const) {
      const key = systemRuntime.uuid();
      const { status: answered, json } = await create({ replaces }, key);
      expect([answered, json.code]).toEqual([status, code]);
      if (status === 404) expect(json.param).toBe("replaces");
      // A refused creation does not use its key up.
      expect((await create({}, key)).status).toBe(201);
    }
    expect(await countSessions()).toBe(before + 4);
    const stranger = await edge.addMerchant();
    const theirs = await edge.call("POST", "/payment-sessions", {
      body: JSON.stringify({ ...order, replaces: expired.sessionId }),
      headers: { authorization: `Bearer ${stranger.secret}`, "Idempotency-Key": "k" },
    });
    expect(theirs.status).toBe(404);
  });

  it("replaces a session or loses to its submission, in 200 races: always exactly one", {
    timeout: 600_000,
  }, async () => {
    edge.core.useCard(cards.approved);
    const wins = { replaced: 0, submitted: 0 };
    const race = async (number: number) => {
      const orderRef = `race-${number}-${systemRuntime.uuid()}`;
      const old = await open({ orderRef });
      const submitting = () => submit(old);
      const replacing = () => create({ orderRef, amountMinor: 5900, replaces: old.sessionId });
      const [submitted, created] =
        number % 2 === 0
          ? await Promise.all([submitting(), replacing()])
          : await Promise.all([replacing(), submitting()]).then(([one, other]) => [other, one] as const);
      const { session, attempts } = await edge.core.loadSession(idOf(old));
      const { json } = await edge.call("GET", `/payment-sessions?orderRef=${orderRef}`);
      if (created.status === 201) {
        wins.replaced++;
        expect([submitted.status, session.status, attempts]).toEqual([400, "EXPIRED", []]);
        expect(await eventsOf(old)).toEqual(["payment_session.expired"]);
        expect(json.paymentSessions).toHaveLength(2);
      } else {
        wins.submitted++;
        expect([submitted.status, session.status, attempts.length]).toEqual([200, "SUCCEEDED", 1]);
        expect(["session_being_paid", "session_ended"]).toContain(created.json.code);
        expect([session.replacedBy, json.paymentSessions.length]).toEqual([null, 1]);
      }
    };
    for (let first = 0; first < 200; first += 10)
      await Promise.all(Array.from({ length: 10 }, (_, index) => race(first + index)));
    expect(wins.replaced + wins.submitted).toBe(200);
    expect(Math.min(wins.replaced, wins.submitted)).toBeGreaterThan(0);
  });
});
