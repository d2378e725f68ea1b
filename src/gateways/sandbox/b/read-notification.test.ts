import { describe, expect, it } from "vitest";
import { Secret } from "../../../platform/secrets.ts";
import { type SignedFields, signNotification } from "../../adyen/notification-signature.ts";
import { sample, sampleKey, sampleSignature } from "../../adyen/published-sample.fixture.ts";
import { readNotification } from "./read-notification.ts";

const credentials = { merchantAccount: new Secret("TestMerchant"), notificationHmacKey: new Secret(sampleKey) };

describe("signNotification()", () => {
  it("signs Adyen's published sample as Adyen does", () => {
    expect(signNotification(sampleKey, sample)).toBe(sampleSignature);
  });
});

describe("readNotification()", () => {
  const read = (body: string, environment: "test" | "live" = "test", asked: typeof credentials = credentials) =>
    readNotification(asked, { headers: {}, body: Buffer.from(body) }, environment);

  it("accepts an item that is signed", () => {
    expect(read(bodyOf(sample))).toMatchObject({
      type: "authentic",
      notifications: [
        { kind: "held", gatewayReference: "7914073381342284", amount: { amountMinor: 1130, currency: "EUR" } },
      ],
    });
  });

  it.each([
    ["pspReference", "7914073381342285"],
    ["originalReference", "7914073381342284"],
    ["merchantReference", "TestPayment-2"],
    ["value", 1],
    ["currency", "USD"],
    ["eventCode", "CAPTURE"],
    ["success", "false"],
  ])("refuses an item whose %s was changed", (field, value) => {
    const changed = { ...sample, [field]: value };
    expect(read(bodyOf(changed, signNotification(sampleKey, sample)))).toMatchObject({ type: "refused" });
  });

  it("refuses all items when one of them is not signed", () => {
    const [signed, unsigned] = [JSON.parse(bodyOf(sample)), JSON.parse(bodyOf(sample, "coqCmt"))];
    const both = { live: "false", notificationItems: [...signed.notificationItems, ...unsigned.notificationItems] };
    expect(read(JSON.stringify(both))).toMatchObject({ type: "refused" });
  });

  it("refuses a signed item of another merchant account", () => {
    const merchantAccount = new Secret("OtherMerchant");
    expect(read(bodyOf(sample), "test", { ...credentials, merchantAccount })).toMatchObject({ type: "refused" });
  });

  it("refuses a notification of the other environment", () => {
    expect(read(bodyOf(sample), "live")).toMatchObject({ type: "refused" });
  });

  it("refuses everything while the connection has no key", () => {
    const notificationHmacKey = new Secret("");
    const body = bodyOf(sample, signNotification("", sample));
    expect(read(body, "test", { ...credentials, notificationHmacKey })).toMatchObject({ type: "refused" });
  });

  it.each(["", "{", "[]", "{}", '{"live":"false","notificationItems":[]}', '{"live":"false","notificationItems":[1]}'])(
    "refuses %j",
    (body) => {
      expect(read(body)).toMatchObject({ type: "refused" });
    },
  );

  it.each([
    ["REFUND", "true", "refunded"],
    ["REFUND", "false", "refund_failed"],
    ["REFUND_FAILED", "true", "refund_failed"],
  ])("reads %s with success %s as %s of exactly our refund", (eventCode, success, kind) => {
    const refund = { eventCode, success, originalReference: "psp_payment", merchantReference: "ref_01" };
    expect(read(bodyOf({ ...sample, ...refund }))).toEqual({
      type: "authentic",
      notifications: [
        {
          notificationId: `${eventCode}:${sample.pspReference}:${success}`,
          kind,
          attemptReference: "",
          refundReference: "ref_01",
          gatewayReference: "psp_payment",
          modificationReference: sample.pspReference,
          amount: { amountMinor: 1130, currency: "EUR" },
        },
      ],
    });
  });

  it("reads a refund by hand under the payment's own reference", () => {
    const byHand = { eventCode: "REFUND", originalReference: "psp_payment", merchantReference: "att_01" };
    const reading = read(bodyOf({ ...sample, ...byHand }));
    expect(reading).toMatchObject({ notifications: [{ kind: "refunded", attemptReference: "att_01" }] });
    expect(reading.type === "authentic" && reading.notifications[0]).not.toHaveProperty("refundReference");
  });

  it("gives an unknown event the kind other", () => {
    expect(read(bodyOf({ ...sample, eventCode: "REPORT_AVAILABLE" }))).toMatchObject({
      notifications: [{ kind: "other" }],
    });
  });

  it("gives no amount if the gateway's is not valid here", () => {
    const reading = read(bodyOf({ ...sample, currency: "XXX" }));
    expect(reading.type === "authentic" && reading.notifications[0]).not.toHaveProperty("amount");
  });
});

function bodyOf(fields: SignedFields, hmacSignature = signNotification(sampleKey, fields)): string {
  const { value, currency, ...named } = fields;
  const item = { ...named, amount: { value, currency }, additionalData: { hmacSignature } };
  return JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] });
}
