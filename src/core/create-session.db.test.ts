import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { confirmTimeline } from "../oversight/declare-restore.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { expireIdempotencyOnce } from "../retention/expire-idempotency-keys.ts";
import { createSession } from "./create-session.ts";
import { startCoreFixture } from "./scenarios/core.fixture.ts";
import { findSession } from "./sessions.ts";

const fixture = await forFile(startCoreFixture);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };

describe("createSession()", () => {
  it("gives eight concurrent repeats of one key the same session", async () => {
    const key = systemRuntime.uuid();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => createSession(fixture.core, fixture.owner, order, key)),
    );
    expect(new Set(answers.map(({ session }) => session.id)).size).toBe(1);
    expect(new Set(answers.map(({ clientSecret }) => clientSecret.expose())).size).toBe(1);
    expect(new Set(answers.map(({ vault }) => JSON.stringify(vault))).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });

  it("refuses a key that was used with other fields", async () => {
    const key = systemRuntime.uuid();
    await createSession(fixture.core, fixture.owner, order, key);
    const other = createSession(fixture.core, fixture.owner, { ...order, amountMinor: 4901 }, key);
    await expect(other).rejects.toMatchObject({ code: "idempotency_key_reused" });
  });

  it("scopes a key to its merchant", async () => {
    const key = systemRuntime.uuid();
    const first = await createSession(fixture.core, fixture.owner, order, key);
    const other = await createSession(fixture.core, { ...fixture.owner, merchantId: systemRuntime.uuid() }, order, key);
    expect(other.session.id).not.toBe(first.session.id);
    expect(other.replayed).toBe(false);
  });

  it("treats an expired key as a new one", async () => {
    const key = systemRuntime.uuid();
    const first = await createSession(fixture.core, fixture.owner, order, key);
    const age = "UPDATE idempotency SET expires_at = now() - interval '1 s' WHERE key = $1";
    await fixture.asOwner.query({ name: "age", text: age }, [key]);
    const second = await createSession(fixture.core, fixture.owner, order, key);
    expect(second.session.id).not.toBe(first.session.id);
  });

  it("does not consume a key for a request that is refused", async () => {
    const key = systemRuntime.uuid();
    const refused = createSession(fixture.core, fixture.owner, { ...order, currency: "XTS" }, key);
    await expect(refused).rejects.toMatchObject({ code: "invalid_field", problems: [{ param: "currency" }] });
    expect((await createSession(fixture.core, fixture.owner, order, key)).replayed).toBe(false);
  });

  it("reports every broken rule at once", async () => {
    const broken = { ...order, currency: "XAU", orderRef: " \u0000 " };
    const failure = await createSession(fixture.core, fixture.owner, broken).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      problems: [{ pointer: "/currency" }, { pointer: "/orderRef" }],
    });
  });

  it("stores neither the client secret nor the vault object in plain text", async () => {
    const key = systemRuntime.uuid();
    const { clientSecret } = await createSession(fixture.core, fixture.owner, order, key);
    const everything =
      "SELECT (SELECT json_agg(s)::text FROM payment_session s) || (SELECT json_agg(i)::text FROM idempotency i) AS rows";
    const [found] = await fixture.asOwner.query<{ rows: string }>({ name: "everything", text: everything }, []);
    expect(found?.rows).not.toContain(clientSecret.expose().slice(-40));
    expect(found?.rows).not.toContain("grant for");
  });
});

describe("expireIdempotencyOnce()", () => {
  it("removes expired keys with their sealed answers, and leaves the others and every session", async () => {
    const [old, young] = [systemRuntime.uuid(), systemRuntime.uuid()];
    const { session } = await createSession(fixture.core, fixture.owner, order, old);
    await createSession(fixture.core, fixture.owner, order, young);
    const age = "UPDATE idempotency SET expires_at = app.clock() WHERE key = $1";
    await fixture.asOwner.query({ name: "age_now", text: age }, [old]);
    await expireIdempotencyOnce(fixture.core);
    const left = { name: "left", text: "SELECT key FROM idempotency WHERE key IN ($1, $2)" };
    expect(await fixture.asOwner.query(left, [old, young])).toEqual([{ key: young }]);
    expect((await fixture.loadSession(session)).session.status).toBe("CREATED");
  });
});

describe("findSession()", () => {
  it("finds nothing for another merchant", async () => {
    const { session } = await createSession(fixture.core, fixture.owner, order);
    const merchantId = systemRuntime.uuid();
    expect(await findSession(fixture.core, { sessionId: session.id, merchantId })).toBeUndefined();
    expect(
      (await findSession(fixture.core, { sessionId: session.id, merchantId: fixture.owner.merchantId }))?.session.id,
    ).toBe(session.id);
  });

  it("shows an overdue session as EXPIRED, and emits the event once", async () => {
    const { session } = await createSession(fixture.core, fixture.owner, order);
    const past = "UPDATE payment_session SET expires_at = created_at + interval '1 ms' WHERE id = $1";
    await fixture.asOwner.query({ name: "past", text: past }, [session.id]);
    await Promise.all([1, 2, 3].map(() => findSession(fixture.core, { sessionId: session.id })));
    expect((await fixture.loadSession(session)).session.status).toBe("EXPIRED");
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.expired"]);
  });

  it("shows an overdue session as stored while no session may change, and as EXPIRED afterwards", async () => {
    const { session } = await createSession(fixture.core, fixture.owner, order);
    const past = "UPDATE payment_session SET expires_at = created_at + interval '1 ms' WHERE id = $1";
    await fixture.asOwner.query({ name: "past", text: past }, [session.id]);
    await fixture.asOwner.query({ name: "promoted", text: "UPDATE replica_mark SET timeline = '00000000'" }, []);
    const read = async () => (await findSession(fixture.core, { sessionId: session.id }))?.session;
    expect(await read()).toMatchObject({ status: "CREATED", phase: "IDLE" });
    await confirmTimeline(fixture.asOwner);
    expect(await read()).toMatchObject({ status: "EXPIRED" });
  });
});
