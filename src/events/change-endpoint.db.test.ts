import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { type ReceivedRequest, Receiver } from "../dev/testing/receiver.ts";
import type { Secret } from "../platform/secrets.ts";
import { removeEndpoint, rotateSecret, updateEndpoint } from "./change-endpoint.ts";
import { deliver } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { type EndpointKey, listEndpoints, loadEndpoint, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import type { EventType } from "./outbox.ts";

let receiver: Receiver;
let merchantId: string;
let key: EndpointKey;
let firstSecret: Secret;
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  const { signingSecret, ...added } = await harness.addEndpoint({ merchantId, url: receiver.url });
  [key, firstSecret] = [added, signingSecret];
  receiver.requests.length = 0;
  return () => receiver.close();
});

async function emitEvent(type: EventType = "payment_session.succeeded"): Promise<void> {
  const { sessionId } = await harness.emit({ merchantId, type });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
}
const typesReceived = () => receiver.requests.map(({ body }) => JSON.parse(String(body)).type);
const load = () => loadEndpoint(harness.context.database, key);
const update = (wanted: Parameters<typeof updateEndpoint>[3]) =>
  harness.change((tx) => updateEndpoint(tx, harness.context, key, wanted));

describe("updateEndpoint()", () => {
  it("posts to a new URL only once it is verified, beginning with the waiting deliveries", async () => {
    const { before, after } = await update({ url: `${receiver.url}/new` });
    expect(after).toMatchObject({ status: "PENDING", verifiedAt: null, version: before.version + 1 });
    await emitEvent();
    expect(await deliverOnce(harness.context)).toEqual([]);
    await verifyEndpoint(harness.context, key);
    await deliverOnce(harness.context);
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/new", "/new"]);
  });

  it("does not disable the endpoint on a late answer of the old URL", async () => {
    await emitEvent();
    const [claimed] = await claimDeliveries(harness.context.database, {
      leaseToken: harness.context.runtime.uuid(),
      limit: 1,
    });
    await update({ url: `${receiver.url}/new` });
    receiver.answerWith({ status: 410 });
    expect(await deliver(harness.context, claimed!)).toMatchObject({ type: "failed", gone: true });
    expect(await load()).toMatchObject({ status: "PENDING", disabledAt: null });
  });

  it("applies new types from then on; no types means every type", async () => {
    await update({ eventTypes: ["payment_session.declined"] });
    await emitEvent();
    await emitEvent("payment_session.declined");
    await deliverOnce(harness.context);
    expect(typesReceived()).toEqual(["payment_session.declined"]);
    await update({ eventTypes: [] });
    await emitEvent();
    await deliverOnce(harness.context);
    expect(typesReceived()).toEqual(["payment_session.declined", "payment_session.succeeded"]);
    expect(await load()).toMatchObject({ status: "ENABLED", eventTypes: null });
  });

  it("keeps the version when nothing changes", async () => {
    await update({ eventTypes: ["payment_session.expired", "payment_session.declined"] });
    const same = { url: receiver.url, eventTypes: ["payment_session.declined", "payment_session.expired"] };
    const { before, after } = await update(same);
    expect(after).toEqual(before);
    expect(after.verifiedAt).not.toBeNull();
  });

  it("refuses a stale version, a private URL, and an unknown type with a list of known types", async () => {
    const { version } = await load();
    await update({ eventTypes: ["payment_session.expired"], version });
    await expect(update({ eventTypes: [], version })).rejects.toMatchObject({ code: "state_conflict" });
    await expect(update({ url: "http://10.0.0.1/" })).rejects.toMatchObject({ code: "endpoint_not_allowed" });
    await expect(update({ eventTypes: ["payment.made"] })).rejects.toThrow(
      "The event types are payment_session.succeeded, payment_session.declined,",
    );
    expect(await load()).toMatchObject({ eventTypes: ["payment_session.expired"], version: version + 1 });
  });
});

describe("removeEndpoint()", () => {
  it("removes the endpoint and keeps its log", async () => {
    await emitEvent();
    await harness.change((tx) => removeEndpoint(tx, key));
    expect(await listEndpoints(harness.context.database, merchantId)).toEqual([]);
    await expect(load()).rejects.toMatchObject({ code: "not_found" });
    await expect(harness.change((tx) => removeEndpoint(tx, key))).rejects.toMatchObject({ code: "not_found" });
    await emitEvent();
    expect(await deliverOnce(harness.context)).toEqual([]);
    expect(await harness.rows("SELECT FROM delivery WHERE endpoint_id = $1", [key.endpointId])).toHaveLength(1);
  });

  it("makes room for another one", async () => {
    for (let count = 1; count < 16; count++) {
      await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    }
    const another = () => registerEndpoint(harness.context, { merchantId, url: receiver.url });
    await expect(another()).rejects.toMatchObject({ code: "endpoint_not_allowed" });
    await harness.change((tx) => removeEndpoint(tx, key));
    expect((await another()).endpoint.status).toBe("PENDING");
  });

  it("is not undone by a late answer", async () => {
    await emitEvent();
    const [claimed] = await claimDeliveries(harness.context.database, {
      leaseToken: harness.context.runtime.uuid(),
      limit: 1,
    });
    await harness.change((tx) => removeEndpoint(tx, key));
    receiver.answerWith({ status: 410 });
    await deliver(harness.context, claimed!);
    const rows = await harness.rows("SELECT status FROM endpoint WHERE id = $1", [key.endpointId]);
    expect(rows).toEqual([{ status: "REMOVED" }]);
  });
});

/** Reports whether a receiver with this secret accepts the request, by the published verifier. */
function accepts(secret: Secret, request: ReceivedRequest | undefined): boolean {
  const text = secret.expose();
  try {
    const headers = request!.headers as Record<string, string>;
    new Webhook(text.slice(text.indexOf("whsec_"))).verify(request!.body, headers);
    return true;
  } catch {
    return false;
  }
}

describe("rotateSecret()", () => {
  const rotate = (overlapHours?: number) =>
    harness.change((tx) => rotateSecret(tx, harness.context, key, { overlapHours }));
  const emitAndVerify = async (secrets: Secret[]) => {
    await emitEvent();
    await deliverOnce(harness.context);
    return secrets.map((secret) => accepts(secret, receiver.requests.at(-1)));
  };

  it("stops the old secret at once", async () => {
    const { signingSecret, after } = await rotate();
    expect(after.overlapUntil).toBeNull();
    expect(await emitAndVerify([signingSecret, firstSecret])).toEqual([true, false]);
  });

  it("signs with both during an overlap and with the new one after it", async () => {
    const { signingSecret, after } = await rotate(2);
    expect(after.overlapUntil?.getTime()).toBeGreaterThan(Date.now() + 119 * 60_000);
    expect(await emitAndVerify([signingSecret, firstSecret])).toEqual([true, true]);
    await harness.setClockAhead("121 minutes");
    expect((await load()).overlapUntil).toBeNull();
    expect(await emitAndVerify([signingSecret, firstSecret])).toEqual([true, false]);
  });

  it("refuses a second overlap inside the first, and ends the first without one", async () => {
    const { signingSecret: second } = await rotate(24);
    await expect(rotate(1)).rejects.toMatchObject({ code: "state_conflict" });
    expect(await emitAndVerify([second, firstSecret])).toEqual([true, true]);
    const { signingSecret: third } = await rotate(0);
    expect(await emitAndVerify([third, second, firstSecret])).toEqual([true, false, false]);
  });

  it.each([25, -1, 1.5])("refuses an overlap of %s hours", async (hours) => {
    await expect(rotate(hours)).rejects.toMatchObject({ code: "invalid_field", field: "overlapHours" });
  });
});
