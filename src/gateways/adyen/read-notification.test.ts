import { describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { type SignedFields, signNotification } from "./notification-signature.ts";
import { sample, sampleKey, sampleSignature } from "./published-sample.fixture.ts";
import { readNotification } from "./read-notification.ts";

const credentials = { merchantAccount: new Secret("TestMerchant"), hmacKey: new Secret(sampleKey) };

/** Builds an item as Adyen writes it: an empty originalReference is left out. */
function itemOf(fields: SignedFields, rest: object = {}, hmacSignature = signNotification(sampleKey, fields)) {
  const { value, currency, originalReference, ...named } = fields;
  const original = originalReference === "" ? {} : { originalReference };
  const { additionalData = {}, ...more } = rest as { additionalData?: object };
  const signed = { ...additionalData, hmacSignature };
  return {
    NotificationRequestItem: { ...named, ...original, amount: { value, currency }, ...more, additionalData: signed },
  };
}
const bodyOf = (...notificationItems: unknown[]) => JSON.stringify({ live: "false", notificationItems });
const read = (body: string, environment: "test" | "live" = "test", asked: typeof credentials = credentials) =>
  readNotification(asked, { headers: {}, body: Buffer.from(body) }, environment);
const notificationsIn = (body: string) => {
  const reading = read(body);
  if (reading.type === "refused") throw new Error(reading.reason);
  return reading.notifications;
};

describe("readNotification()", () => {
  it("accepts an item that is signed as Adyen signs", () => {
    expect(notificationsIn(bodyOf(itemOf(sample, {}, sampleSignature)))).toEqual([
      {
        notificationId: "AUTHORISATION:7914073381342284:true",
        kind: "held",
        attemptReference: "TestPayment-1407325143704",
        gatewayReference: "7914073381342284",
        amount: { amountMinor: 1130, currency: "EUR" },
      },
    ]);
  });

  it.each([
    ["pspReference", "7914073381342285"],
    ["originalReference", "7914073381342284"],
    ["merchantAccountCode", "OtherMerchant"],
    ["merchantReference", "TestPayment-2"],
    ["value", 1],
    ["currency", "USD"],
    ["eventCode", "CAPTURE"],
    ["success", "false"],
  ])("refuses an item whose %s was changed", (field, value) => {
    expect(read(bodyOf(itemOf({ ...sample, [field]: value }, {}, sampleSignature)))).toMatchObject({ type: "refused" });
  });

  it("refuses all items when one is not signed, is signed with another key, or lacks its signature", () => {
    const others = [
      itemOf(sample, {}, "coqCmt"),
      itemOf(sample, {}, signNotification("AB".repeat(32), sample)),
      { NotificationRequestItem: { ...itemOf(sample).NotificationRequestItem, additionalData: {} } },
    ];
    for (const other of others) expect(read(bodyOf(itemOf(sample), other))).toMatchObject({ type: "refused" });
  });

  it("reads the network's names of a hold, which the HMAC does not cover", () => {
    const additionalData = { networkTxReference: "899201234567890", transactionLinkId: "" };
    expect(notificationsIn(bodyOf(itemOf(sample, { additionalData })))).toMatchObject([
      { kind: "held", stored: { network: { transactionId: "899201234567890" } } },
    ]);
    const refused = { ...sample, success: "false" };
    expect(notificationsIn(bodyOf(itemOf(refused, { additionalData })))[0]).not.toHaveProperty("stored");
  });

  it("treats a reference that is null as absent, as it is signed", () => {
    const empty = { ...sample, originalReference: "" };
    expect(notificationsIn(bodyOf(itemOf(empty, { originalReference: null })))).toMatchObject([{ kind: "held" }]);
    // Items about no payment, such as reports, have no reference of the merchant's. Refusing them would hold back all
    // others.
    const report = { ...sample, merchantReference: "", eventCode: "REPORT_AVAILABLE" };
    for (const merchantReference of [null, undefined]) {
      expect(notificationsIn(bodyOf(itemOf(report, { merchantReference })))).toMatchObject([{ kind: "other" }]);
    }
    const absent = { ...sample, eventCode: "TECHNICAL_CANCEL", success: "false" };
    expect(notificationsIn(bodyOf(itemOf(absent, { originalReference: null })))).toMatchObject([{ kind: "absent" }]);
  });

  it("refuses the other environment's notifications, and everything while the connection has no key", () => {
    expect(read(bodyOf(itemOf(sample)), "live")).toMatchObject({ type: "refused" });
    const without = { ...credentials, hmacKey: new Secret("") };
    expect(read(bodyOf(itemOf(sample, {}, signNotification("", sample))), "test", without)).toMatchObject({
      type: "refused",
    });
  });

  it.each(["", "{", "[]", "{}", bodyOf(), bodyOf(1), bodyOf({}), bodyOf(...Array(7).fill(itemOf(sample)))])(
    "refuses %j, which is not a notification",
    (body) => {
      expect(read(body)).toMatchObject({ type: "refused" });
    },
  );

  it("reads a batch and skips another merchant account's items in it, so that Adyen continues", () => {
    const capture = { ...sample, eventCode: "CAPTURE", pspReference: "C", originalReference: sample.pspReference };
    const other = { ...sample, merchantAccountCode: "OtherMerchant" };
    const notifications = notificationsIn(bodyOf(itemOf(sample), itemOf(other), itemOf(capture)));
    expect(notifications.map(({ kind }) => kind)).toEqual(["held", "captured"]);
    expect(read(bodyOf(itemOf(other)))).toEqual({ type: "authentic", notifications: [] });
  });

  it("skips an item whose signature would fit other fields too", () => {
    const shifted = { ...sample, merchantReference: "TestPayment:1130:EUR", value: 1 };
    expect(notificationsIn(bodyOf(itemOf(shifted)))).toEqual([]);
  });

  const original = "8313547924770610";
  const change = { originalReference: original, pspReference: "8515208516304269" };
  it.each<[string, string, string, Partial<SignedFields>, object]>([
    ["AUTHORISATION", "true", "held", {}, {}],
    ["AUTHORISATION", "false", "declined", {}, { reason: "Refused" }],
    ["CAPTURE", "true", "captured", change, {}],
    ["CAPTURE", "false", "capture_failed", change, { reason: "Insufficient balance on payment" }],
    ["CAPTURE_FAILED", "true", "capture_failed", change, { reason: "Capture Failed" }],
    ["CANCELLATION", "true", "voided", change, {}],
    ["CANCELLATION", "false", "void_refused", change, { reason: "already_captured" }],
    ["TECHNICAL_CANCEL", "true", "voided", change, {}],
    ["TECHNICAL_CANCEL", "false", "void_refused", change, {}],
    ["TECHNICAL_CANCEL", "false", "absent", { pspReference: "8515208516304269" }, {}],
    ["CANCEL_OR_REFUND", "true", "voided", change, { additionalData: { "modification.action": "cancel" } }],
    ["CANCEL_OR_REFUND", "true", "refunded", change, { additionalData: { "modification.action": "refund" } }],
    ["CANCEL_OR_REFUND", "false", "other", change, { additionalData: { "modification.action": "refund" } }],
    ["CANCEL_OR_REFUND", "true", "other", change, {}],
    ["CANCEL_OR_REFUND", "false", "other", change, { additionalData: { "modification.action": "cancel" } }],
    ["EXPIRE", "true", "voided", change, {}],
    ["EXPIRE", "false", "other", change, {}],
    ["REFUND", "true", "refunded", change, {}],
    ["REFUND", "false", "refund_failed", change, { reason: "Insufficient balance on payment" }],
    ["REFUND_FAILED", "true", "refund_failed", change, { reason: "Refund Failed" }],
    ["REFUNDED_REVERSED", "true", "refund_failed", change, {}],
    ["POSTPONED_REFUND", "true", "other", change, {}],
    ["REFUND_WITH_DATA", "true", "other", change, {}],
    ["REPORT_AVAILABLE", "true", "other", {}, {}],
    ["AUTHORISATION", "true", "test", { merchantReference: "verify_1" }, {}],
    ["AUTHORISATION", "true", "test", { pspReference: "test_AUTHORISATION_1" }, {}],
    ["CAPTURE", "true", "test", { pspReference: "test_CAPTURE_1", originalReference: "test_AUTHORISATION_1" }, {}],
  ])("reads %s with success %s as %s", (eventCode, success, kind, fields, rest) => {
    const signed = { ...sample, eventCode, success, ...fields };
    const [notification] = notificationsIn(bodyOf(itemOf(signed, rest)));
    expect(notification).toMatchObject({ kind, notificationId: `${eventCode}:${signed.pspReference}:${success}` });
    if (fields === change) expect(notification).toMatchObject({ gatewayReference: original });
  });

  it.each(["REFUND", "REFUND_FAILED", "REFUNDED_REVERSED"])("reads the refund that %s names", (eventCode) => {
    const ours = { ...sample, eventCode, ...change, merchantReference: "ref_1" };
    expect(notificationsIn(bodyOf(itemOf(ours)))).toEqual([
      {
        notificationId: `${eventCode}:${change.pspReference}:true`,
        kind: eventCode === "REFUND" ? "refunded" : "refund_failed",
        attemptReference: "",
        refundReference: "ref_1",
        gatewayReference: original,
        modificationReference: change.pspReference,
        amount: { amountMinor: 1130, currency: "EUR" },
      },
    ]);
    const [byHand] = notificationsIn(bodyOf(itemOf({ ...ours, merchantReference: "att_1" })));
    expect(byHand).toMatchObject({ attemptReference: "att_1", gatewayReference: original });
    expect(byHand).not.toHaveProperty("refundReference");
  });

  it("reads an EXPIRE that names the payment alone, as Adyen's sample does", () => {
    expect(notificationsIn(bodyOf(itemOf({ ...sample, eventCode: "EXPIRE" })))).toEqual([
      {
        notificationId: `EXPIRE:${sample.pspReference}:true`,
        kind: "voided",
        attemptReference: sample.merchantReference,
        gatewayReference: sample.pspReference,
        amount: { amountMinor: 1130, currency: "EUR" },
      },
    ]);
  });

  it("takes no other event for one about a refund, whatever its reference", () => {
    const capture = { ...sample, eventCode: "CAPTURE", ...change, merchantReference: "ref_1" };
    expect(notificationsIn(bodyOf(itemOf(capture)))[0]).toMatchObject({ attemptReference: "ref_1" });
  });

  it.each([
    [{ reason: "Not enough balance" }, { declineCode: "insufficient_funds", gatewayCode: "12", stop: "none" }],
    [{ reason: "FRAUD-CANCELLED" }, { kind: "FRAUD", gatewayCode: "22" }],
    [{ reason: "ISSUER_SUSPECTED_FRAUD" }, { kind: "FRAUD", gatewayCode: "31" }],
    [{ reason: "3D Not Authenticated" }, { stop: "authentication_failed" }],
    [{ reason: "something new" }, { stop: "unclassified", gatewayCode: "something new" }],
    [{ reason: "x".repeat(5_000) }, { stop: "unclassified", gatewayCode: "x".repeat(64) }],
    [{}, { stop: "unclassified" }],
    [
      { reason: "Refused", paymentMethod: "visa", additionalData: { refusalReasonRaw: "04 : Pick up card" } },
      { gatewayCode: "2", stop: "scheme_rule" },
    ],
  ])("judges the refusal of %j as its answer would be judged", (rest, declined) => {
    const [notification] = notificationsIn(bodyOf(itemOf({ ...sample, success: "false" }, rest)));
    expect(notification).toMatchObject({ kind: "declined", declined });
  });

  it("gives amounts in our minor units, and none for an unknown currency", () => {
    const amountOf = (currency: string) =>
      notificationsIn(bodyOf(itemOf({ ...sample, currency, value: 4900 })))[0]?.amount;
    expect(amountOf("EUR")).toEqual({ amountMinor: 4900, currency: "EUR" });
    expect(amountOf("ISK")).toEqual({ amountMinor: 49, currency: "ISK" });
    expect(amountOf("IDR")).toEqual({ amountMinor: 490000, currency: "IDR" });
    expect(amountOf("XXX")).toBeUndefined();
  });
});

describe("a notification about a dispute", () => {
  const disputed = { ...sample, originalReference: "7914073381342284", eventCode: "CHARGEBACK" };
  const noticeIn = (additionalData: object) =>
    notificationsIn(bodyOf(itemOf(disputed, { additionalData })))[0]!.dispute;
  const soon = new Date(Date.now() + 20 * 24 * 60 * 60_000).toISOString();

  it("has the fields that are only shown", () => {
    const additionalData = { chargebackReasonCode: " 13.1", chargebackSchemeCode: "visa", defensePeriodEndsAt: soon };
    expect(noticeIn(additionalData)).toEqual({
      event: "charged",
      reasonCode: "13.1",
      network: "visa",
      respondBy: soon,
    });
  });

  it.each([
    { defensePeriodEndsAt: "99999" },
    { defensePeriodEndsAt: "9999-12-31T00:00:00Z" },
    { defensePeriodEndsAt: "1999-12-31T00:00:00Z" },
    { defensePeriodEndsAt: soon.replace("Z", "") },
    { defensePeriodEndsAt: soon.slice(0, 10) },
    { chargebackReasonCode: "13\u0000.1" },
    { chargebackReasonCode: `${"1".repeat(39)}\u{1f4b3}` },
    { chargebackSchemeCode: "\ud83d" },
    { chargebackSchemeCode: 7, chargebackReasonCode: {} },
  ])("leaves out %j, and keeps what is signed", (additionalData) => {
    expect(noticeIn(additionalData)).toEqual({ event: "charged" });
  });
});
