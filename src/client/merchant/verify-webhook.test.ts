import { describe, expect, expectTypeOf, it } from "vitest";
import { eventTypes } from "../../events/outbox.ts";
import { signWebhook } from "../../events/signature.ts";
import { generateSigningSecret } from "../../events/signing-secrets.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { Secret } from "../../platform/secrets.ts";
import { type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from "./verify-webhook.ts";
import { type WebhookEvent, webhookEventTypes } from "./webhook-event.ts";

const newSecret = () => generateSigningSecret(systemRuntime, "switchyard_test_whsec_");
const secret = newSecret();
const event = {
  id: "evt_1",
  type: "payment_session.succeeded",
  timestamp: "2026-01-01T00:00:00.000Z",
  environment: "test",
  data: { sequence: 1, orderRef: "Zoë 支払い" },
};
const secondMs = 1_000;

/** Signs and sends an event as the service does. */
function send(options: { event?: object; sentAt?: Date; secrets?: Secret[] } = {}) {
  const body = Buffer.from(JSON.stringify(options.event ?? event));
  const { sentAt = new Date(), secrets = [secret] } = options;
  return { body, headers: { ...signWebhook({ id: "evt_1", sentAt, body, secrets }) }, secrets: secret.expose() };
}

function refusalOf(webhook: ReceivedWebhook): string {
  try {
    verifyWebhook(webhook);
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookVerificationError);
    return (error as WebhookVerificationError).reason;
  }
  return expect.unreachable();
}

describe("verifyWebhook()", () => {
  it("returns the event of the bytes as they arrived, and of their text", () => {
    const webhook = send();
    expect(verifyWebhook(webhook)).toEqual(event);
    expect(verifyWebhook({ ...webhook, body: new Uint8Array(webhook.body) })).toEqual(event);
    expect(verifyWebhook({ ...webhook, body: webhook.body.toString() })).toEqual(event);
  });

  it("finds headers in any case, in a list, and in those of a web Request", () => {
    const webhook = send();
    const pairs = Object.entries(webhook.headers);
    const upper = Object.fromEntries(pairs.map(([name, value]) => [name.toUpperCase(), [value]]));
    expect(verifyWebhook({ ...webhook, headers: upper })).toEqual(event);
    expect(verifyWebhook({ ...webhook, headers: new Headers(pairs) })).toEqual(event);
  });

  it("accepts either secret during a rotation, on both sides", () => {
    const [fresh, previous] = [newSecret(), newSecret()];
    const both = [fresh.expose(), previous.expose()];
    expect(verifyWebhook({ ...send({ secrets: [fresh] }), secrets: both })).toEqual(event);
    expect(verifyWebhook({ ...send({ secrets: [previous] }), secrets: both })).toEqual(event);
    expect(verifyWebhook({ ...send({ secrets: [fresh, previous] }), secrets: previous.expose() })).toEqual(event);
    expect(refusalOf({ ...send(), secrets: both })).toBe("invalid_signature");
  });

  it("refuses a changed body, id or time", () => {
    const webhook = send();
    const { body, headers } = webhook;
    expect(refusalOf({ ...webhook, body: body.toString().replace("succeeded", "declined") })).toBe("invalid_signature");
    expect(refusalOf({ ...webhook, body: `${body} ` })).toBe("invalid_signature");
    expect(refusalOf({ ...webhook, body: Buffer.from([0xff, ...body]) })).toBe("invalid_signature");
    expect(refusalOf({ ...webhook, headers: { ...headers, "webhook-id": "evt_2" } })).toBe("invalid_signature");
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    expect(refusalOf({ ...webhook, headers: { ...headers, "webhook-timestamp": later } })).toBe("invalid_signature");
  });

  it("refuses a webhook that is too old or from the future, by five minutes or by less if configured", () => {
    const at = (seconds: number) => send({ sentAt: new Date(Date.now() + seconds * secondMs) });
    expect(verifyWebhook(at(-290))).toEqual(event);
    expect(refusalOf(at(-310))).toBe("outside_tolerance");
    expect(refusalOf(at(310))).toBe("outside_tolerance");
    expect(refusalOf({ ...at(-20), toleranceSeconds: 10 })).toBe("outside_tolerance");
    const nonsense = { ...send().headers, "webhook-timestamp": "yesterday" };
    expect(refusalOf({ ...send(), headers: nonsense })).toBe("outside_tolerance");
    expect(() => verifyWebhook({ ...send(), toleranceSeconds: 3_600 })).toThrow(TypeError);
  });

  it.each(["webhook-id", "webhook-timestamp", "webhook-signature"] as const)("refuses a request without %s", (name) => {
    const { [name]: _, ...headers } = send().headers;
    expect(refusalOf({ ...send(), headers })).toBe("missing_header");
  });

  it("refuses signed bytes that are no event", () => {
    expect(refusalOf(send({ event: [] }))).toBe("unreadable_body");
    expect(refusalOf(send({ event: {} }))).toBe("unreadable_body");
  });

  it("requires the raw body when it receives a parsed one", () => {
    const parsed = event as unknown as string;
    expect(() => verifyWebhook({ ...send(), body: parsed })).toThrow(/^Pass the raw body/);
  });

  it.each(["", "switchyard_test_sk_neverShown", "whsec_neverShown!", "whsec_"])("refuses %s as a secret", (wrong) => {
    const verify = () => verifyWebhook({ ...send(), secrets: wrong });
    expect(verify).toThrow(/^secrets must be signing secrets/);
    expect(verify).not.toThrow(/neverShown/);
    expect(() => verifyWebhook({ ...send(), secrets: [] })).toThrow("secrets must hold");
  });

  it("keeps an event of an unknown type, and distinguishes it from the others", () => {
    const tomorrow = { ...event, type: "payment_session.refunded", data: { more: 1 } };
    const { type: originalType, ...rest } = tomorrow;
    expect(verifyWebhook(send({ event: tomorrow }))).toEqual({ ...rest, type: "unknown", originalType });
  });

  it("knows every type that the service sends", () => {
    expect(webhookEventTypes.toSorted()).toEqual([...eventTypes, "webhook_endpoint.test"].toSorted());
  });

  it("is narrowed by its type", () => {
    expectTypeOf<Extract<WebhookEvent, { type: "payment_session.succeeded" }>["data"]["capturedVia"]>().toEqualTypeOf<
      string | undefined
    >();
    const received = verifyWebhook(send());
    if (received.type === "webhook_endpoint.test") expectTypeOf(received.data.endpointId).toBeString();
    if (received.type === "payment_attempt.voided") expectTypeOf(received.data.sequence).toBeNumber();
    if (received.type === "payment_attempt.voided") expectTypeOf(received.data.attemptId).toBeString();
  });
});
