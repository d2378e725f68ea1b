/** A core with agreements that can be charged, for tests of renewals: its vault keeps the cards that the gateways get. */
import { v7 } from "uuid";
import type { StoredCardVault } from "../../../card-vault/card-vault.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { Secret, sha256 } from "../../../platform/secrets.ts";
import type { Core } from "../../core.ts";
import { createSession } from "../../create-session.ts";
import { type CoreFixture, cards, startCoreFixture } from "../../scenarios/core.fixture.ts";
import { submitPayment } from "../../submit-payment.ts";
import type { AgreementTerms } from "../stored-rows.ts";
import { type Charge, type Charged, chargeAgreement } from "./charge-agreement.ts";

/** The steps of a test of renewals. */
export class RenewalFixture {
  readonly base: CoreFixture;
  readonly core: Core;
  /** The numbers of the stored cards, by the hash of their handles. */
  readonly stored = new Map<string, string>();
  /** Runs before the vault opens a card. */
  beforeOpening: () => void = () => {};
  #number = cards.approved;

  constructor(base: CoreFixture) {
    this.base = base;
    this.core = { ...base.core, vault: { ...base.core.vault, stored: this.#vault() } };
  }

  #vault(): StoredCardVault {
    const nameOf = (handle: Secret) => sha256(handle.expose()).toString("hex");
    return {
      keep: async ({ handle, merchantId }) => {
        this.stored.set(nameOf(handle), this.#number);
        const fingerprint = sha256(`${merchantId} ${this.#number}`).toString("hex").slice(0, 32);
        const brand = this.#number.startsWith("5") ? "mastercard" : "visa";
        const shown = { brand, last4: this.#number.slice(-4), expMonth: 3, expYear: 2030 };
        return { ...shown, fingerprint: { versions: [fingerprint], isCounted: true } };
      },
      open: async ({ handle }) => {
        this.beforeOpening();
        const number = this.stored.get(nameOf(handle));
        if (number === undefined) return "lost";
        this.useCard(number);
        return { token: new Secret(`tok_${v7()}`), expiresAt: new Date(Date.now() + 900_000) };
      },
      erase: async (handleHash) => void this.stored.delete(handleHash.toString("hex")),
    };
  }

  /** Sets the card that gateways get from now on. */
  useCard(number: string): void {
    this.#number = number;
    this.base.useCard(number);
  }

  /** Has a customer begin an agreement by a payment, with a card of its own unless one is given. */
  async agree({
    number = cards.approved,
    terms = {},
    customerRef = v7(),
  }: { number?: string; terms?: Partial<AgreementTerms>; customerRef?: string } = {}): Promise<AgreementId> {
    const { core, base } = this;
    const agreement = { type: "UNSCHEDULED", text: "Charged each month.", ...terms } as const;
    const order = { amountMinor: 4900, currency: "EUR", orderRef: v7(), customerRef, saveCard: { agreement } };
    const { session, agreementId } = await createSession(core, base.owner, order);
    this.useCard(number);
    const { session: read } = await base.loadSession(session);
    const consent = { template: "agreement", locale: "en" };
    const vaultToken = new Secret(`tok_${v7()}`);
    await submitPayment(core, { session: read, vaultToken, consent, signal: new AbortController().signal });
    await this.settled();
    return agreementId!;
  }

  /** Charges an agreement under a key of its own. */
  charge(agreementId: AgreementId, change: Partial<Charge> = {}, core = this.core): Promise<Charged> {
    const signal = new AbortController().signal;
    const charge = { agreementId, amountMinor: 900, currency: "EUR", orderRef: "invoice-1", key: systemRuntime.uuid() };
    return chargeAgreement(core, this.base.owner, { ...charge, signal, ...change });
  }

  /** Resolves when nothing of this process is under way, and every notification was processed. */
  async settled(): Promise<void> {
    while (this.core.inFlight.size > 0) await Promise.all(this.core.inFlight);
    await this.base.sandbox.quiet();
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
