/** Refunds whose rows, credentials or answers change while something is on its way. */
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Core } from "../core/core.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { refundableMinor } from "../core/rows/payment.ts";
import { replaced, withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { recordVerified, stageCredentials } from "../gateways/connections.ts";
import type { GatewayRefunds } from "../gateways/connector.ts";
import { decideRefund } from "./decide-refund.ts";
import { startRefundFixture } from "./refunds.fixture.ts";
import { type RefundRequest, requestRefund } from "./request-refund.ts";

const fixture = await forFile(startRefundFixture);
afterEach(() => fixture.base.setClockAhead(0));

describe("two requests at one moment", () => {
  /** Sends both while the session is locked, and lets them go on once both wait. */
  async function atOnce(session: PaymentSession, requests: readonly Partial<RefundRequest>[]) {
    const { id: sessionId, merchantId } = session;
    const client = await fixture.base.asOwner.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("SELECT FROM payment_session WHERE id = $1 FOR UPDATE", [sessionId]);
      const asked = Promise.allSettled(
        requests.map((request) => requestRefund(fixture.core, { sessionId, merchantId, key: "one", ...request })),
      );
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";
      // Not on the locking connection: within its transaction, PostgreSQL shows the same activity again.
      const { pool } = fixture.base.asOwner;
      await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(requests.length);
      await client.query("COMMIT");
      return await asked;
    } finally {
      await client.query("ROLLBACK");
      client.release();
    }
  }

  it("that fit only alone are one refund, and a refusal with its code", async () => {
    const session = await fixture.pay();
    const results = await atOnce(session, [{ key: "one" }, { key: "other" }]);
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "amount_exceeds_refundable" } }]);
    expect(await fixture.refundsOf(session)).toHaveLength(1);
  });

  it("under one key are the same refund", async () => {
    const session = await fixture.pay();
    const results = await atOnce(session, [{ amountMinor: 100 }, { amountMinor: 100 }]);
    const answers = results.map((result) => (result.status === "fulfilled" ? result.value.replayed : result.reason));
    expect(answers.toSorted()).toEqual([false, true]);
    expect(await fixture.refundsOf(session)).toHaveLength(1);
  });
});

describe("a refund that its gateway has taken on and not made", () => {
  it("counts as refunded, whole or in part", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("accept");
    expect(await fixture.refund(session, { amountMinor: 4_000 })).toMatchObject({ status: "PENDING" });
    const tooMuch = { code: "amount_exceeds_refundable" };
    await expect(fixture.refund(session, { amountMinor: 901 })).rejects.toMatchObject(tooMuch);
    expect(refundableMinor(await fixture.base.loadSession(session))).toBe(900);
    expect(await fixture.refund(session)).toMatchObject({ status: "SUCCEEDED", amountMinor: 900 });
  });
});

describe("credentials that are rotated after the capture", () => {
  it("make, repeat and look up its refunds", async () => {
    const session = await fixture.pay();
    const { attempts } = await fixture.base.loadSession(session);
    const { connectionId, credentialVersion: first } = attempts[0]!;
    const used: number[] = [];
    const core: Core = {
      ...fixture.core,
      bind: (...given) => {
        used.push(given[2]);
        return fixture.core.bind(...given);
      },
    };
    const rotate = () =>
      fixture.core.database.transaction(async (tx) => {
        const apiKey = `sandbox_test_${fixture.base.owner.merchantId}`;
        const credentials = { apiKey, merchantAccount: apiKey.slice(8), notificationHmacKey: "0F".repeat(32) };
        const version = await stageCredentials(tx, core.sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion: version });
        return version;
      });
    const second = await rotate();
    expect(second).toBeGreaterThan(first);
    fixture.books.SANDBOX_A.faults.push("loseAnswer");
    const { id: sessionId, merchantId } = session;
    await requestRefund(core, { sessionId, merchantId, key: "rotated" });
    expect(used).toEqual([second]);
    const third = await rotate();
    await fixture.base.setClockAhead(1);
    await fixture.work(core);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", sends: 2 }]);
    await fixture.base.setClockAhead(2 * 24 * 60);
    await fixture.work(core);
    // Refunds of other payments are read with them as well.
    expect(used.slice(1).filter((version) => version !== third)).toEqual([]);
    expect(used.length).toBeGreaterThan(2);
  });
});

describe("a look-up that another process overtakes", () => {
  /** Returns a core whose next look-up of a refund waits before it answers. */
  function lookingSlowly(begun: () => void, until: Promise<unknown>): Core {
    return withAnswers(fixture.core, ({ refunds: books }) => {
      const lookUpRefund: GatewayRefunds["lookUpRefund"] = async (...given) => {
        const answer = await books!.lookUpRefund(...given);
        begun();
        await until;
        return answer;
      };
      return { refunds: replaced(books!, { lookUpRefund }) };
    });
  }

  it("says nothing about the request that was sent since, although it found none", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("keepError", "loseRequest");
    await fixture.refund(session);
    await fixture.base.setClockAhead(2);
    const begun = Promise.withResolvers<void>();
    const overtaken = Promise.withResolvers<void>();
    const looking = fixture.work(lookingSlowly(begun.resolve, overtaken.promise));
    await begun.promise;
    // Past the lease of the one that looks: another process finds nothing, and sends the second key.
    await fixture.workAfter(3);
    const [sent] = await fixture.refundsOf(session);
    expect(sent).toMatchObject({ sends: 2, keys: 2, absentAt: null });
    overtaken.resolve();
    await looking;
    const [refund] = await fixture.refundsOf(session);
    expect(refund).toMatchObject({ status: "REQUESTED", keys: 2, absentAt: null });
    // It is looked at again once an absence proves something about that request.
    expect(refund!.nextTryAt!.getTime() - sent!.sentAt!.getTime()).toBeGreaterThan(59 * 60_000);
  });
});

describe("a person's word about a refund", () => {
  const decide = (session: PaymentSession, decision: { id: string } & Word) => {
    const { id: sessionId, merchantId } = session;
    const by = { sessionId, merchantId, by: "ada", reason: "seen at the gateway" };
    return fixture.core.database.transaction((tx) => decideRefund(tx, { ...by, ...decision }));
  };
  type Word = { type: "send" } | { type: "succeeded"; gatewayReference: string };

  it("cannot name another reference than the gateway has reported", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("accept");
    const { id, gatewayReference } = await fixture.refund(session);
    const other = decide(session, { id, type: "succeeded", gatewayReference: "psp-other" });
    await expect(other).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, { id, type: "succeeded", gatewayReference: gatewayReference! });
    await fixture.work();
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", gatewayReference }]);
  });

  it("that no other one is missing is worth nothing after another restore", async () => {
    const restore = () => fixture.base.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock()");
    onTestFinished(async () => {
      await fixture.base.asOwner.pool.query("UPDATE replica_mark SET restored_at = NULL");
    });
    const session = await fixture.pay("SANDBOX_B");
    await restore();
    const { id } = await fixture.refund(session);
    await decide(session, { id, type: "send" });
    await restore();
    // The gateway may have forgotten the key under which it was sent before this restore.
    await fixture.workAfter(13 * 60);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 0 }]);
  });
});
