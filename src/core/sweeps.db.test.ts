import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../platform/database.ts";
import { auditOnce } from "./audit-sessions.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, startCoreFixture } from "./core-fixture.ts";
import { expireIdempotencyOnce } from "./expire-idempotency.ts";
import { expireOnce } from "./expire-sessions.ts";
import { reconcileOnce } from "./reconcile.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

/** The texts of all statements that a turn runs outside transactions. */
async function statementsOf(turn: (core: Core) => Promise<unknown>): Promise<string[]> {
  const texts: string[] = [];
  const database = new Proxy(fixture.core.database, {
    get(target, name: keyof Database) {
      if (name !== "query") return Reflect.get(target, name).bind(target);
      return (...asked: Parameters<Database["query"]>) => {
        texts.push(asked[0].text);
        return target.query(...asked);
      };
    },
  });
  await turn({ ...fixture.core, database });
  return texts;
}

describe("a sweep over a table that only grows", () => {
  it.each<[string, (core: Core) => Promise<unknown>]>([
    ["auditOnce()", auditOnce],
    ["expireOnce()", expireOnce],
    ["expireIdempotencyOnce()", expireIdempotencyOnce],
    ["reconcileOnce()", reconcileOnce],
  ])("looks up what is due instead of reading every row: %s", async (_name, turn) => {
    const texts = await statementsOf(turn);
    expect(texts).not.toEqual([]);
    for (const text of texts) {
      const { rows } = await fixture.asOwner.pool.query(`EXPLAIN (GENERIC_PLAN) ${text}`);
      const lines = rows.map((row: Record<string, string>) => row["QUERY PLAN"]!);
      const ofBigTables = lines.filter(
        (line, at) => /Filter: .*clock_timestamp/.test(line) && !/audit_walk/.test(lines[at - 1]!),
      );
      expect(ofBigTables).toEqual([]);
    }
  });
});
