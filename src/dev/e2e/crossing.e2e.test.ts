/** No rpc gives access to another merchant's, another environment's or another session's data. */
import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { CheckoutService } from "../../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../../gen/payments/v1/ledger_pb.ts";
import { PaymentSessionService } from "../../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../../gen/payments/v1/refund_pb.ts";
import { SettlementService } from "../../../gen/payments/v1/settlement_pb.ts";
import type { DemoCredentials } from "../../demo/demo-file.ts";
import { encodeId } from "../../platform/ids.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const services = [
  ...[PaymentSessionService, RefundService, DisputeService, LedgerService, SettlementService],
  ...[EventService, CheckoutService],
];
const everyRpc = services.flatMap((service) =>
  service.methods.filter(({ methodKind }) => methodKind === "unary").map((method) => nameOf(method)),
);

const orderRef = `order-${randomUUID()}`;
const unknownId = encodeId("ps", v7());

/** Two merchants, in test and live each; the others try to access the first one's test side. */
const demo = await joinTestDemo({ merchants: 2 });
const grpc = createGrpcTransport({ baseUrl: `http://${demo.file.grpcAddress}` });
const [first, second] = demo.file.merchants;
const ours: DemoCredentials = first!.test;
const foreign: { readonly who: string; readonly keys: DemoCredentials }[] = [
  { who: "our own live key", keys: first!.live },
  { who: "another merchant's test key", keys: second!.test },
  { who: "another merchant's live key", keys: second!.live },
];
const session = await new ApiCheckout(demo.file).open({ orderRef });
const foreignSessions = await Promise.all(
  foreign.map(({ keys }) => new ApiCheckout(demo.file, keys.secretKey).open({ orderRef })),
);

function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}

/** Calls an rpc over gRPC. Returns the answer, or the code and reason of the refusal. */
async function call(
  rpc: string,
  request: object,
  bearer: string | undefined,
  more: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const method = services.flatMap((service) => service.methods).find((one) => nameOf(one) === rpc)!;
  const client = createClient(method.parent, grpc) as unknown as Record<
    string,
    (request: object, options: object) => Promise<unknown>
  >;
  const headers = { ...more, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) };
  try {
    return await client[method.localName]!(request, { headers });
  } catch (error) {
    const refusal = ConnectError.from(error);
    return { refused: Code[refusal.code], reason: refusal.findDetails(ErrorInfoSchema)[0]?.reason };
  }
}

const invalidKey = { refused: "Unauthenticated", reason: "INVALID_KEY" };
const keyTypeNotAllowed = { refused: "PermissionDenied", reason: "KEY_TYPE_NOT_ALLOWED" };
const invalidClientSecret = { refused: "Unauthenticated", reason: "INVALID_CLIENT_SECRET" };
const notFound = { refused: "NotFound", reason: "NOT_FOUND" };

const authenticationId = encodeId("atn", randomUUID());
const paymentMethodId = encodeId("pm", randomUUID());
const refundId = encodeId("ref", v7());
const disputeId = encodeId("dsp", v7());

/** A request of each rpc about our session. A new rpc has no row here, and the first test fails until it has one. */
const requests: Readonly<Record<string, () => object>> = {
  "PaymentSessionService.CreatePaymentSession": () => ({ amountMinor: 4900n, currency: "EUR", orderRef }),
  "PaymentSessionService.GetPaymentSession": () => ({ sessionId: session.sessionId }),
  "PaymentSessionService.ListPaymentSessions": () => ({ orderRef }),
  "PaymentSessionService.CapturePaymentSession": () => ({ sessionId: session.sessionId }),
  "PaymentSessionService.CancelPaymentSession": () => ({ sessionId: session.sessionId }),
  "RefundService.CreateRefund": () => ({ sessionId: session.sessionId }),
  "RefundService.GetRefund": () => ({ sessionId: session.sessionId, refundId }),
  "DisputeService.ListDisputes": () => ({ orderRef }),
  "DisputeService.GetDispute": () => ({ disputeId }),
  "DisputeService.GetResponseOptions": () => ({ disputeId }),
  "DisputeService.AcceptDispute": () => ({ disputeId }),
  "DisputeService.AddDisputeFile": () => ({
    disputeId,
    name: "receipt.pdf",
    contentType: "application/pdf",
    content: Buffer.from("%PDF-"),
  }),
  "DisputeService.GetDisputeFacts": () => ({ disputeId }),
  "DisputeService.SubmitEvidence": () => ({ disputeId, evidence: { explanation: "Delivered." } }),
  "LedgerService.ListLedgerEntries": () => ({ day: "2026-03-04" }),
  "SettlementService.ListPayouts": () => ({}),
  "SettlementService.GetPayout": () => ({ payoutId: encodeId("pout", v7()) }),
  "SettlementService.ListPayoutLines": () => ({}),
  "SettlementService.ListSettlements": () => ({}),
  "EventService.ListEvents": () => ({ eventTypes: ["payment_session.succeeded"] }),
  "CheckoutService.GetCheckout": () => ({ sessionId: session.sessionId }),
  "CheckoutService.SubmitPayment": () => ({ sessionId: session.sessionId, vaultToken: "tok_x" }),
  "CheckoutService.ListStoredCards": () => ({ sessionId: session.sessionId }),
  "CheckoutService.UseStoredCard": () => ({ sessionId: session.sessionId, paymentMethodId }),
  "CheckoutService.OpenAction": () => ({ sessionId: session.sessionId, authenticationId }),
  "CheckoutService.CancelAction": () => ({ sessionId: session.sessionId, authenticationId }),
  "CheckoutService.StartWalletSession": () => ({
    sessionId: session.sessionId,
    validationUrl: "https://apple-pay-gateway.apple.com/paymentservices/startSession",
  }),
};
const merchantRpcs = everyRpc.filter((rpc) => !rpc.startsWith("CheckoutService."));
const checkoutRpcs = everyRpc.filter((rpc) => rpc.startsWith("CheckoutService."));

/** REST's answer without what differs between any two requests. */
async function rest(path: string, bearer: string): Promise<{ status: number; body: object }> {
  const answer = await fetch(`${demo.file.restBase}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  const { requestId: _, ...body } = (await answer.json()) as { requestId?: string };
  return { status: answer.status, body };
}

describe("crossing", () => {
  it("is tried on every rpc that exists", () => {
    expect(Object.keys(requests).toSorted()).toEqual(everyRpc.toSorted());
  });

  it.each(everyRpc)(
    "%s refuses a caller without, with a made-up and with a revoked-looking credential",
    async (rpc) => {
      const refusal = rpc.startsWith("CheckoutService.") ? invalidClientSecret : invalidKey;
      const oneDigitOff = ours.secretKey.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
      for (const bearer of [undefined, "nonsense", oneDigitOff, ours.secretKey.replace("_test_", "_live_")]) {
        expect(await call(rpc, requests[rpc]!(), bearer)).toEqual(refusal);
      }
    },
  );

  it.each(merchantRpcs)("%s accepts no publishable key and no client secret", async (rpc) => {
    for (const keys of [ours, ...foreign.map((one) => one.keys)]) {
      expect(await call(rpc, requests[rpc]!(), keys.publishableKey)).toEqual(keyTypeNotAllowed);
    }
    expect(await call(rpc, requests[rpc]!(), session.clientSecret)).toEqual(invalidKey);
  });

  it.each(checkoutRpcs)("%s accepts neither a key nor the client secret of another session", async (rpc) => {
    const another = await new ApiCheckout(demo.file).open();
    const relabelled = session.clientSecret.replace("_secret_t1_", "_secret_l1_");
    const renamed = another.clientSecret.replace(another.sessionId, session.sessionId);
    const keys = [ours, ...foreign.map((one) => one.keys)].flatMap((one) => [one.secretKey, one.publishableKey]);
    const secrets = [another, ...foreignSessions].map((one) => one.clientSecret);
    for (const bearer of [...secrets, relabelled, renamed, ...keys]) {
      expect(await call(rpc, requests[rpc]!(), bearer)).toEqual(invalidClientSecret);
    }
    expect(await new ApiCheckout(demo.file).read(session.sessionId)).toMatchObject({ status: "CREATED" });
  });

  it("GetPaymentSession answers for another's session exactly as for one that never existed", async () => {
    for (const { keys } of foreign) {
      for (const sessionId of [session.sessionId, unknownId, "ps_nonsense"]) {
        expect(await call("PaymentSessionService.GetPaymentSession", { sessionId }, keys.secretKey)).toEqual(notFound);
      }
      const unknown = await rest(`/payment-sessions/${unknownId}`, keys.secretKey);
      expect(unknown).toMatchObject({ status: 404, body: { code: "not_found" } });
      expect(await rest(`/payment-sessions/${session.sessionId}`, keys.secretKey)).toEqual(unknown);
    }
    for (const { sessionId } of foreignSessions) {
      expect(await rest(`/payment-sessions/${sessionId}`, ours.secretKey)).toMatchObject({ status: 404 });
    }
  });

  it.each([
    "PaymentSessionService.CapturePaymentSession",
    "PaymentSessionService.CancelPaymentSession",
    "RefundService.CreateRefund",
    "RefundService.GetRefund",
  ])("%s finds no session of another", async (rpc) => {
    for (const { keys } of foreign) {
      const answer = await call(rpc, requests[rpc]!(), keys.secretKey, { "idempotency-key": "return-1" });
      expect(answer).toEqual(notFound);
    }
    expect(await new ApiCheckout(demo.file).read(session.sessionId)).toMatchObject({ status: "CREATED", refunds: [] });
  });

  it("ListPaymentSessions shows each merchant its own, also by a page token of another", async () => {
    const ofUs = new ApiCheckout(demo.file);
    await ofUs.open({ orderRef });
    const { body } = await rest(`/payment-sessions?orderRef=${orderRef}&pageSize=1`, ours.secretKey);
    const { nextPageToken } = body as { nextPageToken: string };
    expect(nextPageToken).toMatch(/./);
    for (const [index, { keys }] of foreign.entries()) {
      const { sessionId } = foreignSessions[index]!;
      const own = await rest(`/payment-sessions?orderRef=${orderRef}`, keys.secretKey);
      expect(own.body).toMatchObject({ paymentSessions: [{ sessionId }] });
      const query = new URLSearchParams({ orderRef, pageSize: "1", pageToken: nextPageToken });
      const answer = await rest(`/payment-sessions?${query}`, keys.secretKey);
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
    }
  });

  it("CreatePaymentSession refuses a publishable key on REST with 403", async () => {
    const answer = await new ApiCheckout(demo.file, ours.publishableKey).create();
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "key_type_not_allowed" });
  });

  it("one Idempotency-Key of several merchants and environments makes a session in each", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const keys = [ours, ...foreign.map((one) => one.keys)].map(({ secretKey }) => secretKey);
    const answers = await Promise.all(keys.map((key) => new ApiCheckout(demo.file, key).create({ orderRef }, headers)));
    const sessionIds = await Promise.all(answers.map(async (answer) => (await answer.json()).sessionId));
    expect(new Set(sessionIds).size).toBe(keys.length);
  });

  it("a card entered for one session pays no other", async () => {
    const merchant = new ApiCheckout(demo.file);
    const [payer, thief] = await Promise.all([merchant.open(), merchant.open()]);
    const token = await merchant.tokenize(payer, "4242424242424242");
    await expect(merchant.submit(thief, token)).rejects.toThrow(/^404 .*TOKEN_NOT_FOUND/s);
    expect(await merchant.submit(payer, token)).toMatchObject({ status: "SUCCEEDED" });
    expect(await merchant.read(thief.sessionId)).toMatchObject({ status: "CREATED", processing: false, attempts: [] });
  });
});
