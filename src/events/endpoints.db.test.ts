import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { deliverOnce } from "./deliver.ts";
import { type EndpointKey, listEndpoints, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import { fanOut } from "./fan-out.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  return () => receiver.close();
});

const statusOf = async () => (await listEndpoints(bed.context.database, merchantId))[0]?.status;
const typesReceived = () => receiver.requests.map(({ body }) => JSON.parse(String(body)).type);

async function register(): Promise<EndpointKey> {
  const { endpoint } = await registerEndpoint(bed.context, { merchantId, url: receiver.url });
  return { merchantId, endpointId: endpoint.id };
}

async function tellAndDeliver(event: { type?: "payment_session.declined" } = {}): Promise<string> {
  const { eventId, sessionId } = await bed.tell({ merchantId, ...event });
  await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
  await deliverOnce(bed.context);
  return encodeId("evt", eventId);
}

function accepts(secret: Secret, request: ReceivedRequest): boolean {
  const text = secret.expose();
  try {
    new Webhook(text.slice(text.indexOf("whsec_"))).verify(request.body, request.headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

describe("registerEndpoint()", () => {
  it("lets no more than 16 through, however many come at once", async () => {
    const registering = Array.from({ length: 24 }, () =>
      bed.change((tx) => registerEndpoint({ ...bed.context, database: tx }, { merchantId, url: receiver.url })),
    );
    const statuses = (await Promise.allSettled(registering)).map(({ status }) => status);
    expect(statuses.filter((status) => status === "fulfilled")).toHaveLength(16);
    expect(await listEndpoints(bed.context.database, merchantId)).toHaveLength(16);
  });

  it("shows the signing secret once and keeps it sealed", async () => {
    const { endpoint, signingSecret } = await registerEndpoint(bed.context, { merchantId, url: receiver.url });
    expect(signingSecret.expose()).toMatch(/^switchyard_test_whsec_/);
    const [row] = await bed.rows("SELECT * FROM endpoint WHERE id = $1", [endpoint.id]);
    expect(JSON.stringify(row)).not.toContain(signingSecret.expose().slice(-40));
    expect(endpoint).toMatchObject({ url: `${receiver.url}/`, status: "PENDING", eventTypes: null, verifiedAt: null });
    expect(await listEndpoints(bed.context.database, merchantId)).toEqual([endpoint]);
  });

  it("refuses a URL that leads inside, a type that does not exist, and one endpoint too many", async () => {
    const inside = registerEndpoint(bed.context, { merchantId, url: "http://10.0.0.1/" });
    await expect(inside).rejects.toMatchObject({ code: "endpoint_not_allowed", field: "url" });
    const unknown = registerEndpoint(bed.context, { merchantId, url: receiver.url, eventTypes: ["payment.made"] });
    await expect(unknown).rejects.toMatchObject({ code: "invalid_field", field: "eventTypes" });
    for (let count = 0; count < 16; count++) await register();
    await expect(register()).rejects.toMatchObject({ code: "endpoint_not_allowed" });
  });
});

describe("verifyEndpoint()", () => {
  it("sends a signed test event and, after a 2xx answer, everything since the registration", async () => {
    const { endpoint, signingSecret } = await registerEndpoint(bed.context, { merchantId, url: receiver.url });
    await tellAndDeliver();
    expect(receiver.requests).toEqual([]);
    const { verified } = await verifyEndpoint(bed.context, { merchantId, endpointId: endpoint.id });
    expect(verified).toBe(true);
    expect(await statusOf()).toBe("ENABLED");
    await deliverOnce(bed.context);
    expect(typesReceived()).toEqual(["webhook_endpoint.test", "payment_session.succeeded"]);
    expect(receiver.requests.every((request) => accepts(signingSecret, request))).toBe(true);
  });

  it("verifies nothing without a 2xx answer, and logs the try", async () => {
    receiver.answerWith({ status: 401, body: "no signature check yet" });
    const key = await register();
    const { verified, tried } = await verifyEndpoint(bed.context, key);
    expect(verified).toBe(false);
    expect(tried).toMatchObject({ kind: "answered", statusCode: 401, answer: "no signature check yet" });
    expect(await statusOf()).toBe("PENDING");
    const log = await bed.rows("SELECT status_code, answer FROM delivery_attempt WHERE endpoint_id = $1", [
      key.endpointId,
    ]);
    expect(log).toEqual([{ status_code: 401, answer: "no signature check yet" }]);
  });

  it("verifies nothing when the URL was changed while the old one answered", async () => {
    const key = await register();
    const moved = `${receiver.url}/elsewhere`;
    receiver.answerWith(async () => {
      await bed.change((tx) => updateEndpoint(tx, bed.context, key, { url: moved }));
      return { status: 200 };
    });
    expect(await verifyEndpoint(bed.context, key)).toMatchObject({ verified: false, tried: { statusCode: 200 } });
    expect(await listEndpoints(bed.context.database, merchantId)).toMatchObject([
      { url: moved, status: "PENDING", verifiedAt: null },
    ]);
  });

  it("finds no endpoint of another merchant", async () => {
    const key = await register();
    const crossing = verifyEndpoint(bed.context, { ...key, merchantId: bed.context.entropy.uuid() });
    await expect(crossing).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("an endpoint's event types", () => {
  it("keep other events away from it", async () => {
    await bed.addEndpoint({ merchantId, url: receiver.url, eventTypes: ["payment_session.declined"] });
    await tellAndDeliver();
    await tellAndDeliver({ type: "payment_session.declined" });
    expect(typesReceived()).toEqual(["webhook_endpoint.test", "payment_session.declined"]);
  });
});
