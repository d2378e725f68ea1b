/**
 * Runs many payments at Adyen's emulator while requests, answers and notifications are lost, late or duplicated: with
 * enough repeats every payment ends correctly.
 */

import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AttemptAtGateway, Notification } from "../connector.ts";
import { untilAnswer } from "../replies.fixture.ts";
import type { AdyenParts } from "./api.ts";
import { AdyenConnector } from "./connector.ts";

const merchantAccount = "UnderFaultsECOM";
const hmacKey = "cd".repeat(32);
const credentials = {
  apiKey: new Secret("AQEunderfaults/of-the=bench"),
  merchantAccount: new Secret(merchantAccount),
  hmacKey: new Secret(hmacKey),
};

const harness = await forFile(() =>
  startGatewayHarness({ connect: (parts: AdyenParts) => new AdyenConnector(parts), credentials }),
);
const intake = await forFile(() => Receiver.start());
await harness.sandbox.setAccount(merchantAccount, { notificationUrl: intake.url, hmacKey });

// Longer than a call waits, so that a late answer arrives when the caller has stopped waiting.
const callMs = 1_000;
const lateMsMax = 1_500;

type Ended = { readonly attempt: AttemptAtGateway; readonly expected: "captured" | "nothing kept" };

/** Ends a payment as the flow would: captures a hold, and voids an unknown outcome. */
async function payOnce(): Promise<Ended> {
  const payment = harness.newPayment();
  const { attemptReference, amountMinor, currency } = payment;
  const { outcome } = await harness.connector.authorize(harness.call(attemptReference, callMs), payment);
  const attempt = { attemptReference, amountMinor, currency };
  if (outcome.type !== "held") {
    await voidHold(attempt, "void");
    return { attempt, expected: "nothing kept" };
  }
  const hold = { ...attempt, gatewayReference: outcome.gatewayReference };
  await untilAnswer(["accepted"], () =>
    harness.connector.capture(harness.call(`${attemptReference}_cap`, callMs), hold),
  );
  return { attempt, expected: "captured" };
}

const voidHold = (attempt: AttemptAtGateway, name: string) =>
  untilAnswer(["accepted"], (nth) =>
    harness.connector.void(harness.call(`${attempt.attemptReference}_${name}${nth}`, callMs), attempt),
  );

async function statesOf({ attemptReference }: AttemptAtGateway): Promise<string[]> {
  const found = await harness.sandbox.authorizations(attemptReference);
  return found.map(({ status }) => status).filter((status) => status === "held" || status === "captured");
}

describe("AdyenConnector under faults", () => {
  it("captures once or leaves nothing held, and reports each result by a notification that counts once", async () => {
    const rates = {
      request_lost: 0.12,
      answer_lost: 0.12,
      executed_twice: 0.12,
      executed_late: 0.12,
      error_after: 0.06,
      error_kept: 0.06,
      answer_cut: 0.06,
      answer_garbled: 0.06,
      notification_late: 0.3,
      notification_twice: 0.3,
      result_late: 0.3,
    };
    await harness.sandbox.setFaults({ seed: "adyen", rates, lateMsMax });
    const payments = await Promise.all(Array.from({ length: 32 }, payOnce));
    const faults = await harness.sandbox.faults();
    await harness.sandbox.setFaults();
    for (const kind of Object.keys(rates)) expect(faults).toHaveProperty(kind);
    // After the latest execution time nothing arrives late: one more cancellation finds what an early one could not.
    for (const { attempt, expected } of payments) if (expected === "nothing kept") await voidHold(attempt, "last");
    for (const { attempt, expected } of payments) {
      const kept = expected === "captured" ? ["captured"] : [];
      await expect.poll(() => statesOf(attempt)).toEqual(kept);
      if (expected === "captured") expect(await notificationsOf(attempt, "captured")).toHaveLength(1);
    }
    expect(payments.map(({ expected }) => expected)).toContain("nothing kept");
  });

  /** Returns the notifications of a kind that the connector reads about an attempt, each once. */
  async function notificationsOf(
    { attemptReference }: AttemptAtGateway,
    kind: Notification["kind"],
  ): Promise<string[]> {
    const isIt = ({ body }: { body: Buffer }) => body.includes(`"${attemptReference}"`) && body.includes('"CAPTURE"');
    await intake.waitFor(isIt);
    const readings = await Promise.all(
      intake.requests
        .filter(isIt)
        .map(({ body }) => harness.connector.readNotification!(credentials, { headers: {}, body })),
    );
    const notifications = readings.flatMap((reading) => (reading.type === "authentic" ? reading.notifications : []));
    return [
      ...new Set(
        notifications.filter((notification) => notification.kind === kind).map(({ notificationId }) => notificationId),
      ),
    ];
  }
});
