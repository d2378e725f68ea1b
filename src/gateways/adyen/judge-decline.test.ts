import { describe, expect, it } from "vitest";
import { judgeRefusal } from "./judge-decline.ts";

const judge = (code: string, additionalData = {}, network?: string) => judgeRefusal({ code, network, additionalData });

describe("judgeRefusal()", () => {
  it("treats a code and its name alike", () => {
    expect(judge("12")).toEqual(judge("NOT_ENOUGH_BALANCE"));
    expect(judge("Blocked Card")).toMatchObject({ gatewayCode: "5", stop: "scheme_rule" });
  });

  it.each([
    ["visa", { refusalReasonRaw: "12 : Invalid transaction" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "7: Pick up card" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "R1" }, "scheme_rule"],
    ["visadebit", { refusalReasonRaw: "43 : Stolen card" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "05 : Do not honor" }, "none"],
    ["visa", { refusalCodeRaw: "57" }, "scheme_rule"],
    ["visa", { refusalCodeRaw: "4" }, "scheme_rule"],
    ["visa", { refusalCodeRaw: "05" }, "none"],
    ["visa", { refusalReasonRaw: "DECLINED", refusalCodeRaw: "43" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "43 : Stolen card", refusalCodeRaw: "05" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "05 : Do not honor", refusalCodeRaw: "43" }, "scheme_rule"],
    ["mc", { merchantAdviceCode: "24 : Retry after 1 hour" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: "DECLINED" }, "none"],
    ["visa", { refusalReasonRaw: "143 : no such code" }, "none"],
    ["mc", { refusalReasonRaw: "12 : Invalid transaction" }, "none"],
    ["mc", { refusalReasonRaw: "14 : Invalid account number" }, "same_card_fails"],
    ["mc", { refusalReasonRaw: "59: Suspected fraud" }, "fraud"],
    ["visa", { refusalReasonRaw: "1A : Additional customer authentication required" }, "authentication_required"],
    ["mc", { merchantAdviceCode: "03 : Do not try again" }, "scheme_rule"],
    ["mc", { merchantAdviceCode: "21" }, "scheme_rule"],
    ["mc", { merchantAdviceCode: "02 : Try again later" }, "none"],
    ["visa", { merchantAdviceCode: "03 : Do not try again" }, "none"],
    [undefined, { paymentMethod: "mc", merchantAdviceCode: "03 : Do not try again" }, "scheme_rule"],
    [undefined, { refusalReasonRaw: "12 : Invalid transaction" }, "scheme_rule"],
    ["visa", { refusalReasonRaw: 12 }, "none"],
  ])("adds the stop of network %s for %j to a plain refusal", (network, additionalData, stop) => {
    expect(judge("2", additionalData, network)).toMatchObject({ gatewayCode: "2", stop });
  });

  it("is fraud if the network says so, under any code", () => {
    expect(judge("27", { refusalReasonRaw: "59 : Suspected fraud" }, "mc")).toEqual({
      type: "declined",
      kind: "FRAUD",
      stop: "fraud",
      declineCode: "fraud_suspected",
      gatewayCode: "27",
      networkDeclineCode: "59",
    });
  });

  it("removes no stop, and keeps the code that no row names", () => {
    expect(judge("999", { refusalReasonRaw: "54 : Expired card" }, "visa")).toMatchObject({ stop: "unclassified" });
    expect(judge("20", { refusalReasonRaw: "14 : Invalid account number" }, "visa")).toMatchObject({ stop: "fraud" });
  });
});
