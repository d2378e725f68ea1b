/** Tests the payment flow with a provider of authentication: SANDBOX_3DS, and both sandbox gateways. */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { leaseMs } from "../../limits.ts";
import type { Database } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { sweepOldRowsOnce } from "../../retention/sweep-old-rows.ts";
import type { Core } from "../core.ts";
import { findBankMessage } from "../customer-actions.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce, submitPayment } from "../submit-payment.ts";
import { shopper, startProvided } from "./authentication.fixture.ts";
import { replaced } from "./recovery.fixture.ts";

const soft = "SANDBOX_A DECLINED";
const again = "SANDBOX_A CAPTURED again";

describe("a payment with a provider, as needed", async () => {
  const flow = await forFile(startProvided);

  const proofs = async ({ id }: PaymentSession) => {
    const text = "SELECT count(*)::int AS count FROM authentication WHERE session_id = $1 AND proof_sealed IS NOT NULL";
    return (await flow.base.core.database.query<{ count: number }>({ name: "proofs", text }, [id]))[0]!.count;
  };

  it("gets a soft-declined card authenticated without its customer", async () => {
    const session = await flow.payWith("4000000000003055");
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: [soft, again],
      authentications: ["AUTHENTICATED"],
    });
    const { attempts, authentications, session: settled } = await flow.base.loadSession(session);
    expect(authentications[0]).toMatchObject({
      provider: "SANDBOX_3DS",
      flow: "FRICTIONLESS",
      transStatus: "Y",
      eci: "05",
      liability: "ISSUER",
      attemptId: null,
    });
    expect(attempts[1]).toMatchObject({
      authenticationId: authentications[0]!.id,
      because: "SANDBOX_3DS has authenticated the customer. It gets the proof of SANDBOX_3DS.",
    });
    expect(settled.awaitingSince).toBeNull();
    expect(await proofs(session)).toBe(0);
  });

  it("asks the customer once, after the device check, and takes the same proof to the next gateway", async () => {
    await flow.base.sandbox.setDirectory("4000008400001629", { method: "done", answer: "challenge" });
    const session = await flow.payWith("4000008400001629");
    expect((await flow.story(session)).authentications).toEqual(["METHOD"]);
    await flow.showProvided(session);
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: [soft, "SANDBOX_A DECLINED again", "SANDBOX_B CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
    const { attempts, authentications } = await flow.base.loadSession(session);
    expect(attempts.map(({ authenticationId }) => authenticationId)).toEqual([
      null,
      authentications[0]!.id,
      authentications[0]!.id,
    ]);
    expect(authentications[0]).toMatchObject({ flow: "CHALLENGE", shownCount: 1 });
    expect(await proofs(session)).toBe(0);
  });

  it.each([
    ["the wrong code", "fail", "FAILED"],
    ["Cancel at the bank", "cancel", "CANCELLED"],
  ] as const)("ends with %s, and asks no further gateway", async (_, answer, status) => {
    const session = await flow.payWith("4000002760003184");
    await flow.showProvided(session, answer);
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: [soft],
      authentications: [status],
    });
  });

  it("ends when the customer cancels in the widget, also if the bank then says yes", async () => {
    const session = await flow.payWith("4000002760003184");
    await flow.cancel(session);
    expect(await flow.story(session)).toMatchObject({
      end: "DECLINED authentication_failed",
      authentications: ["CANCELLED"],
    });
  });

  it.each([
    ["4000000000007007", "N", "FAILED"],
    ["4000000000007015", "R", "REJECTED"],
  ])("ends with the bank's refusal: %s, %s", async (card, transStatus, status) => {
    const session = await flow.payWith(card);
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: [soft],
      authentications: [status],
    });
    expect((await flow.base.loadSession(session)).authentications[0]).toMatchObject({ transStatus });
  });

  it("goes on with an attempt that counts", async () => {
    const session = await flow.payWith("4000000000007023");
    expect(await flow.story(session)).toMatchObject({ end: "SUCCEEDED SANDBOX_A", authentications: ["ATTEMPTED"] });
    expect((await flow.base.loadSession(session)).authentications[0]).toMatchObject({
      eci: "06",
      liability: "UNKNOWN",
    });
  });

  it("lets the gateway authenticate itself where the provider does not know the card", async () => {
    const session = await flow.payWith("4000000000007106");
    expect(await flow.story(session)).toMatchObject({ authentications: ["UNAVAILABLE", "AWAITING_CUSTOMER"] });
    await flow.answerAndReturn(session, "pass");
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: [soft, again],
      authentications: ["UNAVAILABLE", "AUTHENTICATED"],
    });
  });

  it("declines where the directory is down and the gateway asks again", async () => {
    const session = await flow.payWith("4000008400001280");
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: [soft, "SANDBOX_A DECLINED again"],
      authentications: ["UNAVAILABLE"],
    });
  });

  it("ends where a gateway refuses the proof as well", async () => {
    const session = await flow.payWith("4000000000007098");
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: [soft, "SANDBOX_A DECLINED again"],
      authentications: ["AUTHENTICATED"],
    });
    expect(await proofs(session)).toBe(0);
  });

  it("finds the result where the return was lost, at the next look", async () => {
    const session = await flow.payWith("4000000000007056");
    await flow.showProvided(session);
    expect(await flow.story(session)).toMatchObject({ authentications: ["AWAITING_CUSTOMER"] });
    await flow.base.after(1, () => flow.recover());
    expect(await flow.story(session)).toMatchObject({ end: "SUCCEEDED SANDBOX_A", authentications: ["AUTHENTICATED"] });
  });

  it("asks the bank without the device check ten seconds after the page has shown it", async () => {
    const session = await flow.payWith("4000000000007031");
    await flow.base.setClockAhead(0.9);
    await flow.recover();
    expect((await flow.story(session)).authentications).toEqual(["METHOD"]);
    await flow.base.setClockAhead(0);
    await flow.showProvided(session);
    await flow.base.setClockAhead(1);
    await flow.recover();
    expect((await flow.story(session)).authentications).toEqual(["AWAITING_CUSTOMER"]);
    await flow.showProvided(session);
    await flow.base.setClockAhead(0);
    expect(await flow.story(session)).toMatchObject({ end: "SUCCEEDED SANDBOX_A" });
  });

  it("asks the bank without the device check a minute after it began, where no page has shown it", async () => {
    const session = await flow.payWith("4000000000007031");
    await flow.base.after(1.1, () => flow.recover());
    expect((await flow.story(session)).authentications).toEqual(["AWAITING_CUSTOMER"]);
  });

  it("looks at most twice where the customer returns forty times", async () => {
    const session = await flow.payWith("4000000000007064");
    await flow.showProvided(session);
    expect(await flow.story(session)).toMatchObject({ authentications: ["AWAITING_CUSTOMER"] });
    const before = (await flow.base.sandbox.requests())["3ds.postauth"] ?? 0;
    const { authentications } = await flow.base.loadSession(session);
    const { id } = authentications[0]!;
    const url = new URL(flow.base.core.returnUrlOf({ sessionId: session.id, id, isProvided: true }));
    await Promise.all(Array.from({ length: 40 }, () => flow.comeBack(url)));
    const looks = ((await flow.base.sandbox.requests())["3ds.postauth"] ?? 0) - before;
    expect(looks).toBeLessThanOrEqual(2);
    expect(looks).toBeGreaterThan(0);
  });

  it("ends within a minute after the deadline where every look fails", async () => {
    const session = await flow.payWith("4000000000007064");
    await flow.showProvided(session);
    const broken = { name: "break_keep", text: "UPDATE authentication SET keep_sealed = 'x' WHERE session_id = $1" };
    await flow.base.asOwner.query(broken, [session.id]);
    await flow.base.setClockAhead(10.5);
    await flow.recover();
    expect(await flow.story(session)).toMatchObject({ end: "CREATED", authentications: ["AWAITING_CUSTOMER"] });
    await flow.base.after(11.5, () => flow.recover());
    expect(await flow.story(session)).toMatchObject({
      end: "DECLINED authentication_failed",
      authentications: ["ABANDONED"],
    });
  });

  it("ends by the deadline where the customer does not answer", async () => {
    const session = await flow.payWith("4000000000007064");
    await flow.showProvided(session);
    await flow.base.after(11, () => flow.recover());
    expect(await flow.story(session)).toMatchObject({
      end: "DECLINED authentication_failed",
      authentications: ["ABANDONED"],
    });
  });

  it("seals the bank's message, has it for the page with the challenge and after the end, and deletes it a day later", async () => {
    const { core, asOwner } = flow.base;
    const message = "Please call us at +44 20 7946 0123.";
    const saved = async ({ id }: PaymentSession) => {
      const text = "SELECT message_sealed AS sealed FROM authentication WHERE session_id = $1";
      return (await asOwner.query<{ sealed: string | null }>({ name: "message", text }, [id]))[0]!.sealed;
    };
    const found = async (session: PaymentSession) =>
      findBankMessage(core, (await flow.base.loadSession(session)).session);
    await flow.base.sandbox.setDirectory("4000002760003184", { answer: "challenge", message });
    const challenged = await flow.payWith("4000002760003184");
    expect(await found(challenged)).toBe(message);
    await flow.showProvided(challenged, "fail");
    expect(await found(challenged)).toBe(message);
    const cancelled = await flow.payWith("4000002760003184");
    await flow.cancel(cancelled);
    expect([await found(cancelled), await saved(cancelled)]).toEqual([undefined, null]);
    await flow.base.sandbox.setDirectory("4000000000003055", { answer: "Y", message });
    const passed = await flow.payWith("4000000000003055");
    await flow.base.sandbox.setDirectory("4000000000003055", { answer: "Y" });
    await flow.base.sandbox.setDirectory("4000002760003184", { answer: "challenge" });
    expect(await flow.story(passed)).toMatchObject({ end: "SUCCEEDED SANDBOX_A" });
    expect(await found(passed)).toBe(message);
    expect(await saved(passed)).not.toContain("call");

    await flow.base.setClockAhead(24 * 60 - 1);
    await sweepOldRowsOnce(core.database);
    expect(await found(passed)).toBe(message);
    await flow.base.after(24 * 60 + 1, () => sweepOldRowsOnce(core.database));
    expect([await saved(challenged), await saved(passed), await found(passed)]).toEqual([null, null, undefined]);
  });

  it("asks no provider from a page that cannot show the bank's", async () => {
    flow.base.useCard("4000000000003055");
    const session = await flow.base.newSession();
    await flow.base.submit(session, "4000000000003055");
    await flow.settled();
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_required",
      attempts: [soft],
      authentications: [],
    });
  });

  it("never sends a request twice: the result of one that was left behind is asked for once", async () => {
    const before = await flow.base.sandbox.requests();
    await flow.base.sandbox.hold("3ds.auth");
    const paying = flow.payWith("4000000000003055");
    await flow.base.sandbox.paused({ operation: "3ds.auth" });
    const [{ id } = { id: "" }] = await flow.base.asOwner.query<{ id: string }>(
      { name: "requesting", text: "SELECT session_id AS id FROM authentication WHERE status = 'REQUESTING'" },
      [],
    );
    await flow.base.lapseLease({ id });
    await recoverSessionsOnce(flow.base.core);
    await flow.base.sandbox.release();
    const session = await paying;
    expect(await flow.story(session)).toMatchObject({ end: "SUCCEEDED SANDBOX_A", authentications: ["AUTHENTICATED"] });
    const after = await flow.base.sandbox.requests();
    const sent = (operation: string) => (after[operation] ?? 0) - (before[operation] ?? 0);
    expect([sent("3ds.auth"), sent("3ds.postauth")]).toEqual([1, 1]);
    expect(encodeId("ps", id)).toBe(encodeId("ps", session.id));
  });

  it("sends no request from a process that was stopped for longer than its lease", async () => {
    const { base } = flow;
    const before = await base.sandbox.requests();
    const page = new AbortController();
    let [bound, stoppedMs] = [0, 0];
    const core: Core = {
      ...base.core,
      runtime: { ...base.core.runtime, now: () => new Date(Date.now() + stoppedMs) },
      bindProvider: async (...connection) => {
        // The first call prepares; the second is the last await before the request is sent.
        if (++bound === 2) {
          stoppedMs = leaseMs;
          page.abort();
        }
        return base.core.bindProvider(...connection);
      },
    };
    base.useCard("4000000000003055");
    const session = await base.newSession();
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: page.signal, shopper });
    await flow.settled(core);
    expect(await base.loadSession(session)).toMatchObject({
      session: { status: "CREATED" },
      authentications: [{ status: "REQUESTING" }],
    });
    await base.lapseLease(session);
    await recoverSessionsOnce(base.core);
    await flow.settled();
    const after = await base.sandbox.requests();
    const sent = (operation: string) => (after[operation] ?? 0) - (before[operation] ?? 0);
    expect([bound, sent("3ds.auth"), sent("3ds.postauth")]).toEqual([2, 0, 1]);
  });
});

describe("a payment with a provider, always", async () => {
  const flow = await forFile(() => startProvided({ authentication: "ALWAYS", ownOnly: true }));

  it("is left to the process that took it over while the claim was read back", async () => {
    const { base } = flow;
    const asked = async () => Object.entries(await base.sandbox.requests()).filter(([name]) => name.startsWith("3ds"));
    const before = await asked();
    base.useCard("4000000000003055");
    const session = await base.newSession();
    const { database } = base.core;
    let takenOver = 0;
    const query: Database["query"] = async (statement, values) => {
      if (statement.name === "select_whole_session" && ++takenOver === 1)
        await base.asOwner.pool.query("UPDATE payment_session SET lease_epoch = lease_epoch + 1 WHERE id = $1", [
          session.id,
        ]);
      return database.query(statement, values);
    };
    const core: Core = { ...base.core, database: replaced(database, { query }) };
    const signal = AbortSignal.abort();
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal, shopper });
    await flow.settled(core);
    expect(takenOver).toBeGreaterThan(0);
    expect(await base.loadSession(session)).toMatchObject({
      session: { status: "CREATED", leaseEpoch: 2 },
      authentications: [{ status: "PREPARING" }],
    });
    expect(await asked()).toEqual(before);
    await base.lapseLease(session);
    await recoverSessionsOnce(base.core);
    await flow.settled();
    expect((await flow.story(session)).authentications).toEqual(["AUTHENTICATED"]);
  });

  it("is authenticated before its first attempt", async () => {
    const session = await flow.payWith("4000000000003055");
    expect(await flow.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_A",
      attempts: ["SANDBOX_A CAPTURED"],
      authentications: ["AUTHENTICATED"],
    });
  });

  it("ends without any attempt where the bank refuses", async () => {
    const session = await flow.payWith("4000000000007007");
    expect(await flow.story(session)).toEqual({
      end: "DECLINED authentication_failed",
      attempts: [],
      authentications: ["FAILED"],
    });
  });

  it("says why the next gateway gets no proof, and lets it authenticate itself", async () => {
    const session = await flow.payWith("4000008400001629");
    await flow.showProvided(session);
    const { attempts } = await flow.base.loadSession(session);
    expect(attempts.at(-1)).toMatchObject({ gateway: "SANDBOX_B", authenticationId: null });
    expect(attempts.at(-1)!.because).toContain(
      "It gets no proof: its acquirer accepts only an authentication with its own data.",
    );
    await flow.answerAndReturn(session, "pass");
    expect(await flow.story(session)).toMatchObject({
      end: "SUCCEEDED SANDBOX_B",
      authentications: ["AUTHENTICATED", "AUTHENTICATED"],
    });
  });
});
