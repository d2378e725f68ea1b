import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { DeliveryPool } from "./delivery-pool.ts";
import { fanOut } from "./fan-out.ts";

let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

/** Runs a breaking statement for one due delivery, and waits for the line in the log. */
async function logOf(breaking: string) {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  const merchantId = harness.context.runtime.uuid();
  const { endpointId } = await harness.addEndpoint({ merchantId, url: receiver.url });
  const { eventId, sessionId } = await harness.emit({ merchantId });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
  await harness.rows(breaking);
  const logged = Promise.withResolvers<unknown[]>();
  const log = { warn: () => {}, error: (...line: unknown[]) => logged.resolve(line) };
  const deliveryPool = new DeliveryPool({ ...harness.context, log });
  onTestFinished(() => deliveryPool.close());
  deliveryPool.hint([endpointId]);
  return {
    named: { endpoint: encodeId("we", endpointId), event: encodeId("evt", eventId) },
    line: await logged.promise,
  };
}

describe("DeliveryPool", () => {
  it("names a delivery in the log that it could not sign", async () => {
    const { named, line } = await logOf("UPDATE endpoint SET secret_sealed = 'broken'");
    expect(line).toEqual([
      { ...named, stage: "signing", err: expect.any(Error) },
      "a delivery could not be attempted or recorded",
    ]);
  });

  it("names a delivery in the log that was posted and could not be recorded", async () => {
    const { named, line } = await logOf("ALTER TABLE delivery_attempt ADD CONSTRAINT no_more CHECK (false) NOT VALID");
    expect(line).toEqual([
      { ...named, stage: "recording", err: expect.any(Error) },
      "a delivery could not be attempted or recorded",
    ]);
  });
});
