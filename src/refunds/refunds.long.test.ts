/** Tests refunds in numbers: pairs that fit only alone, and processes that die in the middle of one. */
import { describe, expect, it } from "vitest";
import type { Core } from "../core/core.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { replaced, withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { GatewayRefunds } from "../gateways/connector.ts";
import { startRefundFixture } from "./refunds.fixture.ts";
import { requestRefund } from "./request-refund.ts";

const fixture = await forFile(startRefundFixture);

const refundedAt = async (session: PaymentSession) => {
  const { reference, books } = await fixture.paymentOf(session);
  return books.of(reference).map(({ amountMinor }) => amountMinor);
};

describe("refunds in numbers", () => {
  it("lets exactly one of each of 1,000 concurrent pairs through that fit only alone", async () => {
    let wrong = 0;
    for (let turn = 0; turn < 1_000; turn++) {
      const session = await fixture.pay();
      const both = [3_000, 2_000].map((amountMinor) => fixture.refund(session, { amountMinor }));
      const settled = await Promise.allSettled(both);
      const made = await refundedAt(session);
      if (settled.filter(({ status }) => status === "fulfilled").length !== 1 || made.length !== 1) wrong++;
    }
    expect(wrong).toBe(0);
  }, 1_800_000);

  it("makes each of 200 refunds once whose process dies before, during or after the gateway's call", async () => {
    const never = new Promise<never>(() => {});
    const dying = (point: number): Core => {
      const own = fixture.books.SANDBOX_A;
      const refund: GatewayRefunds["refund"] = async (...asked) => {
        if (point > 1) await own.refund(...asked);
        return never;
      };
      const list: GatewayRefunds["listRefunds"] = async (...asked) =>
        point === 0 ? never : own.listRefunds!(...asked);
      return withAnswers(fixture.core, { refunds: replaced(own, { refund, listRefunds: list }) });
    };
    const sessions: PaymentSession[] = [];
    for (let turn = 0; turn < 200; turn++) {
      const session = await fixture.pay();
      const { id: sessionId, merchantId } = session;
      void requestRefund(dying(turn % 3), { sessionId, merchantId, key: "return", amountMinor: 1_000 });
      await expect.poll(async () => (await fixture.refundsOf(session)).length).toBe(1);
      sessions.push(session);
    }
    await fixture.workAfter(1);
    await fixture.workAfter(2);
    const ends = await Promise.all(
      sessions.map(async (session) => [(await fixture.refundsOf(session))[0]?.status, ...(await refundedAt(session))]),
    );
    expect(ends.filter(([status, ...made]) => status !== "SUCCEEDED" || made.length !== 1)).toEqual([]);
  }, 600_000);
});
