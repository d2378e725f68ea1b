import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import type { Queryable } from "./database.ts";
import { PartitionNames } from "./partition-names.ts";

const month = (year: number, number: number) => ({
  suffix: `_${year}_${String(number).padStart(2, "0")}`,
  fromMs: Date.UTC(year, number - 1),
  untilMs: Date.UTC(year, number),
  tables: ["session", "try"],
  functions: ["claim"],
});
const idAt = (...date: [number, number, number]) => v7({ msecs: Date.UTC(...date) });

async function namesOf(...answers: (unknown[] | Error)[]): Promise<{ names: PartitionNames; asked: () => number }> {
  let asked = 0;
  const query = async () => {
    const answer = answers[asked++] ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const names = new PartitionNames({ query } as unknown as Queryable);
  await names.load();
  return { names, asked: () => asked };
}

const statement = {
  name: "s",
  partitionKey: 2,
  text: "WITH a AS (UPDATE session s SET x = 'the try' FROM try t JOIN other_try o ON true WHERE id = $2 FOR UPDATE) INSERT INTO try_log SELECT app.claim(), app.clock() FROM a, $1",
};

describe("PartitionNames", () => {
  it("names the tables of the id's month, and nothing else that is called so", async () => {
    const { names } = await namesOf([month(2026, 11), month(2026, 12)]);
    expect(names.resolve(statement, ["x", idAt(2026, 11, 31)])).toEqual({
      name: "s_2026_12",
      text: "WITH a AS (UPDATE partitions.session_2026_12 s SET x = 'the try' FROM partitions.try_2026_12 t JOIN other_try o ON true WHERE id = $2 FOR UPDATE) INSERT INTO try_log SELECT partitions.claim_2026_12(), app.clock() FROM a, $1",
    });
    const first = names.resolve(statement, ["x", idAt(2026, 10, 1)]);
    expect(first.name).toBe("s_2026_11");
    expect(names.resolve(statement, ["x", idAt(2026, 10, 2)])).toBe(first);
  });

  it("names a month from its first millisecond to its last", async () => {
    const { names } = await namesOf([month(2026, 11)]);
    const nameAt = (msecs: number) => names.resolve(statement, ["x", v7({ msecs })]).name;
    expect(nameAt(Date.UTC(2026, 10))).toBe("s_2026_11");
    expect(nameAt(Date.UTC(2026, 11) - 1)).toBe("s_2026_11");
    expect(nameAt(Date.UTC(2026, 10) - 1)).toBe("s");
    expect(nameAt(Date.UTC(2026, 11))).toBe("s");
  });

  it("keeps the whole tables for ids of several months, of no known month, for no id, and for a statement without a key", async () => {
    const { names } = await namesOf([month(2026, 11), month(2026, 12)]);
    const [november, december, later] = [idAt(2026, 10, 5), idAt(2026, 11, 5), idAt(2027, 0, 5)];
    expect(names.resolve(statement, ["x", [november, november]]).name).toBe("s_2026_11");
    for (const key of [[november, december], [december, november], later, [], [later, november]]) {
      expect(names.resolve(statement, ["x", key])).toBe(statement);
    }
    const unkeyed = { name: "u", text: "SELECT FROM session" };
    expect(names.resolve(unkeyed, ["x", november])).toBe(unkeyed);
  });

  it("keeps the whole tables while the names cannot be read, and does not ask again at once", async () => {
    const { names, asked } = await namesOf(new Error("down"), [month(2026, 11)]);
    expect(names.resolve(statement, ["x", idAt(2026, 10, 5)])).toBe(statement);
    expect(names.resolve(statement, ["x", idAt(2026, 10, 5)])).toBe(statement);
    expect(asked()).toBe(1);
  });

  it("asks again after a minute for a month that it does not know", async () => {
    let nowMs = 0;
    const source = { query: async () => (nowMs === 0 ? [] : [month(2026, 11)]) } as unknown as Queryable;
    const names = new PartitionNames(source, () => nowMs);
    await names.load();
    const nameNow = () => names.resolve(statement, ["x", idAt(2026, 10, 5)]).name;
    nowMs = 60_000;
    expect(nameNow()).toBe("s");
    await Promise.resolve();
    expect(nameNow()).toBe("s");
    nowMs = 60_001;
    nameNow();
    await new Promise(setImmediate);
    expect(nameNow()).toBe("s_2026_11");
  });
});
