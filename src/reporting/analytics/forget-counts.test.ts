import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { forgetCounts } from "./count-settled.ts";

it("forgets the counts of every table of analytics, so that none is counted twice", () => {
  const schema = readFileSync(new URL("../../migrations/environment/analytics.sql", import.meta.url), "utf8");
  const tables = [...schema.matchAll(/^CREATE TABLE (analytics_\w+)/gm)].map(([, table]) => table!);
  const forgotten = [...forgetCounts.matchAll(/DELETE FROM (\w+);/g)].map(([, table]) => table!);
  expect(forgotten.toSorted()).toEqual(tables.filter((table) => table !== "analytics_walk").toSorted());
});
