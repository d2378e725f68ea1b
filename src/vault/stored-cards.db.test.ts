import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { deriveKey, type KeyRing, sha256, unseal } from "../platform/secrets.ts";
import { resealStored, sealForStore, unsealFromStore } from "../platform/store-ring.ts";
import type { Card } from "./card.ts";
import { expireOnce, fingerprintOf, forgetSessions, keepCard, takeCard } from "./card-store.ts";
import { eraseCard, openCard, requireStoreKeys, storeCard } from "./stored-cards.ts";
import type { VaultEnvironment } from "./vault-config.ts";

const freshRing = (kid = "store-1"): KeyRing => ({ current: kid, keys: { [kid]: randomBytes(32) } });
const rings = { ring: freshRing(), cardToken: freshRing(), fingerprint: freshRing(), storeRing: freshRing() };
const test: VaultEnvironment = { environment: "test", ...rings };
const live: VaultEnvironment = { environment: "live", ...rings };

const card: Card = {
  number: "4242424242424242",
  expMonth: 4,
  expYear: 2031,
  cvc: "987",
  holder: "Ada Lovelace",
  postalCode: "1010",
};
const { cvc: _, ...withoutCode } = card;
const merchantId = "mer_1";

const { url, ownerUrl } = await createTestDatabase("vault");
const database = new Database(new Pool({ connectionString: url, pipeline: true }));
const owner = new Database(new Pool({ connectionString: ownerUrl, max: 2 }));
afterAll(() => Promise.all([database.pool.end(), owner.pool.end()]));
beforeEach(() => owner.pool.query("DELETE FROM stored_card"));

const newHandle = () => `vc_${randomBytes(24).toString("base64url")}`;
let sessions = 0;

/** Enters a card in a new session. */
async function entered(change: Partial<Card> = {}, vault = test) {
  const sessionId = `ps_${++sessions}`;
  const { token } = await keepCard(
    database,
    vault,
    { session: sessionId, profile: merchantId },
    { ...card, ...change },
  );
  return { sessionId, merchantId, token: token.expose() };
}

/** Enters a card and stores it. */
async function stored(change: Partial<Card> = {}, vault = test) {
  const asked = { ...(await entered(change, vault)), handle: newHandle() };
  return { ...asked, summary: await storeCard(database, vault, asked) };
}

const opened = async (handle: string, vault = test, merchant = merchantId) => {
  const sessionId = `ps_${++sessions}`;
  const made = await openCard(database, vault, { sessionId, merchantId: merchant, handle, needsCode: false });
  return made && takeCard(database, vault, sessionId, made.token.expose());
};

const rowsOf = async (table: string) => (await owner.pool.query(`SELECT * FROM ${table}`)).rows;

describe("storeCard()", () => {
  it("keeps what may be kept, and returns it with the fingerprint by which payments know the card", async () => {
    const { handle, summary } = await stored();
    const fingerprint = fingerprintOf(test, { profile: merchantId, number: card.number });
    expect(summary).toEqual({ brand: "visa", last4: "4242", expMonth: 4, expYear: 2031, fingerprint });
    expect(await opened(handle)).toEqual({ type: "card", card: withoutCode });
  });

  it("returns the brand that the customer chose", async () => {
    const { handle, summary } = await stored({ number: "4000002500001001", brand: "cartes_bancaires" });
    expect(summary).toMatchObject({ brand: "cartes_bancaires", last4: "1001" });
    expect(await opened(handle)).toMatchObject({ card: { brand: "cartes_bancaires" } });
  });

  it("forgets the session with all its cards, in the same commit", async () => {
    const first = await entered();
    const again = await keepCard(database, test, { session: first.sessionId, profile: merchantId }, card);
    await storeCard(database, test, { ...first, handle: newHandle() });
    for (const token of [first.token, again.token.expose()])
      expect(await takeCard(database, test, first.sessionId, token)).toEqual({ type: "not_found" });
    const late = keepCard(database, test, { session: first.sessionId, profile: merchantId }, card);
    await expect(late).rejects.toMatchObject({ code: "session_ended" });
  });

  it("leaves the card to be paid with where storing it fails, and stores none", async () => {
    const { handle } = await stored();
    const asked = { ...(await entered()), handle };
    await expect(storeCard(database, test, asked)).rejects.toMatchObject({ code: "23505" });
    expect(await takeCard(database, test, asked.sessionId, asked.token)).toMatchObject({ type: "card" });
    expect(await rowsOf("stored_card")).toHaveLength(1);
  });

  it("answers a repeat the same, also at once and after the session was forgotten", async () => {
    const asked = { ...(await entered()), handle: newHandle() };
    const both = await Promise.all([storeCard(database, test, asked), storeCard(database, test, asked)]);
    await forgetSessions(database, test, [asked.sessionId]);
    const later = await storeCard(database, test, asked);
    expect(both[0]).toMatchObject({ last4: "4242" });
    expect([both[1], later]).toEqual([both[0], both[0]]);
    expect(await rowsOf("stored_card")).toHaveLength(1);
  });

  it("stores a card whose uses are used up, and none that is gone or was entered for another session", async () => {
    const used = { ...(await entered()), handle: newHandle() };
    await database.pool.query("UPDATE card SET uses_left = 0 WHERE session_id = $1", [used.sessionId]);
    expect(await storeCard(database, test, used)).toMatchObject({ last4: "4242" });
    const old = { ...(await entered()), handle: newHandle() };
    await database.pool.query("UPDATE card SET expires_at = clock_timestamp() WHERE session_id = $1", [old.sessionId]);
    expect(await storeCard(database, test, old)).toBeUndefined();
    const foreign = { ...(await entered()), handle: newHandle(), sessionId: "ps_foreign" };
    expect(await storeCard(database, test, foreign)).toBeUndefined();
    expect(await rowsOf("stored_card")).toHaveLength(1);
  });

  it("stores none without a ring or a key of fingerprints, and keeps the card for a repeat", async () => {
    const asked = { ...(await entered()), handle: newHandle() };
    for (const missing of ["storeRing", "fingerprint"])
      await expect(storeCard(database, { ...test, [missing]: undefined }, asked)).rejects.toMatchObject({
        code: "unavailable",
      });
    expect(await storeCard(database, test, asked)).toMatchObject({ last4: "4242" });
  });
});

describe("openCard()", () => {
  it("finds a card by its handle in its own environment and for its own merchant alone", async () => {
    const { handle } = await stored();
    expect(await opened(handle, live)).toBeUndefined();
    expect(await opened(handle, test, "mer_2")).toBeUndefined();
    expect(await opened(newHandle())).toBeUndefined();
    expect(await opened(handle)).toMatchObject({ type: "card" });
  });

  it.each(["merchant_id = 'mer_thief'", "environment = 'live'"])(
    "does not open a row that was moved: %s",
    async (to) => {
      const { handle } = await stored();
      await owner.pool.query(`UPDATE stored_card SET ${to}`);
      const [vault, merchant] = to.startsWith("e") ? [live, merchantId] : [test, "mer_thief"];
      await expect(opened(handle, vault, merchant)).rejects.toThrow();
    },
  );

  it("does not open a card that who has the store ring has given to another merchant", async () => {
    const { handle } = await stored();
    const [row] = await rowsOf("stored_card");
    const outer = { handleHash: row.handle_hash, merchantId, sealed: row.sealed };
    const sealed = unsealFromStore(test.storeRing!, "test", outer);
    const moved = sealForStore(test.storeRing!, "test", { ...outer, merchantId: "mer_thief", sealed });
    await owner.pool.query("UPDATE stored_card SET merchant_id = 'mer_thief', sealed = $1", [moved]);
    await expect(opened(handle, test, "mer_thief")).rejects.toThrow();
  });

  it("does not open one card's row with another's handle", async () => {
    const [one, other] = [await stored(), await stored({ number: "4000002500001001" })];
    await owner.pool.query("UPDATE stored_card SET sealed = (SELECT sealed FROM stored_card WHERE handle_hash = $1)", [
      sha256(other.handle),
    ]);
    await expect(opened(one.handle)).rejects.toThrow();
    expect(await opened(other.handle)).toMatchObject({ type: "card" });
  });

  it("takes a card whose key is missing for unreachable, and never for lost", async () => {
    const { handle } = await stored();
    await expect(opened(handle, { ...test, storeRing: freshRing("store-2") })).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("counts as a card that was entered: ten of a session, and none once it is over", async () => {
    const { handle } = await stored();
    const asked = { sessionId: "ps_choosing", merchantId, handle, needsCode: true };
    for (let times = 0; times < 10; times++) expect(await openCard(database, test, asked)).toBeDefined();
    await expect(openCard(database, test, asked)).rejects.toMatchObject({ code: "rate_limited" });
    await forgetSessions(database, test, ["ps_over"]);
    await expect(openCard(database, test, { ...asked, sessionId: "ps_over" })).rejects.toMatchObject({
      code: "session_ended",
    });
  });
});

describe("eraseCard()", () => {
  it("erases one card of one merchant, and can be repeated", async () => {
    const [one, other] = [await stored(), await stored()];
    const handleHash = sha256(one.handle);
    await eraseCard(database, test, { handleHash, merchantId: "mer_2" });
    await eraseCard(database, live, { handleHash, merchantId });
    expect(await opened(one.handle)).toMatchObject({ type: "card" });
    await eraseCard(database, test, { handleHash, merchantId });
    await eraseCard(database, test, { handleHash, merchantId });
    expect(await opened(one.handle)).toBeUndefined();
    expect(await opened(other.handle)).toMatchObject({ type: "card" });
    expect(await storeCard(database, test, one)).toBeUndefined();
  });

  it("is remembered: a card that comes later is not stored under the handle, and its session is over all the same", async () => {
    const asked = { ...(await entered()), handle: newHandle() };
    await eraseCard(database, test, { handleHash: sha256(asked.handle), merchantId });
    expect(await storeCard(database, test, asked)).toBeUndefined();
    expect(await rowsOf("stored_card")).toEqual([]);
    expect(await takeCard(database, test, asked.sessionId, asked.token)).toEqual({ type: "not_found" });
    await owner.pool.query("UPDATE erased_card SET expires_at = clock_timestamp()");
    await expireOnce(database);
    expect(await rowsOf("erased_card")).toEqual([]);
  });

  it("waits for a card that is being stored, and erases it", async () => {
    // Each row that is stored waits for the test, before its commit.
    await owner.pool.query(`CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(51); RETURN NULL; END';
      CREATE TRIGGER wait_for_test AFTER INSERT ON stored_card FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
    const asked = { ...(await entered()), handle: newHandle() };
    const waiting = async () =>
      (await owner.pool.query("SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        .rows[0].n;
    const test51 = await owner.pool.connect();
    await test51.query("SELECT pg_advisory_lock(51)");
    const storing = storeCard(database, test, asked);
    await expect.poll(waiting).toBe(1);
    const erasing = eraseCard(database, test, { handleHash: sha256(asked.handle), merchantId });
    await expect.poll(waiting).toBe(2);
    await test51.query("SELECT pg_advisory_unlock(51)");
    test51.release();
    await Promise.all([storing, erasing]);
    await owner.pool.query("DROP TRIGGER wait_for_test ON stored_card; DROP FUNCTION wait_for_test()");
    expect(await rowsOf("stored_card")).toEqual([]);
  });
});

describe("what is stored", () => {
  /** Opens a row as only the vault with the card's handle can. */
  const contentOf = (row: { handle_hash: Buffer; merchant_id: string; sealed: string }, handle: string) => {
    const outer = { handleHash: row.handle_hash, merchantId: row.merchant_id, sealed: row.sealed };
    const inner = unsealFromStore(test.storeRing!, "test", outer);
    const ring = { current: "handle", keys: { handle: deriveKey(Buffer.from(handle), "stored card") } };
    return unseal(ring, `stored card test ${row.merchant_id}`, inner).expose();
  };

  it("has no place for a security code, in any row", async () => {
    const cards = [await stored(), await stored({ holder: undefined, postalCode: undefined }), await stored()];
    const handles = new Map(cards.map(({ handle }) => [sha256(handle).toString("hex"), handle]));
    const rows = await rowsOf("stored_card");
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const content = contentOf(row, handles.get(row.handle_hash.toString("hex"))!);
      const allowed = ["number", "expMonth", "expYear", "holder", "postalCode", "brand"];
      expect(allowed).toEqual(expect.arrayContaining(Object.keys(JSON.parse(content))));
      expect(content).not.toContain(card.cvc);
    }
  });

  it("has the same length for every card, of the longest name too", async () => {
    const holder = "語".repeat(100);
    await stored();
    await stored({ holder: undefined, postalCode: undefined, number: "6304000000000000" });
    const longest = await stored({
      holder,
      postalCode: "1234567890",
      brand: "cartes_bancaires",
      number: "4000002500001001",
    });
    const rows = await rowsOf("stored_card");
    expect(new Set(rows.map(({ sealed }) => sealed.length)).size).toBe(1);
    expect(await opened(longest.handle)).toMatchObject({ card: { holder, postalCode: "1234567890" } });
  });

  it("opens for nobody who has the whole disk and every key of the vault, but no handle", async () => {
    const { handle } = await stored();
    const [row] = await rowsOf("stored_card");
    const outer = { handleHash: row.handle_hash, merchantId: row.merchant_id, sealed: row.sealed };
    const inner = unsealFromStore(test.storeRing!, "test", outer);
    expect(JSON.stringify({ ...row, inner })).not.toMatch(/4242|Lovelace/);
    expect(JSON.stringify(row)).not.toContain(handle.slice(3));
    // Whatever of the vault's is taken for the key.
    const keys = Object.values(rings).flatMap(({ keys }) => Object.values(keys));
    const guesses = [...keys, row.handle_hash, Buffer.from(row.handle_hash.toString("hex"))];
    for (const guess of [...guesses, ...guesses.map((one) => deriveKey(one, "stored card"))]) {
      const ring = { current: "handle", keys: { handle: guess.subarray(0, 32) } };
      expect(() => unseal(ring, `stored card test ${merchantId}`, inner)).toThrow();
    }
    expect(contentOf(row, handle)).toContain(card.number);
  });

  it("opens for nobody who has a handle, but not the store ring", async () => {
    const { handle } = await stored();
    const [row] = await rowsOf("stored_card");
    const ring = { current: "handle", keys: { handle: deriveKey(Buffer.from(handle), "stored card") } };
    const sealed = `handle.${row.sealed.split(".")[1]}`;
    expect(() => unseal(ring, `stored card test ${merchantId}`, sealed)).toThrow();
  });

  it("is logged, unlike the cards being paid: a crash of the server keeps it", async () => {
    const { rows } = await owner.pool.query("SELECT relpersistence FROM pg_class WHERE relname = 'stored_card'");
    expect(rows).toEqual([{ relpersistence: "p" }]);
  });
});

describe("a rotation of the store ring", () => {
  const turned = (ring: KeyRing): KeyRing => ({
    current: "store-2",
    keys: { ...ring.keys, "store-2": randomBytes(32) },
  });
  const reseal = (ring: KeyRing, environment: "test" | "live" = "test") => {
    const reports: [number, number][] = [];
    const report = (done: number, of: number) => void reports.push([done, of]);
    return resealStored(owner, { environment, ring, report }).then((cards) => ({ cards, reports }));
  };
  const keysOf = async () => new Set((await rowsOf("stored_card")).map(({ key_id }) => key_id));

  it("seals every card of the environment again, without a handle, and reports how far it is", async () => {
    const cards = [await stored(), await stored(), await stored()];
    const ofLive = await stored({}, live);
    const ring = turned(test.storeRing!);
    expect(await reseal(ring)).toEqual({ cards: 3, reports: [[3, 3]] });
    expect(await reseal(ring)).toEqual({ cards: 0, reports: [] });
    const dropped = { ...test, storeRing: { current: "store-2", keys: { "store-2": ring.keys["store-2"]! } } };
    for (const { handle } of cards) expect(await opened(handle, dropped)).toEqual({ type: "card", card: withoutCode });
    expect(await opened(ofLive.handle, live)).toMatchObject({ type: "card" });
    expect(await keysOf()).toEqual(new Set(["store-1", "store-2"]));
  });

  it("opens and stores cards in every vault meanwhile, whichever key it seals with", async () => {
    const before = await stored();
    const after = { ...test, storeRing: turned(test.storeRing!) };
    const added = { ...after, storeRing: { ...after.storeRing, current: "store-1" } };
    const late = await stored({}, added);
    await reseal(after.storeRing);
    const others = [await stored({}, after), await stored({}, added)];
    for (const { handle } of [before, late, ...others])
      for (const vault of [added, after]) expect(await opened(handle, vault)).toMatchObject({ type: "card" });
    await reseal(after.storeRing);
    expect(await keysOf()).toEqual(new Set(["store-2"]));
  });

  it("seals no row that was moved to another merchant, as if it belonged there", async () => {
    await stored();
    await owner.pool.query("UPDATE stored_card SET merchant_id = 'mer_thief'");
    await expect(reseal(turned(test.storeRing!))).rejects.toThrow();
  });

  it("erases nothing that it does not have the key of", async () => {
    const { handle } = await stored();
    await expect(reseal(freshRing("store-2"))).rejects.toThrow("sealed with store-1, which is not in the file");
    expect(await opened(handle)).toMatchObject({ type: "card" });
  });
});

describe("requireStoreKeys()", () => {
  it("accepts a ring with the key of every card, and a vault without any", async () => {
    await requireStoreKeys(database, [{ ...test, storeRing: undefined }, live]);
    await stored();
    await requireStoreKeys(database, [test, live]);
  });

  it("names a key that a card needs and the file does not have, or has another one of its name", async () => {
    await stored();
    const starting = (storeRing: KeyRing | undefined) => requireStoreKeys(database, [{ ...test, storeRing }]);
    await expect(starting(undefined)).rejects.toThrow(
      "sealed with store-1, which is not in the file of SWITCHYARD_TEST",
    );
    await expect(starting(freshRing("store-2"))).rejects.toThrow("sealed with store-1");
    await expect(starting(freshRing("store-1"))).rejects.toThrow("which is another key in the file");
  });
});
