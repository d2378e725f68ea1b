import { describe, expect, it } from "vitest";
import { declines } from "./declines.ts";
import { judgeDecline } from "./judge-decline.ts";

const error = { type: "card_error", code: "card_declined", decline_code: "generic_decline" };
const chargeWith = (outcome: object, network = "visa") => ({
  object: "charge",
  outcome: { type: "issuer_declined", ...outcome },
  payment_method_details: { card: { network } },
});

describe("judgeDecline()", () => {
  it("lets a plain decline go on once the charge says nothing else", () => {
    expect(judgeDecline(error, chargeWith({}))).toMatchObject({ kind: "SOFT_DECLINE", stop: "none" });
  });

  it("calls a block of Radar's fraud under every code", () => {
    for (const code of [...Object.keys(declines), "never_heard_of"]) {
      expect(judgeDecline({ ...error, decline_code: code }, chargeWith({ type: "blocked" }))).toMatchObject({
        kind: "FRAUD",
        stop: "fraud",
        declineCode: "fraud_suspected",
        gatewayCode: code,
      });
    }
  });

  it("stops without the charge, unless the code says more itself", () => {
    expect(judgeDecline(error, undefined)).toMatchObject({ stop: "unclassified", declineCode: "unclassified" });
    expect(judgeDecline({ ...error, decline_code: "lost_card" }, undefined)).toMatchObject({ stop: "scheme_rule" });
    for (const outcome of [undefined, null, {}]) {
      expect(judgeDecline(error, { ...chargeWith({}), outcome })).toMatchObject({ stop: "unclassified" });
    }
  });

  it.each([
    ["Visa's code on the charge", error, chargeWith({ network_decline_code: "57" })],
    ["Visa's code on the error", { ...error, network_decline_code: "57" }, chargeWith({})],
    ["Mastercard's advice", error, chargeWith({ network_advice_code: "03" }, "mastercard")],
    ["Stripe's advice", error, chargeWith({ advice_code: "do_not_try_again" })],
  ])("stops at %s", (_, from, charge) => {
    expect(judgeDecline(from, charge)).toMatchObject({ kind: "SOFT_DECLINE", stop: "scheme_rule" });
  });

  it("asks for the card again where Stripe advises so", () => {
    expect(judgeDecline(error, chargeWith({ advice_code: "confirm_card_data" }))).toMatchObject({
      stop: "same_card_fails",
    });
    expect(judgeDecline(error, chargeWith({ advice_code: "try_again_later" }))).toMatchObject({ stop: "none" });
  });

  it("takes Stripe's code where there is no finer one, and stops where it names none", () => {
    expect(judgeDecline({ type: "card_error", code: "expired_card" }, chargeWith({}))).toMatchObject({
      declineCode: "card_expired",
    });
    expect(judgeDecline({ type: "card_error" }, chargeWith({}))).toMatchObject({ stop: "unclassified" });
  });
});
