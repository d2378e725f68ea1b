import { describe, expect, it } from "vitest";
import { judgeDecline } from "./judge-decline.ts";

const plain = { avs_code: "G", cvv_code: "P", response_code: "5100" };

describe("judgeDecline()", () => {
  it("lets the plan go on after a plain decline", () => {
    expect(judgeDecline(plain)).toMatchObject({ kind: "SOFT_DECLINE", stop: "none", gatewayCode: "5100" });
    expect(judgeDecline({ ...plain, payment_advice_code: "02" })).toMatchObject({ stop: "none" });
    expect(judgeDecline({ ...plain, cvv_code: "M", avs_code: "N" })).toMatchObject({ stop: "none" });
  });

  it.each([
    ["the network's 03", { payment_advice_code: "03" }, "scheme_rule"],
    ["the network's 21", { payment_advice_code: "21" }, "scheme_rule"],
    ["newer card data at the issuer", { payment_advice_code: "01" }, "same_card_fails"],
    ["a security code that does not match", { cvv_code: "N" }, "same_card_fails"],
    ["a security code that does not match, of Maestro", { cvv_code: "1" }, "same_card_fails"],
  ])("stops at %s", (_, said, stop) => {
    expect(judgeDecline({ ...plain, ...said })).toMatchObject({ kind: "SOFT_DECLINE", stop });
  });

  it("keeps the stop of the code, whatever accompanies it", () => {
    const said = { ...plain, response_code: "9500", payment_advice_code: "01", cvv_code: "N" };
    expect(judgeDecline(said)).toMatchObject({ kind: "FRAUD", stop: "fraud" });
  });

  it("stops without the processor's response, and at a code that no row names", () => {
    for (const said of [undefined, null, {}, { response_code: 5100 }, { response_code: "9999" }]) {
      expect(judgeDecline(said)).toMatchObject({ stop: "unclassified", declineCode: "unclassified" });
    }
    expect(judgeDecline(undefined).gatewayCode).toBe("DENIED");
  });
});
