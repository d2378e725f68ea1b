/** Tests the keys of first answers: their lifetime, their removal, and the rotation of the server's own keys. */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { HeldCommits } from "../../dev/testing/held-commits.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { KeyRing } from "../../platform/secrets.ts";
import { expireIdempotencyOnce } from "../../retention/expire-idempotency-keys.ts";
import type { Core } from "../core.ts";
import { type CreatedSession, createSession } from "../create-session.ts";
import { startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);

function newOrder() {
  const key = systemRuntime.uuid();
  const order = { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemRuntime.uuid()}` };
  const create = (core = fixture.core) => createSession(core, fixture.owner, order, key);
  return { key, order, create };
}

/** Returns another process of the same service, with the changes that an operator has made since. */
const restarted = (change: Partial<Core> = {}): Core => ({
  ...fixture.core,
  creations: new Map(),
  ...change,
});

const shown = ({ session, clientSecret, vault }: CreatedSession) =>
  JSON.stringify([session.id, session.expiresAt, clientSecret.expose(), vault]);

async function expireKey(key: string): Promise<void> {
  const text = "UPDATE idempotency SET expires_at = app.clock() - interval '1 ms' WHERE key = $1";
  await fixture.asOwner.query({ name: "expire_key", text }, [key]);
}

async function keyRows(key: string): Promise<{ sessionId: string }[]> {
  const text = 'SELECT session_id AS "sessionId" FROM idempotency WHERE key = $1';
  return fixture.asOwner.query({ name: "key_rows", text }, [key]);
}

describe("a first answer", () => {
  const second = Buffer.alloc(32, 9);

  it("is returned again after a rotation of every server key while the old keys are in the ring", async () => {
    const { create } = newOrder();
    const first = await create();
    const { sealing, clientSecretKeys } = fixture.core;
    const ring: KeyRing = { current: "k2", keys: { ...sealing.keys, k2: second } };
    const secretKeys = { ...clientSecretKeys, current: 2, keys: new Map([...clientSecretKeys.keys, [2, second]]) };
    const later = restarted({ sealing: ring, clientSecretKeys: secretKeys });
    const again = await create(later);
    expect([again.replayed, shown(again)]).toEqual([true, shown(first)]);
    const fresh = newOrder();
    const sealedAnew = await fresh.create(later);
    expect(shown(await fresh.create(restarted({ sealing: ring, clientSecretKeys: secretKeys })))).toBe(
      shown(sealedAnew),
    );
  });

  it("is refused, not guessed, once its key has left the ring", async () => {
    const { create } = newOrder();
    await create();
    await expect(create(restarted({ sealing: { current: "k2", keys: { k2: second } } }))).rejects.toThrow(/"k"/);
  });

  it("is returned again even when the vault would describe itself differently by now", async () => {
    const { create } = newOrder();
    const first = await create();
    const again = await create(
      restarted({ vault: { ...fixture.core.vault, openSession: async () => ({ mode: "saas" }) } }),
    );
    expect(shown(again)).toBe(shown(first));
  });
});

describe("an expired key", () => {
  it("is taken over by exactly one of two concurrent requests", async () => {
    const { key, create } = newOrder();
    const old = await create();
    await expireKey(key);
    const [one, other] = await Promise.all([create(restarted()), create(restarted())]);
    expect(one.session.id).toBe(other.session.id);
    expect(one.session.id).not.toBe(old.session.id);
    expect([one.replayed, other.replayed].toSorted()).toEqual([false, true]);
    expect(await keyRows(key)).toEqual([{ sessionId: one.session.id }]);
  });

  it("is not removed while a request takes it over", async () => {
    const { key, order, create } = newOrder();
    await create();
    await expireKey(key);
    const held = await HeldCommits.start(fixture.asOwner.pool, order.orderRef);
    const taken = create(restarted());
    await held.held();
    await expireIdempotencyOnce(fixture.core);
    await held.release();
    const { session, replayed } = await taken;
    expect(replayed).toBe(false);
    await expireIdempotencyOnce(fixture.core);
    expect(await keyRows(key)).toEqual([{ sessionId: session.id }]);
    expect((await create(restarted())).session.id).toBe(session.id);
  });

  it("may be removed while requests with it arrive, and still creates one session", async () => {
    const { key, create } = newOrder();
    for (let turn = 0; turn < 20; turn++) {
      await create();
      await expireKey(key);
      const [one, , other] = await Promise.all([
        create(restarted()),
        expireIdempotencyOnce(fixture.core),
        create(restarted()),
      ]);
      expect(one.session.id).toBe(other.session.id);
      expect(await keyRows(key)).toEqual([{ sessionId: one.session.id }]);
    }
  });
});

describe("expireIdempotencyOnce()", () => {
  it("removes no key before its 24 hours are over by the database's clock, and every key after them", async () => {
    const { key, create } = newOrder();
    await create();
    try {
      await fixture.setClockAhead(24 * 60 - 1);
      await expireIdempotencyOnce(fixture.core);
      expect(await keyRows(key)).toHaveLength(1);
      await fixture.setClockAhead(24 * 60 + 1);
      await expireIdempotencyOnce(fixture.core);
      expect(await keyRows(key)).toEqual([]);
    } finally {
      await fixture.setClockAhead(0);
    }
  });
});
