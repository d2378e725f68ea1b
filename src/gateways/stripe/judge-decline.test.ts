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
  it("lets the plan go on after a plain decline once the charge says nothing else", () => {
    expect(judgeDecline(error, chargeWith({}))).toMatchObject({ kind: "SOFT_DECLINE", stop: "none" });
  });

  const blocked = (reason: unknown, decline_code = "generic_decline") =>
    judgeDecline({ ...error, decline_code }, chargeWith({ type: "blocked", reason }));

  it("classifies a block of Radar's as fraud under every code, also for an unknown reason", () => {
    for (const reason of [
      "highest_risk_level",
      "rule",
      "blocklist",
      "never_heard_of",
      "__proto__",
      null,
      undefined,
      7,
    ]) {
      for (const code of [...Object.keys(declines), "never_heard_of"]) {
        expect(blocked(reason, code), String(reason)).toMatchObject({
          kind: "FRAUD",
          stop: "fraud",
          declineCode: "fraud_suspected",
          gatewayCode: code,
        });
      }
    }
  });

  it.each([
    ["low_probability_of_authorization", { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined" }],
    ["previously_declined_do_not_retry", { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "card_declined" }],
    [
      "requested_block_on_incorrect_cvc",
      { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "incorrect_cvc" },
    ],
  ])("reads a block for %s as what it is, which is no fraud", (reason, expected) => {
    expect(blocked(reason)).toEqual({ type: "declined", gatewayCode: "generic_decline", ...expected });
  });

  it("keeps a stop of the code or the network, whatever the reason of a block", () => {
    for (const reason of [
      "low_probability_of_authorization",
      "previously_declined_do_not_retry",
      "requested_block_on_incorrect_cvc",
    ]) {
      expect(blocked(reason, "fraudulent")).toMatchObject({ kind: "FRAUD", stop: "fraud" });
    }
    expect(blocked("low_probability_of_authorization", "lost_card")).toMatchObject({ stop: "scheme_rule" });
    expect(blocked("low_probability_of_authorization", "never_heard_of")).toMatchObject({ stop: "unclassified" });
    const never = { type: "blocked", reason: "low_probability_of_authorization", network_decline_code: "57" };
    expect(judgeDecline(error, chargeWith(never))).toMatchObject({ stop: "scheme_rule" });
  });

  it("stops without the charge, unless the code itself says more", () => {
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

  it("asks for the card again if Stripe advises it", () => {
    expect(judgeDecline(error, chargeWith({ advice_code: "confirm_card_data" }))).toMatchObject({
      stop: "same_card_fails",
    });
    expect(judgeDecline(error, chargeWith({ advice_code: "try_again_later" }))).toMatchObject({ stop: "none" });
  });

  it("uses Stripe's code if there is no finer one, and stops if there is none", () => {
    expect(judgeDecline({ type: "card_error", code: "expired_card" }, chargeWith({}))).toMatchObject({
      declineCode: "card_expired",
    });
    expect(judgeDecline({ type: "card_error" }, chargeWith({}))).toMatchObject({ stop: "unclassified" });
  });
});
