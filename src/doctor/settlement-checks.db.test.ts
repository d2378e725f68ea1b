import { beforeEach, expect, it } from "vitest";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { readStatementsOnce } from "../settlement/statement-feed.ts";
import { examineDisputes } from "./dispute-checks.ts";
import { examineSettlement } from "./settlement-checks.ts";

const fixture = await forFile(startCoreFixture);
const { database } = fixture.core;
const change = (text: string) => fixture.asOwner.query({ name: text, text }, []);
const found = async () => (await examineSettlement("test", database)).map(({ state, says }) => [state, says]);
beforeEach(() => change("DELETE FROM gateway_feed"));

it("says nothing where no account is read, and OK where all are", async () => {
  expect(await found()).toEqual([]);
  while (await readStatementsOnce(fixture.core));
  expect(await found()).toEqual([["OK", "the payouts of 2 account(s) are read"]]);
  expect(await examineDisputes("test", database)).toEqual([]);
});

it("names an account whose gateway refuses, and counts those that are not read", async () => {
  while (await readStatementsOnce(fixture.core));
  await change(
    "UPDATE gateway_feed SET blocked_reason = 'the report is encrypted', blocked_at = app.clock() WHERE connection_id = (SELECT id FROM connection WHERE gateway = 'SANDBOX_B' LIMIT 1)",
  );
  expect(await found()).toMatchObject([
    ["WARNING", expect.stringMatching(/SANDBOX_B .* gc_\w+ .*the report is encrypted/)],
  ]);
  await change(
    "UPDATE gateway_feed SET blocked_reason = NULL, blocked_at = NULL, read_at = NULL, next_read_at = app.clock() - interval '5 hours'",
  );
  expect(await found()).toMatchObject([["PROBLEM", expect.stringContaining("2 account(s) have not been read")]]);
});
