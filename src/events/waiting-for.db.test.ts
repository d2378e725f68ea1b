/** Tests that a pending delivery waits for the reason that the log shows. */

import { afterEach, beforeEach, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { loadDelivery } from "./delivery-log.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { pauseEndpoint, resumeEndpoint } from "./endpoint-status.ts";
import { registerEndpoint } from "./endpoints.ts";

let receiver: Receiver;
let merchantId: string;
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  merchantId = harness.context.runtime.uuid();
  receiver = await Receiver.start();
});
afterEach(async () => {
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  await receiver.close();
});

const emitAndFanOut = (sessionId?: string) => harness.emitAndFanOut(merchantId, sessionId);
const waitingFor = async (endpointId: string, { eventId }: { eventId: string }) =>
  (await loadDelivery(harness.context.database, { merchantId, endpointId, eventId })).waitingFor;
const claim = () =>
  claimDeliveries(harness.context.database, { leaseToken: harness.context.runtime.uuid(), limit: 100 });

it("waits for its turn, the earlier event, an answer, a schedule, its endpoint, and then nothing", async () => {
  const key = await harness.addEndpoint({ merchantId, url: receiver.url });
  const first = await emitAndFanOut();
  const second = await emitAndFanOut(first.sessionId);
  const states = async () => [await waitingFor(key.endpointId, first), await waitingFor(key.endpointId, second)];
  expect(await states()).toEqual(["TURN", "EARLIER_EVENT"]);
  expect((await claim()).length).toBe(1);
  expect(await states()).toEqual(["ANSWER", "EARLIER_EVENT"]);
  // The claimer's lease runs out.
  await harness.setClockAhead("1 minute");
  receiver.answerWith({ status: 500 });
  await deliverOnce(harness.context);
  receiver.answerWith({ status: 204 });
  await deliverOnce(harness.context);
  expect(await states()).toEqual(["SCHEDULE", null]);
  await harness.context.database.transaction((tx) => pauseEndpoint(tx, key));
  expect(await states()).toEqual(["ENDPOINT", null]);
  await harness.context.database.transaction((tx) => resumeEndpoint(tx, key));
  await harness.setClockAhead("1 hour");
  expect(await states()).toEqual(["TURN", null]);
});

it("waits for an endpoint that is unverified, and for one that accepts nothing", async () => {
  const { endpoint } = await registerEndpoint(harness.context, { merchantId, url: receiver.url, eventTypes: [] });
  const early = await emitAndFanOut();
  expect(await waitingFor(endpoint.id, early)).toBe("VERIFICATION");
  const withBreaker = await harness.addEndpoint({ merchantId, url: `${receiver.url}/breaker` });
  const events = [
    await emitAndFanOut(),
    await emitAndFanOut(),
    await emitAndFanOut(),
    await emitAndFanOut(),
    await emitAndFanOut(),
  ];
  receiver.answerWith({ status: 500 });
  for (const _ of events) await deliverOnce(harness.context);
  const late = await emitAndFanOut();
  expect(await waitingFor(withBreaker.endpointId, late)).toBe("PROBE");
});
