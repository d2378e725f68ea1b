/** Tests payments that are captured later in numbers: orders at one moment, processes that die, and holds past their time. */
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { cancelSession, captureHeld } from "./capture-later.ts";
import type { PaymentSession } from "./rows/entities.ts";
import { cards, startCoreFixture } from "./scenarios/core.fixture.ts";
import { withAnswers } from "./scenarios/recovery.fixture.ts";
import { recoverSessionsOnce } from "./submit-payment.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([], [fixture.connectionIds[0]!]);
afterEach(() => fixture.setClockAhead(0));

const hold = async (): Promise<PaymentSession> =>
  fixture.submit(await fixture.newSession({ capture: "manual" }), cards.approved);
const named = ({ id: sessionId, merchantId }: PaymentSession) => ({ sessionId, merchantId });
const signal = new AbortController().signal;
const settled = () => Promise.all(fixture.core.inFlight);

/** Returns the session's status with the states and captured amounts of its authorizations. */
async function endOf(session: PaymentSession): Promise<string> {
  const { session: ended, attempts } = await fixture.loadSession(session);
  const found = await Promise.all(attempts.map(({ id }) => fixture.sandbox.authorizations(encodeId("att", id))));
  const kept = found.flat().map(({ status, capturedValue }) => (status === "captured" ? capturedValue : status));
  return [ended.status, ...kept].join(" ");
}

describe("captures later in numbers", () => {
  it("lets one of each of 1,000 captures and cancellations at one moment win", async () => {
    const ends: unknown[] = [];
    let captured = 0;
    for (let turn = 0; turn < 1_000; turn++) {
      const session = await hold();
      const orders = [
        () => captureHeld(fixture.core, { ...named(session), amountMinor: 1_000, signal }),
        () => cancelSession(fixture.core, named(session)),
      ];
      const both = turn % 2 === 0 ? orders : orders.toReversed();
      const given = await Promise.allSettled(both.map((order) => order()));
      await settled();
      const won = given.filter(({ status }) => status === "fulfilled").length;
      const end = await endOf(session);
      const isCaptured = end.startsWith("SUCCEEDED");
      captured += Number(isCaptured);
      const wanted = isCaptured ? "SUCCEEDED 1000" : "DECLINED voided";
      if (won !== 1 || end !== wanted) ends.push({ turn, won, end });
    }
    expect(ends).toEqual([]);
    // Both win: otherwise this would not test the race.
    expect(captured).toBeGreaterThan(50);
    expect(captured).toBeLessThan(950);
  }, 1_800_000);

  it("captures each of 200 payments once whose process dies before, during or after the gateway's call", async () => {
    const never = new Promise<never>(() => {});
    const sessions: PaymentSession[] = [];
    for (let turn = 0; turn < 200; turn++) {
      const session = await hold();
      const gone = new AbortController();
      const dying = withAnswers(fixture.core, {
        capture: async (...asked) => {
          const { connector } = (await fixture.core.bind(fixture.connectionIds[0]!, "SANDBOX_A", 1))!;
          if (turn % 2 === 0) await connector.capture(...asked);
          gone.abort();
          return never;
        },
      });
      await captureHeld(dying, { ...named(session), amountMinor: 900 + turn, signal: gone.signal });
      sessions.push(session);
    }
    await fixture.setClockAhead(2);
    while ((await recoverSessionsOnce(fixture.core)) > 0) await settled();
    for (const [turn, session] of sessions.entries()) expect(await endOf(session)).toBe(`SUCCEEDED ${900 + turn}`);
  }, 600_000);

  it("voids 1,000 holds within a minute of their end", async () => {
    const sessions: PaymentSession[] = [];
    for (let turn = 0; turn < 1_000; turn++) sessions.push(await hold());
    await settled();
    await fixture.setClockAhead(6.76 * 24 * 60);
    const startedAt = performance.now();
    while ((await recoverSessionsOnce(fixture.core)) > 0) await settled();
    const tookMs = performance.now() - startedAt;
    const ends = await Promise.all(sessions.map(endOf));
    expect(ends.filter((end) => end !== "DECLINED voided")).toEqual([]);
    expect(tookMs).toBeLessThan(60_000);
  }, 1_800_000);
});
