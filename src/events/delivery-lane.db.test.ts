import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { Receiver } from "../testing/receiver.ts";
import { DeliveryLane } from "./delivery-lane.ts";
import { fanOut } from "./fan-out.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());

/** Breaks what the statement breaks for one due delivery, and waits for the line in the log. */
async function logOf(breaking: string) {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  const merchantId = bed.context.entropy.uuid();
  const { endpointId } = await bed.addEndpoint({ merchantId, url: receiver.url });
  const { eventId, sessionId } = await bed.tell({ merchantId });
  await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
  await bed.rows(breaking);
  const logged = Promise.withResolvers<unknown[]>();
  const log = { warn: () => {}, error: (...line: unknown[]) => logged.resolve(line) };
  const lane = new DeliveryLane({ ...bed.context, log });
  onTestFinished(() => lane.close());
  lane.hint([endpointId]);
  return {
    named: { endpoint: encodeId("we", endpointId), event: encodeId("evt", eventId) },
    line: await logged.promise,
  };
}

describe("DeliveryLane", () => {
  it("names in the log what it could not sign", async () => {
    const { named, line } = await logOf("UPDATE endpoint SET secret_sealed = 'broken'");
    expect(line).toEqual([
      { ...named, stage: "signing", err: expect.any(Error) },
      "a delivery could not be tried or recorded",
    ]);
  });

  it("names in the log what was posted and could not be recorded", async () => {
    const { named, line } = await logOf("ALTER TABLE delivery_attempt ADD CONSTRAINT no_more CHECK (false) NOT VALID");
    expect(line).toEqual([
      { ...named, stage: "recording", err: expect.any(Error) },
      "a delivery could not be tried or recorded",
    ]);
  });
});
