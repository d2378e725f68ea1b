/** Test fixture: Adyen's connector against its emulator, with a receiver for the emulator's notifications. */

import { holdPayment, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import type { Notification } from "../connector.ts";
import { account, hmacKey, subjects } from "../subjects.fixture.ts";

export const subject = subjects.ADYEN;

export type AdyenHarness = Awaited<ReturnType<typeof startAdyenHarness>>;

export async function startAdyenHarness() {
  const harness = await startGatewayHarness(subject);
  const intake = await Receiver.start();
  await harness.sandbox.setAccount(account, { notificationUrl: intake.url, hmacKey });
  return {
    harness,
    hold: () => holdPayment(harness, harness.newPayment()),
    /** Returns the first notification about a payment with this event code, as the connector reads it. */
    async notificationOf(eventCode: string, reference: string): Promise<Notification> {
      const request = await intake.waitFor(
        ({ body }) => body.includes(`"${eventCode}"`) && body.includes(`"${reference}"`),
      );
      const reading = await harness.connector.readNotification!(subject.credentials, {
        headers: {},
        body: request.body,
      });
      if (reading.type === "refused") throw new Error(reading.reason);
      return reading.notifications[0]!;
    },
    async close(): Promise<void> {
      await harness.close();
      await intake.close();
    },
  };
}
