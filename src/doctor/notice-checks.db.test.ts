import { expect, it } from "vitest";
import { Secret } from "../platform/secrets.ts";
import { createTestDatabase } from "../testing/postgres.ts";
import { openExamined } from "./database-checks.ts";
import { examineNotices } from "./notice-checks.ts";

it("examineNotices() hears what is sent by the usual address, and says so where that leads to another database", async () => {
  const databases = await Promise.all([createTestDatabase("vault"), createTestDatabase("vault")]);
  const [direct, usual, elsewhere] = [databases[0], databases[0], databases[1]].map(({ url }) =>
    openExamined(new Secret(url)),
  );
  const named = { area: "direct test", variable: "SWITCHYARD_TEST_DATABASE_DIRECT_URL" };
  const heard = await examineNotices(named, { direct: direct!, usual: usual! });
  const unheard = await examineNotices(named, { direct: direct!, usual: elsewhere! }, 200);
  await Promise.all([direct, usual, elsewhere].map((pool) => pool?.end()));
  await Promise.all(databases.map((database) => database.drop()));
  expect(heard).toMatchObject({ state: "OK" });
  expect(unheard).toMatchObject({ state: "PROBLEM", remedy: expect.stringContaining(named.variable) });
});
