import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { PaymentSchema } from "../../../../gen/dashboard/v1/payments_pb.ts";
import {
  Authentication_Status as Authentication,
  Attempt_FailureKind as Kind,
  PaymentSession_Status as Status,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { declineCodes } from "../../../gateways/declines.ts";
import { reasonOf } from "./payment-reason.ts";

type Summary = NonNullable<Parameters<typeof create<typeof PaymentSchema>>[1]>["summary"];
type Attempts = NonNullable<Parameters<typeof create<typeof PaymentSchema>>[1]>["attempts"];
const reason = (summary: Summary, attempts: Attempts = []) => reasonOf(create(PaymentSchema, { summary, attempts }));

describe("reasonOf()", () => {
  it.each([...declineCodes, "capture_cancelled", "capture_expired"])("has a sentence for %s", (declineCode) => {
    const sentence = reason({ status: Status.DECLINED, declineCode }, [{ gateway: "SANDBOX_A" }]);
    expect(sentence).toMatch(/^[A-Z][^{}_]+\.$/);
  });

  it.each([
    [Authentication.ABANDONED, "The bank asked for 3-D Secure; the customer did not finish."],
    [Authentication.CANCELLED, "The bank asked for 3-D Secure; the customer cancelled."],
    [Authentication.FAILED, "The bank asked for 3-D Secure and refused the customer."],
  ])("says how the customer ended the challenge", (status, sentence) => {
    const summary = { status: Status.DECLINED, declineCode: "authentication_failed" };
    expect(reason(summary, [{ gateway: "STRIPE", authentication: { status } }])).toBe(sentence);
  });

  it("says which gateway captured, and what came before", () => {
    const captured = { status: Status.SUCCEEDED, capturedVia: "SANDBOX_B" };
    expect(reason(captured)).toBe("Captured by Sandbox B.");
    expect(reason({ ...captured, challenged: true })).toContain("the customer passed, and Sandbox B captured.");
    const first = { gateway: "SANDBOX_A", failureKind: Kind.TIMEOUT };
    expect(reason({ ...captured, failover: true }, [first])).toBe(
      "Sandbox A did not answer in time; Sandbox B captured.",
    );
  });

  it("says that a capture failed after the gateway had accepted it", () => {
    const summary = { status: Status.SUCCEEDED, capturedVia: "SANDBOX_B" };
    const events = [{ type: "payment_session.succeeded" }, { type: "payment_attempt.capture_failed" }];
    expect(reasonOf(create(PaymentSchema, { summary, events }))).toBe(
      "Sandbox B accepted the capture, and reported later that it failed.",
    );
    const standing = create(PaymentSchema, {
      summary,
      events,
      amountRefundable: { amountMinor: 900n, currency: "EUR" },
    });
    expect(reasonOf(standing)).not.toContain("failed");
  });

  it("says which gateway failed last, and nothing while a payment goes on", () => {
    const failed = { status: Status.DEGRADED, declineCode: "processing_unavailable" };
    expect(reason(failed, [{ gateway: "SANDBOX_B", failureKind: Kind.GATEWAY_ERROR }])).toBe(
      "Sandbox B answered with an error, and no other gateway could be used.",
    );
    expect(reason(failed)).toBe("No gateway gave a usable answer, or none could be used.");
    expect(reason({ status: Status.CREATED })).toBeUndefined();
  });
});
