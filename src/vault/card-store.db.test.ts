import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import type { Card } from "./card.ts";
import { expireOnce, forgetSessions, keepCard, takeCard } from "./card-store.ts";
import type { VaultEnvironment } from "./vault-config.ts";

const card: Card = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123" };
const ring = { current: "1", keys: { 1: randomBytes(32) } };
const test: VaultEnvironment = { environment: "test", ring };
const live: VaultEnvironment = { environment: "live", ring };

const sessionOf = (session: string) => ({ session, profile: "mer_1" });

const { url } = await createTestDatabase("vault");
const database = new Database(new Pool({ connectionString: url, pipeline: true }));
afterAll(() => database.pool.end());

describe("takeCard()", () => {
  it("opens the card again", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_1"), card);
    expect(await takeCard(database, test, "ps_1", token.expose())).toEqual({ type: "card", card });
  });

  it("finds the token only in its own environment and session", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_1"), card);
    expect(await takeCard(database, live, "ps_1", token.expose())).toEqual({ type: "not_found" });
    expect(await takeCard(database, test, "ps_2", token.expose())).toEqual({ type: "not_found" });
    expect(await takeCard(database, test, "ps_1", "tok_x")).toEqual({ type: "not_found" });
  });

  it("does not open a row that was moved to another session or environment", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_moved"), card);
    await database.pool.query("UPDATE card SET session_id = 'ps_thief' WHERE session_id = 'ps_moved'");
    await expect(takeCard(database, test, "ps_thief", token.expose())).rejects.toThrow();
    await database.pool.query(
      "UPDATE card SET session_id = 'ps_moved', environment = 'live' WHERE session_id = 'ps_thief'",
    );
    await expect(takeCard(database, live, "ps_moved", token.expose())).rejects.toThrow();
  });

  it("does not open a row with another card's token, nor with another ring", async () => {
    const first = await keepCard(database, test, sessionOf("ps_swap"), card);
    const second = await keepCard(database, test, sessionOf("ps_swap"), card);
    const { rows } = await database.pool.query("SELECT sealed FROM card WHERE session_id = 'ps_swap' LIMIT 1");
    await database.pool.query("UPDATE card SET sealed = $1 WHERE session_id = 'ps_swap'", [rows[0].sealed]);
    const tries = [first, second].map(({ token }) => takeCard(database, test, "ps_swap", token.expose()));
    expect((await Promise.allSettled(tries)).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const otherRing = { ...test, ring: { current: "1", keys: { 1: randomBytes(32) } } };
    await expect(takeCard(database, otherRing, "ps_swap", first.token.expose())).rejects.toThrow();
  });

  it("opens cards of the previous key after the ring has been rotated", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_turn"), card);
    const turned = { ...test, ring: { current: "2", keys: { ...ring.keys, 2: randomBytes(32) } } };
    expect(await takeCard(database, turned, "ps_turn", token.expose())).toMatchObject({ type: "card" });
    const later = await keepCard(database, turned, sessionOf("ps_turn"), card);
    expect(await takeCard(database, turned, "ps_turn", later.token.expose())).toEqual({ type: "card", card });
  });

  it("finds no card whose key was dropped, so the payment learns that nothing was sent", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_dropped"), card);
    const dropped = { ...test, ring: { current: "2", keys: { 2: randomBytes(32) } } };
    expect(await takeCard(database, dropped, "ps_dropped", token.expose())).toEqual({ type: "not_found" });
  });
});

describe("forgetSessions()", () => {
  it("deletes the card of a keepCard() that commits while it waits", async () => {
    let forgotten: Promise<void> | undefined;
    await database.transaction(async (tx) => {
      await keepCard(tx, test, sessionOf("ps_late"), card);
      forgotten = forgetSessions(database, test, ["ps_late", "ps_never", "ps_late"]);
      const waiting = {
        name: "test_waiting",
        text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      };
      await expect.poll(async () => (await database.query(waiting, [])).length).toBe(1);
    });
    await forgotten;
    const { rows } = await database.pool.query("SELECT 1 FROM card WHERE session_id = 'ps_late'");
    expect(rows).toEqual([]);
    await expect(keepCard(database, test, sessionOf("ps_late"), card)).rejects.toMatchObject({ code: "session_ended" });
  });
});

describe("expireOnce()", () => {
  it("deletes expired rows and nothing else", async () => {
    const { token } = await keepCard(database, test, sessionOf("ps_stays"), card);
    await keepCard(database, test, sessionOf("ps_goes"), card);
    for (const table of ["card", "card_session"]) {
      await database.pool.query(`UPDATE ${table} SET expires_at = clock_timestamp() WHERE session_id = 'ps_goes'`);
    }
    await database.pool.query("INSERT INTO vault_copy VALUES (gen_random_uuid(), clock_timestamp())");
    expect(await expireOnce(database)).toBe(3);
    expect(await expireOnce(database)).toBe(0);
    expect(await takeCard(database, test, "ps_stays", token.expose())).toMatchObject({ type: "card" });
  });
});

describe("the vault's database", () => {
  it("keeps its tables out of the write-ahead log, and so out of replicas and backups", async () => {
    const { rows } = await database.pool.query(
      "SELECT relname, relpersistence FROM pg_class WHERE relname IN ('card', 'card_session', 'vault_copy', 'erased_card')",
    );
    expect(rows.map(({ relpersistence }) => relpersistence)).toEqual(["u", "u", "u", "u"]);
  });

  it("is not owned by the vault's role: the vault can neither drop nor log a table", async () => {
    await expect(database.pool.query("ALTER TABLE card SET LOGGED")).rejects.toMatchObject({ code: "42501" });
  });
});
