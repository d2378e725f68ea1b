import { expect, it } from "vitest";
import { changesOf } from "./columns.ts";

it("writes columns, and half a surrogate pair as the text that PostgreSQL's jsonb takes", () => {
  const half = "no\ud83d";
  expect(changesOf({ failureCode: half, amountMinor: 5, endedAt: null })).toBe(
    '{"failure_code":"no\ufffd","amount_minor":5,"ended_at":null}',
  );
});
