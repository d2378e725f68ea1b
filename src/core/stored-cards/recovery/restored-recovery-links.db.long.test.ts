/** A link after a restore: the names that may be lost are asked for at every gateway, which takes a minute for each test. */
import { describe, expect, it } from "vitest";
import { declareRestore } from "../../../oversight/declare-restore.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import { attemptIdOf, deriveId } from "../../record/open-attempt.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import * as restore from "../../scenarios/restore.fixture.ts";
import { deleteMethod } from "../payment-methods.ts";
import {
  asked,
  capturedOf,
  fixture,
  linkOf,
  open,
  pay,
  renewalsOf,
  sessionOf,
  wantsCustomer,
} from "./recovery-links.fixture.ts";

describe("after a restore", () => {
  const declare = () => declareRestore(fixture.base.asOwner, { backupTakenAt: undefined });
  const nameOf = (agreementId: AgreementId, nth: number, restores = 0) =>
    deriveId(String(agreementId), `recovery ${restores} ${nth} invoice-1`);

  it("a lost payment by a link pays the renewal that its merchant charges again", async () => {
    const agreementId = await fixture.agree();
    const lost = { id: nameOf(agreementId, 2), ...asked } as PaymentSession;
    const reference = await restore.payUnseen(fixture.base, lost, 1, "captured");
    await declare();
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
    const paid = await restore.turns(fixture.base, payment.session, 7, fixture.core);
    expect(paid).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    const connectionId = fixture.base.connectionIds[1]!;
    expect((await fixture.base.loadSession(paid)).attempts).toMatchObject([
      { id: attemptIdOf({ sessionId: lost.id, connectionId }), status: "CAPTURED" },
    ]);
    expect((await fixture.base.sandbox.authorizations(reference)).map(({ status }) => status)).toEqual(["captured"]);
  });

  it("a lost payment by a link that was open pays its renewal", async () => {
    const agreementId = await fixture.agree();
    const opened = await sessionOf(await linkOf(agreementId));
    const lost = { id: nameOf(agreementId, 1), ...asked } as PaymentSession;
    await restore.payUnseen(fixture.base, lost, 0, "captured");
    await declare();
    const paid = await restore.turns(fixture.base, opened as PaymentSession, 7, fixture.core);
    expect(paid).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: opened.id }]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_paid" });
  });

  it("a link waits until a charge of its merchant has asked the gateways", async () => {
    const agreementId = await fixture.agree({ number: wantsCustomer });
    const token = await linkOf(agreementId);
    const opened = await sessionOf(token);
    await declare();
    await expect(pay(opened)).rejects.toMatchObject({ code: "already_submitted" });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_in_progress" });
    expect((await restore.turns(fixture.base, opened as PaymentSession, 7, fixture.core)).status).not.toBe("SUCCEEDED");
    await fixture.base.setClockAhead(0);
    expect(await open(token)).toMatchObject({ refused: "doubt", session: undefined });
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
    expect((await restore.turns(fixture.base, payment.session, 7, fixture.core)).status).toBe("DECLINED");
    await fixture.base.setClockAhead(0);
    // Not under the old names, which the gateways have voided.
    const session = await sessionOf(token);
    expect((await fixture.base.loadSession(session)).session.namedBy).toBe(nameOf(agreementId, 1, 1));
    expect((await pay(session)).status).toBe("SUCCEEDED");
    expect(await capturedOf(session)).toBe(1);
  });

  describe("of an agreement without a card, which its merchant cannot charge", () => {
    const withoutCard = async () => {
      const agreementId = await fixture.agree();
      const token = await linkOf(agreementId);
      const { methodId, merchantId } = (await fixture.agreement(agreementId)).agreement;
      await deleteMethod(fixture.core, { merchantId, methodId: methodId! });
      return { agreementId, token };
    };
    const askedFirst = async ({ agreementId, token }: Awaited<ReturnType<typeof withoutCard>>) => {
      expect(await open(token)).toMatchObject({ refused: "in_progress", session: undefined });
      expect(await open(token)).toMatchObject({ refused: "in_progress", session: undefined });
      const [renewal] = await renewalsOf(agreementId);
      const asking = { id: renewal!.sessionId } as PaymentSession;
      const ended = await restore.turns(fixture.base, asking, 7, fixture.core);
      await fixture.base.setClockAhead(0);
      return ended;
    };

    it("a link asks the gateways itself, and then takes a payment", async () => {
      const link = await withoutCard();
      await declare();
      await expect(fixture.charge(link.agreementId)).rejects.toMatchObject({ code: "agreement_not_active" });
      expect((await askedFirst(link)).status).toBe("DEGRADED");
      const session = await sessionOf(link.token);
      expect((await pay(session)).status).toBe("SUCCEEDED");
      expect([await capturedOf(session), (await open(link.token)).refused]).toEqual([1, "paid"]);
    });

    it("a lost payment by the link pays its renewal, and no other one is taken", async () => {
      const link = await withoutCard();
      const lost = { id: nameOf(link.agreementId, 1), ...asked } as PaymentSession;
      await restore.payUnseen(fixture.base, lost, 0, "captured");
      await declare();
      expect(await askedFirst(link)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
      expect(await open(link.token)).toMatchObject({ refused: "paid", session: undefined });
    });
  });
});
