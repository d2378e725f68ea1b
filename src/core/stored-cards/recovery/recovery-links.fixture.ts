/** Links to unpaid renewals in a core with stored cards. */
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { recordSettings } from "../../../accounts/merchant-settings.ts";
import { type AgreementId, encodeId, type SessionId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { type AuthenticationFixture, shopper } from "../../scenarios/authentication.fixture.ts";
import { cards } from "../../scenarios/core.fixture.ts";
import { type RenewalFixture, startRenewals } from "../renewals/renewals.fixture.ts";
import { consent } from "../stored-cards.fixture.ts";
import { verifyLinkToken } from "./link-token.ts";
import { createRecoveryLink, openRecoveryLink, type WantedLink } from "./recovery-links.ts";

export let fixture: RenewalFixture;
export let bank: AuthenticationFixture;
beforeAll(async () => {
  fixture = await startRenewals();
  bank = fixture.bank;
  const { owner, core } = fixture.base;
  await core.database.transaction((tx) => recordSettings(tx, owner));
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.base.setClockAhead(0);
  await fixture.base.asOwner.pool.query(
    "DELETE FROM card_decline; DELETE FROM card_state; UPDATE replica_mark SET restored_at = NULL, restores = 0",
  );
});

// Renewals are declined for want of the customer, until the number is stored again.
export const wantsCustomer = "4000000000007296";
export const hour = 60;
export const asked = { amountMinor: 900, currency: "EUR", orderRef: "invoice-1" };
const pageOrigin = "https://pay.example";

/** Makes the link of the renewal, and returns its token. */
export async function linkOf(agreementId: AgreementId, change: Partial<WantedLink> = {}): Promise<string> {
  const { merchantId } = fixture.base.owner;
  const { token } = await createRecoveryLink(fixture.core, { merchantId, agreementId, ...asked, ...change });
  return token.expose();
}

export async function open(token: string) {
  const named = verifyLinkToken(fixture.core.clientSecretKeys, token);
  const opened = named && (await openRecoveryLink(fixture.core, named, { pageOrigin }));
  if (opened === undefined) throw new Error("there is no such link");
  return opened;
}

export async function sessionOf(token: string): Promise<{ readonly id: SessionId }> {
  const { session } = await open(token);
  if (session === undefined) throw new Error("nothing can be paid");
  return { id: session.sessionId };
}

/** Pays as the customer on the page does. */
export async function pay(
  session: { readonly id: SessionId },
  { number = cards.approved, token = `tok_${systemRuntime.uuid()}` } = {},
): Promise<PaymentSession> {
  const paid = await fixture.base.submitWith(session, { number, token, core: fixture.core, consent, shopper });
  await fixture.settled();
  return paid;
}

/** An agreement whose renewal was declined for want of the customer. */
export async function declined(): Promise<AgreementId> {
  const agreementId = await fixture.agree({ number: wantsCustomer });
  const { payment } = await fixture.charge(agreementId);
  expect(payment.session).toMatchObject({ status: "DECLINED" });
  return agreementId;
}

export const renewalsOf = async (agreementId: AgreementId) => (await fixture.agreement(agreementId)).renewals;
export const capturedOf = (session: { readonly id: SessionId }) => fixture.base.capturedAtGateways(session);
export const storedOf = async (session: { readonly id: SessionId }) =>
  (await fixture.base.loadSession(session)).stored!;
export const idOf = ({ id }: { readonly id: SessionId }) => encodeId("ps", id);
