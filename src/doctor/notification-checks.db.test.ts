import { expect, it } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Secret } from "../platform/secrets.ts";
import { openExamined } from "./database-checks.ts";
import { examineNotifications } from "./notification-checks.ts";

it("examineNotifications() receives signals of the default address, and reports one that leads to another database", async () => {
  const databases = await Promise.all([createTestDatabase("vault"), createTestDatabase("vault")]);
  const [direct, pooled, elsewhere] = [databases[0], databases[0], databases[1]].map(({ url }) =>
    openExamined(new Secret(url)),
  );
  const named = { area: "direct test", variable: "SWITCHYARD_TEST_DATABASE_DIRECT_URL" };
  const heard = await examineNotifications(named, { direct: direct!, pooled: pooled! });
  const unheard = await examineNotifications(named, { direct: direct!, pooled: elsewhere! }, 200);
  await Promise.all([direct, pooled, elsewhere].map((pool) => pool?.end()));
  await Promise.all(databases.map((database) => database.drop()));
  expect(heard).toMatchObject({ state: "OK" });
  expect(unheard).toMatchObject({ state: "PROBLEM", remedy: expect.stringContaining(named.variable) });
});
