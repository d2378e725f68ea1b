/** What a pending delivery is said to wait for is what it waits for. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Receiver } from "../testing/receiver.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliverOnce } from "./deliver.ts";
import { loadDelivery } from "./delivery-log.ts";
import { pauseEndpoint, resumeEndpoint } from "./endpoint-status.ts";
import { registerEndpoint } from "./endpoints.ts";
import { fanOut } from "./fan-out.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed?.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  merchantId = bed.context.entropy.uuid();
  receiver = await Receiver.start();
});
afterEach(async () => {
  await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  await receiver.close();
});

async function tell(sessionId?: string) {
  const told = await bed.tell({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await fanOut(bed.context.database, [{ sessionId: told.sessionId, sequence: 99 }]);
  return told;
}
const waitingFor = async (endpointId: string, { eventId }: { eventId: string }) =>
  (await loadDelivery(bed.context.database, { merchantId, endpointId, eventId })).waitingFor;
const claim = () => claimDeliveries(bed.context.database, { leaseToken: bed.context.entropy.uuid(), limit: 100 });

it("its turn, the event before it, an answer, a schedule, its endpoint, and then nothing", async () => {
  const key = await bed.addEndpoint({ merchantId, url: receiver.url });
  const first = await tell();
  const second = await tell(first.sessionId);
  const states = async () => [await waitingFor(key.endpointId, first), await waitingFor(key.endpointId, second)];
  expect(await states()).toEqual(["TURN", "EARLIER_EVENT"]);
  expect((await claim()).length).toBe(1);
  expect(await states()).toEqual(["ANSWER", "EARLIER_EVENT"]);
  // The lease of whoever claimed it runs out.
  await bed.setClockAhead("1 minute");
  receiver.answerWith({ status: 500 });
  await deliverOnce(bed.context);
  receiver.answerWith({ status: 204 });
  await deliverOnce(bed.context);
  expect(await states()).toEqual(["SCHEDULE", null]);
  await bed.context.database.transaction((tx) => pauseEndpoint(tx, key));
  expect(await states()).toEqual(["ENDPOINT", null]);
  await bed.context.database.transaction((tx) => resumeEndpoint(tx, key));
  await bed.setClockAhead("1 hour");
  expect(await states()).toEqual(["TURN", null]);
});

it("an endpoint that is not verified, and one that takes nothing", async () => {
  const { endpoint } = await registerEndpoint(bed.context, { merchantId, url: receiver.url, eventTypes: [] });
  const early = await tell();
  expect(await waitingFor(endpoint.id, early)).toBe("VERIFICATION");
  const failing = await bed.addEndpoint({ merchantId, url: `${receiver.url}/failing` });
  const events = [await tell(), await tell(), await tell(), await tell(), await tell()];
  receiver.answerWith({ status: 500 });
  for (const _ of events) await deliverOnce(bed.context);
  const late = await tell();
  expect(await waitingFor(failing.endpointId, late)).toBe("PROBE");
});
