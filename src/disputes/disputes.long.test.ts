/** D2 by a thousand pairs at one moment: a refund and a dispute, and a refund and an acceptance. */
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { sha256 } from "../platform/secrets.ts";
import { startRefundFixture } from "../refunds/refunds.fixture.ts";
import { dispute, racePairs } from "./disputes.fixture.ts";
import { recordResponse } from "./respond.ts";

const fixture = await forFile(startRefundFixture);
const { core } = fixture;

it("D2: sends no refund of what a dispute holds, and loses no dispute, in 1 000 pairs at one moment", async () => {
  const { disputes, sentAfter, unnamed, refunds, refusals } = await racePairs(fixture, 1_000);
  expect({ disputes, sentAfter, unnamed }).toEqual({ disputes: 1_000, sentAfter: 0, unnamed: 0 });
  expect(refunds + refusals.length).toBe(1_000);
  expect(new Set(refusals)).toEqual(new Set(["payment_disputed"]));
});

it("D2: records an acceptance of an inquiry or a refund of its payment, in 1 000 pairs at one moment", async () => {
  const request = { type: "ACCEPT" } as const;
  const prepared = { request, requestHash: sha256(JSON.stringify(request)), documents: [] };
  const pairs = [];
  for (let pair = 0; pair < 1_000; pair++) {
    const session = await fixture.pay();
    pairs.push({ session, inquiry: await dispute(core, session, { event: "inquiryOpened" }) });
  }
  const results = await Promise.all(
    pairs.map(({ session, inquiry: { merchantId, sessionId, id } }, place) => {
      const name = { merchantId, sessionId, id };
      const accept = () =>
        core.database.transaction((tx) => recordResponse(tx, core, name, { prepared, isTaken: false }));
      const race = [accept, () => fixture.refund(session)];
      return Promise.allSettled((place % 2 === 0 ? race : race.toReversed()).map((start) => start()));
    }),
  );
  const made = results.map((pair) => pair.filter(({ status }) => status === "fulfilled").length);
  expect(new Set(made)).toEqual(new Set([1]));
  const refusals = results.flat().flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
  expect(new Set(refusals)).toEqual(new Set(["payment_disputed", "payment_refunded"]));
});
