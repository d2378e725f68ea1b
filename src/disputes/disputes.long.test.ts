/** D2 by a thousand pairs of a refund and a dispute at one moment. */
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { startRefundFixture } from "../refunds/refunds.fixture.ts";
import { racePairs } from "./disputes.fixture.ts";

const fixture = await forFile(startRefundFixture);

it("D2: sends no refund of what a dispute holds, and loses no dispute, in 1 000 pairs at one moment", async () => {
  const { disputes, sentAfter, unnamed, refunds, refusals } = await racePairs(fixture, 1_000);
  expect({ disputes, sentAfter, unnamed }).toEqual({ disputes: 1_000, sentAfter: 0, unnamed: 0 });
  expect(refunds + refusals.length).toBe(1_000);
  expect(new Set(refusals)).toEqual(new Set(["payment_disputed"]));
});
