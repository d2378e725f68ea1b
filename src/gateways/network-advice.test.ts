import { describe, expect, it } from "vitest";
import type { Declined } from "./declines.ts";
import { withNetworkAdvice } from "./network-advice.ts";

const plain: Declined = {
  type: "declined",
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode: "card_declined",
  gatewayCode: "generic_decline",
};

describe("withNetworkAdvice()", () => {
  it.each(["04", "07", "12", "14", "15", "41", "43", "46", "57", "R0", "R1", "R3"])(
    "stops at Visa's %s",
    (responseCode) => {
      const named = { ...plain, networkDeclineCode: responseCode };
      expect(withNetworkAdvice(plain, { network: "visa", responseCode })).toEqual({ ...named, stop: "scheme_rule" });
      expect(withNetworkAdvice(plain, { responseCode })).toMatchObject({ stop: "scheme_rule" });
      expect(withNetworkAdvice(plain, { network: "mastercard", responseCode })).toEqual(named);
    },
  );

  it.each(["03", "21", "24", "25", "26", "27", "28", "29", "30", "40", "41", "43"])(
    "stops at Mastercard's advice %s",
    (adviceCode) => {
      expect(withNetworkAdvice(plain, { network: "mastercard", adviceCode })).toMatchObject({ stop: "scheme_rule" });
      expect(withNetworkAdvice(plain, { network: "visa", adviceCode })).toEqual({ ...plain, adviceCode });
    },
  );

  it("leaves the stop of every other code and an existing stop unchanged", () => {
    for (const advice of [
      {},
      { responseCode: "05" },
      { responseCode: null },
      { adviceCode: "02" },
      { adviceCode: "04" },
      { adviceCode: "22" },
      { responseCode: 4 },
    ]) {
      expect(withNetworkAdvice(plain, advice)).toMatchObject(plain);
    }
    const fraud = { ...plain, kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected" } as const;
    expect(withNetworkAdvice(fraud, { responseCode: "43" })).toMatchObject(fraud);
  });

  it("names the network's codes, and nothing that is none", () => {
    const named = withNetworkAdvice(plain, { responseCode: "R1", adviceCode: "02" });
    expect(named).toMatchObject({ networkDeclineCode: "R1", adviceCode: "02" });
    expect(withNetworkAdvice(named, { responseCode: "05", adviceCode: "25" })).toMatchObject(named);
    for (const text of ["", "5", "051", "r1", "4242424242424242", "<b>", 14, null, {}]) {
      expect(withNetworkAdvice(plain, { responseCode: text, adviceCode: text })).toEqual(plain);
    }
  });
});

it("takes the permission to repeat a payment at once, where the network asks to wait", () => {
  const allowed: Declined = { ...plain, again: true };
  expect(withNetworkAdvice(allowed, { adviceCode: "02" }).again).toBeUndefined();
  expect(withNetworkAdvice(allowed, { adviceCode: "01" }).again).toBe(true);
});
