/** Adyen's connector before its stand-in, with a receiver of its notifications, for tests. */
import { Secret } from "../../platform/secrets.ts";
import { holdPayment, startGatewayBench } from "../../testing/gateway-bench.ts";
import { Receiver } from "../../testing/receiver.ts";
import type { Notice } from "../connector.ts";
import type { AdyenParts } from "./api.ts";
import { AdyenConnector } from "./connector.ts";

const hmacKey = "ab".repeat(32);

/** The connector and its credentials; every request and answer is held against Adyen's OpenAPI file. */
export const subject = {
  connect: (parts: AdyenParts) => new AdyenConnector(parts),
  credentials: {
    apiKey: new Secret("AQEconformance/of-the=bench"),
    merchantAccount: new Secret("test_conformance"),
    hmacKey: new Secret(hmacKey),
  },
  specs: ["adyen"],
} as const;

/** What a test of the connector works with. */
export type AdyenBench = Awaited<ReturnType<typeof startAdyenBench>>;

/** Close it at the test's end. */
export async function startAdyenBench() {
  const bench = await startGatewayBench(subject);
  const intake = await Receiver.start();
  await bench.sandbox.setAccount("test_conformance", { notificationUrl: intake.url, hmacKey });
  return {
    bench,
    hold: () => holdPayment(bench, bench.newPayment()),
    /** The first notice about a payment whose event code is this one, as the connector reads it. */
    async noticeOf(eventCode: string, reference: string): Promise<Notice> {
      const request = await intake.waitFor(
        ({ body }) => body.includes(`"${eventCode}"`) && body.includes(`"${reference}"`),
      );
      const reading = await bench.connector.readNotification!(subject.credentials, { headers: {}, body: request.body });
      if (reading.type === "refused") throw new Error(reading.reason);
      return reading.notices[0]!;
    },
    async close(): Promise<void> {
      await bench.close();
      await intake.close();
    },
  };
}
