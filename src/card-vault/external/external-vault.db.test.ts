/** Payments through an external vault: an emulator by its published API, in its own process, before real gateways. */

import { afterEach, describe, expect, it } from "vitest";
import { createSession } from "../../core/create-session.ts";
import type { PaymentSession } from "../../core/rows/entities.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { number, SaasFixture } from "./external-vault.fixture.ts";

const fixture = await forFile(() => SaasFixture.start());
afterEach(() => fixture.calm());

describe("a payment over an external vault", () => {
  it("opens a session there, pays through its proxy, and shows the card summary that the vault returns", async () => {
    const { emulator } = fixture;
    const { vault } = await fixture.openSession();
    const { publishableKey, profileId, sdkUrl } = emulator.settings;
    expect(vault).toEqual({ mode: "saas", publishableKey, profileId, sdkUrl, sdkAuthorization: expect.any(String) });
    const { sessions } = await emulator.record();
    expect(sessions.at(-1)).toEqual({ storage_type: "volatile", expires_in: expect.any(Number) });
    // Half an hour, plus the longest budget of a page that submits at the last moment, and its customer's time.
    const { expires_in: expiresIn } = sessions.at(-1) as { expires_in: number };
    expect(Math.abs(expiresIn - 2_700)).toBeLessThan(10);

    const session = await fixture.pay([], "Ada Lovelace");
    expect(session).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      cardBrand: "visa",
      cardLast4: "4242",
      failover: false,
    });
    expect(session.skipped).toMatchObject([{ gateway: "SANDBOX_A", because: expect.stringContaining("form-encoded") }]);
    const { proxied } = await emulator.record();
    expect(proxied.at(-1)).toMatchObject({
      destination_url: `${fixture.base.sandbox.origin}/b/payments`,
      token_type: "volatile_payment_method_id",
      headers: { "idempotency-key": expect.stringMatching(/^att_/) },
      request_body: {
        paymentMethod: {
          number: "{{$card_number}}",
          expiryMonth: "{{$card_exp_month}}",
          expiryYear: "{{$card_exp_year}}",
          cvc: "{{$card_cvc}}",
          holderName: "{{$card_holder_name}}",
        },
      },
    });
  });

  it("fails over after a decline, and asks the second gateway without the security code that the vault discarded", async () => {
    const { sandbox } = fixture.base;
    await sandbox.setCard("B", number, { act: "decline", code: "23" });
    await sandbox.hold("b.authorize");
    const paying = fixture.pay();
    await sandbox.paused({ operation: "b.authorize" });
    await sandbox.setCard("B", number, { act: "approve" });
    await sandbox.release({});
    const session = await paying;
    expect(session).toMatchObject({ status: "SUCCEEDED", failover: true });
    expect(await fixture.attempts(session)).toMatchObject([
      { status: "DECLINED", failureKind: "HARD_DECLINE" },
      { status: "CAPTURED" },
    ]);
    const methods = (await fixture.emulator.record()).proxied
      .slice(-2)
      .map(({ request_body: body }) => (body as { paymentMethod: object }).paymentMethod);
    expect(methods.map((method) => "cvc" in method)).toEqual([true, false]);
    expect(await fixture.atGateways(session)).toEqual(["declined", "captured"]);
  });

  it("never captures a payment reported as failed to the customer, when the vault loses an answer", async () => {
    // SANDBOX_B reports its hold by a notification, but later.
    await fixture.base.sandbox.hold("b.notification");
    const session = await fixture.pay([{ operation: "proxy", moment: "after", effect: "cut" }]);
    expect(session).toMatchObject({ status: "DEGRADED", declineCode: "processing_unavailable" });
    expect(await fixture.attempts(session)).toMatchObject([
      { status: "VOIDING", failureKind: "GATEWAY_ERROR", nextBecause: expect.stringContaining("card vault") },
    ]);
    await fixture.base.sandbox.release({});
    const standing = async () => {
      await recoverSessionsOnce(fixture.core);
      return fixture.atGateways(session);
    };
    await expect.poll(standing, { timeout: 15_000 }).toEqual(["voided"]);
  });
});

describe("a token", () => {
  it("counts only in the session in which it was made", async () => {
    const { emulator } = fixture;
    const [own, other] = [await fixture.openSession(), await fixture.openSession()];
    const token = await emulator.tokenize(own.grant, number);
    const { proxied } = await emulator.record();
    const stolen = await fixture.submit(other.session, token);
    expect(stolen).toMatchObject({ status: "DEGRADED", cardLast4: null });
    expect(await fixture.attempts(other.session)).toMatchObject([
      { status: "FAILED", nextBecause: expect.stringContaining("no longer keeps this card") },
    ]);
    expect((await emulator.record()).proxied).toHaveLength(proxied.length);
    expect(await fixture.submit(own.session, token)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("no longer counts once its session has ended, nor if the other mode opened it", async () => {
    const rows = async ({ id }: Pick<PaymentSession, "id">) => {
      const text = "SELECT 1 FROM vault_session WHERE session_id = $1";
      return (await fixture.base.asOwner.query({ name: "vault_sessions", text }, [id])).length;
    };
    const { session, grant } = await fixture.openSession();
    expect(await rows(session)).toBe(1);
    const token = await fixture.emulator.tokenize(grant, number);
    await fixture.submit(session, token);
    await expect.poll(() => rows(session)).toBe(0);
    const { core, owner } = fixture.base;
    const { session: ours } = await createSession(core, owner, fixture.order());
    expect(await fixture.submit(ours, token)).toMatchObject({ status: "DEGRADED" });
  });

  it("leaves nothing of sessions that were never created", async () => {
    const { asOwner } = fixture.base;
    const lapse = "UPDATE vault_session SET expires_at = app.clock() - interval '1 ms'";
    const lapsed = async () => {
      const text = "SELECT count(*)::int AS rows FROM vault_session WHERE expires_at <= app.clock()";
      return (await asOwner.query<{ rows: number }>({ name: "lapsed_vault_sessions", text }, []))[0]!.rows;
    };
    for (const _ of [1, 2, 3]) await fixture.openSession();
    await asOwner.query({ name: "lapse_vault_sessions", text: lapse }, []);
    const before = await lapsed();
    expect(before).toBeGreaterThanOrEqual(3);
    await fixture.openSession();
    expect(await lapsed()).toBe(before - 2);
  });
});

describe("a repeated creation", () => {
  it("returns the first answer without asking the vault, also while it is down", async () => {
    const { core, base, emulator } = fixture;
    const [fields, key] = [fixture.order(), systemRuntime.uuid()];
    const first = await createSession(core, base.owner, fields, key);
    const { calls } = await emulator.record();
    await emulator.setFaults({ operation: "session", moment: "before", effect: "cut" });
    const again = await createSession(core, base.owner, fields, key);
    expect(again).toMatchObject({ replayed: true, vault: first.vault });
    expect((await emulator.record()).calls.session).toBe(calls.session);
  });

  it("makes one session when it arrives twice at once", async () => {
    const [fields, key] = [fixture.order(), systemRuntime.uuid()];
    const anotherProcess = { ...fixture.core, creations: new Map() };
    const both = await Promise.all(
      [fixture.core, anotherProcess].map((core) => createSession(core, fixture.base.owner, fields, key)),
    );
    expect(both.map(({ replayed }) => replayed).toSorted()).toEqual([false, true]);
    expect(both[0]!.vault).toEqual(both[1]!.vault);
  });
});
