import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { right as rightOption } from "../../gen/payments/v1/right_pb.ts";
import { SettlementService } from "../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../gen/payments/v1/stored_card_pb.ts";
import { rights } from "../accounts/rights.ts";
import { requireMethodRight } from "./authenticate.ts";

const ofMerchants = [
  ...[PaymentSessionService, RefundService, DisputeService, PaymentMethodService],
  ...[AgreementService, LedgerService, SettlementService, EventService],
];
const methods: DescMethod[] = ofMerchants.flatMap((service): DescMethod[] => [...service.methods]);
const rightsOf = (method: DescMethod) => getOption(method, rightOption);

describe("the rights of payments.v1", () => {
  it("are named by each method of a merchant's backend, and by no other", () => {
    const named = new Set(methods.flatMap(rightsOf));
    expect([...named].toSorted()).toEqual([...rights].toSorted());
    expect(methods.filter((method) => rightsOf(method).length === 0)).toEqual([]);
    const others: DescMethod[] = [...CheckoutService.methods, ...MetaService.methods];
    expect(others.flatMap(rightsOf)).toEqual([]);
  });

  it("admit a caller with one of them, and one with all", () => {
    const cancel = PaymentSessionService.method.cancelPaymentSession;
    for (const held of [["sessions.create"], ["ledger.read", "payments.capture"], null]) {
      expect(() => requireMethodRight(cancel, held)).not.toThrow();
    }
    expect(() => requireMethodRight(cancel, ["sessions.read"])).toThrow("sessions.create or payments.capture");
  });

  it("refuse a method that names none to a caller with rights", () => {
    const [unnamed] = MetaService.methods;
    expect(() => requireMethodRight(unnamed!, rights)).toThrow("all rights");
    expect(() => requireMethodRight(unnamed!, null)).not.toThrow();
  });
});
