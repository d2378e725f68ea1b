import { beforeEach, expect, it } from "vitest";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { examineDisputes } from "./dispute-checks.ts";

const fixture = await forFile(startCoreFixture);
const { database } = fixture.core;
const change = (text: string) => fixture.asOwner.query({ name: text, text }, []);
const found = async () => (await examineDisputes("test", database)).map(({ state, says }) => [state, says]);
beforeEach(() => change("DELETE FROM gateway_feed"));

it("says nothing where no account is read, and OK where all are", async () => {
  expect(await found()).toEqual([]);
  while (await readFeedOnce(fixture.core));
  expect(await found()).toEqual([["OK", "the disputes of 1 account(s) are read, and no answer to one waits"]]);
});

it("names an account whose gateway refuses, and counts those that are not read", async () => {
  while (await readFeedOnce(fixture.core));
  await change("UPDATE gateway_feed SET blocked_reason = 'the key is not valid', blocked_at = app.clock()");
  expect(await found()).toMatchObject([
    ["WARNING", expect.stringMatching(/SANDBOX_A .* gc_\w+ .*the key is not valid/)],
  ]);
  await change(
    "UPDATE gateway_feed SET blocked_reason = NULL, blocked_at = NULL, read_at = NULL, next_read_at = app.clock() - interval '2 hours'",
  );
  expect(await found()).toMatchObject([["PROBLEM", expect.stringContaining("not been read")]]);
});
