import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Secret } from "../platform/secrets.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { removeEndpoint, updateEndpoint } from "./change-endpoint.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliver, deliverOnce } from "./deliver.ts";
import { type EndpointKey, listEndpoints, loadEndpoint, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import { fanOut } from "./fan-out.ts";
import type { EventType } from "./outbox.ts";
import { rotateSecret } from "./rotate-secret.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
let key: EndpointKey;
let firstSecret: Secret;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  const { signingSecret, ...added } = await bed.addEndpoint({ merchantId, url: receiver.url });
  [key, firstSecret] = [added, signingSecret];
  receiver.requests.length = 0;
  return () => receiver.close();
});

async function tell(type: EventType = "payment_session.succeeded"): Promise<void> {
  const { sessionId } = await bed.tell({ merchantId, type });
  await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
}
const typesReceived = () => receiver.requests.map(({ body }) => JSON.parse(String(body)).type);
const load = () => loadEndpoint(bed.context.database, key);
const update = (wanted: Parameters<typeof updateEndpoint>[3]) =>
  bed.change((tx) => updateEndpoint(tx, bed.context, key, wanted));

describe("updateEndpoint()", () => {
  it("posts to another URL only once it is verified, and then what waited", async () => {
    const { before, after } = await update({ url: `${receiver.url}/new` });
    expect(after).toMatchObject({ status: "PENDING", verifiedAt: null, version: before.version + 1 });
    await tell();
    expect(await deliverOnce(bed.context)).toEqual([]);
    await verifyEndpoint(bed.context, key);
    await deliverOnce(bed.context);
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/new", "/new"]);
  });

  it("is not disabled by what the old URL answers late", async () => {
    await tell();
    const [claimed] = await claimDeliveries(bed.context.database, { leaseToken: bed.context.entropy.uuid(), limit: 1 });
    await update({ url: `${receiver.url}/new` });
    receiver.answerWith({ status: 410 });
    expect(await deliver(bed.context, claimed!)).toMatchObject({ kind: "failed", gone: true });
    expect(await load()).toMatchObject({ status: "PENDING", disabledAt: null });
  });

  it("brings other types from then on; none means every one", async () => {
    await update({ eventTypes: ["payment_session.declined"] });
    await tell();
    await tell("payment_session.declined");
    await deliverOnce(bed.context);
    expect(typesReceived()).toEqual(["payment_session.declined"]);
    await update({ eventTypes: [] });
    await tell();
    await deliverOnce(bed.context);
    expect(typesReceived()).toEqual(["payment_session.declined", "payment_session.succeeded"]);
    expect(await load()).toMatchObject({ status: "ENABLED", eventTypes: null });
  });

  it("counts no version for what is the same", async () => {
    await update({ eventTypes: ["payment_session.expired", "payment_session.declined"] });
    const same = { url: receiver.url, eventTypes: ["payment_session.declined", "payment_session.expired"] };
    const { before, after } = await update(same);
    expect(after).toEqual(before);
    expect(after.verifiedAt).not.toBeNull();
  });

  it("refuses a stale version, a URL that leads inside, and a type that does not exist with those that do", async () => {
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
  it("takes the endpoint away and keeps its log", async () => {
    await tell();
    await bed.change((tx) => removeEndpoint(tx, key));
    expect(await listEndpoints(bed.context.database, merchantId)).toEqual([]);
    await expect(load()).rejects.toMatchObject({ code: "not_found" });
    await expect(bed.change((tx) => removeEndpoint(tx, key))).rejects.toMatchObject({ code: "not_found" });
    await tell();
    expect(await deliverOnce(bed.context)).toEqual([]);
    expect(await bed.rows("SELECT FROM delivery WHERE endpoint_id = $1", [key.endpointId])).toHaveLength(1);
  });

  it("makes room for another one", async () => {
    for (let count = 1; count < 16; count++) {
      await registerEndpoint(bed.context, { merchantId, url: receiver.url });
    }
    const another = () => registerEndpoint(bed.context, { merchantId, url: receiver.url });
    await expect(another()).rejects.toMatchObject({ code: "endpoint_not_allowed" });
    await bed.change((tx) => removeEndpoint(tx, key));
    expect((await another()).endpoint.status).toBe("PENDING");
  });

  it("is not undone by an answer that comes late", async () => {
    await tell();
    const [claimed] = await claimDeliveries(bed.context.database, { leaseToken: bed.context.entropy.uuid(), limit: 1 });
    await bed.change((tx) => removeEndpoint(tx, key));
    receiver.answerWith({ status: 410 });
    await deliver(bed.context, claimed!);
    const rows = await bed.rows("SELECT status FROM endpoint WHERE id = $1", [key.endpointId]);
    expect(rows).toEqual([{ status: "REMOVED" }]);
  });
});

/** What a receiver that holds this secret does with the request: the published verifier decides. */
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
  const rotate = (overlapHours?: number) => bed.change((tx) => rotateSecret(tx, bed.context, key, { overlapHours }));
  const tellAndLookAt = async (secrets: Secret[]) => {
    await tell();
    await deliverOnce(bed.context);
    return secrets.map((secret) => accepts(secret, receiver.requests.at(-1)));
  };

  it("stops the old secret at once", async () => {
    const { signingSecret, after } = await rotate();
    expect(after.overlapUntil).toBeNull();
    expect(await tellAndLookAt([signingSecret, firstSecret])).toEqual([true, false]);
  });

  it("signs with both during an overlap and with the new one after it", async () => {
    const { signingSecret, after } = await rotate(2);
    expect(after.overlapUntil?.getTime()).toBeGreaterThan(Date.now() + 119 * 60_000);
    expect(await tellAndLookAt([signingSecret, firstSecret])).toEqual([true, true]);
    await bed.setClockAhead("121 minutes");
    expect((await load()).overlapUntil).toBeNull();
    expect(await tellAndLookAt([signingSecret, firstSecret])).toEqual([true, false]);
  });

  it("takes no second overlap into the first, and ends it without one", async () => {
    const { signingSecret: second } = await rotate(24);
    await expect(rotate(1)).rejects.toMatchObject({ code: "state_conflict" });
    expect(await tellAndLookAt([second, firstSecret])).toEqual([true, true]);
    const { signingSecret: third } = await rotate(0);
    expect(await tellAndLookAt([third, second, firstSecret])).toEqual([true, false, false]);
  });

  it.each([25, -1, 1.5])("refuses an overlap of %s hours", async (hours) => {
    await expect(rotate(hours)).rejects.toMatchObject({ code: "invalid_field", field: "overlapHours" });
  });
});
