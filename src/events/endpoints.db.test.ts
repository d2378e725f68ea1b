import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { type ReceivedRequest, Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { type EndpointKey, listEndpoints, registerEndpoint, verifyEndpoint } from "./endpoints.ts";

let receiver: Receiver;
let merchantId: string;
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  return () => receiver.close();
});

const statusOf = async () => (await listEndpoints(harness.context.database, merchantId))[0]?.status;
const typesReceived = () => receiver.requests.map(({ body }) => JSON.parse(String(body)).type);

async function register(): Promise<EndpointKey> {
  const { endpoint } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
  return { merchantId, endpointId: endpoint.id };
}

async function emitAndDeliver(event: { type?: "payment_session.declined" } = {}): Promise<string> {
  const { eventId, sessionId } = await harness.emit({ merchantId, ...event });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
  await deliverOnce(harness.context);
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
  it("registers at most 16, however many requests arrive at once", async () => {
    const registering = Array.from({ length: 24 }, () =>
      harness.change((tx) => registerEndpoint({ ...harness.context, database: tx }, { merchantId, url: receiver.url })),
    );
    const statuses = (await Promise.allSettled(registering)).map(({ status }) => status);
    expect(statuses.filter((status) => status === "fulfilled")).toHaveLength(16);
    expect(await listEndpoints(harness.context.database, merchantId)).toHaveLength(16);
  });

  it("shows the signing secret once and stores it sealed", async () => {
    const { endpoint, signingSecret } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    expect(signingSecret.expose()).toMatch(/^switchyard_test_whsec_/);
    const [row] = await harness.rows("SELECT * FROM endpoint WHERE id = $1", [endpoint.id]);
    expect(JSON.stringify(row)).not.toContain(signingSecret.expose().slice(-40));
    expect(endpoint).toMatchObject({ url: `${receiver.url}/`, status: "PENDING", eventTypes: null, verifiedAt: null });
    expect(await listEndpoints(harness.context.database, merchantId)).toEqual([endpoint]);
  });

  it("refuses a private URL, an unknown type, and one endpoint too many", async () => {
    const inside = registerEndpoint(harness.context, { merchantId, url: "http://10.0.0.1/" });
    await expect(inside).rejects.toMatchObject({ code: "endpoint_not_allowed", field: "url" });
    const unknown = registerEndpoint(harness.context, { merchantId, url: receiver.url, eventTypes: ["payment.made"] });
    await expect(unknown).rejects.toMatchObject({ code: "invalid_field", field: "eventTypes" });
    for (let count = 0; count < 16; count++) await register();
    await expect(register()).rejects.toMatchObject({ code: "endpoint_not_allowed" });
  });
});

describe("verifyEndpoint()", () => {
  it("sends a signed test event and, after a 2xx answer, everything since the registration", async () => {
    const { endpoint, signingSecret } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    await emitAndDeliver();
    expect(receiver.requests).toEqual([]);
    const { verified } = await verifyEndpoint(harness.context, { merchantId, endpointId: endpoint.id });
    expect(verified).toBe(true);
    expect(await statusOf()).toBe("ENABLED");
    await deliverOnce(harness.context);
    expect(typesReceived()).toEqual(["webhook_endpoint.test", "payment_session.succeeded"]);
    expect(receiver.requests.every((request) => accepts(signingSecret, request))).toBe(true);
  });

  it("verifies nothing without a 2xx answer, and logs the attempt", async () => {
    receiver.answerWith({ status: 401, body: "no signature check yet" });
    const key = await register();
    const { verified, attempt } = await verifyEndpoint(harness.context, key);
    expect(verified).toBe(false);
    expect(attempt).toMatchObject({ type: "answered", statusCode: 401, answer: "no signature check yet" });
    expect(await statusOf()).toBe("PENDING");
    const log = await harness.rows("SELECT status_code, answer FROM delivery_attempt WHERE endpoint_id = $1", [
      key.endpointId,
    ]);
    expect(log).toEqual([{ status_code: 401, answer: "no signature check yet" }]);
  });

  it("verifies nothing when the URL was changed while the old one answered", async () => {
    const key = await register();
    const moved = `${receiver.url}/elsewhere`;
    receiver.answerWith(async () => {
      await harness.change((tx) => updateEndpoint(tx, harness.context, key, { url: moved }));
      return { status: 200 };
    });
    expect(await verifyEndpoint(harness.context, key)).toMatchObject({ verified: false, attempt: { statusCode: 200 } });
    expect(await listEndpoints(harness.context.database, merchantId)).toMatchObject([
      { url: moved, status: "PENDING", verifiedAt: null },
    ]);
  });

  it("finds no endpoint of another merchant", async () => {
    const key = await register();
    const crossing = verifyEndpoint(harness.context, { ...key, merchantId: harness.context.runtime.uuid() });
    await expect(crossing).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("an endpoint's event types", () => {
  it("keep other events from it", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url, eventTypes: ["payment_session.declined"] });
    await emitAndDeliver();
    await emitAndDeliver({ type: "payment_session.declined" });
    expect(typesReceived()).toEqual(["webhook_endpoint.test", "payment_session.declined"]);
  });
});
