/** The walls of API keys in the database. The titles name the rules of docs/keys-and-rights.md. */
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { type Secret, sha256 } from "../platform/secrets.ts";
import { addKey, findKeyHolder, generateKey, type Restrictions } from "./api-keys.ts";
import { issueKey, openEnvironmentTo } from "./issue-keys.ts";
import { createRestrictedKey, revokeKeyOf, rollKey } from "./restricted-keys.ts";

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const database = new Database(new Pool({ connectionString: testDatabase.url, max: 4 }));
const owner = new Database(new Pool({ connectionString: testDatabase.ownerUrl, max: 1 }));
afterAll(() => Promise.all([database.pool.end(), owner.pool.end()]));

const restrictions: Restrictions = {
  name: "Refunds",
  rights: ["refunds.create"],
  expiresAt: null,
  refundCap: { EUR: 5_000 },
};
const day = 86_400;

async function newMerchant() {
  const merchantId = systemRuntime.uuid();
  const { secretKey } = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchantId));
  return { merchantId, secret: secretKey, secretKeyId: (await holderOf(secretKey))!.keyId! };
}
const holderOf = (secret: Secret) => findKeyHolder(database, sha256(secret.expose()));
const restrict = (merchantId: string, more: Partial<Restrictions> = {}) =>
  database.transaction((tx) => createRestrictedKey(tx, maker, { merchantId, ...restrictions, ...more }));
const roll = (merchantId: string, keyId: string, oldKeySeconds = 3_600) =>
  database.transaction((tx) => rollKey(tx, maker, { merchantId, keyId, oldKeySeconds }));
const regenerate = (merchantId: string) =>
  database.transaction((tx) => issueKey(tx, maker, { merchantId, kind: "secret" }));
const change = (keyId: string, set: string, where = "true") =>
  database.pool.query(`UPDATE api_key SET ${set} WHERE key_id = '${keyId}' AND ${where}`);

describe("K1: a merchant's secret key", () => {
  it("is revoked by its regeneration, and so is one that a roll has left", async () => {
    const { merchantId, secret, secretKeyId } = await newMerchant();
    const rolled = await roll(merchantId, secretKeyId);
    for (const key of [secret, rolled.secret]) expect(await holderOf(key)).toMatchObject({ merchantId, rights: null });
    const renewed = await regenerate(merchantId);
    for (const key of [secret, rolled.secret]) expect(await holderOf(key)).toBeUndefined();
    expect(await holderOf(renewed)).toMatchObject({ merchantId, kind: "secret" });
  });

  it("is one, however it is made", async () => {
    const { merchantId } = await newMerchant();
    const id = systemRuntime.uuid();
    const secret = generateKey(systemRuntime, { ...maker, kind: "secret" });
    const add = database.transaction((tx) => addKey(tx, { id, keyId: id, merchantId, kind: "secret", secret }));
    await expect(add).rejects.toMatchObject({ code: "23505" });
  });

  it("leaves restricted keys", async () => {
    const { merchantId } = await newMerchant();
    const { secret } = await restrict(merchantId);
    await regenerate(merchantId);
    expect(await holderOf(secret)).toMatchObject({ kind: "restricted" });
  });
});

describe("K2: a roll", () => {
  it("keeps name, rights, end and cap, and both keys work until the old one is revoked", async () => {
    const { merchantId } = await newMerchant();
    const expiresAt = new Date(Date.now() + 40 * day * 1_000);
    const { keyId, secret } = await restrict(merchantId, { expiresAt });
    const rolled = await roll(merchantId, keyId);
    const [old, now] = [await holderOf(secret), await holderOf(rolled.secret)];
    expect(old).toEqual(now);
    expect(now).toMatchObject({ keyId, keyName: "Refunds", rights: ["refunds.create"], refundCap: { EUR: 5_000 } });
    await expect(roll(merchantId, keyId)).rejects.toMatchObject({ code: "roll_in_progress" });
    await database.transaction((tx) => revokeKeyOf(tx, { merchantId, keyId, replacedOnly: true }));
    expect([await holderOf(secret), await holderOf(rolled.secret)]).toMatchObject([undefined, { keyId }]);
    const again = await roll(merchantId, keyId, 7 * day);
    await database.transaction((tx) => revokeKeyOf(tx, { merchantId, keyId, replacedOnly: false }));
    for (const key of [rolled.secret, again.secret]) expect(await holderOf(key)).toBeUndefined();
  });

  it.each([
    ["the old key works for more than seven days", "ends_at = replaced_at + interval '7 days 1 s'"],
    ["the old key ends later than it was to", "ends_at = ends_at + interval '1 s'"],
    ["the old key has no end", "ends_at = NULL, replaced_at = NULL"],
  ])("is refused where %s", async (_, set) => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    await roll(merchantId, keyId);
    await expect(change(keyId, set, "replaced_at IS NOT NULL")).rejects.toThrow(/later|check constraint/);
  });

  it("takes seven days, while the clock goes on", async () => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    const clockOf = (language: string, body: string) =>
      `CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE ${language} VOLATILE AS '${body}'`;
    const later = "BEGIN PERFORM pg_sleep(0.001); RETURN clock_timestamp(); END";
    await owner.pool.query(clockOf("plpgsql", later));
    await roll(merchantId, keyId, 7 * day).finally(() => owner.pool.query(clockOf("sql", "SELECT clock_timestamp()")));
  });

  it("takes seven days of 24 hours in every time zone", async () => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    // The clocks go forward on 28 March.
    await database.pool.query(`
      BEGIN; SET LOCAL TimeZone = 'Europe/Berlin';
      UPDATE api_key SET replaced_at = '2027-03-25T12:00Z', ends_at = '2027-04-01T12:00Z' WHERE key_id = '${keyId}'; COMMIT`);
  });

  it("brings back no key that was revoked", async () => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    await database.transaction((tx) => revokeKeyOf(tx, { merchantId, keyId, replacedOnly: false }));
    await expect(change(keyId, "revoked_at = NULL")).rejects.toThrow(/a revocation stays/);
    await expect(roll(merchantId, keyId)).rejects.toMatchObject({ code: "not_found" });
  });

  it("takes no publishable key, and no key of another merchant", async () => {
    const [one, other] = [await newMerchant(), await newMerchant()];
    await expect(roll(other.merchantId, one.secretKeyId)).rejects.toMatchObject({ code: "not_found" });
    const { rows } = await database.pool.query(
      "SELECT key_id FROM api_key WHERE merchant_id = $1 AND kind = 'publishable'",
      [one.merchantId],
    );
    await expect(roll(one.merchantId, rows[0].key_id)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("K3: the rights of a key", () => {
  it.each([
    "rights = rights || '{sessions.create}'",
    "rights = '{}'",
    "refund_cap = NULL",
    "refund_cap = '{\"EUR\": 5001}'",
    "expires_at = now() + interval '1 year'",
    "name = 'Other'",
    "key_id = gen_random_uuid()",
    "kind = 'secret', name = NULL, rights = NULL, refund_cap = NULL",
    "hash = sha256('other')",
  ])("never change: %s", async (set) => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    await expect(change(keyId, set)).rejects.toThrow(/a wider key is a new key/);
  });

  it("do not grow by a roll", async () => {
    const { merchantId } = await newMerchant();
    const { keyId } = await restrict(merchantId);
    await change(keyId, "replaced_at = now(), ends_at = now()");
    for (const more of [{ rights: ["refunds.create", "sessions.create"] }, { refundCap: null }, { name: "Other" }]) {
      const secret = generateKey(systemRuntime, { ...maker, kind: "restricted" });
      const wider = { ...restrictions, ...more };
      const add = database.transaction((tx) =>
        addKey(tx, { id: systemRuntime.uuid(), keyId, merchantId, kind: "restricted", secret, restrictions: wider }),
      );
      await expect(add).rejects.toThrow(/a roll keeps name, rights, end and cap/);
    }
  });
});

describe("K4: a key that ends", () => {
  it("is refused from its end on", async () => {
    const { merchantId } = await newMerchant();
    const { secret } = await restrict(merchantId, { expiresAt: new Date(Date.now() - 1) });
    expect(await holderOf(secret)).toBeUndefined();
    const { keyId, secret: old } = await restrict(merchantId);
    expect(await holderOf(old)).toBeDefined();
    await change(keyId, "replaced_at = now(), ends_at = now() - interval '1 ms'");
    expect(await holderOf(old)).toBeUndefined();
  });
});

it("lets a merchant have twenty restricted keys", async () => {
  const { merchantId } = await newMerchant();
  for (let index = 0; index < 20; index++) await restrict(merchantId);
  await expect(restrict(merchantId)).rejects.toMatchObject({ code: "state_conflict" });
});
