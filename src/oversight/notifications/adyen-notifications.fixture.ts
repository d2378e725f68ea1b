/** Payments at Adyen's emulator, and notifications about them: the emulator's own, or any that a test signs. */

import type { Attempt, PaymentSession } from "../../core/rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "../../core/scenarios/core.fixture.ts";
import { withAnswers } from "../../core/scenarios/recovery.fixture.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { type SignedFields, signNotification } from "../../gateways/adyen/notification-signature.ts";
import { recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import type { Connector } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { takeNotification } from "./intake.ts";
import { processNotificationsOnce } from "./process-notifications.ts";

const hmacKey = "0F".repeat(32);
const merchantAccount = "TheShopECOM";

type Payment = { readonly session: PaymentSession; readonly attempt: Attempt };

/** Starts a core whose only routed gateway is Adyen. Close it at the end of the test. */
export async function startAdyenNotifications(): Promise<AdyenNotifications> {
  const fixture = await startCoreFixture();
  const connectionId = systemRuntime.uuid();
  const { core, owner } = fixture;
  const credentials = { apiKey: "AQEanykeywilldoattheemulator", merchantAccount, hmacKey };
  await core.database.transaction(async (tx) => {
    const { merchantId } = owner;
    await recordConnection(tx, { id: connectionId, merchantId, gateway: "ADYEN", account: "shop" });
    const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
    await recordVerified(tx, { connectionId, credentialVersion });
  });
  await fixture.setRule([], [connectionId]);
  return new AdyenNotifications(fixture, connectionId, await Receiver.start());
}

/** The steps and views of a test of Adyen's notifications: payments, notifications and rows. */
export class AdyenNotifications {
  readonly fixture: CoreFixture;
  /** Notifications of the emulator that the service has processed. */
  readonly taken: string[] = [];
  readonly #connectionId: string;
  readonly #intake: Receiver;

  constructor(fixture: CoreFixture, connectionId: string, intake: Receiver) {
    this.fixture = fixture;
    this.#connectionId = connectionId;
    this.#intake = intake;
    intake.answerWith(async ({ body }) => {
      await this.take(body.toString());
      this.taken.push(body.toString());
      return { status: 200 };
    });
  }

  async close(): Promise<void> {
    await this.#intake.close();
    await this.fixture.close();
  }

  async take(body: string): Promise<void> {
    await this.store(body);
    await processNotificationsOnce(this.fixture.core);
  }

  async store(body: string): Promise<void> {
    const notification = { headers: {}, body: Buffer.from(body) };
    await takeNotification(this.fixture.core, encodeId("gc", this.#connectionId), async () => notification);
  }

  /** Turns the emulator's own notifications on or off; without them every notification is a test's. */
  async listen(isOn: boolean): Promise<void> {
    const notificationUrl = isOn ? this.#intake.url : "";
    await this.fixture.sandbox.setAccount(merchantAccount, { notificationUrl, hmacKey });
  }

  async pay(card: string): Promise<Payment> {
    const session = await this.fixture.pay(card);
    return { session, attempt: await this.firstOf(session) };
  }

  /** Makes a payment of which no notification arrives. */
  async payUnheard(card: string): Promise<Payment> {
    await this.listen(false);
    return this.pay(card);
  }

  /** Makes a payment whose capture gets this answer, in the state that the submitter reached. */
  async payWith(capture: Connector["capture"]): Promise<Payment> {
    const session = await this.fixture.submitOn(withAnswers(this.fixture.core, { capture }));
    return { session, attempt: await this.firstOf(session) };
  }

  async stateOf(session: PaymentSession): Promise<PaymentSession> {
    return (await this.fixture.loadSession(session)).session;
  }

  async firstOf(session: PaymentSession): Promise<Attempt> {
    return (await this.fixture.loadSession(session)).attempts[0]!;
  }

  async lastSession(): Promise<PaymentSession> {
    const text = "SELECT id FROM payment_session ORDER BY created_at DESC LIMIT 1";
    const [last] = await this.fixture.core.database.query<PaymentSession>({ name: "last_session", text }, []);
    return this.stateOf(last!);
  }
}

/** Builds an item about an attempt as Adyen would sign it; `psp` names the event. */
export function itemOf(
  attempt: Attempt,
  { psp, ...others }: Partial<SignedFields> & { psp: string },
  rest = {},
  key = hmacKey,
) {
  const signed: SignedFields = {
    pspReference: `${psp}${attempt.id}`,
    originalReference: attempt.gatewayReference ?? "",
    merchantAccountCode: merchantAccount,
    merchantReference: encodeId("att", attempt.id),
    value: 4900,
    currency: "EUR",
    eventCode: "CAPTURE",
    success: "true",
    ...others,
  };
  const { value, currency, ...named } = signed;
  const additionalData = { hmacSignature: signNotification(key, signed), ...rest };
  return { NotificationRequestItem: { ...named, amount: { value, currency }, additionalData } };
}

export const bodyOf = (...notificationItems: object[]) => JSON.stringify({ live: "false", notificationItems });
