/** A core with agreements that can be charged, for tests of renewals. */
import { v7 } from "uuid";
import type { Shopper } from "../../../gateways/connector.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import type { Core } from "../../core.ts";
import { createSession, type NewSession } from "../../create-session.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { AuthenticationFixture } from "../../scenarios/authentication.fixture.ts";
import { type CoreFixture, cards, startCoreFixture } from "../../scenarios/core.fixture.ts";
import type { MemoryVault } from "../../scenarios/stored-vault.fixture.ts";
import { type AgreementDetails, findAgreement } from "../agreements.ts";
import { consent } from "../stored-cards.fixture.ts";
import type { AgreementTerms } from "../stored-rows.ts";
import { type Charge, type Charged, chargeAgreement } from "./charge-agreement.ts";

/** The steps of a test of renewals. */
export class RenewalFixture {
  readonly base: CoreFixture;
  readonly core: Core;
  readonly bank: AuthenticationFixture;

  constructor(base: CoreFixture) {
    this.base = base;
    this.core = base.core;
    this.bank = new AuthenticationFixture(base);
  }

  get vault(): MemoryVault {
    return this.core.vault.stored as MemoryVault;
  }

  /** Has a customer begin an agreement by a payment with a card, which gateways get from now on; the vault takes it for `storedAs`. */
  async agree({
    number = cards.approved,
    storedAs = number,
    terms = {},
    customerRef = v7(),
    order = {},
    shopper,
  }: {
    number?: string;
    storedAs?: string;
    terms?: Partial<AgreementTerms>;
    customerRef?: string;
    order?: Partial<NewSession>;
    shopper?: Shopper;
  } = {}): Promise<AgreementId> {
    const { core, base } = this;
    const agreement = { type: "UNSCHEDULED", text: "Charged each month.", ...terms } as const;
    const wanted = {
      amountMinor: 4900,
      currency: "EUR",
      orderRef: v7(),
      customerRef,
      saveCard: { agreement },
      ...order,
    };
    const { session, agreementId } = await createSession(core, base.owner, wanted);
    this.vault.number = storedAs;
    await this.passBank(await base.submitWith(session, { number, token: `tok_${v7()}`, consent, shopper }));
    await this.settled();
    return agreementId!;
  }

  /** Charges an agreement under its own key. */
  charge(agreementId: AgreementId, change: Partial<Charge> = {}, core = this.core): Promise<Charged> {
    const { signal } = new AbortController();
    const charge = { agreementId, amountMinor: 900, currency: "EUR", orderRef: "invoice-1", key: systemRuntime.uuid() };
    return chargeAgreement(core, this.base.owner, { ...charge, signal, ...change });
  }

  /** Has the customer pass the bank's challenge at each gateway that has one. Returns the payment's end. */
  async passBank(session: PaymentSession): Promise<PaymentSession> {
    if (session.awaitingSince === null) return session;
    await this.bank.answerAndReturn(session, "pass");
    await this.settled();
    return this.passBank((await this.base.loadSession(session)).session);
  }

  async agreement(agreementId: AgreementId): Promise<AgreementDetails> {
    const found = await findAgreement(this.core, { merchantId: this.base.owner.merchantId, agreementId });
    if (found === undefined) throw new Error("there is no such agreement");
    return found;
  }

  /** Resolves when nothing of this process is under way, and every notification was processed. */
  async settled(): Promise<void> {
    do {
      await Promise.all(this.core.inFlight);
      await this.base.sandbox.quiet();
    } while (this.core.inFlight.size > 0);
  }

  async close(): Promise<void> {
    await this.settled();
    await this.base.close();
  }
}

export async function startRenewals(): Promise<RenewalFixture> {
  const base = await startCoreFixture();
  await base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
  return new RenewalFixture(base);
}
