/** Keys of first answers: how long they live, what cleans them up, and how they outlive a change of the server's own keys. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemEntropy } from "../platform/entropy.ts";
import type { KeyRing } from "../platform/secrets.ts";
import { HeldCommits } from "../testing/held-commits.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, startCoreFixture } from "./core-fixture.ts";
import { type CreatedSession, createSession } from "./create-session.ts";
import { CreationsInProgress } from "./creations-in-progress.ts";
import { expireIdempotencyOnce } from "./expire-idempotency.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

function newOrder() {
  const key = systemEntropy.uuid();
  const order = { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemEntropy.uuid()}` };
  const create = (core = fixture.core) => createSession(core, fixture.owner, order, key);
  return { key, order, create };
}

/** Another process of the same service, with what an operator has changed since. */
const restarted = (change: Partial<Core> = {}): Core => ({
  ...fixture.core,
  creations: new CreationsInProgress(),
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

  it("is given again after a change of every server key, as long as the old ones are in the ring", async () => {
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

  it("is refused rather than guessed where its key has left the ring", async () => {
    const { create } = newOrder();
    await create();
    await expect(create(restarted({ sealing: { current: "k2", keys: { k2: second } } }))).rejects.toThrow(/"k"/);
  });

  it("is given again also when the vault would describe itself otherwise by now", async () => {
    const { create } = newOrder();
    const first = await create();
    const again = await create(
      restarted({ vault: { ...fixture.core.vault, describe: async () => ({ mode: "saas" }) } }),
    );
    expect(shown(again)).toBe(shown(first));
  });
});

describe("a key whose day is over", () => {
  it("is taken over once by two who come at once, and by neither twice", async () => {
    const { key, create } = newOrder();
    const old = await create();
    await expireKey(key);
    const [one, other] = await Promise.all([create(restarted()), create(restarted())]);
    expect(one.session.id).toBe(other.session.id);
    expect(one.session.id).not.toBe(old.session.id);
    expect([one.replayed, other.replayed].toSorted()).toEqual([false, true]);
    expect(await keyRows(key)).toEqual([{ sessionId: one.session.id }]);
  });

  it("is not cleaned away from under the request that takes it over", async () => {
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

  it("may be cleaned away while requests with it come, and still makes one session", async () => {
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
  it("takes no key a moment before its 24 hours are over by the database's clock, and every one after", async () => {
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
