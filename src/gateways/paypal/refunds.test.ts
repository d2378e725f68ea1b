import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { holdPayment, type Spoil, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import type { CapturedPayment, RefundAtGateway } from "../connector.ts";
import { jsonReply } from "../replies.fixture.ts";
import { subjects } from "../subjects.fixture.ts";
import { readRefund, readRefundRecord } from "./refund-answers.ts";

const refund: RefundAtGateway = { refundReference: "ref_1", amountMinor: 1250, currency: "EUR" };
const reply = (body: object, status = 201) => jsonReply(body, status);
const issueAnswer = (issue: string) =>
  reply({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }], debug_id: "1", message: "" }, 422);

describe("readRefund() and readRefundRecord()", () => {
  const made = (change: object = {}) => ({
    id: "1JU08902781691411",
    status: "COMPLETED",
    invoice_id: "ref_1",
    amount: { currency_code: "EUR", value: "12.50" },
    ...change,
  });

  it.each([
    ["COMPLETED", { type: "done" }, { type: "succeeded" }],
    ["PENDING", { type: "accepted" }, { type: "pending" }],
    ["FAILED", { type: "refused", definitive: true, gatewayCode: "FAILED" }, { type: "failed", gatewayCode: "FAILED" }],
    ["CANCELLED", { type: "refused", definitive: true, gatewayCode: "CANCELLED" }, { type: "failed" }],
    ["IN_NO_LIST", { type: "unknown", isKept: true }, { type: "cannotTell" }],
  ])("read the status %s", (status, answer, record) => {
    expect(readRefund(reply(made({ status })), refund)).toMatchObject(answer);
    expect(readRefundRecord(reply(made({ status }), 200), refund)).toMatchObject(record);
  });

  it.each([
    ["reference", { invoice_id: "ref_2" }],
    ["amount", { amount: { currency_code: "EUR", value: "12.51" } }],
    ["notation of the amount", { amount: { currency_code: "EUR", value: "12.5" } }],
    ["currency", { amount: { currency_code: "USD", value: "12.50" } }],
    ["name", { id: undefined }],
  ])("believe no refund of another %s", (_, change) => {
    expect(readRefund(reply(made(change)), refund)).toMatchObject({ type: "unknown" });
    expect(readRefundRecord(reply(made(change), 200), refund)).toMatchObject({ type: "cannotTell" });
  });

  it("believe no record under another id", () => {
    const known = { ...refund, gatewayReference: "OTHER" };
    expect(readRefundRecord(reply(made(), 200), known)).toMatchObject({ type: "cannotTell" });
  });
});

type Issues = { readonly components: { readonly schemas: Readonly<Record<string, never>> } };
type IssueSchema = {
  readonly properties: { readonly details: { readonly items: { readonly anyOf: readonly { title: string }[] } } };
};

withShared<Issues>("paypal-payments", ({ components }) => {
  it("takes every documented refusal of a refund as final, except those that pass and those about fees", () => {
    const { properties } = components.schemas["captures.refund-422"] as unknown as IssueSchema;
    const issues = properties.details.items.anyOf.map(({ title }) => title);
    const open = issues.filter((issue) => {
      const answer = readRefund(issueAnswer(issue), refund);
      return !(answer.type === "refused" && answer.definitive && answer.gatewayCode === issue);
    });
    expect(issues.length).toBeGreaterThan(20);
    expect(open).toEqual([
      "PENDING_CAPTURE",
      "DUPLICATE_INVOICE_ID",
      "PLATFORM_FEE_EXCEEDED",
      "PLATFORM_FEE_NOT_ENABLED",
    ]);
  });
});

type Shown = {
  id: string;
  readonly purchase_units: [
    { reference_id: string; payments: { captures?: { id: string; status: string }[]; refunds?: object[] } },
  ];
};

/** Changes each order that PayPal shows; every other answer stays honest. */
const changingOrders =
  (change: (order: Shown) => unknown): Spoil =>
  ({ status, headers, body }) => {
    if (!body.includes('"purchase_units"')) return { status, headers, body };
    const order = JSON.parse(body) as Shown;
    change(order);
    return { status, headers, body: JSON.stringify(order) };
  };

describe("PayPalRefunds", async () => {
  const harness = await forFile(() => startGatewayHarness(subjects.PAYPAL));
  beforeEach(() => {
    harness.spoilWith((honest) => honest);
    harness.replaceWith(() => undefined);
  });

  const capture = async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    if (answer.type !== "done") throw new Error(`expected a capture, got ${answer.type}`);
    const { captureReference } = answer;
    return { ...hold, capturedMinor: hold.amountMinor, captureReference } satisfies CapturedPayment;
  };
  const withoutCapture = ({ captureReference: _, ...payment }: CapturedPayment): CapturedPayment => payment;
  const wanted = (refundReference: string): RefundAtGateway => ({ ...refund, refundReference });
  const refundOf = (payment: CapturedPayment, ours: RefundAtGateway, key = ours.refundReference) =>
    harness.connector.refunds!.refund(harness.call(key), payment, ours);
  const lookUp = (payment: CapturedPayment, ours: RefundAtGateway) =>
    harness.connector.refunds!.lookUpRefund(harness.call(""), payment, ours);
  const sentRefunds = () => harness.middle.requests.filter(({ path }) => path.endsWith("/refund"));

  it("refunds the capture, and sends the refund alone, so that every repeat has the same bytes", async () => {
    const payment = await capture();
    await refundOf(payment, { ...wanted("ref_bytes"), reason: "duplicate" });
    const sent = sentRefunds().at(-1)!;
    expect(sent.path).toBe(`/v2/payments/captures/${payment.captureReference}/refund`);
    expect(sent.headers["paypal-request-id"]).toBe("ref_bytes");
    expect(sent.headers.prefer).toBe("return=representation");
    expect(JSON.parse(sent.body.toString())).toEqual({
      amount: { currency_code: "EUR", value: "12.50" },
      custom_id: "ref_bytes",
      invoice_id: "ref_bytes",
    });
  });

  it("finds the capture of an older payment in its order, and sends nothing if it cannot be read", async () => {
    const payment = await capture();
    const before = sentRefunds().length;
    harness.replaceWith(({ path }) => (path.startsWith("/v2/checkout/orders/") ? { status: 404 } : undefined));
    expect(await refundOf(withoutCapture(payment), wanted("ref_old"))).toMatchObject({ type: "unknown" });
    expect(sentRefunds()).toHaveLength(before);
    harness.replaceWith(() => undefined);
    expect(await refundOf(withoutCapture(payment), wanted("ref_old"))).toMatchObject({ type: "done" });
    expect(sentRefunds().at(-1)!.path).toBe(`/v2/payments/captures/${payment.captureReference}/refund`);
  });

  it("reads the refund that was made before, if PayPal knows its invoice under another key", async () => {
    const payment = await capture();
    const first = await refundOf(payment, wanted("ref_dup"));
    expect(await refundOf(payment, wanted("ref_dup"), "ref_dup_2")).toEqual(first);
    harness.replaceWith(({ method }) => (method === "GET" ? { status: 500 } : undefined));
    const unread = await refundOf(payment, wanted("ref_dup"), "ref_dup_3");
    expect(unread).toMatchObject({ type: "unknown", isKept: true });
    harness.replaceWith(() => undefined);
    const [authorization] = await harness.sandbox.authorizations(payment.attemptReference);
    expect(authorization!.refunds).toHaveLength(1);
  });

  it("remembers a key for 45 days", async () => {
    const payment = await capture();
    const first = await refundOf(payment, wanted("ref_key"));
    await harness.sandbox.setClockAhead(44 * 24 * 60 * 60 * 1_000);
    expect(await refundOf(payment, wanted("ref_key"))).toEqual(first);
    expect(await lookUp(payment, wanted("ref_key"))).toMatchObject({ type: "succeeded" });
    await harness.sandbox.setClockAhead(0);
  });

  it.each<[string, (order: Shown) => unknown]>([
    [
      "shows another capture",
      ({ purchase_units: [unit] }) => Object.assign(unit.payments.captures![0]!, { id: "OTHER" }),
    ],
    ["shows no capture", ({ purchase_units: [unit] }) => delete unit.payments.captures],
    ["shows two captures", ({ purchase_units: [{ payments }] }) => payments.captures!.push(payments.captures![0]!)],
    ["is of another attempt", ({ purchase_units: [unit] }) => Object.assign(unit, { reference_id: "att_other" })],
    ["is another order", (order) => Object.assign(order, { id: "OTHER" })],
  ])("cannot tell from an order that %s, although nothing was refunded", async (_, change) => {
    const payment = await capture();
    harness.spoilWith(changingOrders(change));
    expect(await lookUp(payment, wanted("ref_never"))).toMatchObject({ type: "cannotTell" });
    harness.spoilWith(changingOrders(() => undefined));
    expect(await lookUp(payment, wanted("ref_never"))).toEqual({ type: "absent" });
  });

  it("cannot tell from an order that lists no refunds of a capture that was refunded", async () => {
    const payment = await capture();
    await refundOf(payment, wanted("ref_books"));
    harness.spoilWith(changingOrders(({ purchase_units: [unit] }) => delete unit.payments.refunds));
    expect(await lookUp(payment, wanted("ref_never"))).toMatchObject({ type: "cannotTell" });
  });

  it("reports a refund as absent while nothing was refunded, and not by a capture under review", async () => {
    const payment = await capture();
    expect(await lookUp(payment, wanted("ref_never"))).toEqual({ type: "absent" });
    harness.spoilWith(
      changingOrders(({ purchase_units: [unit] }) => Object.assign(unit.payments.captures![0]!, { status: "PENDING" })),
    );
    expect(await lookUp(payment, wanted("ref_never"))).toMatchObject({ type: "cannotTell" });
  });

  it("takes a refund with another invoice number for one made by hand", async () => {
    const payment = await capture();
    await refundOf(payment, { ...refund, refundReference: "INVOICE-7" });
    const [listed] = (await harness.connector.refunds!.listRefunds!(harness.call(""), payment))!;
    expect(listed).toEqual({
      gatewayReference: expect.stringMatching(/^[A-Z0-9]{17}$/),
      amountMinor: 1250,
      currency: "EUR",
      status: "succeeded",
    });
  });
});
